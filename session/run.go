package session

import (
	"tracerag/calltree"
	"tracerag/source"
	"tracerag/trace"
	"tracerag/trace/symbol"
)

// Run is a view as a face shows it: nothing in it holds a secret.
type Run struct {
	ID    string // of the trace
	Title string // command line
	Trace *trace.Trace
	Tree  *calltree.Tree // pruned and focused
	// Unpruned is the whole tree, of a run that is compared with another; nil: it is Tree.
	Unpruned *calltree.Tree
	Pruned   int      // nodes that the baseline did, too
	Base     string   // command line of that baseline
	Notes    []string // what was not recorded

	// Source returns the text of a function of this run.
	Source func(trace.Function) source.Text
	// File returns the name of a function's file, as trees have it.
	File func(*trace.Function) string
	// Dependency reports whether a function is of another module than the program.
	Dependency func(*trace.Function) bool
}

// Run returns a view as a face shows it.
func (s *Session) Run(v *View) *Run {
	source := func(f trace.Function) source.Text {
		t := v.Text(f)
		t.Doc, t.Signature, t.Body, t.Warning = s.Mask.Text(t.Doc), s.Mask.Text(t.Signature), s.Mask.Text(t.Body), s.Mask.Text(t.Warning)
		return t
	}
	return &Run{ID: v.Entry.ID, Title: v.Title(), Trace: v.Trace, Tree: v.Tree, Unpruned: v.unpruned, Pruned: v.Pruned, Base: v.Base, Notes: v.Notes(), Source: source, File: v.File, Dependency: v.Dependency}
}

// PrunedNote says what a baseline has left out of the tree; "" if nothing.
func (r *Run) PrunedNote() string { return prunedNote(r.Pruned, r.Base) }

// Lines returns what is known of which lines of a function, and of the literals in it, ran.
func (r *Run) Lines(f trace.Function) (lines []trace.Lines) {
	of := symbol.Canonical(f.Name)
	for id, other := range r.Trace.Functions {
		if l := r.Trace.Lines[trace.FuncID(id)]; l.States != "" && (other.Name == f.Name || symbol.Canonical(other.Name) == of) {
			lines = append(lines, l)
		}
	}
	return lines
}
