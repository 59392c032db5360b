package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"tracerag/phrase"
	"tracerag/record"
)

const windowHelp = `
window controls a recording that runs in another terminal. What runs between start
and stop is saved as a trace of its own; its tree leaves out what the program did to
start. The program does not notice.

  tracerag run --window -- ./server        in one terminal; or tracerag attach PID
  tracerag window start checkout           in another
  curl localhost:8080/checkout
  tracerag window stop
  tracerag tree checkout

snapshot saves what ran until now, and recording continues. The trace's id is printed
on standard output.

The windows of several services begin and end together with --all, or with several
--pid. They become one trace, with each service as a process:

  tracerag window start checkout --all
  tracerag window stop --all`

const attachHelp = `
attach records a running process from now on. The process stops for a moment, runs
on at nearly full speed, and Ctrl-C restores its code and saves the trace. Windows
work as with tracerag run --window. It needs linux/amd64, and the right to trace the
process, usually that of its user.

  tracerag attach $(pidof server)`

func runWindow(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, windowHelp)
	pids := f.IntSlice("pid", nil, "the recorded program's `PID`, where several are recorded; may be repeated")
	f.Lookup("pid").DefValue = ""
	all := f.Bool("all", false, "all programs that are recorded in windows")
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() < 1 || f.NArg() > 2 {
		return a.usage(c, "missing action: start, stop or snapshot, then optionally a name")
	}
	q := record.Request{Do: f.Arg(0), Name: f.Arg(1)}
	if err := q.Check(); err != nil {
		return a.usage(c, err.Error())
	}
	if *all && len(*pids) > 0 {
		return a.usage(c, "--all or --pid")
	}
	if *all || len(*pids) > 1 {
		return a.windowsAtOnce(*pids, q)
	}
	done, err := record.Ask(slices.Max(append(*pids, 0)), q)
	if err != nil {
		return a.fail(err)
	}
	a.windowDone(done)
	return exitOK
}

// windowDone says what came of a request.
func (a *app) windowDone(done record.Event) {
	if saved, ok := done.(record.WindowSaved); ok {
		fmt.Fprintln(a.stdout, saved.Trace)
	}
	a.windowEvent(done)
}

// windowsAtOnce requests the same of several recordings, and makes one trace of the windows that it ends.
func (a *app) windowsAtOnce(pids []int, q record.Request) int {
	s, err := a.store()
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		return a.fail(err)
	}
	done, failed := record.AskAll(pids, q)
	var saved []record.WindowSaved
	for _, e := range done {
		if w, ok := e.(record.WindowSaved); ok {
			saved = append(saved, w)
		}
	}
	switch {
	case len(saved) > 1:
		group, err := record.GroupWindows(s, saved)
		if err != nil { // each is saved by itself
			for _, w := range saved {
				a.windowDone(w)
			}
			return a.fail(err)
		}
		a.windowDone(group)
	case len(done) > 0:
		a.windowDone(done[0])
		if len(done) > 1 {
			a.note("in %s", phrase.Plural(len(done), "program", "programs"))
		}
	}
	if failed != nil {
		return a.fail(failed)
	}
	return exitOK
}

// runWindows records a program in windows, which runWindow starts and stops.
func (a *app) runWindows(ctx context.Context, r *record.Runner) int {
	exit, err := r.Windows(ctx)
	if err == nil {
		return exit.Code
	}
	a.fail(err)
	if exit.Code != 0 { // it has run
		return exit.Code
	}
	return recordCode(err)
}

func runAttach(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, attachHelp)
	var spec record.Spec
	addPackages(f, &spec)
	addProbe(f, &spec.Recorder)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() != 1 {
		return a.usage(c, "give the number of one process")
	}
	pid, err := strconv.Atoi(f.Arg(0))
	if err != nil || pid < 1 {
		return a.usage(c, fmt.Sprintf("%q is not the number of a process: tracerag attach $(pidof server)", f.Arg(0)))
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	r, err := a.runner(s, spec, chooses{})
	if err == nil {
		err = r.Attach(ctx, pid)
	}
	if _, ok := errors.AsType[*record.LetGoError](err); ok {
		a.fail(err)
		return exitInterrupted
	}
	if err != nil {
		return a.fail(err)
	}
	return exitOK
}
