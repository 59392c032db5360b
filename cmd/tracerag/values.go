package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"tracerag/calltree"
	"tracerag/phrase"
	"tracerag/prompt"
	"tracerag/redact"
	"tracerag/session"
	"tracerag/trace"
	"tracerag/trace/breakpoint"
	"tracerag/trace/store"
	"tracerag/trace/target"
)

// run --values runs the program a second time, under a debugger, to see what its
// functions are given and return. The first run is the one that the user sees.

// ownFunctions is the value of --values without a value.
const ownFunctions = "own"

// valueFlags say of which functions values are observed.
type valueFlags struct {
	patterns []string
	calls    int
}

func (v *valueFlags) add(f *pflag.FlagSet) {
	f.StringSliceVar(&v.patterns, "values", nil, "run the program a second time, and show arguments and results of these functions:\n`FUNC`,... as in --focus; all; or own, those of the program's own module (with\n--budget, those that the prompt keeps in full)")
	f.Lookup("values").NoOptDefVal = ownFunctions
	f.IntVar(&v.calls, "values-calls", breakpoint.DefaultCalls, "of the first `N` calls of each function by each caller")
}

func (v *valueFlags) check() error {
	if v.calls < 1 || v.calls > trace.MaxActivations {
		return fmt.Errorf("--values-calls=%d: 1 to %d", v.calls, trace.MaxActivations)
	}
	return nil
}

// values of a run: what is observed, and how the functions are chosen once the run's
// trace is there.
type valuePlan struct {
	flags  *valueFlags
	choose func(s *store.Store, tr *trace.Trace) ([]string, error) // linker names
}

// planValues returns the plan of a command line.
func (a *app) planValues(v *valueFlags, t *treeFlags, p *promptFlags, question *string) *valuePlan {
	return &valuePlan{v, func(s *store.Store, tr *trace.Trace) ([]string, error) {
		vw := &session.View{Trace: tr}
		if err := a.session(s).Look([]*session.View{vw}, t.options()); err != nil {
			return nil, err
		}
		whole, err := calltree.Build(tr, calltree.Options{})
		if err != nil {
			return nil, err
		}
		chosen := map[string]bool{}
		for _, pattern := range v.patterns {
			names, err := a.valueFunctions(s, pattern, vw, whole, p, *question)
			var missing *calltree.NotFoundError
			switch {
			case errors.As(err, &missing): // the other functions have theirs
				if strings.HasPrefix(pattern, "#") {
					a.complain("values: %v", err)
				} else { // the program has it: see checkValues
					a.complain("values: no function %s was called", pattern)
				}
				continue
			case err != nil:
				return nil, fmt.Errorf("--values: %w", err)
			}
			for _, n := range names {
				chosen[n] = true
			}
		}
		var out []string
		for _, f := range tr.Functions { // in the order of their first calls
			if chosen[f.Name] {
				out = append(out, f.Name)
			}
		}
		return out, nil
	}}
}

// checkValues finds out before the program runs which names it cannot have values for:
// those of no function that is recorded. They are left out, and the others go on. That
// all of them are such is an error, but for tests of several packages, each of which has
// functions of its own.
func (a *app) checkValues(tgt *target.Target, r *runFlags) error {
	var kept []string
	var last error
	for _, pattern := range r.valueFlags.patterns {
		err := error(nil)
		if pattern != "all" && pattern != ownFunctions && !strings.HasPrefix(pattern, "#") {
			err = hasFunction(tgt, pattern)
		}
		if err == nil {
			kept = append(kept, pattern)
			continue
		}
		if last != nil {
			a.complain("values: %v", last)
		}
		last = err
	}
	if last != nil && len(kept) == 0 && !r.tests {
		return fmt.Errorf("no values: %w", last)
	}
	if last != nil {
		a.complain("values: %v", last)
	}
	r.valueFlags.patterns = kept
	return nil
}

// hasFunction returns an error if no recorded function of a program is meant by a
// pattern.
func hasFunction(tgt *target.Target, pattern string) error {
	var own, inlined, others []string
	for i := range tgt.Binary.Funcs {
		f := &tgt.Binary.Funcs[i]
		switch {
		case f.Wrapper:
		case tgt.Records(f.Package):
			own = append(own, f.Name)
		default:
			others = append(others, f.Name)
		}
	}
	_, err := calltree.Match(pattern, own)
	var missing *calltree.NotFoundError
	if !errors.As(err, &missing) {
		return err
	}
	// The tables of inlined calls take their time, and few names need them.
	for i := range tgt.Binary.Funcs {
		for _, c := range tgt.Binary.Inlined(&tgt.Binary.Funcs[i]) {
			if tgt.Records(c.Package) {
				inlined = append(inlined, c.Name)
			} else {
				others = append(others, c.Name)
			}
		}
	}
	if _, err := calltree.Match(pattern, inlined); err == nil {
		return nil
	}
	if found, err := calltree.Match(pattern, others); err == nil && !strings.Contains(pattern, "*") {
		return fmt.Errorf("calls of %s are not recorded: name its package with --include, too", found[0])
	}
	missing.Within = "the program"
	return missing
}

