package session

import (
	"fmt"
	"slices"

	"tracerag/phrase"
	"tracerag/prompt"
	"tracerag/source"
	"tracerag/trace"
)

// PromptInput is what a prompt about some views is made of. An empty tree has none
// ([*EmptyTreeError]), nor has one that takes too much memory ([*LargeTreeError]).
func (s *Session) PromptInput(question string, views ...*View) (prompt.Input, error) {
	for _, v := range views {
		if err := v.Empty(); err != nil {
			return prompt.Input{}, err
		}
	}
	if err := s.PromptFits(views); err != nil {
		return prompt.Input{}, err
	}
	return s.Input(question, views...), nil
}

// Input is what a prompt about some views is made of, however large it is.
func (s *Session) Input(question string, views ...*View) prompt.Input {
	in := prompt.Input{Question: question}
	if s.Mask != nil {
		in.Mask = s.Mask.Redactor()
	}
	for _, v := range views {
		v.readAhead()
		in.Runs = append(in.Runs, prompt.Run{Title: v.Title(), Tree: v.Tree, Notes: v.Notes(), Processes: v.processes()})
	}
	of := ownerOf(views)
	in.Source = func(f trace.Function) source.Text { return of(f).Text(f) }
	in.Named = func(f trace.Function, t source.Text) []source.Decl { return of(f).Sources.Named(t) }
	in.Lines = linesOf(views)
	in.Score = s.score(question, views)
	return in
}

// ownerOf returns the view whose resolver answers for a function: that of the first
// run that has it, since a function of two runs is the same function.
func ownerOf(views []*View) func(trace.Function) *View {
	owner := map[trace.Function]*View{}
	for _, v := range slices.Backward(views) {
		for _, f := range v.Trace.Functions {
			owner[f] = v
		}
	}
	return func(f trace.Function) *View {
		if v := owner[f]; v != nil {
			return v
		}
		return views[0]
	}
}

// linesOf returns which lines of a function ran, in each of the runs that called it;
// nothing if they were not watched in one of those.
func linesOf(views []*View) func(trace.Function) []trace.Lines {
	known := map[trace.Function][]trace.Lines{}
	for _, v := range views {
		for id, f := range v.Trace.Functions {
			known[f] = append(known[f], v.Trace.Lines[trace.FuncID(id)])
		}
	}
	return func(f trace.Function) []trace.Lines {
		if slices.ContainsFunc(known[f], func(l trace.Lines) bool { return l.States == "" }) {
			return nil
		}
		return known[f]
	}
}

// PromptMemory is what a node of the call tree takes while a prompt is made of it: its
// line, and the count of its tokens. TestMemoryIsInProportion measures it.
const PromptMemory = 4 << 10

// PromptFits returns a [*LargeTreeError] if a prompt about the views would take more
// memory than a trace of the store may.
func (s *Session) PromptFits(views []*View) error {
	for _, v := range views {
		if err := s.Store.Limit.Fits(max(v.bytes, v.Entry.Size), v.Tree.Size, PromptMemory); err != nil {
			return &LargeTreeError{Path: v.Entry.Path, Nodes: v.Tree.Size, Err: err}
		}
	}
	return nil
}

// LargeTreeError says that a call tree is too large for a prompt.
type LargeTreeError struct {
	Path  string // of the trace
	Nodes int
	Err   error // a [*trace.LimitError]
}

func (e *LargeTreeError) Error() string {
	return fmt.Sprintf("%s: no prompt of a call tree of %s nodes: %v", e.Path, phrase.Number(e.Nodes), e.Err)
}
func (e *LargeTreeError) Unwrap() error { return e.Err }

// EmptyReason says why a tree is empty.
type EmptyReason int

// The reasons.
const (
	NothingCalled EmptyReason = iota // no function of the recorded packages was called
	AllPruned                        // the baseline did all of it, too
	OnlyInit                         // all of it is package initialisation
	OutOfFocus                       // the focus is on functions that only the other run called
)

// EmptyTreeError says that nothing is left of a run to look at.
type EmptyTreeError struct {
	Trace string // its id
	Why   EmptyReason
}

func (e *EmptyTreeError) Error() string {
	return fmt.Sprintf("trace %s: the call tree is empty: %s", e.Trace, e.Why)
}

func (r EmptyReason) String() string {
	switch r {
	case NothingCalled:
		return "no function of the recorded packages was called"
	case AllPruned:
		return "the baseline made the same calls"
	case OutOfFocus:
		return "no function that the focus is on was called"
	}
	return "all of it is package initialisation"
}

// Empty returns an [*EmptyTreeError] if the view's tree has no node, and else nil.
func (v *View) Empty() error {
	switch e := (&EmptyTreeError{Trace: v.Entry.ID}); {
	case v.Tree.Size > 0:
		return nil
	case len(v.Trace.Nodes) == 0:
		return e
	case v.focus != nil && len(v.focus) == 0:
		e.Why = OutOfFocus
		return e
	case v.Pruned > 0:
		e.Why = AllPruned
		return e
	default:
		e.Why = OnlyInit
		return e
	}
}
