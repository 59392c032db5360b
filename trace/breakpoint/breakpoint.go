// Package breakpoint is the portable recorder: it runs a program under delve
// with a breakpoint at the beginning of every recorded function, and reads the
// stack at each stop.
//
// A stop costs two switches between the program and the debugger, tens to
// hundreds of microseconds, where a call costs one nanosecond. So a function's
// breakpoint is lifted after a number of stops (Options.MaxHits), a number that
// falls to one as all stops add up (to Options.MaxStops). What was lifted is marked: its counts are floors, and callers that came
// later are missing unless they are on a stack. While packages are initialised
// the limit is a low one, and when main.main begins every function is watched
// anew.
//
// Where the breakpoints are. A function's breakpoint is behind its stack
// check, because a stack that grows runs the check twice. A call that was
// inlined has a breakpoint at the lowest address of its body; the compiler
// moves such code about, so its counts are approximate.
//
// The stack is read by what the pclntab says of frames' sizes, or on arm64 by
// frame pointers, and laid out in logical frames by the pclntab's inline trees:
// no DWARF is needed, and a stripped binary records as well as any.
package breakpoint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-delve/delve/pkg/proc"

	"tracerag/trace"
	"tracerag/trace/target"
)

// Defaults of Options.
const (
	DefaultMaxHits  = 200
	DefaultMaxStops = 15_000
	// initHits is the limit while packages are initialised: large tables of
	// registrations would use up every stop, and the tree leaves them out.
	initHits = 3
)

// Options of a recording.
type Options struct {
	MaxHits   int                              // stops of a function before its breakpoints are lifted; 0: DefaultMaxHits
	MaxStops  int                              // stops in all, towards which MaxHits falls to 1; 0: DefaultMaxStops
	NoInlined bool                             // leave inlined calls alone
	Started   func(pid int)                    // called when the program is about to run; may be nil
	Progress  func(done, total int)            // called now and then while breakpoints are set; may be nil
	Warn      func(format string, args ...any) // something the user should know; may be nil
}

func (o *Options) defaults() {
	if o.MaxHits <= 0 {
		o.MaxHits = DefaultMaxHits
	}
	if o.MaxStops <= 0 {
		o.MaxStops = DefaultMaxStops
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	if o.Warn == nil {
		o.Warn = func(string, ...any) {}
	}
}

// Record runs the target to its end and returns its trace. The target has our
// standard input, output and error, and the terminal if we have one. However
// it ends, the trace of what was seen is returned; an error means that it was
// not started. When ctx is done the target is killed.
//
// While it runs, delve waits for every child of this process: start no others.
func Record(ctx context.Context, t *target.Target, o Options) (*trace.Trace, error) {
	o.defaults()
	if err := t.Ready(); err != nil {
		return nil, err
	}
	if err := supported(t.Binary); err != nil {
		return nil, err
	}
	own, err := t.OwnCode()
	if err == nil {
		err = own.Refused(t.Path)
	}
	if err != nil {
		return nil, err
	}
	grp, err := launch(t)
	if err != nil {
		return nil, launchError(t, err)
	}
	tgt := grp.Selected
	pid := tgt.Pid()

	r := newRecording(t, tgt, o)
	r.quiet = own.Changes != ""
	if err := r.arm(ctx); err != nil {
		kill(pid)
		_ = grp.Detach(true)
		return nil, fmt.Errorf("%s: setting breakpoints: %w", t.Path, err)
	}
	if !t.Silent {
		takeBack := target.HandOver(pid)
		defer takeBack()
	}
	if o.Started != nil {
		o.Started(pid)
	}
	defer context.AfterFunc(ctx, func() { kill(pid) })()
	unpin := pin()
	r.tr.Start = time.Now().UTC().Round(0)
	exit, err := r.run(grp)
	unpin()
	r.tr.Duration = time.Since(r.tr.Start)
	if err != nil {
		// The debugger lost its way. The program must not suffer for it: let
		// it go on alone, and keep what was seen.
		o.Warn("the debugger failed (%v); the program goes on without it", err)
		r.tr.Losses = append(r.tr.Losses, trace.Loss{Kind: trace.LossTruncated, Detail: err.Error()})
		exit = r.letGo(grp, pid)
		r.tr.Duration = time.Since(r.tr.Start)
	}
	r.tr.Exit = exit
	return r.finish(), nil
}

func kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

// launchError explains the usual reasons for which a program cannot be started
// under a debugger.
func launchError(t *target.Target, err error) error {
	switch {
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%s: starting it under ptrace is not permitted here: %w\nin a container allow it with --cap-add=SYS_PTRACE or a seccomp profile with ptrace; with Yama, /proc/sys/kernel/yama/ptrace_scope 0 or 1 permits it, 2 for root only, 3 forbids it", t.Path, err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: %w\nis it executable? chmod +x %s", t.Path, err, t.Path)
	}
	return fmt.Errorf("%s: starting it under the debugger: %w", t.Path, err)
}

