package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tracerag/phrase"
	"tracerag/trace"
	"tracerag/trace/executable"
	"tracerag/trace/gocmd"
	"tracerag/trace/rebuild"
	"tracerag/trace/target"
)

// Every test of a test program can be recorded in a run of its own: what the passing ones
// call is evidence about the failing one. The program is built once, and is started once
// more without any test: what it does then (TestMain, package initialisation) is the
// baseline of all.

// tester records the tests of one test program.
type tester struct {
	*Runner
	args     []string       // the program's, with which it would run all tests
	command  *gocmd.Command // that was typed; nil: the program itself was
	timeout  time.Duration  // that each test gives itself; 0: none
	pkg      string         // import path of what is tested
	baseline string
	done     func(runs []TestRun, of int) // called after each test, in order
}

// testRun is a run that was recorded, before it is shown.
type testRun struct {
	trace  *trace.Trace
	output []byte
	values *rebuild.Values // nil: none are kept
	err    error
}

// Each records the tests of a test program that is there. What was recorded is returned
// also with an error.
func (r *Runner) Each(ctx context.Context) ([]TestRun, error) {
	return r.each(ctx, nil, func([]TestRun, int) {})
}

func (r *Runner) each(ctx context.Context, command *gocmd.Command, done func([]TestRun, int)) ([]TestRun, error) {
	t := &tester{Runner: r, args: r.args(), command: command, done: done}
	if r.built != nil {
		t.timeout = r.built.timeout
	}
	return t.run(ctx, r.Spec.Each)
}

// run records the tests, n at a time, and prints what go test would print of them.
func (t *tester) run(ctx context.Context, n int) ([]TestRun, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	defer stop()
	tgt, err := t.target()
	if err != nil {
		return nil, err
	}
	t.pkg = strings.TrimSuffix(tgt.Binary.MainPath, ".test")
	if t.Spec.Values.observed() && t.sameRun(tgt) == nil {
		return nil, ErrValuesEach
	}
	if err := t.checkValues(tgt); err != nil {
		return nil, err
	}
	choice, err := t.findBaseline()
	if err == nil {
		err = t.Store.Baselines().Check() // there is always one
	}
	if err == nil {
		err = t.Store.Check()
	}
	if err != nil {
		return nil, err
	}
	tests, err := t.list(ctx, tgt)
	if err != nil {
		return nil, err
	}
	if len(tests) == 0 {
		fmt.Fprint(t.Stdout, "testing: warning: no tests to run\nPASS\n")
		return nil, nil
	}
	if err := t.recordBaseline(ctx, tgt, choice); err != nil {
		return nil, err
	}
	results := t.start(ctx, tgt, tests, n)
	var runs []TestRun
	var last outcome
	for i, test := range tests {
		r := <-results[i]
		switch {
		case r.err == nil:
			err = t.show(test, r, &runs, &last)
		case errors.Is(r.err, context.Canceled): // interrupted before this test was begun
			err = fmt.Errorf("interrupted after %s of %d", phrase.Plural(i, "test", "tests"), len(tests))
		default:
			err = fmt.Errorf("%s: %w", test.Name, r.err)
		}
		if err != nil {
			stop()
			for _, rest := range results[i+1:] { // no test is left behind
				<-rest
			}
			return runs, err
		}
		t.done(runs, len(tests))
		if runs[i].Failed && failFast(t.args) {
			stop()
			break
		}
	}
	failed := 0
	for _, r := range runs {
		if r.Failed {
			failed++
		}
	}
	fmt.Fprintln(t.Stdout, last.line(failed > 0))
	t.event(PackageRecorded{Package: t.pkg, Tests: len(runs), Failed: failed, Baseline: t.baseline})
	return runs, nil
}

func (t *tester) target() (*target.Target, error) {
	tgt, err := t.Runner.target()
	if err != nil {
		return nil, err
	}
	if !isTestProgram(tgt) {
		return nil, &gocmd.NoTestsError{Command: phrase.Quote(t.args[0])}
	}
	return tgt, nil
}

