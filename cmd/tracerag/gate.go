package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"tracerag/output"
	"tracerag/phrase"
	"tracerag/record"
	"tracerag/session"
	"tracerag/trace"
	"tracerag/trace/gocmd"
	"tracerag/trace/store"
)

// gateFlags are those of compare --gate.
type gateFlags struct {
	reference string
	update    bool
	spec      record.Spec
}

func (g *gateFlags) add(f *pflag.FlagSet) {
	f.StringVar(&g.reference, "gate", "", "record the command that follows, and compare the run with this `REFERENCE`:\na trace, or a file that --update wrote")
	f.BoolVar(&g.update, "update", false, "with --gate: write the file REFERENCE from this run, unless they are equal")
	addPackages(f, &g.spec)
}

// gateContext is how many calls of the same caller are shown on each side of the
// first divergence.
const gateContext = 4

// gate runs the command and compares the run with the reference.
func (a *app) gate(ctx context.Context, command []string, g *gateFlags, t *treeFlags, o *compareFlags, ignore session.Ignored) (int, error) {
	if g.update && !session.IsFile(g.reference) {
		return 0, fmt.Errorf("--update writes a file, and %q names none: give a path such as ./testdata/border.pb.gz", g.reference)
	}
	s, err := a.store()
	if err != nil {
		return 0, err
	}
	look := a.session(s)
	ref, err := look.Reference(g.reference)
	if err != nil && !(g.update && isA[*session.NoReferenceError](err)) {
		return 0, fmt.Errorf("--gate: %w", err)
	}
	if base := ref.Trace; base != nil && len(g.spec.Include)+len(g.spec.Exclude) == 0 {
		g.spec.Include, g.spec.Exclude = base.Include, base.Exclude
	}
	rec, err := a.recordGate(ctx, s, command, g.spec)
	if err != nil {
		return 0, err
	}
	got, err := look.Gate(ref, rec.Trace, rec.Entry, t.options(), ignore)
	if err != nil {
		return 0, err
	}
	if got.Diff == nil {
		return exitOK, a.writeReference(look, g.reference, got.Run)
	}
	err = a.printDiff(got.Views, got.Diff, o, func() error {
		if o.depth+o.nodes > 0 {
			return got.Diff.WriteText(a.stdout, a.diffView(got.Views, o))
		}
		return got.Diff.WriteContext(a.stdout, a.diffView(got.Views, o), gateContext)
	})
	if err != nil {
		return 0, err
	}
	for _, n := range got.Notes {
		a.note("%s", n)
	}
	switch {
	case got.Equal && g.update:
		a.note("%s stays as it is", g.reference)
		return exitOK, nil
	case got.Equal:
		return exitOK, nil
	case g.update:
		return exitOK, a.writeReference(look, g.reference, got.Run)
	}
	name, right := ref.Entry.ID, ""
	if session.IsFile(g.reference) {
		name, right = phrase.Quote(g.reference), "\nor, if it is right now, the same command with --update"
	}
	a.note("the run is not that of the baseline. Next:\ntracerag compare%s %s %s%s%s", a.dirFlag(), name, phrase.Quote(rec.Name), ignoreFlags(o.ignore), right)
	return exitFailure, nil
}

func ignoreFlags(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return " --ignore=" + phrase.Quote(strings.Join(words, ","))
}

// errNotOneRun is for commands that run several programs where one is needed.
var errNotOneRun = errors.New("a gate compares one run: name one package, and no more")

// recordGate records the one program that the command runs. What it prints is not
// what compare prints.
func (a *app) recordGate(ctx context.Context, s *store.Store, command []string, spec record.Spec) (*record.Recording, error) {
	spec.Command, spec.Dir = command, a.cwd
	r, err := a.runner(s, spec, chooses{})
	if err != nil {
		return nil, err
	}
	r.Stdout, r.Output = r.Stderr, output.File(a.stderr)
	g, err := gocmd.Find(ctx, command, a.cwd)
	if err != nil {
		return nil, err
	}
	out, err := runSpec(ctx, r, g)
	switch {
	case err != nil:
		return nil, err
	case len(out.runs) == 0:
		return nil, fmt.Errorf("%s: nothing was recorded (exit code %d)", phrase.CommandLine(command), out.code)
	case len(out.runs) > 1:
		return nil, fmt.Errorf("%s ran %d programs: %w", phrase.CommandLine(command), len(out.runs), errNotOneRun)
	}
	return out.runs[0], nil
}

// writeReference writes the file that runs are compared with from now on.
func (a *app) writeReference(look *session.Session, path string, tr *trace.Trace) error {
	if err := look.WriteReference(path, tr); err != nil {
		return err
	}
	a.note("%s is the baseline now: %s (%s)", path, callsOfFunctions(tr.Calls(), len(tr.Functions)), tr.Exit)
	return nil
}
