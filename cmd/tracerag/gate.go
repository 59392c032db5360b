package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"tracerag/atomicfile"
	"tracerag/output"
	"tracerag/phrase"
	"tracerag/record"
	"tracerag/session"
	"tracerag/trace"
	"tracerag/trace/gocmd"
	"tracerag/trace/store"
)

// compare --gate is a test of behaviour: a run of a command now against one that was
// found right. What is kept of that is its portable trace, a file that changes only
// when the behaviour does, and so can be reviewed and checked in.

// gateFlags are those of compare --gate.
type gateFlags struct {
	baseline string
	update   bool
	spec     record.Spec
}

func (g *gateFlags) add(f *pflag.FlagSet) {
	f.StringVar(&g.baseline, "gate", "", "record the command that follows, and compare the run with this `REFERENCE`:\na trace, or a file that --update wrote")
	f.BoolVar(&g.update, "update", false, "with --gate: write the file REFERENCE from this run, unless they are equal")
	addPackages(f, &g.spec)
}

// gateContext is how many calls of the same caller are shown on each side of the
// first divergence.
const gateContext = 4

// gate runs the command and holds it against the baseline.
func (a *app) gate(ctx context.Context, command []string, g *gateFlags, t *treeFlags, o *compareFlags, ignore session.Ignored) (int, error) {
	s, err := a.store()
	if err != nil {
		return 0, err
	}
	base, entry, err := g.load(a, s)
	if err != nil {
		return 0, err
	}
	if base != nil && len(g.spec.Include)+len(g.spec.Exclude) == 0 {
		g.spec.Include, g.spec.Exclude = base.Include, base.Exclude
	}
	rec, err := a.recordGate(ctx, s, command, g.spec)
	if err != nil {
		return 0, err
	}
	a.masker().Learn(rec.Trace, session.Sources(rec.Trace, t.sourceDir), session.WithoutSources)
	if rec.Trace, err = a.masker().Alone(rec.Trace); err != nil { // also for the file: it is to be checked in
		return 0, err
	}
	if base == nil {
		return exitOK, a.writeBaseline(g.baseline, rec.Trace)
	}
	if t.baseline == "" {
		t.baseline = "none" // the file may have left behind what it was pruned by
	}
	if base, err = a.masker().Alone(base); err != nil {
		return 0, err
	}
	now := rec.Trace
	now = a.masker().Trace(now)
	views := []*session.View{{Trace: base, Entry: entry}, {Trace: now, Entry: rec.Entry}}
	if err := a.session(s).Look(views, t.options()); err != nil {
		return 0, err
	}
	d := session.Compare(views[0], views[1], ignore)
	if d.A.Size+d.B.Size == 0 {
		return 0, errors.New("nothing is left to compare (--ignore, --include): this gate would always pass")
	}
	err = a.printDiff(views, d, o, func() error {
		if o.depth+o.nodes > 0 {
			return d.WriteText(a.stdout, a.diffView(views, o))
		}
		return d.WriteContext(a.stdout, a.diffView(views, o), gateContext)
	})
	if err != nil {
		return 0, err
	}
	a.noteSetting(base, rec.Trace)
	a.notePackages(views)
	equal := d.Equal()
	if base.Exit != rec.Trace.Exit {
		equal = false
		a.note("%s, and of the baseline %s", rec.Trace.Exit, base.Exit)
	}
	switch {
	case equal && g.update:
		a.note("%s stays as it is", g.baseline)
		return exitOK, nil
	case equal:
		return exitOK, nil
	case g.update:
		return exitOK, a.writeBaseline(g.baseline, rec.Trace)
	}
	name, right := entry.ID, ""
	if isFile(g.baseline) {
		name, right = phrase.Quote(g.baseline), "\nor, if it is right now, the same command with --update"
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

// load loads the baseline; there need be none where --update is to make it.
func (g *gateFlags) load(a *app, s *store.Store) (*trace.Trace, store.Entry, error) {
	if g.update && !isFile(g.baseline) {
		return nil, store.Entry{}, fmt.Errorf("--update writes a file, and %q names none: give a path such as ./testdata/border.pb.gz", g.baseline)
	}
	if isFile(g.baseline) {
		switch _, err := os.Stat(g.baseline); {
		case errors.Is(err, fs.ErrNotExist) && g.update:
			return nil, store.Entry{}, nil
		case errors.Is(err, fs.ErrNotExist):
			return nil, store.Entry{}, fmt.Errorf("baseline %s not found: run the same command with --update to make it from a correct run", g.baseline)
		}
	}
	tr, e, err := a.session(s).Load(g.baseline)
	if err != nil {
		return nil, e, fmt.Errorf("--gate: %w", err)
	}
	if tr.Sampled {
		return nil, e, fmt.Errorf("--gate: %s is a sampled trace: sampled traces cannot prove that a call is absent", g.baseline)
	}
	return tr, e, nil
}

// isFile reports whether a name is meant for a file, not for a trace of the store.
func isFile(name string) bool {
	return strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".gz")
}

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

// noteSetting says how the runs were made differently, which may be why they differ.
func (a *app) noteSetting(base, now *trace.Trace) {
	made := func(tr *trace.Trace) string {
		p := &tr.Program
		return fmt.Sprintf("%s, %s/%s, recorder %s", p.GoVersion, p.GOOS, p.GOARCH, tr.Recorder)
	}
	if made(base) != made(now) {
		a.note("the baseline is of %s; this run of %s", made(base), made(now))
	}
}

// writeBaseline writes what of a trace is the same everywhere. It is for many to read:
// secrets on the command line are masked.
func (a *app) writeBaseline(path string, tr *trace.Trace) error {
	masked, err := a.masker().Alone(tr.Portable())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := atomicfile.Write(path, masked.Write); err != nil {
		return fmt.Errorf("the baseline was not written: %w", err)
	}
	a.note("%s is the baseline now: %s of %s (%s)", path, phrase.Plural(tr.Calls(), "call", "calls"), phrase.Plural(len(tr.Functions), "function", "functions"), tr.Exit)
	return nil
}
