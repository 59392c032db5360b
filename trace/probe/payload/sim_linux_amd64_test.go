package payload

import (
	"slices"
	"testing"
)

// A simulation runs a program that is a list of steps, on goroutines that are not
// real, and builds the tree that should come of it: by the frames that are there,
// which it knows, and the recorder must find out.
type simulation struct {
	t    testing.TB
	tg   *target
	th   *thread
	ps   [][]byte // nil: no P
	gs   []*simulated
	cur  *simulated
	goid uint64

	nodes []Node
	index map[Node]uint32 // by parent, hook, site and via
	cells uint64          // in use, or asked for when none was left
	calls uint64
}

// simulated is a goroutine with what the recorder does not know of it.
type simulated struct {
	*goroutine
	spare  []byte // the stack's other place
	id, pc uint64
	root   uint32 // its root's node; 0: it has not called anything with a hook
	frames []frame
}

// frame is an activation of a function.
type frame struct {
	fn     int
	slot   uint64 // address of the return address
	ret    uint64
	target uint32 // of a hooked function: the node that its calls belong to
}

// function is what the simulated program consists of.
type function struct {
	hooked bool
	framed bool   // saves and sets BP
	size   uint64 // of the frame
	calls  bool   // others
	way    bool   // a waypoint
	blocks uint32 // in it
}

var program = [...]function{
	{hooked: true, framed: true, size: 0, calls: true, blocks: 2},
	{hooked: true, framed: true, size: 16, calls: true},
	{hooked: true, framed: true, size: 24, calls: true, blocks: 7},
	{hooked: true, framed: true, size: 16, calls: true, blocks: 1},
	{hooked: true, framed: true, size: 120, calls: true},
	{hooked: true, blocks: 2},
	{hooked: true},
	{framed: true, size: 16, calls: true, way: true},
	{framed: true, size: 24, calls: true},
	{framed: true, size: 64, calls: true, way: true},
	{size: 8, calls: true}, // assembly that does not care for BP
}

const (
	stackSize = 32 << 10
	mostDeep  = 150
)

var goexit = textAt + 0xfff0

// newSimulation has three goroutines and Ps of all kinds.
func newSimulation(t testing.TB, l Layout) *simulation {
	return simulate(t, newTarget(t, l))
}

// beside returns one that shares the recorder's memory and nothing else.
func (s *simulation) beside() *simulation { return simulate(s.t, s.tg) }

func simulate(t testing.TB, tg *target) *simulation {
	l := tg.layout
	s := &simulation{
		t: t, tg: tg, th: newThread(t), index: map[Node]uint32{},
		ps:    [][]byte{processor(t, 0), processor(t, 1), processor(t, uint32(l.rows)-1), processor(t, uint32(l.rows)), processor(t, 1<<20), nil},
		nodes: make([]Node, overflowNode+1), cells: l.firstCell(),
	}
	for range 3 {
		g := &simulated{goroutine: newGoroutine(t, stackSize), spare: mapped(t, stackSize)}
		s.gs = append(s.gs, g)
		s.begin(g, 0)
	}
	s.cur = s.gs[0]
	s.th.on(s.ps[0])
	return s
}

// begin makes g a new goroutine: its g is used again.
func (s *simulation) begin(g *simulated, by byte) {
	s.goid++
	g.id, g.pc, g.root, g.frames = s.goid, textAt+0x100+uint64(by%3)*16, 0, g.frames[:0]
	if by%4 == 3 {
		g.pc = 0 // nobody's, as that of a thread of C
	}
	g.start(g.id, g.pc)
}

// run interprets a script: two bytes a step.
func (s *simulation) run(script []byte) {
	for len(script) >= 2 && !s.t.Failed() {
		s.step(script[0], script[1])
		script = script[2:]
	}
}

func (s *simulation) step(op, arg byte) {
	g := s.cur
	switch op % 16 {
	case 0, 1, 2, 3, 4, 5:
		if g.top() < 0 || program[g.top()].calls {
			s.call(int(arg)%len(program), uint64(arg)>>7)
		}
	case 6, 7, 8, 9:
		g.ret()
	case 10:
		s.tail(int(arg) % len(program))
	case 11:
		if fn := g.top(); fn >= 0 && program[fn].hooked && blocksOf(fn) > 0 {
			s.inside(fn, 1+uint32(arg)%blocksOf(fn))
		}
	case 12:
		switch fn := g.top(); {
		case fn < 0 || !program[fn].calls:
		case arg%2 == 1:
			s.leaf(uint32(arg%8), textAt+0x9000+uint64(fn)*64+uint64(arg%8)*8)
		case program[fn].hooked:
			s.goStatement(uint32(fn))
		}
	case 13: // a panic, recovered by a function further up
		for range min(int(arg%8), len(g.frames)) {
			g.ret()
		}
	case 14:
		switch {
		case arg < 128:
			s.cur = s.gs[int(arg)%len(s.gs)]
		case arg < 176:
			s.th.on(s.ps[int(arg)%len(s.ps)])
		case arg < 224:
			s.tg.deepen(g.goroutine)
		default:
			s.begin(g, arg)
		}
	case 15:
		g.move(uint64(arg))
	}
}

