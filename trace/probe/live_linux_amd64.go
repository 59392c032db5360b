package probe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tracerag/trace"
	"tracerag/trace/executable"
	"tracerag/trace/probe/patch"
	"tracerag/trace/probe/patch/stubs"
	"tracerag/trace/probe/payload"
	"tracerag/trace/target"
)

// Live is a target that runs and is recorded. Its calls so far may be looked at
// at any time, without the target noticing.
type Live struct {
	t       *target.Target
	p       *prepared
	r       *running
	tr      *trace.Trace // without calls
	restore func()       // takes the terminal back
	once    bool         // nobody but Wait looks at the calls once the target has ended
	// Of a target that was attached to, what is to be undone.
	attached bool
	patches  []stubs.Patch
	found    string          // what a tracerag that is gone had left
	busy     map[uint64]bool // run-time addresses of patches that could not be made

	group    *group     // what it starts; nil: that is not recorded
	starting sync.Mutex // and what follows
	starts   []*startCall
	over     bool             // nothing is read of the target's memory any more
	tables   *executable.File // of the binary, for stacks

	converting sync.Mutex   // the binary's tables are for one goroutine at a time
	marking    sync.Mutex   // and so is what follows
	watch      *patch.Watch // see watcher
	watching   sync.Once
}

// Start starts the target as Record does, and lets it run.
func Start(ctx context.Context, t *target.Target, o Options) (*Live, error) {
	p, err := begin(t, o)
	if err != nil {
		return nil, err
	}
	defer func() { p.image.free() }()
	l := &Live{t: t, p: p, tr: t.NewTrace("probe")}
	if l.r, err = start(t, p, o); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		l.r.proc.Abandon()
		l.r.close()
		return nil, err
	}
	if o.Children != nil {
		if err := l.follow(o); err != nil {
			// It could not start a program now.
			l.r.proc.Abandon()
			l.r.close()
			o.Children.Unfollowed(err)
			o.Children = nil
			return Start(ctx, t, o)
		}
	}
	l.restore = target.HandOver(l.r.proc.Pid())
	if o.Started != nil {
		o.Started(l.r.proc.Pid())
	}
	l.tr.Start = time.Now().UTC()
	if err := l.r.proc.Detach(); err != nil {
		l.Close()
		return nil, fmt.Errorf("%s: letting it run: %w", t.Path, err)
	}
	go func() { // while it runs
		if l.p.ready() == nil && len(l.p.plan.Marks) > 0 {
			l.watcher()
		}
	}()
	if p.keep != nil { // likewise
		p.keep()
		p.keep = nil
	}
	return l, nil
}

// Pid is the target's process number.
func (l *Live) Pid() int { return l.r.proc.Pid() }

// Close gives back what the recording took here. The target, if it runs still,
// goes on.
func (l *Live) Close() {
	l.restore()
	if l.group != nil {
		l.group.settle()
	}
	l.forget()
}

// forget gives the shared memory back.
func (l *Live) forget() {
	l.starting.Lock()
	defer l.starting.Unlock()
	l.over = true
	l.r.close()
}

// Wait waits for the target's end and returns the trace of its whole run. When
// ctx is done the target is killed.
func (l *Live) Wait(ctx context.Context) (*trace.Trace, error) {
	exit, err := l.r.proc.Wait(ctx)
	if err != nil && ctx.Err() != nil {
		l.r.proc.Kill()
		exit, err = l.r.proc.Wait(context.WithoutCancel(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: waiting for its end: %w", l.t.Path, err)
	}
	if l.group != nil {
		l.group.settle()
	}
	tr, err := l.whole(trace.Exit{Code: exit.Code, Signal: exit.Signal})
	if err == nil && l.group != nil {
		tr.Processes = l.group.processes(tr)
	}
	return tr, err
}

// whole is the trace of a target that has ended.
func (l *Live) whole(exit trace.Exit) (*trace.Trace, error) {
	tr := *l.tr
	tr.Duration = time.Since(tr.Start)
	tr.Exit = exit
	tree, err := l.read()
	if err != nil {
		return nil, err
	}
	marks := l.r.marks.bytes()
	if l.once {
		l.forget() // there may be gigabytes, and the trace takes as much
	}
	// Neither needs the other, and each takes about as long.
	fates := make(chan []fated)
	l.marking.Lock()
	go func() {
		defer l.marking.Unlock()
		fates <- l.fatesOf(nil, &Snapshot{tree: tree, marks: marks})
	}()
	l.convert(tree, l.started(), &tr)
	l.addLines(<-fates, true, &tr)
	return &tr, nil
}

func (l *Live) read() (*payload.Tree, error) {
	if err := l.p.ready(); err != nil {
		return nil, fmt.Errorf("%s: its calls cannot be named: %w", l.t.Path, err)
	}
	tree, err := l.r.layout.Read(l.r.memory(), l.r.text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.t.Path, err)
	}
	return tree, nil
}

func (l *Live) convert(tree *payload.Tree, starts []*startCall, tr *trace.Trace) {
	// The target may end while somebody asks for a window.
	l.converting.Lock()
	defer l.converting.Unlock()
	tr.Losses = slices.Clone(l.tr.Losses)
	if l.r.unmarked {
		tr.Losses = append(tr.Losses, trace.Loss{Kind: trace.LossOther, Detail: "which lines of long functions ran is unknown: no free memory near the program's code"})
	}
	convert(l.t, l.p.plan, l.p.code, tree, l.attached, starts, tr)
}

// Snapshot is what had been called at a moment.
type Snapshot struct {
	tree  *payload.Tree
	marks []byte
	at    time.Time
}

// Snapshot looks at the calls until now.
func (l *Live) Snapshot() (*Snapshot, error) {
	tree, err := l.read()
	if err != nil {
		return nil, err
	}
	return &Snapshot{tree: tree, marks: l.r.marks.bytes(), at: time.Now().UTC()}, nil
}

// Window returns the trace of what ran between two snapshots, the first of which
// may be nil for the target's start: the contexts that were called in between,
// as often as they were. Calls that had begun before have no count. The order
// is that of each context's first call in the whole run.
func (l *Live) Window(from, to *Snapshot) *trace.Trace {
	tr := *l.tr
	tr.Exit = trace.Exit{Code: -1}
	tree := to.tree
	if from != nil {
		tr.Start = from.at
		tree = tree.Since(from.tree)
	}
	tr.Duration = to.at.Sub(tr.Start)
	l.convert(tree, nil, &tr)
	l.lines(from, to, &tr)
	return &tr
}
