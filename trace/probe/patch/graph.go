package patch

import "slices"

// A node is instructions that run one after the other, if nothing in them goes
// wrong: it ends at branches, before their targets, and behind calls, which may
// not come back.
type node struct {
	from, to   int // instructions
	succ, pred []int32
	calls      bool  // ends with a call
	cold       bool  // leads to a panic only
	order      int32 // in reverse postorder of the nodes that are not cold, -1: not reached
	idom       int32 // immediate dominator, -1: none
	ipdom      int32 // immediate postdominator, -1: none, exit: control leaves the function
	loop       int32 // header of the innermost loop, -1: none
	live       flags // that matter before it
	kills      flags // that it sets
	reads      flags // that it reads, of those that it has not set before
}

// exit stands behind all nodes that leave the function.
const exit = -2

// A graph is the flow of control in a function.
type graph struct {
	b     *body
	nodes []node
	of    []int32 // node, by instruction
	order []int32 // the nodes that are reached, in reverse postorder

	stack []visit // these are used again
	post  []int32
	index []int32
}

// A visit is a node on the way of a search, and the next of its edges.
type visit struct {
	node int32
	next int
}

// build makes the graph of a function. The checked branch, if it is not -1, is
// that of the stack check: what it leads to starts the function again, and is
// not part of the call. NoReturn tells if the function at an address never
// returns.
func (g *graph) build(b *body, check int, noReturn func(addr uint64) bool) {
	g.b = b
	g.cut()
	g.connect(check, noReturn)
	g.chill()
	g.number()
	g.dominators()
	g.postdominators()
	g.loops()
	g.liveness()
}

// cut finds the nodes.
func (g *graph) cut() {
	b := g.b
	g.nodes = g.nodes[:0]
	g.of = slices.Grow(g.of[:0], len(b.ins))[:len(b.ins)]
	start := true
	for i := range b.ins {
		if start || b.enter[i] {
			if n := len(g.nodes); n > 0 {
				g.nodes[n-1].to = i
			}
			if len(g.nodes) < cap(g.nodes) { // reuse the edges' memory
				g.nodes = g.nodes[:len(g.nodes)+1]
			} else {
				g.nodes = append(g.nodes, node{})
			}
			n := &g.nodes[len(g.nodes)-1]
			*n = node{from: i, succ: n.succ[:0], pred: n.pred[:0], order: -1, idom: -1, ipdom: -1, loop: -1}
		}
		g.of[i] = int32(len(g.nodes) - 1)
		start = b.ins[i].flow != flowNext
	}
	g.nodes[len(g.nodes)-1].to = len(b.ins)
}

func (g *graph) connect(check int, noReturn func(addr uint64) bool) {
	b := g.b
	edge := func(from int32, to int) {
		t := g.of[to]
		g.nodes[from].succ = append(g.nodes[from].succ, t)
		g.nodes[t].pred = append(g.nodes[t].pred, from)
	}
	jump := 0
	for k := range g.nodes {
		n := &g.nodes[k]
		last := n.to - 1
		in := &b.ins[last]
		falls := in.flow.falls()
		switch in.flow {
		case flowCond, flowJump:
			if t := b.index(in.target); t >= 0 && last != check {
				edge(int32(k), t)
			}
		case flowJumpAny:
			for jump < len(b.jumps) && b.jumps[jump].ins < last {
				jump++
			}
			if jump < len(b.jumps) && b.jumps[jump].ins == last {
				for _, t := range b.jumps[jump].targets {
					edge(int32(k), t)
				}
			}
		case flowTrap:
			n.cold = true
		case flowCall:
			n.calls = true
			if noReturn(b.entry + uint64(in.target)) {
				n.cold = true
				falls = false
			}
		case flowCallAny:
			n.calls = true
		}
		if falls && n.to < len(b.ins) {
			edge(int32(k), n.to)
		}
	}
}

