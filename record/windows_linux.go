package record

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/term"

	"tracerag/trace"
	"tracerag/trace/probe"
	"tracerag/trace/rebuild"
	"tracerag/trace/store"
	"tracerag/trace/target"
)

// windows are the stretches of a live recording that become traces. Their baseline is
// start-up: see [startUp].
type windows[S any] struct {
	*Runner
	live   live[S]
	values *rebuild.Values // that live keeps; nil: none

	mu     sync.Mutex
	before *trace.Trace // what had run when the first one was started
	from   *S           // when the window was started; nil: none is being recorded
	name   string
	saved  int
}

// live is a recorder at work, whose looks at the program are of type S.
type live[S any] interface {
	Pid() int
	Snapshot() (*S, error)
	Begin() (*S, error) // a look at the beginning of a window
	Window(from, to *S) (*trace.Trace, error)
}

// patched is a program that the probe records.
type patched struct{ *probe.Live }

// Begin looks: the probe counts on.
func (p patched) Begin() (*probe.Snapshot, error) { return p.Snapshot() }

// Window is what ran between two looks.
func (p patched) Window(from, to *probe.Snapshot) (*trace.Trace, error) {
	return p.Live.Window(from, to), nil
}

// handle does what another process requests.
func (w *windows[S]) handle(q Request) (e Event, err error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch q.Do {
	case Start:
		e, err = w.start(q.Name)
	case Stop:
		e, err = w.stop(q.Name)
	case Snapshot:
		e, err = w.snapshot(q.Name)
	}
	if err == nil {
		w.event(e)
	}
	return e, err
}

// start starts a window.
func (w *windows[S]) start(name string) (Event, error) {
	if w.from != nil {
		return nil, &WindowError{Recording: true, Name: w.name}
	}
	now, err := w.live.Begin()
	if err != nil {
		return nil, err
	}
	if w.before == nil {
		if w.before, err = w.live.Window(nil, now); err != nil {
			return nil, err
		}
	}
	w.from, w.name = now, name
	return WindowStarted{Name: name}, nil
}

// stop ends the window and saves it.
func (w *windows[S]) stop(name string) (Event, error) {
	if w.from == nil {
		return nil, &WindowError{}
	}
	e, err := w.snapshot(name)
	if err == nil {
		w.from, w.name = nil, ""
	}
	return e, err
}

// snapshot saves what ran since the window was started or, where none is being
// recorded, since the beginning.
func (w *windows[S]) snapshot(name string) (Event, error) {
	now, err := w.live.Snapshot()
	if err != nil {
		return nil, err
	}
	tr, err := w.live.Window(w.from, now)
	if err != nil {
		return nil, err
	}
	w.complete(tr)
	if tr.Name = name; name == "" {
		tr.Name = w.name
	}
	if w.from != nil {
		if base := startUp(w.before, tr); base != nil {
			e, err := w.Store.Baselines().Save(base)
			if err != nil {
				return nil, fmt.Errorf("saving what ran before: %w", err)
			}
			tr.Baseline = e.ID
		}
	}
	e, err := w.save(tr)
	if err != nil {
		return nil, err
	}
	w.saved++
	return w.asSaved(tr, e), nil
}

// complete adds to a trace what the recorder does not know: what was typed, and which values are wanted.
func (w *windows[S]) complete(tr *trace.Trace) {
	if w.built != nil {
		tr.Command = w.Spec.Command
	}
	if w.values == nil {
		return
	}
	if seen, err := w.keep(tr, w.values); err != nil {
		w.event(NoValues{Err: err})
	} else {
		w.event(*seen)
	}
}

func (w *windows[S]) asSaved(tr *trace.Trace, e store.Entry) WindowSaved {
	return WindowSaved{Name: tr.Name, Trace: nameOf(w.Store, e), Path: e.Path, Calls: tr.Calls(), Functions: len(tr.Functions), Duration: tr.Duration}
}

// finish saves the window that is being recorded when the program has ended or is let
// go: tr is its whole run. Without a window that is what was recorded.
func (w *windows[S]) finish(tr *trace.Trace) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.from != nil:
		e, err := w.stop("")
		if err == nil {
			w.event(e)
		}
		return err
	case w.saved > 0:
		return nil
	}
	w.complete(tr)
	e, err := w.save(tr)
	if err == nil {
		w.event(WholeSaved{w.asSaved(tr, e)})
	}
	return err
}