// top is the function that runs, -1 if it is none of the program's.
func (g *simulated) top() int {
	if len(g.frames) == 0 {
		return -1
	}
	return g.frames[len(g.frames)-1].fn
}

// push makes the frame of fn, of which the return address is on the stack.
func (g *simulated) push(fn int) {
	f := program[fn]
	if f.framed {
		g.sp -= 8
		g.store(g.sp, g.bp)
		g.bp = g.sp
	}
	g.sp -= f.size
}

// pop takes the frame away, not the return address.
func (g *simulated) pop() frame {
	f := g.frames[len(g.frames)-1]
	g.frames = g.frames[:len(g.frames)-1]
	if program[f.fn].framed {
		g.bp = g.load(f.slot - 8)
	}
	g.sp = f.slot
	return f
}

func (g *simulated) ret() {
	if len(g.frames) > 0 {
		g.pop()
		g.sp += 8
	}
}

// call calls fn. A call site of this program calls one function only, but each
// function calls each from two sites: the calls from the first are direct ones. See
// TestIndirectCall for others.
func (s *simulation) call(fn int, site uint64) {
	g := s.cur
	if len(g.frames) >= mostDeep {
		return
	}
	ret := goexit
	if caller := g.top(); caller < 0 {
		// A goroutine ends when its function returns.
		s.begin(g, byte(site)+byte(fn))
	} else {
		ret = textAt + 0x1000 + uint64(caller)*256 + uint64(fn)*16 + site*8
		if program[fn].way && site == 0 { // else the call is indirect
			directCall(ret, wayAt(fn))
		}
	}
	g.sp -= 8
	g.store(g.sp, ret)
	if caller := g.top(); site == 0 && caller >= 0 && pushes(caller) && pushes(fn) {
		s.direct(fn, ret)
	} else {
		s.enter(fn, ret)
	}
}

// pushes tells if a function has an entry on the shadow stack, and sets BP.
func pushes(fn int) bool { return program[fn].hooked && program[fn].framed }

// numberOf is the number of the direct call of callee among the hooks of its caller.
func numberOf(caller, callee int) uint32 { return blocksOf(caller) + 1 + uint32(callee) }

// direct enters fn by the stub of a direct call.
func (s *simulation) direct(fn int, ret uint64) {
	g := s.cur
	parent, site, via := s.caller(ret)
	f := frame{fn: fn, slot: g.sp, ret: ret}
	f.target = s.count(Node{Parent: parent, Hook: uint32(fn) + 1, Site: site, Via: via})
	s.tg.directFrom(s.t, s.th, g.goroutine, uint32(fn)+1, numberOf(g.top(), fn))
	g.frames = append(g.frames, f)
	g.push(fn)
}

// tail has the function that runs jump to fn: hooked to hooked, unhooked to
// unhooked.
func (s *simulation) tail(fn int) {
	g := s.cur
	if caller := g.top(); caller >= 0 && program[caller].hooked == program[fn].hooked {
		s.enter(fn, g.pop().ret)
	}
}

func (s *simulation) enter(fn int, ret uint64) {
	g := s.cur
	f := frame{fn: fn, slot: g.sp, ret: ret}
	if program[fn].hooked {
		parent, site, via := s.caller(ret)
		f.target = s.count(Node{Parent: parent, Hook: uint32(fn) + 1, Site: site, Via: via})
		s.tg.enterFrom(s.t, s.th, g.goroutine, uint32(fn)+1)
	}
	if program[fn].way {
		s.tg.wayFrom(s.t, s.th, g.goroutine, fn)
	}
	g.frames = append(g.frames, f)
	g.push(fn)
}

// caller tells where a call belongs that returns to ret: below the nearest hooked
// function, at the site of the outermost call between that has a frame.
func (s *simulation) caller(ret uint64) (parent, site uint32, via bool) {
	g := s.cur
	if g.root == 0 {
		stmt := uint32(0)
		if g.pc != 0 {
			stmt = uint32(g.pc - textAt)
		}
		g.root = s.count(Node{Hook: Root, Site: stmt})
	}
	own := ret
	for _, f := range slices.Backward(g.frames) {
		switch p := program[f.fn]; {
		case p.hooked:
			return f.target, uint32(ret - textAt), via
		case p.framed:
			ret, via = f.ret, true
		}
	}
	return g.root, uint32(own - textAt), false
}

