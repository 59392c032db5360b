package session

import (
	"fmt"
	"slices"
	"strings"

	"tracerag/prompt"
)

// ContextRequest says what an agent wants to know of a run, or of two.
type ContextRequest struct {
	Read  []string // what it wants to read: see [prompt.ParseRequest]; none: what the question is about
	Index bool     // the names of the functions that ran, instead
	Limit int      // tokens

	// Whole reads the runs with what their baseline did, too: what else is to be read may
	// be there. Nil: no baseline left anything out.
	Whole func() (*prompt.Reader, error)
}

// UnknownRequestError says that what is to be read is no name and no handle.
type UnknownRequestError struct{ Text string }

func (e *UnknownRequestError) Error() string {
	return fmt.Sprintf("%q cannot be read: give a function (table.Render), lines of one (table.Render:310-480), callers FUNCTION, callees FUNCTION, a type, or a handle (p3, #12)", e.Text)
}

// Context is the text that an agent reads about runs: which code a question is about, or
// what it asked for after that. It has at most so many tokens, but where those are too
// few for the heading.
func Context(r *prompt.Reader, runs []*Run, q ContextRequest) (string, error) {
	var requests []prompt.Request
	for _, text := range q.Read {
		request, ok := prompt.ParseRequest(text)
		if !ok {
			return "", &UnknownRequestError{text}
		}
		requests = append(requests, request)
	}
	var b strings.Builder
	for i, run := range runs {
		if len(runs) > 1 {
			fmt.Fprintf(&b, "%c: ", 'A'+i)
		}
		b.WriteString(run.Heading() + "\n")
	}
	head := b.String()
	limit := q.Limit - r.Count(head)
	switch {
	case q.Index:
		return head + r.Index(limit), nil
	case len(requests) > 0:
		text, err := q.read(r, requests, limit)
		return head + text, err
	}
	for _, run := range runs {
		for _, n := range run.Notes {
			if note := "not recorded: " + cut(n, longNote) + "\n"; !strings.Contains(head, note) {
				limit -= r.Count(note)
				head += note
			}
		}
	}
	return head + r.Context(limit), nil
}

// read shows what is asked for, of the tree or else of what the baseline did, too.
func (q *ContextRequest) read(r *prompt.Reader, requests []prompt.Request, limit int) (string, error) {
	unknown := func(request prompt.Request) bool { return !r.Knows(request) }
	if q.Whole == nil || !slices.ContainsFunc(requests, unknown) {
		return r.ContextOf(requests, limit), nil
	}
	whole, err := q.Whole()
	if err != nil {
		return "", err
	}
	var here, there []prompt.Request
	for _, request := range requests {
		if unknown(request) && whole.Knows(request) {
			there = append(there, request)
		} else {
			here = append(here, request)
		}
	}
	text := ""
	if len(here) > 0 {
		text = r.ContextOf(here, limit*len(here)/len(requests))
	}
	if len(there) > 0 {
		text += "# What the baseline called, too\n\n"
		text += whole.ContextOf(there, limit-r.Count(text))
	}
	return text, nil
}

const (
	longTitle = 200 // bytes
	longNote  = 300
)

// Heading is the line that says what an answer is about.
func (r *Run) Heading() string {
	line := "trace " + r.ID + ": " + cut(r.Title, longTitle)
	if r.Trace.Sampled {
		return line + " (samples, not calls)"
	}
	return line + " (" + r.Trace.Exit.String() + ")"
}

// cut shortens a text.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// ContextOf opens traces and returns the text about them.
func (s *Session) ContextOf(question string, names []string, o TreeOptions, q ContextRequest) (string, error) {
	r, runs, err := s.reader(question, names, o)
	if err != nil {
		return "", err
	}
	if o.Baseline != NoBaseline && slices.ContainsFunc(runs, func(r *Run) bool { return r.Pruned > 0 }) {
		q.Whole = func() (*prompt.Reader, error) {
			o.Baseline = NoBaseline
			whole, _, err := s.reader(question, names, o)
			return whole, err
		}
	}
	return Context(r, runs, q)
}

func (s *Session) reader(question string, names []string, o TreeOptions) (*prompt.Reader, []*Run, error) {
	views, err := s.Open(names, o)
	if err != nil {
		return nil, nil, err
	}
	in, err := s.PromptInput(question, views...)
	if err != nil {
		return nil, nil, err
	}
	var runs []*Run
	for _, v := range views {
		runs = append(runs, s.Run(v))
	}
	r, err := prompt.NewReader(in, prompt.Options{})
	return r, runs, err
}
