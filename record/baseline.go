package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"tracerag/phrase"
	"tracerag/trace"
	"tracerag/trace/store"
	"tracerag/trace/target"
)

// A baseline that fails is most likely none: the program did not know the arguments, or
// took them for something else, maybe for its work. So nothing is pruned by it unless
// the user names its trace. It may be a start anyway, where --help ends with 2.

// baselineChoice is the value of Spec.Baseline, understood.
type baselineChoice struct {
	id    string   // of a trace, of the program in package main of
	main  string   // this import path; or else
	words []string // arguments to run the program with first
}

// findBaseline understands Spec.Baseline. A value that names a trace is one; any other
// is arguments.
func (r *Runner) findBaseline() (b baselineChoice, err error) {
	value := r.Spec.Baseline
	if value == "" {
		return b, nil
	}
	tr, e, err := r.Store.LoadBaseline(value)
	if err == nil {
		return baselineChoice{id: e.ID, main: tr.Program.MainPath}, nil
	}
	if !strings.HasPrefix(value, "@") && !strings.HasSuffix(value, ".gz") {
		if b.words, err = phrase.Split(value); err != nil {
			err = fmt.Errorf("%s: %w", value, err)
		}
	}
	if err != nil {
		return b, &BaselineError{Err: err}
	}
	return b, nil
}

// checkStore finds out, before a program runs for nothing, whether traces of it can be
// saved.
func (r *Runner) checkStore(b baselineChoice) error {
	if b.words != nil {
		if err := r.Store.Baselines().Check(); err != nil {
			return err
		}
	}
	return r.Store.Check()
}

// baseline returns the id of the trace that is to be pruned by, "" for none. It runs the
// program if it has to.
func (r *Runner) baseline(ctx context.Context, tgt *target.Target, b baselineChoice) (string, error) {
	if b.words == nil {
		if of := tgt.Binary.MainPath; b.main != "" && of != "" && b.main != of {
			r.event(BaselineOfOther{ID: b.id, Of: b.main, This: of})
		}
		return b.id, nil
	}
	base := *tgt
	base.Args = append([]string{tgt.Args[0]}, b.words...)
	command := base.Args
	if r.built != nil {
		command = slices.Concat(r.built.program, b.words)
	}
	r.event(BaselineStarts{Command: command})
	// Anyone who interrupts this run does not want the program to be started after it.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	tr, said, err := r.runBaseline(ctx, &base)
	if err == nil && tr.Exit != (trace.Exit{}) {
		// The interrupt key is the program's, too. It may have ended before our
		// own signal has come through to ctx.
		select {
		case <-ctx.Done():
		case <-time.After(interruptDelay):
		}
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return "", ErrInterrupted
	case err != nil:
		return "", &BaselineError{Err: err}
	case r.timeOver(ctx) != nil:
		return "", nil // and nothing will be pruned
	}
	tr.Command = command
	id, err := r.saveBaseline(tr, said)
	if err != nil {
		return "", &BaselineError{Err: err}
	}
	return id, nil
}

// runBaseline records a run whose output is not shown. said is the first line of
// it: of standard error, if that has any.
func (r *Runner) runBaseline(ctx context.Context, base *target.Target) (tr *trace.Trace, said string, err error) {
	var heard [2]*listener
	for i := range heard {
		if heard[i], err = newListener(); err != nil {
			return nil, "", err
		}
		defer heard[i].to.Close()
	}
	base.Silent, base.Output, base.Errors = true, heard[0].to, heard[1].to
	if tr, err = r.one(ctx, base); err != nil {
		return nil, "", err
	}
	if said = firstLine(heard[1].end()); said == "" {
		said = firstLine(heard[0].end())
	}
	return tr, said, nil
}

// saveBaseline saves a baseline and returns its id, "" if it is not to be pruned by.
func (r *Runner) saveBaseline(tr *trace.Trace, said string) (id string, err error) {
	e, err := r.Store.Baselines().Save(tr)
	if err != nil || !tr.Exit.Known() || !tr.Exit.Failed() {
		return e.ID, err
	}
	r.event(BaselineFailed{Command: tr.Command, Exit: tr.Exit, Said: said, ID: e.ID})
	return "", nil
}

// baselinesRead is how many baselines are looked through for one of a program.
const baselinesRead = 8

// KnownStart returns arguments with which the program of a run was started as a
// baseline before, and did not fail; nil: none are known.
func KnownStart(s *store.Store, tr *trace.Trace) []string {
	list, err := s.Baselines().List()
	if err != nil || tr.Program.BuildID == "" {
		return nil
	}
	for _, e := range slices.Backward(list[max(0, len(list)-baselinesRead):]) {
		h, _, err := s.Baselines().Head(e.Path)
		if err != nil {
			continue
		}
		b := h.Trace
		if b.Program.BuildID != tr.Program.BuildID || b.Program.MainPath != tr.Program.MainPath || b.Exit != (trace.Exit{}) {
			continue
		}
		// What the go command runs has a longer command.
		if len(b.Command) > 1 && len(tr.Command) > 0 && b.Command[0] == tr.Command[0] && tr.Command[0] != "go" && !slices.Equal(b.Command, tr.Command) {
			return b.Command[1:]
		}
	}
	return nil
}
