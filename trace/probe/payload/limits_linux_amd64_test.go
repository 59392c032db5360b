package payload

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// rising is a script of calls, and nothing but them.
func rising(n int, fn func(i int) byte) []byte {
	var script []byte
	for i := range n {
		script = append(script, 0, fn(i))
	}
	return script
}

// TestSmallest are the shortest programs that show one thing each.
func TestSmallest(t *testing.T) {
	const (
		call, ret, tail, block, goStmt, panics = 0, 6, 10, 11, 12, 13
		f, g, leaf, plain, asm                 = 0, 1, 5, 7, 10 // functions of the program
	)
	for _, tt := range []struct {
		name   string
		script []byte
		want   []Node // from number 3 on: 2 is the goroutine's root
	}{
		{"one call", []byte{call, f}, []Node{{Parent: 2, Hook: 1, Site: 0xfff0, Target: 3, Calls: 1}}},
		{"a call twice from one site, once from another", []byte{call, f, call, g, ret, 0, call, g, ret, 0, call, g + 143}, []Node{
			{Parent: 2, Hook: 1, Site: 0xfff0, Target: 3, Calls: 1},
			{Parent: 3, Hook: 2, Site: 0x1010, Target: 4, Calls: 2},
			{Parent: 3, Hook: 2, Site: 0x1018, Target: 5, Calls: 1},
		}},
		{"through functions without a hook", []byte{call, f, call, plain, call, plain + 1, call, g}, []Node{
			{Parent: 2, Hook: 1, Site: 0xfff0, Target: 3, Calls: 1},
			{Parent: 3, Hook: 2, Site: 0x1070, Via: true, Target: 4, Calls: 1},
		}},
		{"through assembly without a frame pointer", []byte{call, f, call, asm, call, g}, []Node{
			{Parent: 2, Hook: 1, Site: 0xfff0, Target: 3, Calls: 1},
			{Parent: 3, Hook: 2, Site: 0x1a10, Target: 4, Calls: 1},
		}},
		{"recursion", []byte{call, f, call, g, call, f, call, g, call, f, call, leaf}, []Node{
			{Parent: 2, Hook: 1, Site: 0xfff0, Target: 3, Calls: 1},
			{Parent: 3, Hook: 2, Site: 0x1010, Target: 4, Calls: 2},
			{Parent: 4, Hook: 1, Site: 0x1100, Target: 3, Calls: 2},
			{Parent: 3, Hook: 6, Site: 0x1050, Target: 6, Calls: 1},
		}},
		{"a tail call", []byte{call, f, call, leaf, tail, g, call, f}, []Node{
			{Parent: 2, Hook: 1, Site: 0xfff0, Target: 3, Calls: 1},
			{Parent: 3, Hook: 6, Site: 0x1050, Target: 4, Calls: 1},
			{Parent: 3, Hook: 2, Site: 0x1050, Target: 5, Calls: 1},
			{Parent: 5, Hook: 1, Site: 0x1100, Target: 3, Calls: 1},
		}},
		{"blocks, with a frame and without", []byte{call, f, block, 0, call, leaf, block, 1, ret, 0, block, 0, block, 1}, []Node{
			{Parent: 2, Hook: 1, Site: 0xfff0, Target: 3, Calls: 1},
			{Parent: 3, Hook: 2 | Unpushed, Target: 4, Calls: 2},
			{Parent: 3, Hook: 6, Site: 0x1050, Target: 5, Calls: 1},
			{Parent: 5, Hook: 8 | Unpushed, Target: 6, Calls: 1},
			{Parent: 3, Hook: 3 | Unpushed, Target: 7, Calls: 1},
		}},
		{"a go statement twice, and a call", []byte{call, f, goStmt, 0, goStmt, 0, call, leaf}, []Node{
			{Parent: 2, Hook: 1, Site: 0xfff0, Target: 3, Calls: 1},
			{Parent: 3, Hook: 200 | Unpushed, Site: 0x8320, Target: 4, Calls: 2},
			{Parent: 3, Hook: 6, Site: 0x1050, Target: 5, Calls: 1},
		}},
		{"a panic that passes three functions", []byte{call, f, call, g, call, plain, call, g, panics, 3, call, leaf}, []Node{
			{Parent: 2, Hook: 1, Site: 0xfff0, Target: 3, Calls: 1},
			{Parent: 3, Hook: 2, Site: 0x1010, Target: 4, Calls: 1},
			{Parent: 4, Hook: 2, Site: 0x1170, Via: true, Target: 4, Calls: 1},
			{Parent: 3, Hook: 6, Site: 0x1050, Target: 6, Calls: 1},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSimulation(t, small)
			s.run(tt.script)
			s.check()
			got := s.tg.tree(t).Nodes[3:]
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", tt.want) {
				t.Errorf("the tree is\n%+v\nwant\n%+v", got, tt.want)
			}
		})
	}
}

