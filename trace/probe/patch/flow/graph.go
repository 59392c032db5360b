package flow

import (
	"slices"

	"tracerag/trace/probe/patch/x86"
)

// Node is instructions that run one after the other, if nothing in them goes
// wrong: it ends at branches, before their targets, and behind calls, which may
// not come back.
type Node struct {
	From, To   int // instructions
	Succ, Pred []int32
	Calls      bool      // ends with a call
	cold       bool      // leads to a panic only
	Order      int32     // in reverse postorder of the nodes that are not cold, -1: not reached
	Idom       int32     // immediate dominator, -1: none
	ipdom      int32     // immediate postdominator, -1: none, exit: control leaves the function
	Loop       int32     // header of the innermost loop, -1: none
	Live       x86.Flags // that matter before it
	kills      x86.Flags // that it sets
	reads      x86.Flags // that it reads, of those that it has not set before
}

// exit is behind all nodes that leave the function.
const exit = -2

// Graph is the flow of control in a function.
type Graph struct {
	Body   *Body
	Nodes  []Node
	NodeOf []int32 // node, by instruction
	Order  []int32 // the nodes that are reached, in reverse postorder

	stack []visit // these are used again
	post  []int32
	index []int32
}

// A visit is a node on the way of a search, and the next of its edges.
type visit struct {
	node int32
	next int
}

// Build makes the graph of a function. The checked branch, if it is not -1, is
// that of the stack check: what it leads to starts the function again, and is
// not part of the call. NoReturn tells if the function at an address never
// returns.
func (g *Graph) Build(b *Body, check int, noReturn func(addr uint64) bool) {
	g.Body = b
	g.cut()
	g.connect(check, noReturn)
	g.chill()
	g.number()
	g.dominators()
	g.postdominators()
	g.loops()
	g.liveness()
}

// BuildWhole makes the graph of a function with the nodes that lead to a panic, but
// without postdominators and loops.
func (g *Graph) BuildWhole(b *Body, check int, noReturn func(addr uint64) bool) {
	g.Body = b
	g.cut()
	g.connect(check, noReturn)
	for i := range g.Nodes {
		g.Nodes[i].cold = false
	}
	g.number()
	g.dominators()
	g.liveness()
}

// cut finds the nodes.
func (g *Graph) cut() {
	b := g.Body
	g.Nodes = g.Nodes[:0]
	g.NodeOf = slices.Grow(g.NodeOf[:0], len(b.Ins))[:len(b.Ins)]
	start := true
	for i := range b.Ins {
		if start || b.Entered[i] {
			if n := len(g.Nodes); n > 0 {
				g.Nodes[n-1].To = i
			}
			if len(g.Nodes) < cap(g.Nodes) { // reuse the edges' memory
				g.Nodes = g.Nodes[:len(g.Nodes)+1]
			} else {
				g.Nodes = append(g.Nodes, Node{})
			}
			n := &g.Nodes[len(g.Nodes)-1]
			*n = Node{From: i, Succ: n.Succ[:0], Pred: n.Pred[:0], Order: -1, Idom: -1, ipdom: -1, Loop: -1}
		}
		g.NodeOf[i] = int32(len(g.Nodes) - 1)
		start = b.Ins[i].Flow != x86.Next
	}
	g.Nodes[len(g.Nodes)-1].To = len(b.Ins)
}

func (g *Graph) connect(check int, noReturn func(addr uint64) bool) {
	b := g.Body
	edge := func(from int32, to int) {
		t := g.NodeOf[to]
		g.Nodes[from].Succ = append(g.Nodes[from].Succ, t)
		g.Nodes[t].Pred = append(g.Nodes[t].Pred, from)
	}
	jump := 0
	for k := range g.Nodes {
		n := &g.Nodes[k]
		last := n.To - 1
		in := &b.Ins[last]
		falls := in.Flow.Falls()
		switch in.Flow {
		case x86.CondJump, x86.Jump:
			if t := b.Index(in.Target); t >= 0 && last != check {
				edge(int32(k), t)
			}
		case x86.JumpAny:
			for jump < len(b.jumps) && b.jumps[jump].ins < last {
				jump++
			}
			if jump < len(b.jumps) && b.jumps[jump].ins == last {
				for _, t := range b.jumps[jump].targets {
					edge(int32(k), t)
				}
			}
		case x86.Trap:
			n.cold = true
		case x86.Call:
			n.Calls = true
			if noReturn(b.Entry + uint64(in.Target)) {
				n.cold = true
				falls = false
			}
		case x86.CallAny:
			n.Calls = true
		}
		if falls && n.To < len(b.Ins) {
			edge(int32(k), n.To)
		}
	}
}

