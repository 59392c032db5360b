package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"tracerag/phrase"
	"tracerag/trace"
	"tracerag/trace/store"
	"tracerag/visible"
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
	Name       string         `json:"name,omitempty"`  // its user's, or its test's
	Test       trace.Test     `json:"test,omitzero"`
	Command    []string       `json:"command,omitempty"`
	Dir        string         `json:"dir,omitempty"`
	Recorder   string         `json:"recorder,omitempty"`
	Sampled    bool           `json:"sampled,omitempty"`
	Start      time.Time      `json:"start,omitzero"`
	Seconds    float64        `json:"seconds"`
	Exit       *trace.Exit    `json:"exit,omitempty"` // none: a profile does not say
	Program    *trace.Program `json:"program,omitempty"`
	Include    []string       `json:"include,omitempty"`
	Exclude    []string       `json:"exclude,omitempty"`
	Baseline   string         `json:"baseline,omitempty"`
	Calls      int64          `json:"calls"`
	Functions  int            `json:"functions"`
	Nodes      int            `json:"nodes"`
	Goroutines int64          `json:"goroutines,omitempty"`
	Lined      int            `json:"functions_with_lines,omitempty"` // whose lines were watched
	Losses     []trace.Loss   `json:"losses,omitempty"`
	Questions  int            `json:"questions,omitempty"` // conversations saved beside it

	title string
}

func (a *app) summarize(s *store.Store, e store.Entry) summary {
	out := summary{ID: e.ID, Path: e.Path, Saved: e.Saved, Bytes: e.Size}
	h, _, err := a.loadHead(s, e.Path)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	a.describeHead(&out, s, e, h)
	return out
}

// describeHead fills in what a trace says of itself.
func (a *app) describeHead(out *summary, s *store.Store, e store.Entry, h *trace.Head) {
	tr := h.Trace
	out.Name, out.Test = tr.Name, tr.Test
	out.Command, out.Dir, out.Recorder, out.Sampled = tr.Command, tr.Dir, tr.Recorder, tr.Sampled
	out.Start, out.Seconds, out.Program, out.title = tr.Start, tr.Duration.Seconds(), &tr.Program, title(tr)
	if !tr.Sampled {
		out.Exit = &tr.Exit
	}
	out.Include, out.Exclude, out.Baseline, out.Losses = tr.Include, tr.Exclude, tr.Baseline, tr.Losses
	out.Calls, out.Functions, out.Nodes, out.Goroutines = h.Calls, len(tr.Functions), h.Nodes, tr.Goroutines
	out.Lined = len(tr.Lines)
	if answers, err := s.Answers(e); err == nil {
		out.Questions = len(answers)
	}
}

func runList(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, listHelp)
	asJSON := f.Bool("json", false, "print the list as JSON")
	a.redactFlag(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() > 0 {
		return a.usage(c, "nothing but flags: tracerag show says more about one trace")
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	entries, err := s.List()
	if err != nil {
		return a.fail(err)
	}
	if err := a.canMask(); err != nil { // which is no fault of any trace
		return a.fail(err)
	}
	read := a.wait("reading " + phrase.Plural(len(entries), "trace", "traces"))
	list := make([]summary, 0, len(entries))
	for _, e := range entries {
		list = append(list, a.summarize(s, e))
	}
	read()
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
			fmt.Fprintf(w, "%s%s\t%s\t\t\t\tcannot be read: %s\n", e.ID, name, e.Saved.Local().Format(time.DateTime), visible.Line(e.Error))
			continue
		}
		exit := ""
		switch {
		case e.Exit == nil:
		case e.Exit.Signal != "":
			exit = visible.Line(e.Exit.Signal)
		default:
			exit = fmt.Sprint(e.Exit.Code)
		}
		fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, name, e.Saved.Local().Format(time.DateTime), phrase.Number(e.Calls), phrase.Number(e.Functions), exit, e.title)
	}
	if err := w.Flush(); err != nil {
		return a.fail(err)
	}
	return exitOK
}

func (a *app) printJSON(v any) error {
	w, end := a.printed(jsonOutput)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return cmp.Or(enc.Encode(v), end())
}