// TestIndirectCall is the one case in which the shadow stack misleads: where one
// call instruction has called a function with a hook, which has returned, and then
// one without, a call from there seems to be made by the former. Whoever reads the
// tree can tell: the site of the call is not in that function.
func TestIndirectCall(t *testing.T) {
	s := newSimulation(t, small)
	s.call(0, 0)
	s.call(1, 0)
	s.cur.ret()
	g := s.cur
	g.sp -= 8 // where the return address to function 0 still is, the same
	g.frames = append(g.frames, frame{fn: 7, slot: g.sp, ret: g.load(g.sp)})
	g.push(7)
	s.call(5, 0)
	n := s.tg.tree(t).Nodes
	last := n[len(n)-1]
	if callee := n[last.Parent].Hook; callee != 2 || last.Via || last.Site>>8&15 != 7 {
		t.Errorf("a call from a function without a hook, called like one with a hook: %+v, below %d", last, callee)
	}
}

// TestCallback has a call that comes through C code, which uses BP for what it
// likes: it belongs to the nearest function on the shadow stack, at a site that is not
// known.
func TestCallback(t *testing.T) {
	for _, bp := range []uint64{0, 1, 0xffff_ffff_ffff_fff8, 0x7fff_ffff_f000} {
		s := newSimulation(t, small)
		s.call(0, 0)
		s.call(10, 0)
		s.cur.bp = bp
		s.call(7, 0)
		g := s.cur
		g.sp -= 8
		g.store(g.sp, textAt+0x1234)
		s.tg.enterFrom(t, s.th, g.goroutine, 2)
		n := s.tg.tree(t).Nodes
		if last := n[len(n)-1]; last != (Node{Parent: 3, Hook: 2, Via: true, Target: 4, Calls: 1}) {
			t.Errorf("with BP %#x the call is %+v", bp, last)
		}
	}
}

// TestDeep has a recursion of a million calls: one node, and a shadow stack that
// has grown to hold them all.
func TestDeep(t *testing.T) {
	depth := 1_000_000
	if testing.Short() {
		depth = 50_000
	}
	l := small
	l.arena = 64 << 20
	tg, th := newTarget(t, l), newThread(t)
	th.on(processor(t, 0))
	g := newGoroutine(t, depth*16+4096)
	g.start(1, textAt)
	for range depth {
		g.down(textAt + 16)
		tg.enterFrom(t, th, g, 1)
		g.frame()
	}
	// And back: the recorder finds the caller below a million calls that have
	// returned.
	g.sp = g.hi - 32
	g.bp = 0
	g.down(textAt + 32)
	tg.enterFrom(t, th, g, 2)
	tree := tg.tree(t)
	want := []Node{
		{Hook: Root, Site: 0, Target: 2, Calls: 1},
		{Parent: 2, Hook: 1, Site: 16, Target: 3, Calls: 1},
		{Parent: 3, Hook: 1, Site: 16, Target: 3, Calls: uint64(depth) - 1},
		{Parent: 2, Hook: 2, Site: 32, Target: 5, Calls: 1},
	}
	if got := tree.Nodes[2:]; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || tree.Dropped != 0 {
		t.Errorf("the tree is\n%+v\nwant\n%+v\ndropped %d", got, want, tree.Dropped)
	}
	if tree.arena < uint64(depth)*16 || tree.arena > max(uint64(depth)*16*4, 1<<16) {
		t.Errorf("%d bytes of the arena hold %d entries of 16", tree.arena, depth)
	}
}

// down and frame are a call and the called function's frame, of 16 bytes together.
func (g *goroutine) down(ret uint64) {
	g.sp -= 8
	g.store(g.sp, ret)
}

func (g *goroutine) frame() {
	g.sp -= 8
	g.store(g.sp, g.bp)
	g.bp = g.sp
}