// chill marks the nodes from which all ways lead to a panic. The code that
// panics is shared between inlined bodies: where it is says nothing of them.
func (g *Graph) chill() {
	var work []int32
	for k := range g.Nodes {
		if g.Nodes[k].cold {
			work = append(work, int32(k))
		}
	}
	for len(work) > 0 {
		k := work[len(work)-1]
		work = work[:len(work)-1]
	preds:
		for _, p := range g.Nodes[k].Pred {
			if g.Nodes[p].cold {
				continue
			}
			for _, s := range g.Nodes[p].Succ {
				if !g.Nodes[s].cold {
					continue preds
				}
			}
			g.Nodes[p].cold = true
			work = append(work, p)
		}
	}
}

// number finds the nodes that are reached from the entry and are not cold.
func (g *Graph) number() {
	g.Order = g.Order[:0]
	if g.Nodes[0].cold {
		return
	}
	const seen = -3
	stack := append(g.stack[:0], visit{0, 0})
	defer func() { g.stack = stack }()
	g.Nodes[0].Order = seen
	for len(stack) > 0 {
		v := &stack[len(stack)-1]
		n := &g.Nodes[v.node]
		if v.next == len(n.Succ) {
			g.Order = append(g.Order, v.node)
			stack = stack[:len(stack)-1]
			continue
		}
		s := n.Succ[v.next]
		v.next++
		if m := &g.Nodes[s]; m.Order != seen && !m.cold {
			m.Order = seen
			stack = append(stack, visit{s, 0})
		}
	}
	slices.Reverse(g.Order)
	for i, k := range g.Order {
		g.Nodes[k].Order = int32(i)
	}
}

// Hot tells if control ever comes to a node, panics apart.
func (g *Graph) Hot(k int32) bool { return g.Nodes[k].Order >= 0 }

// dominators computes the immediate dominators, by the algorithm of Cooper,
// Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001).
func (g *Graph) dominators() {
	for changed := true; changed; {
		changed = false
		for _, k := range g.Order {
			if k == 0 {
				continue
			}
			dom := int32(-1)
			for _, p := range g.Nodes[k].Pred {
				if !g.Hot(p) || p != 0 && g.Nodes[p].Idom < 0 {
					continue
				}
				if dom < 0 {
					dom = p
				} else {
					dom = g.CommonDominator(dom, p)
				}
			}
			if dom != g.Nodes[k].Idom {
				g.Nodes[k].Idom = dom
				changed = true
			}
		}
	}
}

// CommonDominator is the nearest node that dominates both.
func (g *Graph) CommonDominator(a, b int32) int32 {
	for a != b {
		if g.Nodes[a].Order > g.Nodes[b].Order {
			a = g.Nodes[a].Idom
		} else {
			b = g.Nodes[b].Idom
		}
	}
	return a
}

// Dominates tells if control cannot come to b but by a.
func (g *Graph) Dominates(a, b int32) bool {
	for b >= 0 && g.Nodes[b].Order > g.Nodes[a].Order {
		b = g.Nodes[b].Idom
	}
	return a == b
}

// postdominators does the same from the function's end. Nodes from which no way
// leads out of the function have none.
func (g *Graph) postdominators() {
	// A postorder of the reversed graph, from all nodes that leave.
	post, stack := g.post[:0], g.stack
	index := slices.Grow(g.index[:0], len(g.Nodes))[:len(g.Nodes)]
	defer func() { g.post, g.index, g.stack = post, index, stack }()
	for i := range index {
		index[i] = -1
	}
	hotSucc := func(k int32, yield func(s int32)) {
		for _, s := range g.Nodes[k].Succ {
			if g.Hot(s) {
				yield(s)
			}
		}
	}
	for i := len(g.Order) - 1; i >= 0; i-- {
		k := g.Order[i]
		leaves := true
		hotSucc(k, func(int32) { leaves = false })
		if !leaves {
			continue
		}
		g.Nodes[k].ipdom = exit
		if index[k] >= 0 {
			continue
		}
		index[k] = 0
		stack = append(stack[:0], visit{k, 0})
		for len(stack) > 0 {
			v := &stack[len(stack)-1]
			n := &g.Nodes[v.node]
			if v.next == len(n.Pred) {
				index[v.node] = int32(len(post))
				post = append(post, v.node)
				stack = stack[:len(stack)-1]
				continue
			}
			p := n.Pred[v.next]
			v.next++
			if g.Hot(p) && index[p] < 0 {
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
				a = g.Nodes[a].ipdom
			} else {
				b = g.Nodes[b].ipdom
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
				if g.Nodes[s].ipdom == -1 {
					return
				}
				if dom == -1 {
					dom = s
				} else {
					dom = common(dom, s)
				}
			})
			if any && dom != g.Nodes[k].ipdom {
				g.Nodes[k].ipdom = dom
				changed = true
			}
		}
	}
}

