package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tracerag/phrase"
	"tracerag/session"
	"tracerag/trace"
	"tracerag/visible"
)

const showHelp = `
show describes a trace: the program and its build, how the run ended, what was
recorded, and what was not.`

func runShow(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, showHelp)
	asJSON := f.Bool("json", false, "print it as JSON")
	a.redactFlag(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	name := "@last"
	switch f.NArg() {
	case 0:
	case 1:
		name = f.Arg(0)
	default:
		return a.usage(c, "one trace at a time")
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	sum, err := a.session(s).Summarize(name)
	if err != nil {
		return a.fail(err)
	}
	if *asJSON {
		if err := a.printJSON(sum); err != nil {
			return a.fail(err)
		}
		return exitOK
	}
	if err := describe(a.stdout, sum.Head.Trace, &sum); err != nil {
		return a.fail(err)
	}
	return exitOK
}

// describe writes what is known of a trace, a line each. An imported profile
// leaves much unknown, which gets no line.
func describe(w io.Writer, tr *trace.Trace, sum *session.Summary) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(key string, values ...string) {
		values = slices.DeleteFunc(values, func(s string) bool { return s == "" })
		if len(values) > 0 {
			fmt.Fprintf(tw, "%s\t%s\n", key, visible.Line(strings.Join(values, ", ")))
		}
	}
	row("trace", fmt.Sprintf("%s  (%s, %s bytes)", sum.ID, sum.Path, phrase.Number(sum.Bytes)))
	row("command", phrase.CommandLine(tr.Command))
	row("directory", tr.Dir)
	start, took, exit := "", "", tr.Exit.String()
	if !tr.Start.IsZero() {
		start = tr.Start.Local().Format(time.DateTime)
	}
	if tr.Duration > 0 {
		took = tr.Duration.Round(time.Millisecond).String()
	}
	if tr.Sampled {
		exit = ""
	}
	row("run", start, took, exit)
	p := &tr.Program
	platform := ""
	if p.GOOS != "" {
		platform = " " + p.GOOS + "/" + p.GOARCH
	}
	if p.Path != "" {
		row("program", strings.TrimSpace(p.Path+"  "+p.GoVersion+platform))
	}
	if p.Main.Path != "" {
		row("module", strings.TrimSpace(p.Main.Path+" "+p.Main.Version), phrase.Plural(len(p.Deps), "dependency", "dependencies"))
	}
	for _, st := range p.Settings {
		if slices.Contains([]string{"vcs.revision", "vcs.time", "vcs.modified", "-ldflags", "-trimpath", "-race", "-tags", "-gcflags"}, st.Key) {
			row("build", st.Key+"="+st.Value)
		}
	}
	row("recorder", tr.Recorder)
	if len(tr.Include)+len(tr.Exclude) > 0 {
		row("packages", fmt.Sprintf("include %v, exclude %v", tr.Include, tr.Exclude))
	}
	row("name", tr.Name)
	row("test of", tr.Test.Package)
	row("baseline", tr.Baseline)
	functions, nodes := phrase.Plural(sum.Functions, "function", "functions"), phrase.Plural(sum.Nodes, "node", "nodes")
	if tr.Sampled {
		row("recorded", phrase.Plural(sum.Calls, "sample", "samples")+" of "+functions, nodes)
	} else {
		row("recorded", phrase.Plural(sum.Calls, "call", "calls")+" of "+functions+" in "+phrase.Plural(sum.Goroutines, "goroutine", "goroutines"), nodes)
	}
	if sum.Questions > 0 {
		row("asked", phrase.Plural(sum.Questions, "conversation", "conversations"))
	}
	for i, text := range session.Losses(tr.Losses, ": tracerag show --json") {
		key := ""
		if i == 0 {
			key = "not recorded"
		}
		row(key, text)
	}
	return tw.Flush()
}
