package record

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"time"

	"tracerag/trace/gocmd"
	"tracerag/trace/rebuild"
)

// Recording go test ./pkg is three processes deep: the one that the user started runs the
// go command, which starts, in place of each program that it has built, one of ours again
// (see package gocmd). That inner one records the program and saves the trace. Standard
// input and output pass through all of them.

// GoResult is what became of a go command.
type GoResult struct {
	Code       int          // exit code for the whole
	NotBuilt   bool         // the package was not built: the go command has said why
	Recordings []*Recording // in order of their packages; none with Spec.Each
	Tests      []TestRun    // with Spec.Each
}

// Go runs a go command, and records what that runs.
func (r *Runner) Go(ctx context.Context, g *gocmd.Command) (*GoResult, error) {
	if err := r.Store.Check(); err != nil { // before the go command builds for nothing
		return nil, err
	}
	typed := r.Spec.Command
	o := order{Spec: r.Spec, Go: &goOrder{Args: g.Args, Program: g.Program(), Test: g.Verb == "test", Package: g.Package}}
	if g.Package {
		o.Go.Program = typed[:len(typed)-len(g.Args)+len(o.Go.Program)]
	}
	goflags := g.Goflags(ctx, r.Spec.Dir)
	var err error
	if r.Spec.Each > 0 {
		if g, o.Go.Timeout, err = g.Unlimited(goflags); err != nil {
			return nil, err
		}
	}
	o.Spec.Recorder.Name = r.goRecorder(ctx, g, goflags)
	if r.Spec.Window && o.Spec.Recorder.Name != Rebuild {
		return nil, ErrWindowBuilt
	}
	if r.Spec.Values.observed() && o.Spec.Recorder.Name != Rebuild {
		if r.Spec.Each > 0 {
			return nil, ErrValuesEach
		}
		if g.Verb != "test" { // the go command gives tests no input
			if _, err := r.planSecond(); err != nil {
				return nil, err
			}
		}
		r.event(RunsTwice{Command: typed})
		g.Debug = true
	}
	dir, err := makeJob(o)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	built := func() {}
	if o.Spec.Recorder.Name == Rebuild {
		r.instrument(g)
		built = r.firstBuild(g.Goroot(ctx, r.Spec.Dir))
	}
	args, err := g.Rewrite(append(slices.Clone(r.Self), dir), r.Spec.Include, goflags)
	if err != nil {
		return nil, err
	}
	r.event(Builds{Subject: g.Subject()})
	watched := func() {}
	if r.Spec.Each > 0 {
		watched = r.watchTests(dir)
	}
	// The recorder kills the program, so that the go command comes to an end by itself.
	limited, cancel := r.limited(ctx, goGrace)
	defer cancel()
	code, err := r.runGoCommand(limited, args, dir)
	watched()
	if err != nil {
		return nil, err
	}
	if reports, _ := readReports(dir); len(reports) > 0 { // what it has built was started
		built()
	}
	if r.Spec.Each > 0 {
		return r.collectTests(dir, code)
	}
	return r.collect(dir, code, o.Go)
}

// goRecorder returns the name of the recorder for what a go command builds.
func (r *Runner) goRecorder(ctx context.Context, g *gocmd.Command, goflags string) string {
	yes, asked := r.Spec.rebuilds()
	if !yes || !asked && probed && gocmd.MayBeStd(r.Spec.Include) { // the standard library is not rebuilt
		return r.Spec.Recorder.Name
	}
	err := rebuild.Check(g.Goroot(ctx, r.Spec.Dir))
	if err == nil && !asked && g.Toolexec(goflags) {
		err = gocmd.ErrToolexec
	}
	if err != nil {
		r.event(NotRebuilt{Subject: g.Subject(), Why: err, Asked: asked})
		return Auto
	}
	return Rebuild
}

// ErrWindowBuilt says that windows of what a go command builds need a build for it.
var ErrWindowBuilt = errors.New("windows of what the go command builds need the recorder by rebuilding, which cannot be used here")

// ErrValuesEach says that a second run, for values, is one of a whole program.
var ErrValuesEach = errors.New("values of single tests need a program that the go command builds for it")

// instrument has a go command build with the recorder.
func (r *Runner) instrument(g *gocmd.Command) {
	g.Tool = r.Tool
	g.Mark = rebuild.Marked(!r.Spec.Recorder.NoLines, r.Spec.Values.observed())
}

// goGrace is how long the go command may go on when the time of what it runs is over:
// for saving a trace, and for its last messages.
const goGrace = 10 * time.Second

// runGoCommand runs the go command to its end.
func (r *Runner) runGoCommand(ctx context.Context, args []string, dir string) (code int, err error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = r.Spec.Dir
	cmd.Env = os.Environ() // and no PWD of our making
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r.Stdin, r.Stdout, r.Stderr
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
	return exitCode(cmd.ProcessState), nil
}

// innerProcesses are those that a signal to us is meant for: the recorders that run
// just now, which pass it to their programs, or else the go command. Without
// a recorder it would be sent to the program, whose process id one can look up; here
// one knows ours.
func innerProcesses(dir string, goCommand int) []int {
	var pids []int
	reports, _ := readReports(dir) // a damaged one is of a process that has ended
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

// collect takes what the inner processes left: their messages and the traces.
func (r *Runner) collect(dir string, goCode int, g *goOrder) (*GoResult, error) {
	out := &GoResult{Code: goCode}
	reports, err := readReports(dir)
	if err != nil {
		return nil, err
	}
	var inner *Report // the first of one that recorded nothing, or else of any
	for _, rep := range reports {
		r.event(Said{Text: string(rep.log)})
		if !rep.Ended {
			return out, ErrEnded
		}
		if inner == nil || len(inner.Traces) > 0 && len(rep.Traces) == 0 {
			inner = &rep
		}
		for _, name := range rep.Traces {
			tr, e, err := r.Store.Load(name)
			if err != nil {
				return out, err
			}
			out.Recordings = append(out.Recordings, &Recording{Trace: tr, Entry: e, Name: name, Tests: g.Test})
		}
	}
	switch {
	case inner != nil && (g.Package || len(inner.Traces) == 0):
		out.Code = inner.Code
	case g.Package && goCode != 0:
		out.NotBuilt = true
	}
	return out, nil
}
