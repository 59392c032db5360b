package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tracerag/phrase"
	"tracerag/trace"
	"tracerag/trace/store"
	"tracerag/trace/target"
)

// Runner records what a Spec says. It is for one recording.
type Runner struct {
	Spec   Spec
	Store  *store.Store
	Events func(Event) // takes them; may be nil

	// Stdin is the program's standard input. If it is a file, the program has our own.
	Stdin io.Reader
	// Stdout and Stderr are where the go command prints, and tests that are recorded one
	// by one. Other programs have our own standard output and error.
	Stdout, Stderr io.Writer
	// Output takes what the program prints, in place of our own outputs; may be nil.
	Output *os.File

	// Choose returns the functions (linker names) of a recorded run whose values are
	// observed: those that Spec.Values means.
	Choose func(*trace.Trace) ([]string, error)
	// Hide returns what masks the secrets in a run's values; nil: they are kept.
	Hide func(*trace.Trace) (Hider, error)

	// Self is a command line that ends in a [Job], after the job's directory is added, and Tool one that ends in
	// [rebuild.Tool], after a tool with its arguments is added.
	Self, Tool []string
	// Keeper is a command line that ends in [probe.Keep]: for Spec.Children.
	Keeper []string

	refuge string // the directory of a trace that the store did not take; "": it took all
	built  *built // what the go command started us for; nil: it did not
}

// built is a program that a go command has built and started us in place of.
type built struct {
	args    []string // the program and its arguments
	dir     string   // in which it runs
	goArgs  []string // the go command
	program []string // the part of the typed command that represents it
	tests   bool
	timeout time.Duration // of each test; 0: none

	again     sync.Once // see Runner.again
	againDir  string    // "" none
	againPath string
	againErr  error
}

// A Hider masks the secrets of values.
type Hider interface {
	// Text masks a string of which the trace keeps a part: what is shown of it later is
	// too little to tell.
	Text(string) string
	// Whole masks in other values of a trace what was masked in a part of one.
	Whole(*trace.Trace)
}

// Recording is a finished and saved run.
type Recording struct {
	Trace *trace.Trace
	Entry store.Entry
	Name  string // of the trace, for commands: its id, or its file if that is not in the store
	Tests bool   // of go test: no arguments make the program only start
}

// interruptDelay is how long a signal that has been sent to us may take to be
// noticed, on a busy machine.
const interruptDelay = 200 * time.Millisecond

// args are the program that is run, and its arguments.
func (r *Runner) args() []string {
	if r.built != nil {
		return r.built.args
	}
	return r.Spec.Command
}

// target finds the program. What the go command would build has been taken before.
func (r *Runner) target() (*target.Target, error) {
	t, err := r.targetLater()
	if err != nil {
		return nil, err
	}
	return t, r.readyTarget(t)
}

// readyTarget waits for the program's functions: see [target.Target.Ready].
func (r *Runner) readyTarget(t *target.Target) error {
	if err := t.Ready(); err != nil {
		return &CannotRunError{Program: t.Args[0], Missing: r.isMissing(t.Args[0]), Err: err}
	}
	return nil
}

// targetLater is target, and does not wait for the program's functions.
func (r *Runner) targetLater() (*target.Target, error) {
	args := r.args()
	name := args[0]
	path := strings.ContainsAny(name, `/\`)
	if name == "." || name == ".." || path {
		if info, err := os.Stat(r.inDir(name)); err == nil && info.IsDir() {
			return nil, &CannotRunError{Program: name, Err: fmt.Errorf("%s is a directory without Go files", phrase.Quote(name))}
		}
	}
	t, err := target.FindLater(args, r.Spec.Dir, r.Spec.Include, r.Spec.Exclude)
	if errors.Is(err, fs.ErrNotExist) && path {
		err = fmt.Errorf("program %s not found", phrase.Quote(name))
	}
	if err != nil {
		return nil, &CannotRunError{Program: name, Missing: r.isMissing(name), Err: err}
	}
	if r.built != nil {
		t.Dir = r.built.dir
	}
	return t, nil
}

// isMissing reports whether a program is missing: an error may be about any file.
func (r *Runner) isMissing(name string) bool {
	if strings.ContainsAny(name, `/\`) {
		name = r.inDir(name)
	}
	_, err := exec.LookPath(name)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound)
}

// inDir is the path of a file that was named in the Spec's directory.
func (r *Runner) inDir(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.Spec.Dir, name)
}

// Run runs the baseline, if one is to be run, and then the program. A run that was
// made is returned also with an error: its trace is not saved then.
func (r *Runner) Run(ctx context.Context) (*Recording, error) {
	tgt, err := r.targetLater()
	if err == nil && (r.Spec.Baseline != "" || r.Spec.Values.observed()) {
		err = r.readyTarget(tgt) // before anything is run
	}
	if err != nil {
		return nil, err
	}
	tgt.Output = r.Output
	choice, err := r.findBaseline()
	if err == nil {
		err = r.checkValues(tgt)
	}
	if err == nil {
		err = r.checkStore(choice)
	}
	var second *secondRun
	values := r.sameRun(tgt)
	if err == nil && r.Spec.Values.observed() && values == nil {
		second, err = r.planSecond()
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := r.limited(ctx, 0)
	defer cancel()
	baseline, err := r.baseline(ctx, tgt, choice)
	if err == nil {
		err = r.timeOver(ctx)
	}
	if err != nil {
		return nil, err
	}
	if second != nil && r.built == nil {
		r.event(RunsTwice{Command: tgt.Args})
	}
	begin, end := untilSaved()
	defer end()
	tr, err := r.oneStarted(ctx, tgt, values, begin)
	if over := r.timeOver(ctx); over != nil && errors.Is(err, context.DeadlineExceeded) {
		err = over
	}
	if err != nil {
		return nil, &CannotRunError{Program: tgt.Args[0], Missing: r.isMissing(tgt.Args[0]), Err: err}
	}
	tr.Baseline = baseline
	if r.built != nil {
		tr.Command = r.Spec.Command
	}
	switch {
	case second != nil:
		err = r.observe(ctx, tgt, tr, second)
	case values != nil:
		var seen *Observed
		if seen, err = r.keep(tr, values); err == nil {
			r.event(*seen)
		}
	}
	if err != nil {
		r.event(NoValues{Err: err})
	}
	e, err := r.save(tr)
	return r.recording(tr, e), err
}

func (r *Runner) recording(tr *trace.Trace, e store.Entry) *Recording {
	return &Recording{Trace: tr, Entry: e, Name: nameOf(r.Store, e), Tests: r.built != nil && r.built.tests}
}

// limited returns a context that ends some time after the run's deadline, if it has
// one.
func (r *Runner) limited(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	if r.Spec.Deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, r.Spec.Deadline.Add(after))
}

// timeOver is the error of a run whose time limit was reached before the program was
// started.
func (r *Runner) timeOver(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &TimeOverError{Limit: r.Spec.Limit}
	}
	return nil
}