// chill marks the nodes from which all ways lead to a panic. The code that
// panics is shared between inlined bodies: where it is says nothing of them.
func (g *graph) chill() {
	var work []int32
	for k := range g.nodes {
		if g.nodes[k].cold {
			work = append(work, int32(k))
		}
	}
	for len(work) > 0 {
		k := work[len(work)-1]
		work = work[:len(work)-1]
	preds:
		for _, p := range g.nodes[k].pred {
			if g.nodes[p].cold {
				continue
			}
			for _, s := range g.nodes[p].succ {
				if !g.nodes[s].cold {
					continue preds
				}
			}
			g.nodes[p].cold = true
			work = append(work, p)
		}
	}
}

// number finds the nodes that are reached from the entry and are not cold.
func (g *graph) number() {
	g.order = g.order[:0]
	if g.nodes[0].cold {
		return
	}
	const seen = -3
	stack := append(g.stack[:0], visit{0, 0})
	defer func() { g.stack = stack }()
	g.nodes[0].order = seen
	for len(stack) > 0 {
		v := &stack[len(stack)-1]
		n := &g.nodes[v.node]
		if v.next == len(n.succ) {
			g.order = append(g.order, v.node)
			stack = stack[:len(stack)-1]
			continue
		}
		s := n.succ[v.next]
		v.next++
		if m := &g.nodes[s]; m.order != seen && !m.cold {
			m.order = seen
			stack = append(stack, visit{s, 0})
		}
	}
	slices.Reverse(g.order)
	for i, k := range g.order {
		g.nodes[k].order = int32(i)
	}
}

// hot tells if control ever comes to a node, panics apart.
func (g *graph) hot(k int32) bool { return g.nodes[k].order >= 0 }

// dominators computes the immediate dominators, by the algorithm of Cooper,
// Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001).
func (g *graph) dominators() {
	for changed := true; changed; {
		changed = false
		for _, k := range g.order {
			if k == 0 {
				continue
			}
			dom := int32(-1)
			for _, p := range g.nodes[k].pred {
				if !g.hot(p) || p != 0 && g.nodes[p].idom < 0 {
					continue
				}
				if dom < 0 {
					dom = p
				} else {
					dom = g.commonDominator(dom, p)
				}
			}
			if dom != g.nodes[k].idom {
				g.nodes[k].idom = dom
				changed = true
			}
		}
	}
}

// commonDominator is the nearest node that dominates both.
func (g *graph) commonDominator(a, b int32) int32 {
	for a != b {
		if g.nodes[a].order > g.nodes[b].order {
			a = g.nodes[a].idom
		} else {
			b = g.nodes[b].idom
		}
	}
	return a
}

// dominates tells if control cannot come to b but by a.
func (g *graph) dominates(a, b int32) bool {
	for b >= 0 && g.nodes[b].order > g.nodes[a].order {
		b = g.nodes[b].idom
	}
	return a == b
}

// postdominators does the same from the function's end. Nodes from which no way
// leads out of the function have none.
func (g *graph) postdominators() {
	// A postorder of the reversed graph, from all nodes that leave.
	post, stack := g.post[:0], g.stack
	index := slices.Grow(g.index[:0], len(g.nodes))[:len(g.nodes)]
	defer func() { g.post, g.index, g.stack = post, index, stack }()
	for i := range index {
		index[i] = -1
	}
	hotSucc := func(k int32, yield func(s int32)) {
		for _, s := range g.nodes[k].succ {
			if g.hot(s) {
				yield(s)
			}
		}
	}
	for i := len(g.order) - 1; i >= 0; i-- {
		k := g.order[i]
		leaves := true
		hotSucc(k, func(int32) { leaves = false })
		if !leaves {
			continue
		}
		g.nodes[k].ipdom = exit
		if index[k] >= 0 {
			continue
		}
		index[k] = 0
		stack = append(stack[:0], visit{k, 0})
		for len(stack) > 0 {
			v := &stack[len(stack)-1]
			n := &g.nodes[v.node]
			if v.next == len(n.pred) {
				index[v.node] = int32(len(post))
				post = append(post, v.node)
				stack = stack[:len(stack)-1]
				continue
			}
			p := n.pred[v.next]
			v.next++
			if g.hot(p) && index[p] < 0 {
				index[p] = 0
				stack = append(stack, visit{p, 0})
			}
		}
	}
	common := func(a, b int32) int32 {
		for a != b {
			if a == exit || b == exit {
				return exit
			}
			if index[a] < index[b] {
				a = g.nodes[a].ipdom
			} else {
				b = g.nodes[b].ipdom
			}
		}
		return a
	}
	for changed := true; changed; {
		changed = false
		for i := len(post) - 1; i >= 0; i-- {
			k := post[i]
			dom := int32(-1)
			any := false
			hotSucc(k, func(s int32) {
				any = true
				if g.nodes[s].ipdom == -1 {
					return
				}
				if dom == -1 {
					dom = s
				} else {
					dom = common(dom, s)
				}
			})
			if any && dom != g.nodes[k].ipdom {
				g.nodes[k].ipdom = dom
				changed = true
			}
		}
	}
}

