package record

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"tracerag/calltree"
	"tracerag/trace"
	"tracerag/trace/breakpoint"
	"tracerag/trace/executable"
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
		if f := &tgt.Binary.Funcs[i]; wantable(tgt, f) {
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
	v.Wanted = func(function, _ string) bool { return wanted[function] }
	return v
}

func wantable(tgt *target.Target, f *executable.Func) bool {
	return !f.Wrapper && tgt.Records(f.Package)
}

// keep hangs the values that a run has kept into its trace.
func (r *Runner) keep(tr *trace.Trace, v *rebuild.Values) (*Observed, error) {
	if tr.Recorder != "rebuild" {
		return nil, errors.New("the program was not built for it")
	}
	functions, err := r.Choose(tr)
	if err != nil {
		return nil, err
	}
	if len(functions) == 0 {
		return nil, errNotCalled
	}
	var hider Hider
	var mask func(string) string
	if r.Hide != nil {
		if hider, err = r.Hide(tr); err != nil {
			return nil, err
		}
		mask = hider.Text
	}
	seen := &breakpoint.Observation{Exit: tr.Exit}
	seen.Activations, seen.Full = v.Activations(tr, functions, mask)
	seen.Full = seen.Full || v.Missing > 0
	tr.Activations = seen.Activations
	if hider != nil {
		hider.Whole(tr)
	}
	return &Observed{Observation: seen, Trace: tr}, nil
}

// errNotCalled says that there is nothing to observe.
var errNotCalled = errors.New("none of these functions was called")