// isTestProgram tells it by what runs tests: the path of the main package is
// PACKAGE.test, but for tests of a package main its own.
func isTestProgram(tgt *target.Target) bool {
	return slices.ContainsFunc(tgt.Binary.Funcs, func(f executable.Func) bool { return f.Name == "testing.(*M).Run" })
}

// list returns the tests that the program would run.
func (t *tester) list(ctx context.Context, tgt *target.Target) ([]gocmd.Test, error) {
	cmd := exec.CommandContext(ctx, tgt.Path, gocmd.ListArgs(t.args[1:])...)
	cmd.Args[0], cmd.Dir, cmd.Env = t.args[0], tgt.Dir, os.Environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("listing the tests of %s: %w\n%s", t.pkg, err, bytes.TrimSpace(out))
	}
	return gocmd.Select(t.args[1:], out)
}

// recordBaseline records what the program does without any test, unless a baseline
// was named.
func (t *tester) recordBaseline(ctx context.Context, tgt *target.Target, choice baselineChoice) (err error) {
	if t.Spec.Baseline != "" {
		t.baseline, err = t.Runner.baseline(ctx, tgt, choice)
		return err
	}
	base := *tgt
	base.Args = append([]string{t.args[0]}, gocmd.Test{}.Args(t.args[1:])...)
	tr, said, err := t.runBaseline(ctx, &base)
	if err != nil {
		return &CannotRunError{Program: t.args[0], Missing: t.isMissing(t.args[0]), Err: err}
	}
	tr.Command = t.commandLine(gocmd.Test{})
	t.baseline, err = t.saveBaseline(tr, said)
	return err
}

// commandLine is what one would type to run the test alone.
func (t *tester) commandLine(test gocmd.Test) []string {
	if t.command != nil {
		return t.command.Only(test)
	}
	return append([]string{t.args[0]}, test.Args(t.args[1:])...)
}

// start begins to record the tests, n at a time, and returns for each what its
// result will be sent to. The first is recorded alone: the plan that the probe makes
// for it is that of the others.
func (t *tester) start(ctx context.Context, tgt *target.Target, tests []gocmd.Test, n int) []chan testRun {
	results := make([]chan testRun, len(tests))
	for i := range results {
		results[i] = make(chan testRun, 1)
	}
	go func() {
		first := t.record(ctx, tgt, tests[0])
		results[0] <- first
		// A debugger waits for every child of this process: it has one at a time.
		if first.err != nil || first.trace.Recorder == "breakpoint" {
			n = 1
		}
		var workers sync.WaitGroup
		var next sync.Mutex
		at := 1
		for w := range min(n, len(tests)-1) {
			workers.Go(func() {
				own, err := tgt, error(nil)
				if w > 0 { // a binary's tables are for one recording at a time
					own, err = t.target()
				}
				for {
					next.Lock()
					i := at
					at++
					next.Unlock()
					switch {
					case i >= len(tests):
						return
					case err == nil:
						results[i] <- t.record(ctx, own, tests[i])
					default:
						results[i] <- testRun{err: err}
					}
				}
			})
		}
		workers.Wait()
	}()
	return results
}

// record records one test. Its output is kept, for tests are shown in order.
func (t *tester) record(ctx context.Context, tgt *target.Target, test gocmd.Test) (r testRun) {
	if r.err = ctx.Err(); r.err != nil {
		return r
	}
	out, err := os.CreateTemp("", "tracerag-*.out")
	if err != nil {
		return testRun{err: err}
	}
	defer os.Remove(out.Name())
	defer out.Close()
	alone := *tgt
	alone.Args = append([]string{t.args[0]}, test.Args(t.args[1:])...)
	alone.NoInput, alone.Output = true, out
	// What interrupts us interrupts the test, which may have something to say about it.
	ctx = context.WithoutCancel(ctx)
	if t.timeout > 0 { // the go command, too, waits a minute for a test to time out
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.timeout+time.Minute)
		defer cancel()
	}
	r.values = t.sameRun(tgt)
	if r.trace, err = t.oneStarted(ctx, &alone, r.values, func() {}); err != nil {
		return testRun{err: &CannotRunError{Program: t.args[0], Missing: t.isMissing(t.args[0]), Err: err}}
	}
	r.trace.Name, r.trace.Test = test.Name, trace.Test{Package: t.pkg, Name: test.Name}
	r.trace.Baseline, r.trace.Command = t.baseline, t.commandLine(test)
	r.output, r.err = os.ReadFile(out.Name())
	return r
}

