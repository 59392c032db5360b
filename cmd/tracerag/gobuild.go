package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tracerag/output"
	"tracerag/phrase"
	"tracerag/trace/gocmd"
	"tracerag/trace/store"
)

// tracerag run -- go test ./pkg is three processes deep: the tracerag that the user
// started runs the go command, which starts, in place of each program that it has
// built, tracerag again (see package gocmd). That inner one records the program and
// saves the trace. Standard input and output pass through all of them. The two
// tracerags talk by files in a directory of their own, since the environment and
// any further open file would reach the program:
//
//	order.json   from the outer one: what the user typed
//	PID.json     from each inner one: that it runs, and at its end what became of it
//	PID.log      what an inner one would have said on standard error, which
//	             go test takes for the tests' output

// goOrder is what the outer tracerag tells the inner ones.
type goOrder struct {
	Flags   []string `json:"flags"`   // of tracerag run
	Dir     string   `json:"dir"`     // in which they were typed
	Command []string `json:"command"` // what was typed after them
	Program []string `json:"program"` // the part of it that stands for the program
	Test    bool     `json:"test"`    // it is go test
	Package bool     `json:"package"` // it is a package, and no go command was typed
	Each    int      `json:"each"`    // record each test by itself, so many at a time; 0: all in one run

	Timeout  time.Duration `json:"timeout"`  // of each; 0: none
	Deadline time.Time     `json:"deadline"` // when the program is killed; zero: never
}

// goReport is what an inner tracerag tells the outer one.
type goReport struct {
	Dir   string `json:"dir"`   // in which the program runs
	Ended bool   `json:"ended"` // the rest means nothing before
	Trace string `json:"trace"` // file of the saved trace; "" none
	Code  int    `json:"code"`  // exit code as tracerag run has it
	// Failed says that tracerag failed, and the code is its own.
	Failed bool `json:"failed,omitempty"`

	Each  []eachRun `json:"each,omitempty"`  // in place of Trace: the tests that are recorded,
	Tests int       `json:"tests,omitempty"` // of so many

	pid int
	log []byte
}

const goOrderFile = "order.json"

// innerFlag adds the flag that makes tracerag run an inner one. It is not for users.
func innerFlag(f *pflag.FlagSet) *string {
	dir := f.String("inner", "", "")
	_ = f.MarkHidden("inner") // it fails for flags that are not there
	return dir
}

// runGo runs a go command, and records what that runs. flags are those of tracerag
// run, and typed what stands after them; finish says what was recorded, and asks the
// question if there is one.
func (a *app) runGo(ctx context.Context, s *store.Store, g *gocmd.Command, typed, flags []string, r *runFlags, question string, finish func(*recording) error) int {
	code, recs, err := a.recordGo(ctx, s, g, typed, flags, r)
	if err == nil && r.each == 0 {
		err = errors.Join(r.writeIDs(s, recs), a.finishGo(s, g, recs, code, question, finish))
	}
	if err != nil {
		a.fail(err)
		if code == 0 {
			return exitRunFailed
		}
	}
	return code
}

func (a *app) finishGo(s *store.Store, g *gocmd.Command, recs []*recording, code int, question string, finish func(*recording) error) error {
	switch len(recs) {
	case 0:
		if code == 0 {
			a.note("go %s ran no program: nothing is recorded", g.Verb)
		}
		return nil
	case 1:
		return finish(recs[0])
	}
	for _, rec := range recs {
		a.note("trace %s: %s, %s of %s (%s)", phrase.Quote(nameOf(s, rec.entry)), rec.trace.Program.MainPath,
			phrase.Plural(rec.trace.Calls(), "call", "calls"), phrase.Plural(len(rec.trace.Functions), "function", "functions"), rec.trace.Exit)
	}
	if question != "" {
		return fmt.Errorf("go %s ran %d programs, and a question is about one run\ntracerag ask%s %s %s", g.Verb, len(recs), a.dirFlag(), phrase.Quote(nameOf(s, recs[0].entry)), phrase.Quote(question))
	}
	a.note("Next:\ntracerag tree%s %s", a.dirFlag(), phrase.Quote(nameOf(s, recs[0].entry)))
	return nil
}

