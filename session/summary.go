package session

import (
	"time"

	"tracerag/trace"
	"tracerag/trace/store"
)

// Summary is what a trace is, in figures: a line of a list, and with all of it what
// show --json prints.
type Summary struct {
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
	// Processes are those that the run started, each with the id of its own trace.
	Processes []trace.Process `json:"processes,omitempty"`
	Questions int             `json:"questions,omitempty"` // conversations saved beside it

	Title string      `json:"-"`
	Head  *trace.Head `json:"-"` // nil of a trace that cannot be read
	Err   error       `json:"-"` // of such a trace
}

// List sums up an entry of the store. One that cannot be read has its Error.
func (s *Session) List(e store.Entry) Summary {
	out, err := s.Summarize(e.Path)
	if err != nil {
		return Summary{ID: e.ID, Path: e.Path, Saved: e.Saved, Bytes: e.Size, Error: err.Error(), Err: err}
	}
	out.ID, out.Path, out.Saved, out.Bytes = e.ID, e.Path, e.Saved, e.Size
	return out
}

// Summarize sums up a trace.
func (s *Session) Summarize(name string) (Summary, error) {
	h, e, err := s.Head(name)
	if err != nil {
		return Summary{}, err
	}
	tr := h.Trace
	out := Summary{
		ID: e.ID, Path: e.Path, Saved: e.Saved, Bytes: e.Size,
		Name: tr.Name, Test: tr.Test, Command: tr.Command, Dir: tr.Dir, Recorder: tr.Recorder, Sampled: tr.Sampled,
		Start: tr.Start, Seconds: tr.Duration.Seconds(), Program: &tr.Program,
		Include: tr.Include, Exclude: tr.Exclude, Baseline: tr.Baseline, Losses: tr.Losses,
		Calls: h.Calls, Functions: len(tr.Functions), Nodes: h.Nodes, Goroutines: tr.Goroutines, Lined: len(tr.Lines),
		Processes: tr.Processes,
		Title:     Title(tr), Head: h,
	}
	if !tr.Sampled {
		out.Exit = &tr.Exit
	}
	if answers, err := s.Store.Answers(e); err == nil {
		out.Questions = len(answers)
	}
	return out, nil
}