// inside enters block k of the function that runs.
func (s *simulation) inside(fn int, k uint32) {
	g := s.cur
	s.count(Node{Parent: g.frames[len(g.frames)-1].target, Hook: (uint32(fn) + 1 + k) | Unpushed})
	s.tg.blockIn(s.t, s.th, g.goroutine, k, program[fn].framed)
}

// goStatement calls runtime.newproc, which calls nothing with a hook.
func (s *simulation) goStatement(hook uint32) {
	g := s.cur
	hook = hook + 200 | Unpushed
	ret := textAt + 0x8000 + uint64(hook&^Unpushed)*4
	g.sp -= 8
	g.store(g.sp, ret)
	s.count(Node{Parent: g.frames[len(g.frames)-1].target, Hook: hook, Site: uint32(ret - textAt)})
	s.tg.enterFrom(s.t, s.th, g.goroutine, hook)
	g.sp += 8
}

// leaf calls a function that calls nothing and returns.
func (s *simulation) leaf(hook uint32, ret uint64) {
	g := s.cur
	g.sp -= 8
	g.store(g.sp, ret)
	parent, site, via := s.caller(ret)
	s.count(Node{Parent: parent, Hook: hook + 300, Site: site, Via: via})
	s.tg.call(s.t, s.tg.leaf, s.th, g.goroutine, g.sp, hook+300)
	g.sp += 8
}

// count counts a call in the expected tree, and returns the number of the node
// that calls made inside it belong to.
func (s *simulation) count(key Node) (target uint32) {
	s.calls++
	id, ok := s.index[key]
	if !ok {
		id = s.make(key)
		s.index[key] = id
	}
	s.nodes[id].Calls++
	return s.nodes[id].Target
}

// make makes a node, if there is room for it.
func (s *simulation) make(n Node) (id uint32) {
	id = uint32(len(s.nodes))
	n.Target = id
	cells := uint64(1)
	switch {
	case n.Hook&Unpushed != 0 && n.Site == 0: // a block
		if n.Parent == overflowNode {
			return overflowNode
		}
		cells = 0 // they came with the host's
	case n.Hook&(Unpushed|Root) == 0:
		for a := n.Parent; a != 0 && n.Target == id; a = s.nodes[a].Parent {
			if s.nodes[a].Hook == n.Hook {
				n.Target = a
			}
		}
		if in := s.tg.layout.inner; n.Target == id && int(n.Hook) <= len(in) {
			cells += uint64(in[n.Hook-1])
		}
	}
	if s.cells += cells; cells > 0 && s.cells > s.tg.layout.maxCells {
		s.nodes[overflowNode].Target = overflowNode
		return overflowNode
	}
	s.nodes = append(s.nodes, n)
	return id
}

// move gives the goroutine another stack, as the runtime does when it grows one:
// the contents are copied, and saved frame pointers adjusted.
func (g *simulated) move(by uint64) {
	old, from := g.stack, addressOf(g.stack)
	used := g.hi - g.sp
	hi := addressOf(g.spare) + stackSize - 64 - by/16*64
	delta := hi - g.hi
	copy(g.spare[hi-addressOf(g.spare)-used:], old[g.sp-from:g.hi-from])
	for i := range old {
		old[i] = 0xa5
	}
	g.stack, g.spare = g.spare, old
	g.hi, g.sp = hi, g.sp+delta
	if g.bp != 0 {
		g.bp += delta
	}
	le.PutUint64(g.g[stackHi:], hi)
	for i := range g.frames {
		f := &g.frames[i]
		f.slot += delta
		if saved := f.slot - 8; program[f.fn].framed && g.load(saved) != 0 {
			g.store(saved, g.load(saved)+delta)
		}
	}
}

// check compares the trees.
func (s *simulation) check() {
	s.t.Helper()
	tree := s.tg.tree(s.t)
	lost := s.nodes[overflowNode].Calls
	if tree.Dropped != 0 || tree.Lost != lost || (tree.Full == 0) != (lost == 0) {
		s.t.Errorf("dropped %d, lost %d in %d contexts; want %d lost", tree.Dropped, tree.Lost, tree.Full, lost)
	}
	if len(tree.Nodes) != len(s.nodes) {
		s.t.Errorf("%d nodes, want %d", len(tree.Nodes), len(s.nodes))
	}
	for i := overflowNode + 1; i < min(len(tree.Nodes), len(s.nodes)); i++ {
		if tree.Nodes[i] != s.nodes[i] {
			s.t.Fatalf("node %d is %+v\nwant %+v", i, tree.Nodes[i], s.nodes[i])
		}
	}
}