// recording is one run in progress.
type recording struct {
	o     Options
	t     *target.Target
	tgt   *proc.Target
	traps traps
	slide uint64 // what a position-independent program's addresses are off by

	tr      *trace.Trace
	b       *trace.Builder
	points  map[uint64]*point // by link-time address
	funcs   []*watched        // functions that have breakpoints
	quiet   bool              // the program may change the beginnings of functions: nothing of ours may be there
	main    uint64            // address of main.main's breakpoint
	begun   bool              // main.main has begun
	stops   int
	stack   stackReader
	callers map[returnKey]caller
	frames  map[uint64][]frame // logical frames of a pc, innermost first
	ids     map[string]trace.FuncID
	goids   map[int64]bool
	gos     map[uint64]trace.GoStmt // by pc of the go statement
	cut     int64                   // stacks that were too deep to read whole
	approx  map[trace.NodeID]bool   // nodes that an inlined call's breakpoint counted
}

// watched is a function that has breakpoints, at its entry, in its inlined
// copies, or both.
type watched struct {
	name   string
	addrs  []uint64
	hits   int
	lifted bool
	floor  [2]bool // given up during package initialisation, and after it
}

// point is a breakpoint: the activations that begin at its address, outermost
// first. There are several when a body was inlined at the very beginning of
// another one.
type point struct {
	begins []activation
	sp     int64 // distance from the stack pointer to the return address there
	set    bool
}

// activation is a call that begins at a point.
type activation struct {
	fn     *watched
	frames []frame // within the physical function, innermost first
	inline bool
}

func newRecording(t *target.Target, tgt *proc.Target, o Options) *recording {
	r := &recording{
		o: o, t: t, tgt: tgt, tr: t.NewTrace("breakpoint"), points: map[uint64]*point{},
		callers: map[returnKey]caller{}, frames: map[uint64][]frame{}, ids: map[string]trace.FuncID{}, goids: map[int64]bool{},
		gos: map[uint64]trace.GoStmt{}, approx: map[trace.NodeID]bool{},
	}
	r.b = trace.NewBuilder(r.tr)
	r.traps = newTraps(tgt)
	if imgs := tgt.BinInfo().Images; len(imgs) > 0 {
		r.slide = imgs[0].StaticBase
	}
	return r
}

// run lets the target run from stop to stop until it ends.
func (r *recording) run(grp *proc.TargetGroup) (trace.Exit, error) {
	return follow(grp, r.traps, func(h hit) error {
		if p := r.points[h.addr-r.slide]; p != nil {
			return r.stop(h, p)
		}
		return nil
	})
}

// follow lets a target run until it ends, and calls stop for every thread that
// reaches a breakpoint.
func follow(grp *proc.TargetGroup, traps traps, stop func(hit) error) (trace.Exit, error) {
	for {
		err := grp.Continue()
		var ended proc.ErrProcessExited
		switch {
		case errors.As(err, &ended):
			if ended.Status < 0 {
				return trace.Exit{Code: 128 - ended.Status, Signal: signalName(-ended.Status)}, nil
			}
			return trace.Exit{Code: ended.Status}, nil
		case err != nil:
			return trace.Exit{}, err
		}
		hits, err := traps.hits()
		if err != nil {
			return trace.Exit{}, err
		}
		for _, h := range hits {
			if err := stop(h); err != nil {
				return trace.Exit{}, err
			}
		}
	}
}

