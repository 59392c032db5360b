package breakpoint

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"tracerag/trace"
	"tracerag/trace/breakpoint/values"
	"tracerag/trace/target"
)

// Defaults of ObserveOptions.
const (
	DefaultCalls = 3
	// maxValueBytes bounds the texts of a trace's values: more than a million tokens
	// nobody reads.
	maxValueBytes = 4 << 20
	// maxMisses is how often others may come by where a call is to return to, before
	// its results are given up.
	maxMisses = 500
)

// ObserveOptions of a second run.
type ObserveOptions struct {
	Functions []string                         // linker names of those whose calls are observed
	Calls     int                              // activations of each node, trace.MaxActivations at most; 0: DefaultCalls
	MaxHits   int                              // stops of a function in all; 0: DefaultMaxHits
	MaxStops  int                              // stops of all of them, towards which MaxHits falls to 1; 0: DefaultMaxStops
	Mask      func(string) string              // hides secrets in strings that are cut; may be nil
	Limit     time.Duration                    // after which the run is ended; 0: none
	Warn      func(format string, args ...any) // may be nil
}

// Observation is what a second run has shown.
type Observation struct {
	Activations []trace.Activation // as Trace.Activations has them
	Unmatched   int                // calls of which the trace has no node
	Unclear     int                // calls of which it has several: goroutines that one statement started
	FirstOther  string             // the function of the first one of Unmatched
	Exit        trace.Exit         // how the run ended, by itself unless TimedOut; Code -1 when that was not seen
	Watched     int                // functions with code of their own that the first run called after main.main began
	NotCalled   []string           // those of them that this run did not call, in the order of the first one's calls
	NotEntered  []string           // functions that have no code of their own: the compiler inlined them everywhere
	Unknown     []string           // functions that the program's DWARF does not describe
	TimedOut    bool               // the run was ended for it took too long
	Full        bool               // more values do not fit
}