// valueFunctions are the linker names of the functions that a pattern means.
func (a *app) valueFunctions(s *store.Store, pattern string, v *session.View, whole *calltree.Tree, p *promptFlags, question string) (names []string, err error) {
	add := func(n *calltree.Node, _ int) bool {
		names = append(names, n.Func.Name)
		return true
	}
	switch pattern {
	case "all":
		v.Tree.Walk(add)
		return names, nil
	case ownFunctions:
		if p.budget != "" {
			return a.keptFunctions(s, v, p, question)
		}
		v.Tree.Walk(func(n *calltree.Node, depth int) bool {
			if own(&v.Trace.Program, n.Func.Package) {
				add(n, depth)
			}
			return true
		})
		return names, nil
	}
	return whole.Functions(pattern)
}

// keptFunctions are those of which the prompt for a question has the whole source.
func (a *app) keptFunctions(s *store.Store, v *session.View, p *promptFlags, question string) (names []string, err error) {
	o, err := a.promptOptions(p)
	if err != nil {
		return nil, err
	}
	look := session.Session{Store: s} // nothing of it is shown
	pr, err := prompt.Build(look.Input(question, v), o)
	if err != nil {
		return nil, err
	}
	for _, f := range pr.Functions {
		if f.Tier != prompt.TierFull {
			continue
		}
		for _, fn := range f.Holds {
			names = append(names, fn.Name)
		}
	}
	return names, nil
}

// own reports whether a package is of the program's own module.
func own(p *trace.Program, pkg string) bool {
	main := p.Main.Path
	return pkg == "main" || pkg == p.MainPath || main != "" && (pkg == main || strings.HasPrefix(pkg, main+"/"))
}

// inputAgain returns what makes our standard input ready for a second run, or why
// there cannot be one. What a terminal had to say is not said again: empty is true then.
func inputAgain(stdin io.Reader) (rewind func() error, empty bool, err error) {
	f, ok := stdin.(*os.File)
	if !ok {
		return func() error { return nil }, true, nil
	}
	info, err := f.Stat()
	if err != nil { // it is closed
		return func() error { return nil }, true, nil
	}
	switch {
	case info.Mode().IsRegular() && runtime.GOOS == "linux":
		at, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, false, err
		}
		return func() error { _, err := f.Seek(at, io.SeekStart); return err }, false, nil
	case info.Mode()&os.ModeCharDevice != 0:
		return func() error { return nil }, true, nil
	}
	return nil, false, errors.New("--values runs the program twice, and standard input can be read only once: redirect it from a file (< FILE), or from /dev/null if the program reads nothing")
}

// noteTwice says what a second run means before there is a first.
func (a *app) noteTwice(command []string) {
	a.note("values: %s will run twice, the second time without output: what it changes is changed twice", phrase.CommandLine(command))
}

// patience is how long a second run may take: one under a debugger needs longer than
// the first. Where somebody ended the first, the second ends by itself no more than
// that one did.
func patience(tr *trace.Trace) time.Duration {
	if tr.Exit.Signal != "" {
		return 5*time.Second + tr.Duration
	}
	return 30*time.Second + 2*tr.Duration
}

// observe runs the program again and hangs the values that it sees into tr, which is
// left as it is when that fails.
func (a *app) observe(ctx context.Context, s *store.Store, tgt *target.Target, tr *trace.Trace, r *runFlags, rewind func() error, empty bool) {
	err := a.tryObserve(ctx, s, tgt, tr, r, rewind, empty)
	if err != nil {
		a.complain("no values: %v", err)
	}
}

func (a *app) tryObserve(ctx context.Context, s *store.Store, tgt *target.Target, tr *trace.Trace, r *runFlags, rewind func() error, empty bool) error {
	if r.over(ctx) != nil {
		return fmt.Errorf("the deadline expired before the second run (--time-limit=%s)", r.limit)
	}
	functions, err := r.values.choose(s, tr)
	if err != nil {
		return err
	}
	if len(functions) == 0 {
		return errors.New("none of these functions was called")
	}
	hide, err := a.hider(tr)
	if err != nil {
		return err
	}
	if err := rewind(); err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	again := *tgt
	again.Silent, again.NoInput, again.Output = empty, empty, null
	if empty {
		again.Output = nil
	}
	a.note("values: running %s again for %s, without output", phrase.CommandLine(tr.Command), phrase.Plural(len(functions), "function", "functions"))
	if empty && terminal(a.stdin) {
		a.note("values: what is typed cannot be read twice: this run has an empty standard input")
	}
	// Who interrupts this run has the first one, and what was seen of this one.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	seen, err := breakpoint.Observe(ctx, &again, tr, breakpoint.ObserveOptions{
		Functions: functions, Calls: r.values.flags.calls, MaxHits: r.recorder.maxHits, MaxStops: r.recorder.maxStops,
		Limit: patience(tr), Warn: a.note, Mask: hide.mask(),
	})
	if err != nil {
		return err
	}
	tr.Activations = seen.Activations
	hide.whole(tr)
	a.observed(seen, tr, ctx.Err())
	return nil
}