// stop records the calls that begin at a breakpoint.
func (r *recording) stop(h hit, p *point) error {
	r.stops++
	s := r.readStack(h.th.ProcessMemory(), h.regs, p)
	if s.cut {
		r.cut++
	}
	if h.addr-r.slide == r.main && !r.begun {
		if err := r.begin(); err != nil {
			return err
		}
	}
	g := r.goroutine(h.th, h.regs)
	if g.id != 0 {
		r.goids[g.id] = true
	}
	for _, a := range p.begins {
		if a.fn.lifted {
			continue
		}
		if root, stack := r.place(a, s.pcs, g); len(stack) > 0 {
			id := r.b.Call(root, stack, 1)
			if a.inline {
				r.approx[id] = true
			}
		}
		a.fn.hits++
		if a.fn.hits >= r.limit() {
			if err := r.lift(a.fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// limit is the number of stops after which a function is let go. It falls as the
// stops add up: what is called all the time is let go early, and leaves stops
// for functions that come late. Against a limit that is the same until none are
// left, as many stops gave a quarter more functions with exact counts.
func (r *recording) limit() int {
	if !r.begun {
		return min(initHits, r.o.MaxHits)
	}
	left := max(0, r.o.MaxStops-r.stops)
	return max(1, int(math.Ceil(float64(r.o.MaxHits)*(float64(left)/float64(r.o.MaxStops)))))
}

// begin starts over when main.main begins: what was given up during package
// initialisation is watched again.
func (r *recording) begin() error {
	r.begun, r.stops = true, 0
	for _, fn := range r.funcs {
		fn.hits = 0
		if !fn.lifted {
			continue
		}
		fn.lifted = false
		for _, addr := range fn.addrs {
			if p := r.points[addr]; !p.set {
				if err := r.set(addr); err != nil {
					return fmt.Errorf("watching %s again: %w", fn.name, err)
				}
			}
		}
	}
	return nil
}

// set sets the breakpoint of a point.
func (r *recording) set(addr uint64) error {
	if err := r.traps.set(addr + r.slide); err != nil {
		return err
	}
	r.points[addr].set = true
	return nil
}

// lift takes away the breakpoints of a function, but for those at which
// another function that is still watched begins.
func (r *recording) lift(fn *watched) error {
	fn.lifted = true
	phase := 0
	if r.begun {
		phase = 1
	}
	fn.floor[phase] = true
	for _, addr := range fn.addrs {
		p := r.points[addr]
		if !p.set || slices.ContainsFunc(p.begins, func(a activation) bool { return !a.fn.lifted }) {
			continue
		}
		p.set = false
		if err := r.traps.clear(addr + r.slide); err != nil {
			return fmt.Errorf("lifting the breakpoint of %s: %w", fn.name, err)
		}
	}
	return nil
}

// finish marks what was not seen and completes the trace.
func (r *recording) finish() *trace.Trace {
	floors := map[string][2]bool{}
	for _, fn := range r.funcs {
		floors[fn.name] = fn.floor
		if fn.floor[1] {
			r.tr.Losses = append(r.tr.Losses, trace.Loss{Kind: trace.LossFloor, Function: fn.name, Count: int64(fn.hits)})
		}
	}
	inInit := make([]bool, len(r.tr.Nodes))
	for i := range r.tr.Nodes {
		n := &r.tr.Nodes[i]
		inInit[i] = n.Root == trace.RootInit || n.Parent != trace.NoNode && inInit[n.Parent]
		f := floors[r.tr.Functions[n.Func].Name]
		if inInit[i] && f[0] || !inInit[i] && f[1] {
			n.Flags |= trace.Floor
		}
		if r.approx[trace.NodeID(i)] {
			n.Flags |= trace.Approximate
		}
	}
	if r.cut > 0 {
		r.tr.Losses = append(r.tr.Losses, trace.Loss{Kind: trace.LossTruncated, Count: r.cut,
			Detail: fmt.Sprintf("stacks deeper than %d frames, whose outermost callers are missing", maxFrames)})
	}
	slices.SortStableFunc(r.tr.Losses, func(a, b trace.Loss) int {
		if a.Kind != b.Kind {
			return strings.Compare(string(a.Kind), string(b.Kind))
		}
		return strings.Compare(a.Function, b.Function)
	})
	r.tr.Goroutines = int64(len(r.goids))
	r.b.AttachGoroutines()
	return r.b.Finish()
}

// letGo detaches from a target that the debugger cannot follow, and waits for
// its end.
func (r *recording) letGo(grp *proc.TargetGroup, pid int) trace.Exit {
	_ = r.traps.clearAll()
	if err := grp.Detach(false); err != nil {
		return trace.Exit{Code: -1}
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return trace.Exit{Code: -1}
	}
	state, err := p.Wait()
	if err != nil {
		return trace.Exit{Code: -1}
	}
	if ws, ok := state.Sys().(interface {
		Signaled() bool
		Signal() syscall.Signal
	}); ok && ws.Signaled() {
		return trace.Exit{Code: 128 + int(ws.Signal()), Signal: signalName(int(ws.Signal()))}
	}
	return trace.Exit{Code: state.ExitCode()}
}