// TestNoRoomForStacks has the arena end: calls that are too deep are counted, what
// they call is attributed to the deepest that had room, and other goroutines go on
// as long as there is anything left.
func TestNoRoomForStacks(t *testing.T) {
	var nodes [2][]Node
	t.Run("any calls", func(t *testing.T) { nodes[0] = noRoomForStacks(t, (*target).enterFrom) })
	t.Run("direct calls", func(t *testing.T) {
		nodes[1] = noRoomForStacks(t, func(tg *target, t testing.TB, th *thread, g *goroutine, hook uint32) {
			tg.directFrom(t, th, g, hook, numberOf(0, 0))
		})
	})
	if !slices.Equal(nodes[0], nodes[1]) {
		t.Errorf("the tree of direct calls is %+v\nwant that of any calls %+v", nodes[1], nodes[0])
	}
}

func noRoomForStacks(t *testing.T, enter func(tg *target, t testing.TB, th *thread, g *goroutine, hook uint32)) []Node {
	l := small
	l.arena = 16 << 10
	tg, th := newTarget(t, l), newThread(t)
	th.on(processor(t, 0))
	const depth = 300_000 // of which each must not look at all others
	g := newGoroutine(t, depth*16+4096)
	g.start(1, textAt)
	for range depth {
		g.down(textAt + 16)
		enter(tg, t, th, g, 1)
		g.frame()
	}
	tree := tg.tree(t)
	// The first, those that it makes, and those that came through calls that had
	// no room: these look like functions without a hook.
	if got := tree.Nodes[3].Calls + tree.Nodes[4].Calls + tree.Nodes[5].Calls; got != depth || len(tree.Nodes) != 6 || !tree.Nodes[5].Via {
		t.Errorf("%d calls, want %d; the tree is %+v", got, depth, tree.Nodes[2:])
	}
	if tree.Dropped == 0 || tree.Dropped >= depth {
		t.Errorf("dropped %d", tree.Dropped)
	}
	if tree.arena > l.arena {
		t.Errorf("%d bytes of the arena are used, it has %d", tree.arena, l.arena)
	}
	// Goroutines, until there is no room for one: that one is not counted.
	seen := uint64(0)
	for i := range uint64(100) {
		other := newGoroutine(t, 4096)
		other.start(2+i, textAt)
		other.down(textAt + 48)
		enter(tg, t, th, other, 2)
		now := tg.tree(t)
		if now.states == tree.states {
			if now.Dropped != tree.Dropped+1 {
				t.Errorf("without room for a goroutine %d calls are dropped", now.Dropped-tree.Dropped)
			}
			break
		}
		if seen++; now.Nodes[len(now.Nodes)-1].Calls != seen {
			t.Errorf("%d goroutines, %d calls", seen, now.Nodes[len(now.Nodes)-1].Calls)
		}
		tree = now
	}
	if seen == 0 || seen == 100 {
		t.Errorf("there was room for %d goroutines", seen)
	}
	return tree.Nodes
}

// TestNoRoomForNodes makes more nodes than there is room for, by their number or in
// the table. Every call is counted somewhere.
func TestNoRoomForNodes(t *testing.T) {
	hooks := make([]uint32, 100)
	hooks[99] = 1
	for _, tt := range []struct {
		name string
		l    Layout
	}{
		{"numbers", Layout{inner: hooks, slots: 1 << 10, maxCells: 100, rows: 4, arena: 1 << 20}},
		{"table", Layout{inner: hooks, slots: 1 << 10, maxCells: 1 << 10, rows: 4, arena: 1 << 20}},
		{"usual", Layout{inner: hooks, slots: 1 << 10, maxCells: 1 << 10 / 8 * 7, rows: 4, arena: 1 << 20}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tg, th := newTarget(t, tt.l), newThread(t)
			th.on(processor(t, 0))
			g := newGoroutine(t, 4096)
			g.start(1, textAt+16)
			const contexts, rounds = 3000, 3
			for range rounds {
				for i := range uint64(contexts) {
					sp, bp := g.sp, g.bp
					g.down(textAt + i*8)
					tg.enterFrom(t, th, g, uint32(i%7)+1)
					g.frame()
					g.down(textAt + 0x10_0000) // and below it another
					tg.enterFrom(t, th, g, 100)
					tg.blockIn(t, th, g, 1, false)
					g.sp, g.bp = sp, bp
				}
			}
			tree := tg.tree(t)
			sum, nodes := uint64(0), uint64(0)
			for _, n := range tree.Nodes {
				sum += n.Calls
				if n.Hook != 0 {
					nodes++
				}
			}
			if want := uint64(1 + 3*contexts*rounds); sum != want {
				t.Errorf("%d calls are counted, want %d", sum, want)
			}
			if tree.Lost == 0 || tree.Full == 0 || tree.Dropped != 0 {
				t.Errorf("lost %d, full %d, dropped %d", tree.Lost, tree.Full, tree.Dropped)
			}
			if nodes > tt.l.maxCells || nodes < tt.l.maxCells*9/10 {
				t.Errorf("%d nodes, there is room for %d", nodes, tt.l.maxCells)
			}
			// What has a node is complete.
			for _, n := range tree.Nodes[3:] {
				if n.Hook != 0 && n.Calls%rounds != 0 {
					t.Errorf("a node is half counted: %+v", n)
				}
			}
		})
	}
}

