package session

import (
	"errors"
	"fmt"
	"strings"

	"tracerag/calltree"
	"tracerag/prompt"
	"tracerag/redact"
	"tracerag/trace"
)

// Patterns of [Session.ValueFunctions] that are no names.
const (
	AllFunctions = "all"
	OwnFunctions = "own" // those of the program's own module
)

// ValueFunctions returns the functions (linker names, in the order of their first calls)
// of a run that patterns mean and whose values are to be observed. AllFunctions and
// OwnFunctions are those of the tree that the options choose; names may be of any
// function. With a prompt, OwnFunctions are those of which that has the whole source. A
// pattern that matches nothing goes to Session.Warn, as a [*NotCalledError].
func (s *Session) ValueFunctions(tr *trace.Trace, o TreeOptions, patterns []string, p *prompt.Options, question string) ([]string, error) {
	v := &View{Trace: tr}
	if err := s.Look([]*View{v}, o); err != nil {
		return nil, err
	}
	whole, err := calltree.Build(tr, calltree.Options{})
	if err != nil {
		return nil, err
	}
	var kept func() ([]string, error)
	if p != nil {
		kept = func() ([]string, error) {
			made, err := prompt.Build(s.Input(question, v), *p)
			if err != nil {
				return nil, err
			}
			return made.WholeFunctions(), nil
		}
	}
	chosen := map[string]bool{}
	for _, pattern := range patterns {
		names, err := v.valueFunctions(pattern, whole, kept)
		var missing *calltree.NotFoundError
		switch {
		case errors.As(err, &missing): // the other functions have theirs
			s.warn(&NotCalledError{Pattern: pattern, Err: missing})
			continue
		case err != nil:
			return nil, fmt.Errorf("values: %w", err)
		}
		for _, n := range names {
			chosen[n] = true
		}
	}
	var out []string
	for _, f := range tr.Functions {
		if chosen[f.Name] {
			out = append(out, f.Name)
		}
	}
	return out, nil
}

// valueFunctions are the linker names of the functions that a pattern means.
func (v *View) valueFunctions(pattern string, whole *calltree.Tree, kept func() ([]string, error)) (names []string, err error) {
	switch {
	case pattern == OwnFunctions && kept != nil:
		return kept()
	case pattern != AllFunctions && pattern != OwnFunctions:
		return whole.Functions(pattern)
	}
	v.Tree.Walk(func(n *calltree.Node, _ int) bool {
		if pattern == AllFunctions || own(&v.Trace.Program, n.Func.Package) {
			names = append(names, n.Func.Name)
		}
		return true
	})
	return names, nil
}

// own reports whether a package is of the program's own module.
func own(p *trace.Program, pkg string) bool {
	main := p.Main.Path
	return pkg == "main" || pkg == p.MainPath || main != "" && (pkg == main || strings.HasPrefix(pkg, main+"/"))
}

// NotCalledError says that no function was called that a pattern means.
type NotCalledError struct {
	Pattern string
	Err     *calltree.NotFoundError
}

func (e *NotCalledError) Error() string {
	if strings.HasPrefix(e.Pattern, "#") {
		return "values: " + e.Err.Error()
	}
	return fmt.Sprintf("values: no function %s was called", e.Pattern)
}

func (e *NotCalledError) Unwrap() error { return e.Err }

// Hider masks the secrets of strings of which a trace keeps a part: what is shown of
// them later is too little to tell. Other strings are saved as they are, unless they
// hold the same secret.
type Hider struct{ r *redact.Redactor }

// Hide returns what masks the secrets in a run's values. Where the program has them from
// tells more than their forms do, so it learns from the sources.
func (m *Masker) Hide(tr *trace.Trace) (*Hider, error) {
	m.Learn(tr, Sources(tr, nil), WithSources)
	return &Hider{m.Redactor().Numbered()}, m.Err()
}

// Text masks a string that the trace keeps a part of.
func (h *Hider) Text(text string) string { return h.r.Text(text) }

// Whole masks in other values what was masked in a part of one: later it could not be
// recognised as a secret.
func (h *Hider) Whole(tr *trace.Trace) {
	if len(h.r.Findings()) == 0 {
		return
	}
	known := h.r.Placed()
	for v := range tr.EachValue() {
		v.Text = known.Known(v.Text, false)
	}
}

// HaveValues returns a [*NoValuesError] for a run of which no values are known: it would
// equal any other.
func HaveValues(views []*View) error {
	for _, v := range views {
		if len(v.Trace.Activations) == 0 {
			return &NoValuesError{Trace: v.Entry.ID}
		}
	}
	return nil
}

// NoValuesError says that a trace has no arguments and results.
type NoValuesError struct{ Trace string } // its id

func (e *NoValuesError) Error() string {
	return fmt.Sprintf("trace %s has no arguments and results", e.Trace)
}