// recordGo returns the exit code for the whole, and the recorded runs in order of
// their packages.
func (a *app) recordGo(ctx context.Context, s *store.Store, g *gocmd.Command, typed, flags []string, r *runFlags) (int, []*recording, error) {
	if err := s.Check(); err != nil { // before the go command builds for nothing
		return exitRunFailed, nil, err
	}
	dir, err := os.MkdirTemp("", "tracerag-")
	if err != nil {
		return exitRunFailed, nil, err
	}
	defer os.RemoveAll(dir)
	order := goOrder{Flags: flags, Dir: a.cwd, Command: typed, Program: g.Program(), Test: g.Verb == "test", Package: g.Package, Each: r.each, Deadline: r.deadline}
	if g.Package {
		order.Program = typed[:len(typed)-len(g.Args)+len(order.Program)]
	}
	goflags := g.Goflags(ctx, a.cwd)
	if r.each > 0 {
		if g, order.Timeout, err = g.Unlimited(goflags); err != nil {
			return exitRunFailed, nil, err
		}
	}
	if err := writeJSON(filepath.Join(dir, goOrderFile), order); err != nil {
		return exitRunFailed, nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return exitRunFailed, nil, err
	}
	g.Debug = r.values != nil
	args, err := g.Rewrite([]string{exe, "run", "--inner", dir}, r.include, goflags)
	if err != nil {
		return exitRunFailed, nil, err
	}
	if terminal(a.stderr) {
		a.note("building %s without inlining", g.Subject())
	}
	shown, stop := a, func() {}
	if r.each > 0 {
		shown, stop = a.watchEach(dir)
	}
	// The recorder kills the program, so that the go command comes to an end by itself.
	limited, cancel := r.limited(ctx, goGrace)
	defer cancel()
	code, err := shown.runGoCommand(limited, args, dir)
	stop()
	if err != nil {
		return exitRunFailed, nil, err
	}
	if r.each > 0 {
		inner, err := a.collectEach(g, dir, code)
		if err != nil {
			code = exitRunFailed
		} else if inner != 0 {
			code = inner
		}
		return code, nil, err
	}
	recs, inner, err := a.collect(s, dir)
	for _, rec := range recs {
		rec.tests = order.Test
	}
	switch {
	case err != nil:
		return exitRunFailed, recs, err
	case inner != nil && (g.Package || inner.Trace == ""):
		code = inner.Code
	case g.Package && code != 0: // it was not built
		code = exitRunCannot
	}
	return code, recs, nil
}

// goGrace is how long the go command may go on when the time of what it runs is over:
// for saving a trace, and for what it has to say.
const goGrace = 10 * time.Second

// runGoCommand runs the go command to its end.
func (a *app) runGoCommand(ctx context.Context, args []string, dir string) (code int, err error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = a.cwd
	cmd.Env = os.Environ() // and no PWD of our making
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.stdin, a.programOut, a.programErr
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	stop := relaySignals(func() []int { return innerProcesses(dir, cmd.Process.Pid) })
	err = cmd.Wait()
	stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	if code = cmd.ProcessState.ExitCode(); code < 0 {
		code = signalCode(cmd.ProcessState)
	}
	return code, nil
}

// innerProcesses are those that a signal to us is meant for: the recorders that run
// just now, which pass it to their programs, or else the go command. Without
// tracerag it would be sent to the program, whose process id one can look up; here
// one knows ours.
func innerProcesses(dir string, goCommand int) []int {
	var pids []int
	reports, _ := readReports(dir) // the one that is damaged is the one that is no more
	for _, r := range reports {
		if !r.Ended {
			pids = append(pids, r.pid)
		}
	}
	if pids == nil {
		pids = []int{goCommand}
	}
	return pids
}