// TestThreads has threads make the same calls at the same time. Each call has one
// node, and no count is lost, whether the threads have Ps or share a row.
func TestThreads(t *testing.T) {
	const threads, rounds, width = 4, 50, 300
	for _, tt := range []struct {
		name   string
		direct bool
		p      func(i int) []byte
	}{
		{"a P each", false, func(i int) []byte { return processor(t, uint32(i)) }},
		{"a P each, direct calls", true, func(i int) []byte { return processor(t, uint32(i)) }},
		{"no P", false, func(int) []byte { return nil }},
		{"no P, direct calls", true, func(int) []byte { return nil }},
		{"more Ps than rows", false, func(i int) []byte { return processor(t, uint32(i)+3) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tg := newTarget(t, small)
			tg.leadTo(textAt+0x2000, 2)
			var wg, start sync.WaitGroup
			start.Add(1)
			for i := range threads {
				th, g := newThread(t), newGoroutine(t, 4096)
				th.on(tt.p(i))
				g.start(uint64(i)+1, textAt+16)
				wg.Go(func() {
					start.Wait()
					for range rounds {
						for k := range uint64(width) {
							sp, bp := g.sp, g.bp
							g.down(textAt + 0x1000 + k*8)
							tg.enterFrom(t, th, g, 1)
							g.frame()
							g.down(textAt + 0x2000)
							if tt.direct {
								tg.callKeeps(t, tg.direct, th, g, numberOf(0, 0))
							} else {
								tg.enterFrom(t, th, g, 2)
							}
							g.sp, g.bp = sp, bp
						}
					}
				})
			}
			start.Done()
			wg.Wait()
			tree := tg.tree(t)
			if want := 2 + 1 + 2*width; len(tree.Nodes) != want || tree.Lost != 0 || tree.Dropped != 0 {
				t.Errorf("%d nodes, want %d; lost %d, dropped %d", len(tree.Nodes), want, tree.Lost, tree.Dropped)
			}
			seen := map[Node]bool{}
			for i, n := range tree.Nodes[2:] {
				want := uint64(threads * rounds)
				if n.Hook == Root {
					want = threads
				}
				if n.Calls != want || int(n.Target) != i+2 {
					t.Errorf("node %d: %+v, want %d calls", i+2, n, want)
				}
				key := Node{Parent: n.Parent, Hook: n.Hook, Site: n.Site}
				if seen[key] {
					t.Errorf("node %d stands there twice: %+v", i+2, n)
				}
				seen[key] = true
			}
		})
	}
}

// TestUnseenCaller has a direct call from a function that was entered before anything
// was recorded, or when there was no room for it: it is in the place of any other call.
func TestUnseenCaller(t *testing.T) {
	var trees [2][]Node
	for way := range trees {
		tg, th, g := newTarget(t, small), newThread(t), newGoroutine(t, 4096)
		th.on(processor(t, 0))
		g.start(1, textAt+16)
		for range 3 {
			sp, bp := g.sp, g.bp
			g.down(textAt + 0x1000)
			tg.enterFrom(t, th, g, 1)
			g.frame()
			g.down(textAt + 0x1100)
			g.frame() // unseen
			g.down(textAt + 0x1200)
			if way == 0 {
				tg.enterFrom(t, th, g, 3)
			} else {
				tg.directFrom(t, th, g, 3, numberOf(0, 0))
			}
			g.sp, g.bp = sp, bp
		}
		trees[way] = tg.tree(t).Nodes
	}
	if last := trees[1][len(trees[1])-1]; !slices.Equal(trees[0], trees[1]) || !last.Via || last.Calls != 3 {
		t.Errorf("the tree is %+v\nwant %+v", trees[1], trees[0])
	}
}