// postdominates tells if control that came to b comes to a, panics apart.
func (g *Graph) postdominates(a, b int32) bool {
	for range len(g.Nodes) {
		if a == b {
			return true
		}
		if b = g.Nodes[b].ipdom; b < 0 {
			return false
		}
	}
	return false
}

// loops finds for each node the innermost natural loop.
func (g *Graph) loops() {
	var stack []int32
	for _, h := range g.Order { // outer headers come first
		stack = stack[:0]
		for _, p := range g.Nodes[h].Pred {
			if g.Hot(p) && g.Dominates(h, p) {
				stack = append(stack, p)
			}
		}
		if len(stack) == 0 {
			continue
		}
		g.Nodes[h].Loop = h
		for len(stack) > 0 {
			k := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if g.Nodes[k].Loop == h || !g.Dominates(h, k) {
				continue
			}
			g.Nodes[k].Loop = h
			for _, p := range g.Nodes[k].Pred {
				if g.Hot(p) {
					stack = append(stack, p)
				}
			}
		}
	}
}

// EquallyOften tells if two nodes run equally often, panics apart.
func (g *Graph) EquallyOften(a, b int32) bool {
	if g.Nodes[a].Order > g.Nodes[b].Order {
		a, b = b, a
	}
	return a == b || g.Nodes[a].Loop == g.Nodes[b].Loop && g.Dominates(a, b) && g.postdominates(b, a)
}

// liveness finds before which nodes the flags matter.
func (g *Graph) liveness() {
	// A node sets some flags in any case, and reads some before it does.
	for k := range g.Nodes {
		n := &g.Nodes[k]
		n.Live = 0
		n.kills, n.reads = 0, 0
		for i := n.To - 1; i >= n.From; i-- {
			in := &g.Body.Ins[i]
			n.kills |= in.Kills
			n.reads = n.reads&^in.Kills | in.Reads
		}
	}
	for changed := true; changed; {
		changed = false
		for k := len(g.Nodes) - 1; k >= 0; k-- {
			n := &g.Nodes[k]
			if live := g.liveBehind(n)&^n.kills | n.reads; live != n.Live {
				n.Live = live
				changed = true
			}
		}
	}
}

// LiveAt are the flags that matter before an instruction of a node, or behind
// its last one.
func (g *Graph) LiveAt(k int32, ins int) x86.Flags {
	n := &g.Nodes[k]
	live := g.liveBehind(n)
	for i := n.To - 1; i >= ins; i-- {
		in := &g.Body.Ins[i]
		live = live&^in.Kills | in.Reads
	}
	return live
}

// liveBehind are the flags that matter behind a node.
func (g *Graph) liveBehind(n *Node) x86.Flags {
	live := x86.Flags(0)
	last := &g.Body.Ins[n.To-1]
	switch {
	case last.Flow == x86.JumpAny && len(n.Succ) == 0:
		live = x86.AllFlags
	case last.Flow == x86.CondJump && len(n.Succ) < 2: // also into another function
		live = x86.AllFlags
	}
	for _, s := range n.Succ {
		live |= g.Nodes[s].Live
	}
	return live
}

// OnlyPred is the one node that leads to another, or -1.
func (g *Graph) OnlyPred(k int32) int32 {
	found := int32(-1)
	for _, p := range g.Nodes[k].Pred {
		if !g.Hot(p) || p == found {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = p
	}
	if k == 0 {
		return -1
	}
	return found
}