// keys starts and stops windows at each Enter, where standard input is ours.
func (w *windows[S]) keys() {
	in := bufio.NewScanner(w.Stdin)
	for in.Scan() {
		do := Start
		w.mu.Lock()
		if w.from != nil {
			do = Stop
		}
		w.mu.Unlock()
		if _, err := w.handle(Request{Do: do, Name: strings.TrimSpace(in.Text())}); err != nil {
			w.event(Refused{Err: err})
		}
	}
}

// atTerminal reports whether what a user types comes to us.
func (r *Runner) atTerminal() bool {
	f, ok := r.Stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Windows records a program whose windows are started and stopped while it runs, and
// returns how it ended.
func (r *Runner) Windows(ctx context.Context) (trace.Exit, error) {
	var exit trace.Exit
	tgt, err := r.target()
	if err == nil {
		err = r.Store.Check()
	}
	if err != nil {
		return exit, err
	}
	// Servers read nothing. So a terminal's input is for us.
	tgt.NoInput = r.atTerminal()
	begin, end := untilSaved()
	defer end()
	if r.built != nil {
		return r.rebuiltWindows(ctx, tgt, begin)
	}
	o := r.Spec.Recorder.probe()
	o.Started = func(int) { begin() }
	live, err := probe.Start(ctx, tgt, o)
	if err != nil {
		return exit, &CannotRunError{Program: tgt.Args[0], Err: fmt.Errorf("windows need the probe, which can't handle %s: %w", tgt.Args[0], err)}
	}
	defer live.Close()
	tr, err := inWindows(ctx, &windows[probe.Snapshot]{Runner: r, live: patched{live}}, tgt.NoInput, live.Wait)
	if tr != nil {
		exit = tr.Exit
	}
	return exit, err
}

// rebuiltWindows is Windows of a program that a go command has built with the recorder.
func (r *Runner) rebuiltWindows(ctx context.Context, tgt *target.Target, begin func()) (exit trace.Exit, err error) {
	values := r.sameRun(tgt)
	live, err := rebuild.Start(ctx, tgt, rebuild.Options{Memory: r.Spec.Recorder.Memory, Values: values, Started: func(int) { begin() }})
	if err != nil {
		return exit, &CannotRunError{Program: tgt.Args[0], Err: err}
	}
	defer live.Close()
	tr, err := inWindows(ctx, &windows[rebuild.Snapshot]{Runner: r, live: live, values: values}, tgt.NoInput, live.Wait)
	if tr != nil {
		exit = tr.Exit
	}
	return exit, err
}

// inWindows takes requests until the program has ended.
func inWindows[S any](ctx context.Context, w *windows[S], keys bool, wait func(context.Context) (*trace.Trace, error)) (*trace.Trace, error) {
	defer w.listen(keys)()
	w.event(Running{Pid: w.live.Pid(), Keys: keys})
	tr, err := wait(ctx)
	if err != nil {
		return nil, err
	}
	return tr, w.finish(tr)
}

// listen takes requests from other processes and, with keys, from the terminal.
func (w *windows[S]) listen(keys bool) (stop func()) {
	if keys {
		go w.keys()
	}
	stop, err := listen(w.live.Pid(), w.handle)
	if err != nil {
		w.event(NotControlled{Err: err})
		return func() {}
	}
	return stop
}

// Attach records a process that runs already, until it ends or the user ends the
// recording, which lets it go.
func (r *Runner) Attach(ctx context.Context, pid int) error {
	// From the beginning: a process whose code is being changed must not lose us.
	ctx, cancel := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer cancel()
	tgt, err := target.Of(pid, r.Spec.Include, r.Spec.Exclude)
	if err == nil {
		err = r.Store.Check()
	}
	if err != nil {
		return err
	}
	live, err := probe.Attach(ctx, tgt, pid, r.Spec.Recorder.probe())
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return &LetGoError{Pid: pid}
	}
	if err != nil {
		return err
	}
	defer live.Close()
	if found := live.Found(); found != "" {
		r.event(Found{Pid: pid, What: found})
	}
	w := &windows[probe.Snapshot]{Runner: r, live: patched{live}}
	defer w.listen(r.atTerminal())()
	r.event(Running{Pid: pid, Attached: true})
	tr, err := live.DetachOr(ctx)
	if err != nil {
		return err
	}
	return w.finish(tr)
}
