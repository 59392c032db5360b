//go:build (linux || darwin || windows) && (amd64 || arm64)

package rebuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"

	"tracerag/trace"
	"tracerag/trace/probe"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/payload"
	"tracerag/trace/target"
)

// Live is a program that runs and is recorded. What it has done so far may be looked at at any time.
type Live struct {
	t        *target.Target
	o        Options
	mem      *shared
	cmd      *exec.Cmd
	tr       *trace.Trace // without calls
	unhooked []plan.Unhooked
	free     []func()

	looking sync.Mutex // the binary's tables are for one goroutine at a time
}

// Start starts a program that was built through [Tool].
func Start(ctx context.Context, t *target.Target, o Options) (live *Live, err error) {
	if err := t.Ready(); err != nil {
		return nil, err
	}
	live = &Live{t: t, o: o}
	defer func() {
		if err != nil {
			live.Close()
			live = nil
		}
	}()
	if live.unhooked, err = unrecorded(t); err != nil { // before it runs for nothing
		return live, fmt.Errorf("%s: %w", t.Path, err)
	}
	l := newLayout(4*runtime.NumCPU(), o.Memory)
	if o.Values != nil {
		l = o.Values.plan(l, t)
	}
	if live.mem, err = share(l.within(room())); err != nil {
		return live, fmt.Errorf("memory for the recorder: %w", err)
	}
	live.free = append(live.free, func() { live.mem.Close() })
	files, release, err := t.Files()
	if err != nil {
		return live, err
	}
	live.free = append(live.free, release)
	cmd := exec.CommandContext(ctx, t.Path)
	cmd.Args, cmd.Dir = t.Args, t.Dir
	if len(o.Through) > 0 {
		cmd = exec.CommandContext(ctx, o.Through[0], slices.Concat(o.Through[1:], []string{t.Path}, t.Args[1:])...)
		cmd.Dir = t.Dir
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[1], files[2]
	// By this name it maps the memory before any of its own code runs.
	cmd.Env = append(os.Environ(), variable+"="+live.mem.lend(cmd))
	if err := cmd.Start(); err != nil {
		return live, err
	}
	live.cmd = cmd
	live.free = append(live.free, target.HandOver(cmd.Process.Pid))
	if o.Started != nil {
		o.Started(cmd.Process.Pid)
	}
	live.tr = t.NewTrace("rebuild")
	live.tr.Start = time.Now().UTC()
	return live, nil
}

// Pid is the number of the process.
func (l *Live) Pid() int { return l.cmd.Process.Pid }

// Close gives back what the recording took here. A program that runs still goes on.
func (l *Live) Close() {
	for _, f := range slices.Backward(l.free) {
		f()
	}
	l.free = nil
}

// Wait waits for the program's end and returns the trace of its whole run.
func (l *Live) Wait(ctx context.Context) (*trace.Trace, error) {
	err := l.cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && l.cmd.ProcessState == nil {
		return nil, fmt.Errorf("%s: waiting for its end: %w", l.t.Path, err)
	}
	exit := exitOf(l.cmd.ProcessState, ctx.Err() != nil)
	now, err := l.Snapshot()
	if err != nil {
		return nil, err
	}
	tr, err := l.Window(nil, now)
	if err != nil {
		return nil, err
	}
	tr.Exit = exit
	return tr, nil
}

// Snapshot is what a program had done at one time.
type Snapshot struct {
	tree      *payload.Tree
	functions *plan.Plan
	lines     *lineMarks
	noLines   error
	values    uint64 // offset of the end of those that were kept
	at        time.Time
}

// Snapshot looks at the program.
func (l *Live) Snapshot() (*Snapshot, error) {
	l.looking.Lock()
	defer l.looking.Unlock()
	s := &Snapshot{at: time.Now().UTC(), values: l.mem.layout.valuesAt()}
	var ok bool
	var err error
	if s.tree, s.functions, ok, err = l.mem.layout.read(l.mem, l.t.Binary); err != nil {
		return nil, fmt.Errorf("%s: %w", l.t.Path, err)
	}
	if !ok {
		return nil, fmt.Errorf("%s: nothing was recorded: it ended before package runtime began, or could not map %d MB of memory%s", l.t.Path, l.mem.layout.size()>>20, limits)
	}
	s.lines, s.noLines = l.mem.layout.readLines(l.mem)
	if l.o.Values != nil {
		h := make([]byte, headerSize)
		if _, err := l.mem.ReadAt(h, 0); err != nil {
			return nil, fmt.Errorf("reading the recorder's memory: %w", err)
		}
		s.values = le.Uint64(h[atValuesNext:])
	}
	return s, nil
}

// Begin is Snapshot for the beginning of a window. From then on lines and values are those of the window: which lines ran is forgotten, and of each
// node's calls as many are kept as at first.
func (l *Live) Begin() (*Snapshot, error) {
	s, err := l.Snapshot()
	if err != nil {
		return nil, err
	}
	if err := s.lines.forget(l.mem); err != nil {
		return nil, err
	}
	if l.o.Values != nil {
		if err := l.mem.layout.keepAgain(l.mem); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Window returns the trace of what ran between two looks, or since the beginning if from is nil. Values of it are in Options.Values.
func (l *Live) Window(from, to *Snapshot) (*trace.Trace, error) {
	l.looking.Lock()
	defer l.looking.Unlock()
	tr := *l.tr
	tr.Exit = trace.Exit{Code: -1}
	tree, values := to.tree, l.mem.layout.valuesAt()
	if from != nil {
		tr.Start = from.at
		tree, values = tree.Since(from.tree), from.values
	}
	tr.Duration = to.at.Sub(tr.Start)
	tr.Losses = slices.Clone(tr.Losses)
	functions := *to.functions
	functions.Unhooked = l.unhooked
	nodes := probe.Convert(l.t, &functions, tree, &tr)
	if to.noLines != nil {
		tr.Losses = append(tr.Losses, trace.Loss{Kind: trace.LossOther, Detail: to.noLines.Error()})
	} else {
		to.lines.add(l.t, &tr)
	}
	if l.o.Values != nil {
		if err := l.o.Values.read(l.mem.layout, l.mem, values, to.values, nodes); err != nil {
			return nil, fmt.Errorf("%s: %w", l.t.Path, err)
		}
	}
	return &tr, nil
}
