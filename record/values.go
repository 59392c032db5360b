package record

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"tracerag/calltree"
	"tracerag/trace"
	"tracerag/trace/breakpoint"
	"tracerag/trace/rebuild"
	"tracerag/trace/target"
)

// Values of a program that a go command has built for it are kept while it runs: nothing is run again.

// sameRun returns what keeps the values of a run, nil if a second run does, or nothing.
func (r *Runner) sameRun(tgt *target.Target) *rebuild.Values {
	if !r.Spec.Values.observed() || r.built == nil || r.Spec.Recorder.Name != Rebuild {
		return nil
	}
	v := &rebuild.Values{Calls: cmp.Or(r.Spec.Values.Calls, breakpoint.DefaultCalls)}
	// Handles and what a prompt keeps are known after the run.
	if slices.ContainsFunc(r.Spec.Values.Patterns, func(p string) bool { return p == AllFunctions || p == OwnFunctions || strings.HasPrefix(p, "#") }) {
		return v
	}
	var names []string
	for i := range tgt.Binary.Funcs {
		if f := &tgt.Binary.Funcs[i]; !f.Wrapper && tgt.Records(f.Package) {
			names = append(names, f.Name)
		}
	}
	wanted := map[string]bool{}
	for _, p := range r.Spec.Values.Patterns {
		found, _ := calltree.Match(p, names) // what matches nothing was said before
		for _, name := range found {
			wanted[name] = true
		}
	}
	v.Wanted = func(function string) bool { return wanted[function] }
	return v
}

// keep hangs the values that a run has kept into its trace.
func (r *Runner) keep(tr *trace.Trace, v *rebuild.Values) (*Observed, error) {
	if tr.Recorder != "rebuild" {
		return nil, errors.New("the program was not built for it")
	}
	c, err := r.choose(tr)
	if err != nil {
		return nil, err
	}
	seen := &breakpoint.Observation{Exit: tr.Exit}
	seen.Activations, seen.Full = v.Activations(tr, c.functions, c.mask)
	seen.Full = seen.Full || v.Missing > 0
	c.hang(tr, seen)
	return &Observed{Observation: seen, Trace: tr}, nil
}

// chosen is of which functions of a trace the values are kept, and what hides secrets in them.
type chosen struct {
	functions []string
	hider     Hider               // nil: nothing is hidden
	mask      func(string) string // nil likewise
}

// choose asks what the values of a trace are to be. Without a function that was called it is an error.
func (r *Runner) choose(tr *trace.Trace) (c chosen, err error) {
	if c.functions, err = r.Choose(tr); err != nil {
		return c, err
	}
	if len(c.functions) == 0 {
		return c, errNotCalled
	}
	if r.Hide != nil {
		if c.hider, err = r.Hide(tr); err != nil {
			return c, err
		}
		c.mask = c.hider.Text
	}
	return c, nil
}

// hang hangs values into a trace.
func (c chosen) hang(tr *trace.Trace, seen *breakpoint.Observation) {
	tr.Activations = seen.Activations
	if c.hider != nil {
		c.hider.Whole(tr)
	}
}

// errNotCalled says that there is nothing to observe.
var errNotCalled = errors.New("none of these functions was called")
