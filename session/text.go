package session

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tracerag/phrase"
	"tracerag/trace"
	"tracerag/visible"
)

// WriteText writes what is known of a trace, a line each. An imported profile leaves much
// unknown, which gets no line. Of many losses it writes a few, and where the others are.
func (sum *Summary) WriteText(w io.Writer, others string) error {
	tr := sum.Head.Trace
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
	for i, text := range processRows(tr.Processes, others) {
		key := ""
		if i == 0 {
			key = "processes"
		}
		row(key, text)
	}
	if sum.Questions > 0 {
		row("asked", phrase.Plural(sum.Questions, "conversation", "conversations"))
	}
	for i, text := range losses(tr.Losses, others) {
		key := ""
		if i == 0 {
			key = "not recorded"
		}
		row(key, text)
	}
	return tw.Flush()
}

// named is the title of a trace with its own name, a window's or a test's: others may have the
// same command.
func (sum *Summary) named() string {
	switch {
	case sum.Name == "":
		return sum.Title
	case sum.Test == (trace.Test{}):
		return sum.Title + ", window " + visible.Line(sum.Name)
	}
	return sum.Title + ", " + visible.Line(sum.Name)
}

// processes says how many processes of the run were recorded.
func (sum *Summary) processes() string {
	n := 0
	for i := range sum.Processes {
		if sum.Processes[i].Trace != "" {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return " +" + phrase.Plural(n, "process", "processes")
}

// WriteList writes a line for each trace, the oldest first as in the store. The exit of a
// program that still ran is "-".
func WriteList(to io.Writer, list []Summary) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
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
			fmt.Fprintf(w, "%s%s\t%s\t\t\t\tcannot be read: %s\n", e.ID, name, e.Saved.Local().Format(time.DateTime), visible.Line(e.Error))
			continue
		}
		exit := ""
		switch {
		case e.Exit == nil:
		case !e.Exit.Known():
			exit = "-" // a window's program goes on
		case e.Exit.Signal != "":
			exit = visible.Line(e.Exit.Signal)
		default:
			exit = fmt.Sprint(e.Exit.Code)
		}
		fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, name, e.Saved.Local().Format(time.DateTime), phrase.Number(e.Calls), phrase.Number(e.Functions), exit, e.named()+e.processes())
	}
	return w.Flush()
}
