package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"tracerag/calltree"
	"tracerag/trace"
	"tracerag/trace/breakpoint"
	"tracerag/trace/target"
)

// Values of a program that is given as it is are observed in a second run of it, under a debugger. The first run is
// the one that the user sees.

// secondRun is what the second run needs of the first.
type secondRun struct {
	rewind func() error // makes standard input ready for it
	empty  bool         // what was typed at a terminal is not typed again
}

// planSecond returns why there cannot be a second run.
func (r *Runner) planSecond() (*secondRun, error) {
	nothing := &secondRun{rewind: func() error { return nil }, empty: true}
	f, ok := r.Stdin.(*os.File)
	if !ok {
		return nothing, nil
	}
	info, err := f.Stat()
	if err != nil { // it is closed
		return nothing, nil
	}
	switch {
	case info.Mode().IsRegular() && runtime.GOOS == "linux":
		at, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		return &secondRun{rewind: func() error { _, err := f.Seek(at, io.SeekStart); return err }}, nil
	case info.Mode()&os.ModeCharDevice != 0:
		return nothing, nil
	}
	return nil, errInputOnce
}

// checkValues finds out before the program runs which names it cannot have values for:
// those of no function that is recorded. They are left out, and the others go on. That
// all of them are such is an error, but for tests of several packages, each of which has
// functions of its own.
func (r *Runner) checkValues(tgt *target.Target) error {
	var kept []string
	var last error
	for _, pattern := range r.Spec.Values.Patterns {
		err := error(nil)
		if pattern != AllFunctions && pattern != OwnFunctions && !strings.HasPrefix(pattern, "#") {
			err = hasFunction(tgt, pattern)
		}
		if err == nil {
			kept = append(kept, pattern)
			continue
		}
		if last != nil {
			r.event(NoValuesOf{Err: last})
		}
		last = err
	}
	if last != nil && len(kept) == 0 && (r.built == nil || !r.built.tests) {
		return fmt.Errorf("no values: %w", last)
	}
	if last != nil {
		r.event(NoValuesOf{Err: last})
	}
	r.Spec.Values.Patterns = kept
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
	missing, ok := errors.AsType[*calltree.NotFoundError](err)
	if !ok {
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
		return &NotRecordedError{Function: found[0]}
	}
	missing.Within = "the program"
	return missing
}

// longest is how long a second run may take: one under a debugger needs longer than the
// first. Where somebody ended the first, the second ends by itself no more than that one
// did.
func longest(tr *trace.Trace) time.Duration {
	if tr.Exit.Signal != "" {
		return 5*time.Second + tr.Duration
	}
	return 30*time.Second + 2*tr.Duration
}

// observe runs the program again and hangs the values that it sees into tr, which is
// left as it is when that fails.
func (r *Runner) observe(ctx context.Context, tgt *target.Target, tr *trace.Trace, second *secondRun) error {
	if r.timeOver(ctx) != nil {
		return &TimeOverError{Second: true, Limit: r.Spec.Limit}
	}
	c, err := r.choose(tr)
	if err != nil {
		return err
	}
	if err := second.rewind(); err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	again := *tgt
	again.Silent, again.NoInput, again.Output = second.empty, second.empty, null
	if second.empty {
		again.Output = nil
	}
	r.event(Observes{Command: tr.Command, Functions: len(c.functions), NoInput: second.empty})
	// Who interrupts this run has the first one, and what was seen of this one.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	seen, err := breakpoint.Observe(ctx, &again, tr, breakpoint.ObserveOptions{
		Functions: c.functions, Calls: r.Spec.Values.Calls, MaxHits: r.Spec.Recorder.MaxHits, MaxStops: r.Spec.Recorder.MaxStops,
		Limit: longest(tr), Warn: r.remark, Mask: c.mask,
	})
	if err != nil {
		return err
	}
	c.hang(tr, seen)
	r.event(Observed{Observation: seen, Trace: tr, Ended: ctx.Err()})
	return nil
}