// show saves a test's trace, and prints the test's output.
func (t *tester) show(test gocmd.Test, r testRun, runs *[]TestRun, last *outcome) error {
	if r.values != nil {
		// Few tests call a function that is named.
		if seen, err := t.keep(r.trace, r.values); err != nil && !errors.Is(err, errNotCalled) {
			t.event(NoValues{Err: fmt.Errorf("%s: %w", test.Name, err)})
		} else if err == nil && seen.Full {
			t.event(*seen)
		}
	}
	e, lost := t.save(r.trace)
	output, end := cutOutcome(r.output)
	if end.text != "" {
		*last = end
	}
	if _, err := t.Stdout.Write(output); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	if lost != nil {
		return lost
	}
	name := nameOf(t.Store, e)
	t.event(TestRecorded{Name: name, Trace: r.trace})
	*runs = append(*runs, TestRun{t.pkg, test.Name, name, r.trace.Exit.Failed()})
	return nil
}

// outcome is the line in which a test program says how all of its tests ended.
type outcome struct {
	text string // PASS or FAIL
	mark string // what is before it for go test -json
}

func (o outcome) line(failed bool) string {
	if failed {
		return o.mark + "FAIL"
	}
	return o.mark + "PASS"
}

// cutOutcome takes the outcome from the end of a test program's output: there is one
// for all tests, not one for each.
func cutOutcome(output []byte) (rest []byte, o outcome) {
	const mark = "\x16"
	body := bytes.TrimSuffix(output, []byte("\n"))
	from := bytes.LastIndexByte(body, '\n') + 1
	line := string(body[from:])
	text := strings.TrimPrefix(line, mark)
	if text != "PASS" && text != "FAIL" {
		return output, o
	}
	return output[:from], outcome{text: text, mark: line[:len(line)-len(text)]}
}

func failFast(args []string) bool {
	return slices.Contains(args, "-test.failfast=true") || slices.Contains(args, "-test.failfast")
}

// TestsCode is the exit code of tests, as go test has it: 1 when one failed.
func TestsCode(runs []TestRun) int {
	if slices.ContainsFunc(runs, func(r TestRun) bool { return r.Failed }) {
		return 1
	}
	return 0
}

// watchTests sends events about how far the inner processes are, until it is stopped.
func (r *Runner) watchTests(dir string) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			case <-time.After(progressEvery):
			}
			reports, _ := readReports(dir)
			var p TestsProgress
			for _, rep := range reports {
				p.Done, p.Of = p.Done+len(rep.Tests), p.Of+rep.Of
			}
			if p.Of > 0 {
				r.event(p)
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// progressEvery is how often the reports of the inner processes are read.
const progressEvery = 500 * time.Millisecond

// collectTests takes what the inner processes left of tests that were recorded one by
// one.
func (r *Runner) collectTests(dir string, goCode int) (*GoResult, error) {
	out := &GoResult{Code: goCode}
	reports, err := readReports(dir)
	if err != nil {
		return out, err
	}
	for _, rep := range reports {
		r.event(Said{Text: string(rep.log)})
		out.Tests = append(out.Tests, rep.Tests...)
		if !rep.Ended {
			err = ErrEnded
		}
		if rep.Failed {
			out.Code = rep.Code
		}
	}
	return out, err
}
