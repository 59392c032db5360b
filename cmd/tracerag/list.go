package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"tracerag/trace"
	"tracerag/trace/store"
)

const listHelp = `
list lists the saved traces, the oldest first, with the names that other commands
take: an id, or @last, @prev.`

// summary is a line of list, and what show --json prints.
type summary struct {
	ID         string         `json:"id"`
	Path       string         `json:"path"`
	Saved      time.Time      `json:"saved"`
	Bytes      int64          `json:"bytes"`
	Error      string         `json:"error,omitempty"` // why it cannot be read; the rest is missing then
	Command    []string       `json:"command,omitempty"`
	Dir        string         `json:"dir,omitempty"`
	Recorder   string         `json:"recorder,omitempty"`
	Sampled    bool           `json:"sampled,omitempty"`
	Start      time.Time      `json:"start,omitzero"`
	Seconds    float64        `json:"seconds"`
	Exit       trace.Exit     `json:"exit"`
	Program    *trace.Program `json:"program,omitempty"`
	Include    []string       `json:"include,omitempty"`
	Exclude    []string       `json:"exclude,omitempty"`
	Baseline   string         `json:"baseline,omitempty"`
	Calls      int64          `json:"calls"`
	Functions  int            `json:"functions"`
	Nodes      int            `json:"nodes"`
	Goroutines int64          `json:"goroutines"`
	Losses     []trace.Loss   `json:"losses,omitempty"`
	Questions  int            `json:"questions,omitempty"` // conversations saved beside it
}

func summarize(s *store.Store, e store.Entry) summary {
	out := summary{ID: e.ID, Path: e.Path, Saved: e.Saved, Bytes: e.Size}
	tr, _, err := s.Load(e.Path)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Command, out.Dir, out.Recorder, out.Sampled = tr.Command, tr.Dir, tr.Recorder, tr.Sampled
	out.Start, out.Seconds, out.Exit, out.Program = tr.Start, tr.Duration.Seconds(), tr.Exit, &tr.Program
	out.Include, out.Exclude, out.Baseline, out.Losses = tr.Include, tr.Exclude, tr.Baseline, tr.Losses
	out.Calls, out.Functions, out.Nodes, out.Goroutines = tr.Calls(), len(tr.Functions), len(tr.Nodes), tr.Goroutines
	if answers, err := s.Answers(e); err == nil {
		out.Questions = len(answers)
	}
	return out
}

func runList(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, listHelp)
	asJSON := f.Bool("json", false, "print the list as JSON")
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	entries, err := s.List()
	if err != nil {
		return a.fail(err)
	}
	list := make([]summary, 0, len(entries))
	for _, e := range entries {
		list = append(list, summarize(s, e))
	}
	if *asJSON {
		if err := a.printJSON(list); err != nil {
			return a.fail(err)
		}
		return exitOK
	}
	if len(list) == 0 {
		a.note("no traces in %s: tracerag run -- ./app makes one", s.Dir())
		return exitOK
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSAVED\tCALLS\tFUNCTIONS\tEXIT\tCOMMAND")
	for i, e := range list {
		name := ""
		switch len(list) - i {
		case 1:
			name = " @last"
		case 2:
			name = " @prev"
		}
		if e.Error != "" {
			fmt.Fprintf(w, "%s%s\t%s\t\t\t\tcannot be read: %s\n", e.ID, name, e.Saved.Local().Format(time.DateTime), e.Error)
			continue
		}
		exit := fmt.Sprint(e.Exit.Code)
		if e.Exit.Signal != "" {
			exit = e.Exit.Signal
		}
		fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, name, e.Saved.Local().Format(time.DateTime), number(e.Calls), number(int64(e.Functions)), exit, commandLine(e.Command))
	}
	if err := w.Flush(); err != nil {
		return a.fail(err)
	}
	return exitOK
}

func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(v)
}

const showHelp = `
show says what a trace is: the program and its build, how the run ended, what was
recorded, and what was not.`

func runShow(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, showHelp)
	asJSON := f.Bool("json", false, "print it as JSON")
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
	tr, e, err := s.Load(name)
	if err != nil {
		return a.fail(err)
	}
	sum := summarize(s, e)
	if *asJSON {
		if err := a.printJSON(sum); err != nil {
			return a.fail(err)
		}
		return exitOK
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	row := func(key, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", key, fmt.Sprintf(format, args...)) }
	row("trace", "%s  (%s, %s bytes)", e.ID, e.Path, number(e.Size))
	row("command", "%s", commandLine(tr.Command))
	row("directory", "%s", tr.Dir)
	if !tr.Start.IsZero() {
		row("run", "%s, %s, %s", tr.Start.Local().Format(time.DateTime), tr.Duration.Round(time.Millisecond), tr.Exit)
	}
	p := &tr.Program
	row("program", "%s  %s %s/%s", p.Path, p.GoVersion, p.GOOS, p.GOARCH)
	if p.Main.Path != "" {
		row("module", "%s %s, %s", p.Main.Path, p.Main.Version, plural(len(p.Deps), "dependency", "dependencies"))
	}
	for _, st := range p.Settings {
		if slices.Contains([]string{"vcs.revision", "vcs.time", "vcs.modified", "-ldflags", "-trimpath", "-race", "-tags", "-gcflags"}, st.Key) {
			row("build", "%s=%s", st.Key, st.Value)
		}
	}
	row("recorder", "%s", tr.Recorder)
	if len(tr.Include)+len(tr.Exclude) > 0 {
		row("packages", "include %v, exclude %v", tr.Include, tr.Exclude)
	}
	if tr.Baseline != "" {
		row("baseline", "%s", tr.Baseline)
	}
	unit := "calls"
	if tr.Sampled {
		unit = "samples"
	}
	row("recorded", "%s %s of %s in %s, %s", number(sum.Calls), unit, plural(sum.Functions, "function", "functions"),
		plural(int(sum.Goroutines), "goroutine", "goroutines"), plural(sum.Nodes, "node", "nodes"))
	if sum.Questions > 0 {
		row("asked", "%s", plural(sum.Questions, "conversation", "conversations"))
	}
	for i, l := range tr.Losses {
		key := ""
		if i == 0 {
			key = "not recorded"
		}
		row(key, "%s", lossText(l))
	}
	if err := w.Flush(); err != nil {
		return a.fail(err)
	}
	return exitOK
}

const rmHelp = `
rm removes traces and the conversations about them.`

func runRm(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, rmHelp)
	all := f.Bool("all", false, "remove every trace, and the baselines")
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() == 0 && !*all || f.NArg() > 0 && *all {
		return a.usage(c, "name the traces, or --all")
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	var entries []store.Entry
	if *all {
		if entries, err = s.List(); err != nil {
			return a.fail(err)
		}
		if err := removeAll(baselines(s)); err != nil {
			return a.fail(err)
		}
	}
	// All are looked up before any is removed: @prev must not change its
	// meaning on the way.
	for _, name := range f.Args() {
		e, err := s.Find(name)
		if err != nil {
			return a.fail(err)
		}
		if !slices.Contains(entries, e) {
			entries = append(entries, e)
		}
	}
	for _, e := range entries {
		if err := s.Remove(e); err != nil {
			return a.fail(err)
		}
		a.note("removed %s", e.ID)
	}
	return exitOK
}

func removeAll(s *store.Store) error {
	entries, err := s.List()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := s.Remove(e); err != nil {
			return err
		}
	}
	return nil
}