// hider masks the secrets of strings of which the trace keeps a part: what is shown of
// them later is too little to tell. Other strings are saved as they are, unless they
// hold the same secret.
type hider struct{ r *redact.Redactor }

func (a *app) hider(tr *trace.Trace) (hider, error) {
	if a.noRedact {
		return hider{}, nil
	}
	// Where the program has them from tells more than their forms do.
	a.masker().Learn(tr, session.Sources(tr, nil), session.WithSources)
	return hider{a.masker().Redactor().Numbered()}, a.masker().Err()
}

func (h hider) mask() func(string) string {
	if h.r == nil {
		return nil
	}
	return h.r.Text
}

// whole masks in other values what was masked in a part of one: nobody could tell later
// that it is secret.
func (h hider) whole(tr *trace.Trace) {
	if h.r == nil || len(h.r.Findings()) == 0 {
		return
	}
	known := h.r.Placed()
	for v := range tr.EachValue() {
		v.Text = known.Known(v.Text, false)
	}
}

// observed says what a second run has shown, and what it has not.
func (a *app) observed(seen *breakpoint.Observation, tr *trace.Trace, ended error) {
	nodes := map[trace.NodeID]bool{}
	for i := range seen.Activations {
		nodes[seen.Activations[i].Node] = true
	}
	a.note("values: of %s of %s", phrase.Plural(len(seen.Activations), "call", "calls"), phrase.Plural(len(nodes), "node", "nodes"))
	switch {
	case errors.Is(ended, context.DeadlineExceeded):
		a.note("values: the deadline of --time-limit expired: some values may be missing")
	case ended != nil:
		a.note("values: interrupted: some values may be missing")
	case seen.TimedOut:
		a.note("values: that run took too long and was ended: some values may be missing")
	case seen.Full:
		a.note("values: the trace's limit for values is reached: name fewer functions (--values=FUNC)")
	}
	if ended == nil && !seen.TimedOut && seen.Exit.Known() {
		if other := differences(seen, tr); len(other) > 0 {
			a.note("values: the second run did not do what the first did: %s", strings.Join(other, "; "))
		}
	}
	if seen.Unclear > 0 {
		a.note("values: %s could not be matched to the first run: several functions start their goroutine", phrase.Plural(seen.Unclear, "call", "calls"))
	}
	a.without(seen.NotEntered, "the compiler has inlined (go run, or -gcflags=all=-l, keeps their calls)")
	a.without(seen.Unknown, "DWARF does not describe")
}

// differences says in what a second run was another one than the first. What it printed
// is not compared: the first one's output was the user's alone.
func differences(seen *breakpoint.Observation, tr *trace.Trace) (out []string) {
	if seen.Exit != tr.Exit {
		out = append(out, fmt.Sprintf("it ended with %s, the first with %s", seen.Exit, tr.Exit))
	}
	if n := len(seen.NotCalled); n > 0 {
		first := seen.NotCalled[0]
		verb := "were"
		if n == 1 {
			verb = "was"
		}
		out = append(out, fmt.Sprintf("%s of %s %s not called, first %s%s", phrase.Number(n), phrase.Plural(seen.Watched, "function", "functions"), verb,
			calltree.ShortName(first), declaredAt(tr, first)))
	}
	if seen.Unmatched > 0 {
		out = append(out, fmt.Sprintf("%s made where the first has none, first of %s", phrase.Plural(seen.Unmatched, "call was", "calls were"), calltree.ShortName(seen.FirstOther)))
	}
	return out
}

// declaredAt is where a function of a trace begins, for a message.
func declaredAt(tr *trace.Trace, name string) string {
	i := slices.IndexFunc(tr.Functions, func(f trace.Function) bool { return f.Name == name })
	if i < 0 || tr.Functions[i].StartLine == 0 {
		return ""
	}
	f := &tr.Functions[i]
	return fmt.Sprintf(" (%s:%d)", path.Base(strings.ReplaceAll(f.File, "\\", "/")), f.StartLine)
}

// without names functions of which there are no values.
func (a *app) without(names []string, why string) {
	if len(names) == 0 {
		return
	}
	const most = 3
	short := make([]string, 0, most)
	for _, n := range names[:min(most, len(names))] {
		short = append(short, calltree.ShortName(n))
	}
	more := ""
	if n := len(names) - most; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	a.note("values: none of %s%s, which %s", strings.Join(slices.Clip(short), ", "), more, why)
}