// readReports returns the reports in order of their directories, which is nearly
// that in which go test prints its packages.
func readReports(dir string) ([]goReport, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "[0-9]*.json"))
	if err != nil {
		return nil, err
	}
	var reports []goReport
	for _, path := range paths {
		var r goReport
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		base := strings.TrimSuffix(path, ".json")
		if err == nil {
			r.pid, err = strconv.Atoi(filepath.Base(base))
		}
		if err == nil {
			r.log, err = os.ReadFile(base + ".log")
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		if err != nil {
			return reports, err
		}
		reports = append(reports, r)
	}
	slices.SortFunc(reports, func(x, y goReport) int {
		return cmp.Or(cmp.Compare(x.Dir, y.Dir), cmp.Compare(x.pid, y.pid))
	})
	return reports, nil
}

// collect takes what the inner tracerags left: their messages, which it prints, the
// traces, and the first report of one that recorded nothing, or else of any.
func (a *app) collect(s *store.Store, dir string) (recs []*recording, inner *goReport, err error) {
	reports, err := readReports(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range reports {
		fmt.Fprintf(a.stderr, "%s", r.log)
		if !r.Ended {
			return recs, inner, errors.New("the recorder was ended by force before it could save the trace")
		}
		if inner == nil || inner.Trace != "" && r.Trace == "" {
			inner = &r
		}
		if r.Trace == "" {
			continue
		}
		tr, e, err := s.Load(r.Trace)
		if err != nil {
			return recs, inner, err
		}
		recs = append(recs, &recording{trace: tr, entry: e})
	}
	return recs, inner, nil
}

// runInner is tracerag run as the go command starts it: args are a program that it
// has built and the program's arguments.
func (a *app) runInner(ctx context.Context, f *pflag.FlagSet, dir string, r *runFlags) int {
	var order goOrder
	data, err := os.ReadFile(filepath.Join(dir, goOrderFile))
	if err == nil {
		err = json.Unmarshal(data, &order)
	}
	path := filepath.Join(dir, strconv.Itoa(os.Getpid()))
	report := goReport{Dir: a.cwd}
	if err == nil {
		err = writeJSON(path+".json", report)
	}
	if err != nil {
		a.fail(err)
		return exitRunFailed
	}
	args := slices.Clone(f.Args())
	if order.Test {
		log, err := os.Create(path + ".log")
		if err != nil {
			a.fail(err)
			return exitRunFailed
		}
		defer log.Close()
		a.stderr = output.New(log, output.Text, a.knownSecrets)
	}
	rec, err := a.recordInner(ctx, f, args, &order, r, &report, path+".json")
	report.Ended = true
	switch {
	case err != nil:
		a.fail(err)
		report.Code, report.Failed = recordCode(args[0], err), true
		if rec != nil && rec.trace.Exit.Code != 0 { // the program's own, though its trace is lost
			report.Code = rec.trace.Exit.Code
		}
	case rec != nil:
		report.Trace, report.Code = rec.entry.Path, rec.trace.Exit.Code
	}
	if err := writeJSON(path+".json", report); err != nil {
		a.fail(err)
		return exitRunFailed
	}
	switch {
	case err == nil && !order.Package:
		if rec != nil && rec.trace.Exit.Signal != "" {
			endLike(rec.trace.Exit)
		}
		return report.Code
	case err != nil && order.Test:
		return report.Code // or the tests would count as passed
	}
	return exitOK // the go command has nothing to add; the outer tracerag has the code
}

// recordInner records a program that runs here, by flags that were typed elsewhere.
// Of tests that are recorded each by itself the report, at path, has the results.
func (a *app) recordInner(ctx context.Context, f *pflag.FlagSet, args []string, order *goOrder, r *runFlags, report *goReport, path string) (*recording, error) {
	if err := f.Parse(order.Flags); err != nil {
		return nil, err
	}
	runDir := a.cwd
	if err := os.Chdir(order.Dir); err != nil {
		return nil, err
	}
	a.cwd = order.Dir
	s, err := a.store()
	if err != nil {
		return nil, err
	}
	r.dir, r.typed, r.program, r.deadline, r.tests = runDir, order.Command, order.Program, order.Deadline, order.Test
	if order.Each > 0 {
		return nil, a.runInnerEach(ctx, s, args, order, r, report, path)
	}
	return a.record(ctx, s, args, r)
}

// writeJSON writes a file that no reader finds half written.
func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