// Observe runs the target once more and reads the arguments and results of the
// first calls of nodes of tr, a trace of the same program run in the same way. The
// target should be Silent: its output has been seen once.
//
// A breakpoint is at the entry of each of the functions, and while an observed
// call runs, at the place where it returns to. A function's are lifted when all of
// its nodes have been observed, or after ObserveOptions.MaxHits stops. Calls are matched
// to nodes by their stacks, which are read as Record reads them. The inlined calls
// of a function are not observed, nor is package initialisation.
//
// A call that panics has no results, and one that still runs at the end has none.
func Observe(ctx context.Context, t *target.Target, tr *trace.Trace, o ObserveOptions) (*Observation, error) {
	ro := Options{MaxHits: o.MaxHits, MaxStops: o.MaxStops, Warn: o.Warn}
	ro.defaults()
	if o.Calls <= 0 {
		o.Calls = DefaultCalls
	}
	o.Calls = min(o.Calls, trace.MaxActivations)
	if err := supported(t.Binary); err != nil {
		return nil, err
	}
	own, err := t.OwnCode()
	if err == nil {
		err = own.Refused(t.Path)
	}
	if err == nil && own.Changes != "" {
		// Breakpoints where calls return would be in bytes that it may change or copy.
		err = fmt.Errorf("%s: the program changes its own code (%s), so values cannot be observed", t.Path, own.Changes)
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
	fail := func(err error) (*Observation, error) {
		kill(pid)
		_ = grp.Detach(true)
		return nil, fmt.Errorf("%s: %w", t.Path, err)
	}
	ob := &observer{recording: newRecording(t, tgt, ro), o: o, nodes: newNodeIndex(tr), seen: map[trace.NodeID][]*call{}, subjects: map[uint64]*subject{}, returns: map[uint64]*landing{}}
	if ob.reader, err = values.NewReader(tgt); err != nil {
		return fail(err)
	}
	ob.reader.Mask = o.Mask
	if err := ob.choose(); err != nil {
		return fail(err)
	}
	defer context.AfterFunc(ctx, func() { kill(pid) })()
	if o.Limit > 0 {
		timer := time.AfterFunc(o.Limit, func() { ob.timedOut.Store(true); kill(pid) })
		defer timer.Stop()
	}
	unpin := pin()
	ob.out.Exit, err = follow(grp, ob.traps, ob.stop)
	unpin()
	if err != nil {
		ob.out.Exit = trace.Exit{Code: -1}
		ro.Warn("the debugger failed (%v); the values that it saw are kept", err)
		kill(pid)
		_ = grp.Detach(true)
	}
	return ob.result(), nil
}

// observer is a second run in progress.
type observer struct {
	*recording
	o        ObserveOptions
	nodes    *nodeIndex
	reader   *values.Reader
	subjects map[uint64]*subject // by address of the breakpoint
	watched  []*subject          // all that there were
	returns  map[uint64]*landing // by address, while calls are to return there
	seen     map[trace.NodeID][]*call
	bytes    int
	out      Observation
	timedOut atomic.Bool
}

// subject is a function that is observed.
type subject struct {
	name string
	at   uint64 // of its breakpoint
	sp   int64  // distance from the stack pointer to the return address there
	own  []frame
	fn   *values.Function
	left int // calls that are still to be observed
	hits int
}

// landing is a place to which calls return.
type landing struct {
	calls  []*call
	misses int
}

// call is an activation, and where its frame is until it has returned.
type call struct {
	trace.Activation
	subject *subject
	goid    int64
	depth   uint64 // of the return address, from the stack's base: it stays when the stack is moved
	ret     uint64
}

// choose finds the functions and what is to be seen of each. Their breakpoints are
// set when main.main begins.
func (ob *observer) choose() error {
	want := map[string]bool{}
	for _, name := range ob.o.Functions {
		want[name] = true
	}
	left, inlined := map[string]int{}, map[string]bool{}
	for i := range ob.nodes.tr.Nodes {
		n := &ob.nodes.tr.Nodes[i]
		name := ob.nodes.tr.Func(trace.NodeID(i)).Name
		switch {
		case !want[name]:
		case n.Flags.Has(trace.Inlined):
			inlined[name] = true
		case n.Calls > 0:
			left[name] += int(min(int64(ob.o.Calls), n.Calls))
		}
	}
	code := codeReader{mem: ob.tgt.Memory(), slide: ob.slide}
	var entries []uint64
	var subjects []*subject
	for i := range ob.t.Binary.Funcs {
		fn := &ob.t.Binary.Funcs[i]
		if fn.Asm || fn.Wrapper || fn.Name != "main.main" && left[fn.Name] == 0 {
			continue
		}
		at := afterStackCheck(ob.t.Binary.GOARCH, code.read(fn), fn.Entry)
		if fn.Name == "main.main" {
			ob.main = at
		}
		if left[fn.Name] > 0 {
			entries = append(entries, fn.Entry)
			subjects = append(subjects, &subject{name: fn.Name, at: at, sp: ob.t.Binary.StackDepth(at), own: ob.own(fn), left: left[fn.Name]})
		}
	}
	found, err := ob.reader.Functions(entries)
	if err != nil {
		return err
	}
	entered := map[string]bool{}
	for i, s := range subjects {
		entered[s.name] = true
		if s.fn = found[entries[i]]; s.fn == nil {
			ob.out.Unknown = append(ob.out.Unknown, s.name)
			continue
		}
		ob.subjects[s.at] = s
		ob.watched = append(ob.watched, s)
	}
	for name := range inlined {
		if !entered[name] {
			ob.out.NotEntered = append(ob.out.NotEntered, name)
		}
	}
	slices.Sort(ob.out.NotEntered)
	slices.Sort(ob.out.Unknown)
	return ob.traps.set(ob.main + ob.slide)
}

// stop is called where a thread reaches a breakpoint.
func (ob *observer) stop(h hit) error {
	at := h.addr - ob.slide
	ob.stops++
	if at == ob.main && !ob.begun {
		ob.begun, ob.stops = true, 0
		if ob.subjects[at] == nil {
			if err := ob.traps.clear(h.addr); err != nil {
				return err
			}
		}
		for _, s := range ob.subjects {
			if err := ob.traps.set(s.at + ob.slide); err != nil {
				return fmt.Errorf("watching %s: %w", s.name, err)
			}
		}
	}
	if l := ob.returns[at]; l != nil {
		if err := ob.land(h, l); err != nil {
			return err
		}
	}
	if s := ob.subjects[at]; s != nil {
		return ob.enter(h, s)
	}
	return nil
}

// enter observes the arguments of a call that begins.
func (ob *observer) enter(h hit, s *subject) error {
	g := ob.goroutine(h.th, h.regs)
	slot := h.regs.SP() + uint64(s.sp)
	depth, ok := ob.stackDepth(h, slot)
	if ok {
		if err := ob.abandon(g.id, depth); err != nil {
			return err
		}
	}
	mem := h.th.ProcessMemory()
	st := ob.readStack(mem, h.regs, &point{sp: s.sp})
	root, stack := ob.place(activation{frames: s.own}, st.pcs, g)
	node, unclear := trace.NoNode, false
	if len(stack) > 0 {
		other := ob.b.Call(root, stack, 1)
		node, unclear = ob.nodes.find(ob.recording.tr, other), ob.nodes.unsure[other]
	}
	switch {
	case node == trace.NoNode && unclear:
		ob.out.Unclear++
	case node == trace.NoNode:
		ob.out.Unmatched++
		ob.out.FirstOther = cmp.Or(ob.out.FirstOther, s.name)
	case len(ob.seen[node]) < ob.o.Calls && !ob.out.Full:
		c := &call{Activation: trace.Activation{Node: node}, subject: s, goid: g.id, depth: depth}
		c.Args = ob.reader.Args(s.fn, values.Frame{Thread: h.th, Regs: h.regs, PC: h.addr, Slot: slot})
		ob.seen[node] = append(ob.seen[node], c)
		ob.count(c.Args)
		s.left--
		if ret, known := ob.returnAddress(h, slot); known && ok {
			if err := ob.await(c, ret); err != nil {
				return err
			}
		}
	}
	s.hits++
	if s.left <= 0 || s.hits >= ob.limit() || ob.out.Full {
		delete(ob.subjects, s.at)
		if ob.returns[s.at] == nil {
			return ob.traps.clear(h.addr)
		}
	}
	return nil
}

// stackDepth returns how far a stack slot is from the base of its goroutine's stack.
func (ob *observer) stackDepth(h hit, slot uint64) (uint64, bool) {
	g, ok := gRegister(ob.t.Binary.GOARCH, h.regs)
	if !ok || g == 0 {
		return 0, false
	}
	// The runtime's g begins with the stack's bounds.
	var buf [8]byte
	if n, err := h.th.ProcessMemory().ReadMemory(buf[:], g+8); err != nil || n != len(buf) {
		return 0, false
	}
	hi := binary.LittleEndian.Uint64(buf[:])
	return hi - slot, hi > slot
}

// returnAddress is where the call will return to, as a link-time address.
func (ob *observer) returnAddress(h hit, slot uint64) (uint64, bool) {
	var ret uint64
	if ob.t.Binary.GOARCH == "amd64" {
		var ok bool
		if ret, ok = ob.stack.word(slot); !ok {
			return 0, false
		}
	} else {
		ret = h.regs.LR()
	}
	ret -= ob.slide
	return ret, ob.t.Binary.Func(ret) != nil
}

// await sets a breakpoint where a call will return to.
func (ob *observer) await(c *call, ret uint64) error {
	l := ob.returns[ret]
	if l == nil {
		l = &landing{}
		ob.returns[ret] = l
		if err := ob.traps.set(ret + ob.slide); err != nil {
			return fmt.Errorf("watching the return of %s: %w", c.subject.name, err)
		}
	}
	c.ret = ret
	l.calls = append(l.calls, c)
	return nil
}

// land observes the results of a call that has returned to l.
func (ob *observer) land(h hit, l *landing) error {
	slot := h.regs.SP()
	if ob.t.Binary.GOARCH == "amd64" {
		slot -= 8 // the return address has been popped
	}
	depth, ok := ob.stackDepth(h, slot)
	if !ok {
		return nil
	}
	g := ob.goroutine(h.th, h.regs)
	i := slices.IndexFunc(l.calls, func(c *call) bool { return c.goid == g.id && c.depth == depth })
	if i < 0 {
		if l.misses++; l.misses > maxMisses {
			return ob.forget(l.calls[0].ret, func(*call) bool { return true })
		}
		return nil
	}
	c := l.calls[i]
	c.Returned = true
	c.Results = ob.reader.Results(c.subject.fn, values.Frame{Thread: h.th, Regs: h.regs, PC: h.addr, Slot: slot})
	ob.count(c.Results)
	return ob.forget(c.ret, func(d *call) bool { return d == c })
}

// forget waits no longer for calls that were to return to an address.
func (ob *observer) forget(ret uint64, which func(*call) bool) error {
	l := ob.returns[ret]
	l.calls = slices.DeleteFunc(l.calls, which)
	if len(l.calls) > 0 {
		return nil
	}
	delete(ob.returns, ret)
	if ob.subjects[ret] != nil {
		return nil
	}
	return ob.traps.clear(ret + ob.slide)
}

// abandon waits no longer for calls that will not return any more: their goroutine is
// where a stack no deeper than theirs ends, so a panic has removed their frames.
func (ob *observer) abandon(goid int64, depth uint64) error {
	var gone []uint64
	for ret, l := range ob.returns {
		for _, c := range l.calls {
			if c.goid == goid && c.depth >= depth {
				gone = append(gone, ret)
				break
			}
		}
	}
	for _, ret := range gone {
		if err := ob.forget(ret, func(c *call) bool { return c.goid == goid && c.depth >= depth }); err != nil {
			return err
		}
	}
	return nil
}

func (ob *observer) count(list []trace.Value) {
	for _, v := range list {
		ob.bytes += len(v.Name) + len(v.Type) + len(v.Text) + len(v.Unread)
	}
	ob.out.Full = ob.bytes > maxValueBytes
}

// compare says which functions the first run called and this one did not.
func (ob *observer) compare() {
	called, watched := map[string]bool{}, map[string]bool{}
	for _, s := range ob.watched {
		watched[s.name] = true
		called[s.name] = called[s.name] || s.hits > 0
	}
	tr := ob.nodes.tr
	early := make([]bool, len(tr.Nodes)) // below package initialisation, where nothing is watched
	for id := range tr.Nodes {
		n := &tr.Nodes[id]
		from := n.Parent
		if n.Root == trace.RootGoroutine {
			from = n.Go.Creator.Node()
		}
		early[id] = n.Root == trace.RootInit || from != trace.NoNode && int(from) < id && early[from]
		name := tr.Func(trace.NodeID(id)).Name
		if early[id] || n.Calls == 0 || n.Flags.Has(trace.Inlined) || !watched[name] {
			continue
		}
		watched[name] = false // once
		ob.out.Watched++
		if !called[name] {
			ob.out.NotCalled = append(ob.out.NotCalled, name)
		}
	}
}

// result lists what was seen in the order of the nodes.
func (ob *observer) result() *Observation {
	out := &ob.out
	out.TimedOut = ob.timedOut.Load()
	ob.compare()
	for id := range ob.nodes.tr.Nodes {
		for _, c := range ob.seen[trace.NodeID(id)] {
			out.Activations = append(out.Activations, c.Activation)
		}
	}
	return out
}
