package main

import (
	"bytes"
	"cmp"
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
	"tracerag/trace/store"
	"tracerag/trace/target"
)

// run --each records every test of a test program in a run of its own: what the
// passing ones call is evidence about the failing one. The program is built once,
// and is started once more without any test: what it does then (TestMain, package
// initialisation) is the baseline of all.

// eachRun is one test that was recorded by itself.
type eachRun struct {
	Package string `json:"package"`
	Name    string `json:"name"`
	Trace   string `json:"trace"` // its name: as nameOf has it
	Failed  bool   `json:"failed"`
}

// tester records the tests of one test program.
type tester struct {
	a        *app
	store    *store.Store
	args     []string // the program's, with which it would run all tests
	flags    *runFlags
	command  *gocmd.Command // that was typed; nil: the program itself was
	timeout  time.Duration  // that each test gives itself; 0: none
	pkg      string         // import path of what is tested
	baseline string
	done     func(runs []eachRun, of int) // called after each test, in order
}

// testRun is a run that was recorded, before it is told about.
type testRun struct {
	trace  *trace.Trace
	output []byte
	err    error
}

// run records the tests, n at a time, and prints what go test would print of them.
// What was recorded is returned also with an error.
func (t *tester) run(ctx context.Context, n int) ([]eachRun, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	defer stop()
	tgt, err := t.target()
	if err != nil {
		return nil, err
	}
	t.pkg = strings.TrimSuffix(tgt.Binary.MainPath, ".test")
	choice, err := t.a.findBaseline(t.store, t.flags.baseline)
	if err == nil {
		err = t.store.Baselines().Check() // there is always one
	}
	if err == nil {
		err = t.store.Check()
	}
	if err != nil {
		return nil, err
	}
	tests, err := t.list(ctx, tgt)
	if err != nil {
		return nil, err
	}
	if len(tests) == 0 {
		fmt.Fprint(t.a.programOut, "testing: warning: no tests to run\nPASS\n")
		return nil, nil
	}
	if err := t.recordBaseline(ctx, tgt, choice); err != nil {
		return nil, err
	}
	results := t.start(ctx, tgt, tests, n)
	var runs []eachRun
	var last outcome
	for i, test := range tests {
		r := <-results[i]
		if r.err == nil {
			err = t.tell(test, r, &runs, &last)
		} else {
			err = fmt.Errorf("%s: %w", test.Name, r.err)
		}
		if err == nil && ctx.Err() != nil && i+1 < len(tests) {
			err = fmt.Errorf("interrupted after %s of %d", phrase.Plural(i+1, "test", "tests"), len(tests))
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
	fmt.Fprintln(t.a.programOut, last.line(slices.ContainsFunc(runs, func(r eachRun) bool { return r.Failed })))
	t.summary(runs)
	return runs, nil
}

func (t *tester) target() (*target.Target, error) {
	tgt, err := t.a.findTarget(t.args, t.flags)
	if err != nil {
		return nil, err
	}
	if t.flags.dir != "" {
		tgt.Dir = t.flags.dir
	}
	if !isTestProgram(tgt) {
		return nil, fmt.Errorf("%s has no tests: --each takes go test, or a program that go test -c has built", phrase.Quote(t.args[0]))
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
	if t.flags.baseline != "" {
		t.baseline, err = t.a.baseline(ctx, t.store, tgt, choice, t.flags)
		return err
	}
	base := *tgt
	base.Args = append([]string{t.args[0]}, gocmd.Test{}.Args(t.args[1:])...)
	tr, said, err := t.a.runBaseline(ctx, &base, t.flags)
	if err != nil {
		return cannotRun{error: err}
	}
	tr.Command = t.commandLine(gocmd.Test{})
	t.baseline, err = t.a.saveBaseline(t.store, tr, said)
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
		if first.err != nil || first.trace.Recorder != "probe" {
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

// record records one test. Its output is kept, for tests are told about in order.
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
	if r.trace, err = t.a.recordOne(ctx, &alone, t.flags); err != nil {
		return testRun{err: cannotRun{error: err}}
	}
	r.trace.Name, r.trace.Test = test.Name, trace.Test{Package: t.pkg, Name: test.Name}
	r.trace.Baseline, r.trace.Command = t.baseline, t.commandLine(test)
	r.output, r.err = os.ReadFile(out.Name())
	return r
}

// tell saves a test's trace, prints the test's output, and says what was recorded.
func (t *tester) tell(test gocmd.Test, r testRun, runs *[]eachRun, last *outcome) error {
	e, lost := t.a.save(t.store, r.trace)
	output, end := cutOutcome(r.output)
	if end.text != "" {
		*last = end
	}
	if _, err := t.a.programOut.Write(output); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	if lost != nil {
		return lost
	}
	failed := r.trace.Exit.Failed()
	result := "ok  "
	if failed {
		result = "FAIL"
	}
	t.a.note("%s  %s  %s  %s of %s (%s, %s)", phrase.Quote(nameOf(t.store, e)), result, test.Name, phrase.Plural(r.trace.Calls(), "call", "calls"),
		phrase.Plural(len(r.trace.Functions), "function", "functions"), r.trace.Exit, phrase.Duration(r.trace.Duration))
	*runs = append(*runs, eachRun{t.pkg, test.Name, nameOf(t.store, e), failed})
	return nil
}

// summary says what was recorded of the package.
func (t *tester) summary(runs []eachRun) {
	failed := 0
	for _, r := range runs {
		if r.Failed {
			failed++
		}
	}
	t.a.note("%s: %s recorded, %d failed (baseline: %s)", t.pkg, phrase.Plural(len(runs), "test", "tests"), failed, cmp.Or(t.baseline, "none"))
}

// outcome is the line in which a test program says how all of its tests ended.
type outcome struct {
	text string // PASS or FAIL
	mark string // what stands before it for go test -json
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

// runEach is run --each of a test program that is there.
func (a *app) runEach(ctx context.Context, s *store.Store, args []string, r *runFlags) int {
	t := &tester{a: a, store: s, args: args, flags: r, done: func([]eachRun, int) {}}
	runs, err := t.run(ctx, r.each)
	if err != nil {
		a.fail(err)
		return recordCode(args[0], err)
	}
	a.nextOfEach(runs)
	return eachCode(runs)
}

// eachCode is go test's: 1 when a test failed.
func eachCode(runs []eachRun) int {
	if slices.ContainsFunc(runs, func(r eachRun) bool { return r.Failed }) {
		return exitFailure
	}
	return exitOK
}

// nextOfEach says what to do with the traces: a failed test is what one asks about.
func (a *app) nextOfEach(runs []eachRun) {
	if len(runs) == 0 {
		return
	}
	r := runs[max(0, slices.IndexFunc(runs, func(r eachRun) bool { return r.Failed }))]
	a.note("Next:\ntracerag tree%[1]s %[2]s\ntracerag ask%[1]s %[2]s \"your question\"", a.dirFlag(), phrase.Quote(r.Trace))
}

// watchEach shows at a terminal how far the inner tracerags are, until it is stopped.
// What the go command prints is to go through shown, whose lines take the place of
// ours; the tests have no terminal anyway.
func (a *app) watchEach(dir string) (shown *app, stop func()) {
	done := a.wait("recording tests")
	line := a.waiting
	if line == nil { // there is nobody to see it
		return a, done
	}
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
			n, of := 0, 0
			for _, r := range reports {
				n, of = n+len(r.Each), of+r.Tests
			}
			if of > 0 {
				line.say(fmt.Sprintf("recording tests: %d of %d", n, of))
			}
		}
	}()
	through := *a
	through.programOut, through.programErr = lineBreaker{line, a.programOut}, lineBreaker{line, a.programErr}
	return &through, func() {
		close(end)
		<-ended
		done()
	}
}

// progressEvery is how often the reports of the inner tracerags are read.
const progressEvery = 500 * time.Millisecond

// collectEach prints what the inner tracerags said, and what may be done next. The
// code is that of a tracerag that failed, 0 for none.
func (a *app) collectEach(g *gocmd.Command, dir string, goCode int) (code int, err error) {
	reports, err := readReports(dir)
	if err != nil {
		return 0, err
	}
	var runs []eachRun
	for _, r := range reports {
		fmt.Fprintf(a.stderr, "%s", r.log)
		runs = append(runs, r.Each...)
		if !r.Ended {
			err = errors.New("the recorder was ended by force: later tests were not recorded")
		}
		if r.Failed {
			code = r.Code
		}
	}
	if len(runs) == 0 && goCode == 0 {
		a.note("go %s ran no test: nothing is recorded", g.Verb)
	}
	a.nextOfEach(runs)
	return code, err
}

// runInnerEach is runInner with --each: report is kept at path as tests are recorded.
func (a *app) runInnerEach(ctx context.Context, s *store.Store, args []string, order *goOrder, r *runFlags, report *goReport, path string) error {
	command, err := gocmd.Parse(order.Command)
	if err != nil {
		return err
	}
	t := &tester{a: a, store: s, args: gocmd.WithTimeout(args[1:], order.Timeout), flags: r, command: command, timeout: order.Timeout}
	t.args = append([]string{args[0]}, t.args...)
	t.done = func(runs []eachRun, of int) {
		report.Each, report.Tests = runs, of
		_ = writeJSON(path, report) // for the bar alone; the last one counts
	}
	report.Each, err = t.run(ctx, order.Each)
	report.Code = eachCode(report.Each)
	return err
}
