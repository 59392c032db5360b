package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"time"

	"tracerag/phrase"
	"tracerag/trace"
	"tracerag/trace/probe"
	"tracerag/trace/store"
	"tracerag/trace/target"
)

// windows are the parts of a live recording that become traces. What ran before
// the first one is their baseline.
type windows struct {
	a    *app
	s    *store.Store
	live *probe.Live

	mu       sync.Mutex
	baseline string          // id of its trace, "" as long as there was no window
	from     *probe.Snapshot // when the open window was opened; nil: none is
	name     string
	saved    int
}

// obey does what came from another terminal.
func (w *windows) obey(o order) answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ans answer
	var err error
	switch o.Do {
	case "start":
		ans, err = w.start(o.Name)
	case "stop":
		ans, err = w.stop(o.Name)
	case "snapshot":
		ans, err = w.snapshot(o.Name)
	default:
		err = fmt.Errorf("unknown action %q: must be start, stop or snapshot", o.Do)
	}
	if err != nil {
		ans.Error = err.Error()
	} else {
		w.a.note("%s", ans.Message)
	}
	return ans
}

// start opens a window.
func (w *windows) start(name string) (answer, error) {
	if w.from != nil {
		return answer{}, errors.New("a window is already being recorded; end it with: tracerag window stop")
	}
	now, err := w.live.Snapshot()
	if err != nil {
		return answer{}, err
	}
	if w.baseline == "" {
		e, err := w.s.Baselines().Save(w.live.Window(nil, now))
		if err != nil {
			return answer{}, fmt.Errorf("saving what ran before: %w", err)
		}
		w.baseline = e.ID
	}
	w.from, w.name = now, name
	what := "a window"
	if name != "" {
		what = fmt.Sprintf("window %q", name)
	}
	return answer{Message: "recording " + what + "; end it with: tracerag window stop"}, nil
}

// stop closes the window and saves it.
func (w *windows) stop(name string) (answer, error) {
	if w.from == nil {
		return answer{}, errors.New("no window is being recorded; start one with: tracerag window start")
	}
	ans, err := w.snapshot(name)
	if err == nil {
		w.from, w.name = nil, ""
	}
	return ans, err
}

// snapshot saves what ran since the window was opened or, where none is open,
// since the beginning.
func (w *windows) snapshot(name string) (answer, error) {
	now, err := w.live.Snapshot()
	if err != nil {
		return answer{}, err
	}
	tr := w.live.Window(w.from, now)
	if tr.Name = name; name == "" {
		tr.Name = w.name
	}
	if w.from != nil {
		tr.Baseline = w.baseline
	}
	e, err := w.a.save(w.s, tr)
	if err != nil {
		return answer{}, err
	}
	w.saved++
	id := nameOf(w.s, e)
	what := "window"
	if tr.Name != "" {
		what += " " + tr.Name
	}
	return answer{Trace: id, Message: fmt.Sprintf("%s: %s of %s in %v: trace %s", what, phrase.Plural(tr.Calls(), "call", "calls"),
		phrase.Plural(len(tr.Functions), "function", "functions"), tr.Duration.Round(10*time.Millisecond), phrase.Quote(id))}, nil
}

// finish saves what is open when the program has ended or is let go: tr is its
// whole run. Without a window that is what was recorded.
func (w *windows) finish(tr *trace.Trace) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.from != nil:
		ans, err := w.stop("")
		if err == nil {
			w.a.note("%s", ans.Message)
		}
		return err
	case w.saved > 0:
		return nil
	}
	e, err := w.a.save(w.s, tr)
	if err == nil {
		w.a.note("no window was opened; the whole run: %s of %s: trace %s", phrase.Plural(tr.Calls(), "call", "calls"), phrase.Plural(len(tr.Functions), "function", "functions"), phrase.Quote(nameOf(w.s, e)))
	}
	return err
}

// keys opens and closes windows at each Enter, where standard input is ours.
func (w *windows) keys() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		do := "start"
		w.mu.Lock()
		if w.from != nil {
			do = "stop"
		}
		w.mu.Unlock()
		if ans := w.obey(order{Do: do, Name: strings.TrimSpace(in.Text())}); ans.Error != "" {
			w.a.note("%s", ans.Error)
		}
	}
}

// runWindows records a program whose windows are opened and closed while it runs.
func (a *app) runWindows(ctx context.Context, s *store.Store, args []string, r *runFlags) int {
	tgt, err := target.Find(args, a.cwd, r.include, r.exclude)
	if err != nil {
		a.fail(err)
		return recordCode(args[0], cannotRun{error: err})
	}
	if err := s.Check(); err != nil {
		a.fail(err)
		return exitRunFailed
	}
	// Servers read nothing. So a terminal's input is for us.
	tgt.NoInput = terminal(a.stdin)
	begin, end := untilSaved()
	defer end()
	o := r.probeOptions()
	o.Started = func(int) { begin() }
	live, err := probe.Start(ctx, tgt, o)
	if err != nil {
		a.fail(fmt.Errorf("windows need the probe, which can't handle %s: %w", args[0], err))
		return exitRunCannot
	}
	defer live.Close()
	w := &windows{a: a, s: s, live: live}
	stop, err := a.listen(live.Pid(), w.obey)
	if err != nil {
		a.note("tracerag window cannot be used: %v", err)
	} else {
		defer stop()
	}
	hint := "tracerag window start"
	if tgt.NoInput {
		hint = "Enter, or tracerag window start,"
		go w.keys()
	}
	a.note("recording process %d: %s opens a window", live.Pid(), hint)
	tr, err := live.Wait(ctx)
	code := exitRunFailed
	if err == nil {
		code = tr.Exit.Code
		err = w.finish(tr)
	}
	if err != nil {
		a.fail(err)
		if code == 0 {
			return exitRunFailed
		}
	}
	return code
}

// attach records a process that runs already, until it ends or we are told to let
// it go.
func (a *app) attach(ctx context.Context, s *store.Store, pid int, r *runFlags) error {
	tgt, err := target.Of(pid, r.include, r.exclude)
	if err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		return err
	}
	live, err := probe.Attach(ctx, tgt, pid, r.probeOptions())
	if err != nil {
		return err
	}
	defer live.Close()
	if found := live.Found(); found != "" {
		a.note("process %d: %s", pid, found)
	}
	w := &windows{a: a, s: s, live: live}
	stop, err := a.listen(pid, w.obey)
	if err != nil {
		a.note("tracerag window cannot be used: %v", err)
	} else {
		defer stop()
	}
	ctx, cancel := signal.NotifyContext(ctx, endSignals...)
	defer cancel()
	a.note("recording process %d: Ctrl-C ends the recording and saves the trace", pid)
	if terminal(a.stdin) {
		go w.keys()
	}
	tr, err := live.DetachOr(ctx)
	if err != nil {
		return err
	}
	return w.finish(tr)
}

var windowName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// checkName reports what stands against a window's name.
func checkName(name string) error {
	if name == "" {
		return nil
	}
	if !windowName.MatchString(name) {
		return fmt.Errorf("a window's name is letters, digits, dots and dashes: %q is not", name)
	}
	if len(strings.TrimLeft(strings.ToLower(name), "0123456789abcdef")) == 0 {
		return fmt.Errorf("%q could be a trace's id: take another name", name)
	}
	return nil
}