// postdominates tells if control that came to b comes to a, panics apart.
func (g *graph) postdominates(a, b int32) bool {
	for range len(g.nodes) {
		if a == b {
			return true
		}
		if b = g.nodes[b].ipdom; b < 0 {
			return false
		}
	}
	return false
}

// loops finds for each node the innermost natural loop.
func (g *graph) loops() {
	var stack []int32
	for _, h := range g.order { // outer headers come first
		stack = stack[:0]
		for _, p := range g.nodes[h].pred {
			if g.hot(p) && g.dominates(h, p) {
				stack = append(stack, p)
			}
		}
		if len(stack) == 0 {
			continue
		}
		g.nodes[h].loop = h
		for len(stack) > 0 {
			k := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if g.nodes[k].loop == h || !g.dominates(h, k) {
				continue
			}
			g.nodes[k].loop = h
			for _, p := range g.nodes[k].pred {
				if g.hot(p) {
					stack = append(stack, p)
				}
			}
		}
	}
}

// equal tells if two nodes run equally often, panics apart.
func (g *graph) equal(a, b int32) bool {
	if g.nodes[a].order > g.nodes[b].order {
		a, b = b, a
	}
	return a == b || g.nodes[a].loop == g.nodes[b].loop && g.dominates(a, b) && g.postdominates(b, a)
}

// liveness finds before which nodes the flags matter.
func (g *graph) liveness() {
	// A node sets some flags in any case, and reads some before it does.
	for k := range g.nodes {
		n := &g.nodes[k]
		n.live = 0
		n.kills, n.reads = 0, 0
		for i := n.to - 1; i >= n.from; i-- {
			in := &g.b.ins[i]
			n.kills |= in.kills
			n.reads = n.reads&^in.kills | in.reads
		}
	}
	for changed := true; changed; {
		changed = false
		for k := len(g.nodes) - 1; k >= 0; k-- {
			n := &g.nodes[k]
			if live := g.liveBehind(n)&^n.kills | n.reads; live != n.live {
				n.live = live
				changed = true
			}
		}
	}
}

// liveAt are the flags that matter before an instruction of a node, or behind
// its last one.
func (g *graph) liveAt(k int32, ins int) flags {
	n := &g.nodes[k]
	live := g.liveBehind(n)
	for i := n.to - 1; i >= ins; i-- {
		in := &g.b.ins[i]
		live = live&^in.kills | in.reads
	}
	return live
}

// liveBehind are the flags that matter behind a node.
func (g *graph) liveBehind(n *node) flags {
	live := flags(0)
	last := &g.b.ins[n.to-1]
	switch {
	case last.flow == flowJumpAny && len(n.succ) == 0:
		live = allFlags
	case last.flow == flowCond && len(n.succ) < 2: // also into another function
		live = allFlags
	}
	for _, s := range n.succ {
		live |= g.nodes[s].live
	}
	return live
}