// TestManyDirectCalls goes past what the counter of a direct call can hold. It is
// found by what is beside it: a node's name.
func TestManyDirectCalls(t *testing.T) {
	s := newSimulation(t, small)
	s.call(0, 0)
	again := func(n int) {
		for range n {
			s.call(1, 0)
			s.cur.ret()
		}
	}
	again(4) // the first is counted as any other call is
	s.check()
	l := s.tg.layout
	row := s.tg.mem[l.countsOff():][:l.rowBytes()]
	var counters []int
	for i := 0; i < len(row); i += 8 {
		if callee := le.Uint32(row[i+4:]); callee != 0 && callee < uint32(l.rowBytes()) {
			counters = append(counters, i)
		}
	}
	if len(counters) != 1 || le.Uint32(row[counters[0]:]) != 1<<32-3 {
		t.Fatalf("counters of direct calls: %v, want one that has 3 calls", counters)
	}
	const most = 1<<32 - 2
	le.PutUint32(row[counters[0]:], 1<<32-most) // as after so many
	s.nodes[len(s.nodes)-1].Calls += most - 3
	s.calls += most - 3
	for range 5 {
		s.check()
		again(1)
	}
	s.check()
}

// TestReadWhileItGrows reads the tree again and again while it is written: what is
// read is always whole, and never less than before.
func TestReadWhileItGrows(t *testing.T) {
	l := Layout{inner: inner(4), slots: 1 << 16, maxCells: 1 << 16 / 8 * 7, rows: 1, arena: 1 << 20}
	tg, th, g := newTarget(t, l), newThread(t), newGoroutine(t, 4096)
	th.on(processor(t, 0))
	g.start(1, textAt+16)
	g.down(textAt)
	tg.enterFrom(t, th, g, 1)
	g.frame()
	done := make(chan bool)
	go func() {
		defer close(done)
		for i := range uint64(20_000) {
			g.down(textAt + 0x1000 + i*8)
			tg.enterFrom(t, th, g, 2)
			g.sp += 8
		}
	}()
	for nodes, calls := 0, uint64(0); ; {
		last := false
		select {
		case <-done:
			last = true
		default:
		}
		tree := tg.tree(t)
		sum := uint64(0)
		for _, n := range tree.Nodes {
			sum += n.Calls
			if n.Hook != 0 && n.Parent == 0 && n.Hook != Root {
				t.Fatalf("a node that is not whole: %+v", n)
			}
		}
		if len(tree.Nodes) < nodes || sum < calls {
			t.Fatalf("%d nodes and %d calls, after %d and %d", len(tree.Nodes), sum, nodes, calls)
		}
		nodes, calls = len(tree.Nodes), sum
		if last {
			break
		}
	}
}

// TestOverwritten has a program write over the recorder's memory. The reader says so: where
// what tells the rest is damaged by an error, and else by a count, without that node.
func TestOverwritten(t *testing.T) {
	s := newSimulation(t, small)
	s.run(rising(50, func(i int) byte { return byte(i % 5) }))
	l := s.tg.layout
	cell := l.firstCell() + 1 // the root has one cell
	for _, in := range l.inner[:3] {
		cell += 1 + uint64(in)
	}
	node := l.nodesOff() + cell*nodeSize
	for _, tt := range []struct {
		name string
		at   uint64
		v    uint32
		all  bool
	}{
		{"number of cells", cellOff, 0, true},
		{"number of nodes", orderOff, 0, true},
		{"a parent", node, uint32(cell), false},
		{"a parent that is none", node, 1 << 30, false},
		{"a target", node + 12, 1 << 30, false},
	} {
		own := le.Uint32(s.tg.mem[tt.at:])
		le.PutUint32(s.tg.mem[tt.at:], tt.v)
		switch tree, err := l.Read(bytes.NewReader(s.tg.mem), textAt); {
		case tt.all && err == nil:
			t.Errorf("%s is %d: no error", tt.name, tt.v)
		case !tt.all && err != nil:
			t.Errorf("%s is %d: %v", tt.name, tt.v, err)
		case !tt.all && tree.Damaged != 1:
			t.Errorf("%s is %d: %d nodes are damaged, want 1", tt.name, tt.v, tree.Damaged)
		}
		le.PutUint32(s.tg.mem[tt.at:], own)
	}
}
