package patch

import (
	"bytes"
	"slices"

	"tracerag/trace/executable"
)

// Inlined calls have no entry. What is known of one is which instructions are of
// its body, and what control does between them. The body begins in one basic
// block, which dominates the others and runs once for each call: that is where the
// recorder is to be called. See start for how the block is found where the
// compiler's optimisations have left it without an instruction, and blockWindow
// for where in it, or in one that runs equally often, a hook has room.

const (
	whyPanics   = "only on the way to a panic"
	whyHost     = "its caller has no hook"
	whyComputes = "its caller jumps to computed addresses"
	whyNoBlock  = "no block of its own"
	whyNoWindow = "no place for a hook in its block"
)

// An inliner finds hooks for the inlined calls of one function after the other.
type inliner struct {
	g      graph
	calls  []executable.InlinedCall
	call   []int32 // the innermost one, by instruction; -1: none
	valid  []bool  // by instruction: RBP points to the frame before it
	used   []bool  // by instruction: a hook displaces it
	early  []bool  // by node: runs whenever the function is entered, before it calls anything
	hooks  map[int32]int
	region []int32 // nodes of the call that is looked at
	weight []int   // its instructions in them
	cold   bool    // it has instructions in nodes that lead to a panic, too
}

// blockHooks adds the hooks of the inlined calls in function i, whose body and
// entry hook these are. Pcs stand for the calls (see executable.File.CallPCs).
func (w *worker) blockHooks(m *maker, i int, calls []executable.InlinedCall, pcs []uint64, r *result) {
	miss := func(v int, why string) { r.missed = append(r.missed, Missed{i, v, why}) }
	if r.entry.Kind == 0 || w.body.lost {
		why := whyComputes
		if r.entry.Kind == 0 {
			why = whyHost
		}
		for v := range calls {
			if m.recorded(calls[v].Package) {
				miss(v, why)
			}
		}
		return
	}
	l := &w.inliner
	l.begin(&w.body, &r.entry, calls, m.noReturn)
	for v := range calls {
		if !m.recorded(calls[v].Package) {
			continue
		}
		d, exact, why := l.start(int32(v), pcs[v])
		if why != "" {
			miss(v, why)
			continue
		}
		if l.early[d] {
			r.entry.Begins = append(r.entry.Begins, v)
			continue
		}
		h, ok := l.hooks[d]
		if !ok {
			h = -1
			if win, near := l.blockWindow(d); win.to > 0 {
				h = len(r.inside)
				r.inside = append(r.inside, Hook{
					Kind: Block, Func: i, Approximate: !near,
					At:     l.g.b.entry + uint64(l.g.b.ins[win.from].off),
					code:   bytes.Clone(l.g.b.bytesOf(win.from, win.to)),
					before: int(l.offset(win.after) - l.g.b.ins[win.from].off),
				})
				for k := win.from; k < win.to; k++ {
					l.used[k] = true
				}
			}
			l.hooks[d] = h
		}
		if h < 0 {
			miss(v, whyNoWindow)
			continue
		}
		hook := &r.inside[h]
		hook.Begins = append(hook.Begins, v)
		hook.Approximate = hook.Approximate || !exact
	}
}

// offset is where an instruction begins, or the last one ends.
func (l *inliner) offset(i int) uint32 {
	if b := l.g.b; i < len(b.ins) {
		return b.ins[i].off
	}
	return l.g.b.tail
}

// begin prepares for the calls of a function.
func (l *inliner) begin(b *body, entry *Hook, calls []executable.InlinedCall, noReturn func(uint64) bool) {
	first := b.index(int64(entry.At - b.entry))
	check := -1
	if entry.Kind == Check {
		check = first
	}
	l.g.build(b, check, noReturn)
	l.calls = calls
	n := len(b.ins)

	l.call = slices.Grow(l.call[:0], n)[:n]
	for i := range l.call {
		l.call[i] = -1
	}
	// Callers come before callees: the innermost call is the last one.
	for v := range calls {
		for _, r := range calls[v].Ranges {
			for k := l.at(r[0]); k < n && b.entry+uint64(b.ins[k].off) < r[1]; k++ {
				l.call[k] = int32(v)
			}
		}
	}

	l.used = slices.Grow(l.used[:0], n)[:n]
	clear(l.used)
	size := entry.At - b.entry + uint64(max(len(entry.code), jumpSize))
	for k := first; k < n && uint64(b.ins[k].off) < size; k++ {
		l.used[k] = true
	}

	// The frame is there from the end of the prologue to the pop of RBP.
	l.valid = slices.Grow(l.valid[:0], n)[:n]
	frame := 0
	for k := range min(n, 12) {
		if b.startsFrame(k) {
			frame = k + 2
			break
		}
	}
	ok := true
	for k := range l.valid {
		l.valid[k] = ok && k >= frame
		if frame > 0 {
			if b.code[b.ins[k].off] == 0x5d && b.ins[k].size == 1 {
				ok = false
			}
			if !b.ins[k].flow.falls() {
				ok = true
			}
		}
	}

	l.early = slices.Grow(l.early[:0], len(l.g.nodes))[:len(l.g.nodes)]
	clear(l.early)
	for k := int32(0); k >= 0; k = l.next(k) {
		l.early[k] = true
	}
	l.hooks = map[int32]int{}
}

// at is the first instruction at or behind an address.
func (l *inliner) at(pc uint64) int {
	b := l.g.b
	off := pc - b.entry
	for off < uint64(len(b.at)) {
		if k := b.at[off]; k > 0 {
			return int(k) - 1
		}
		off++
	}
	return len(b.ins)
}

// next is the node that runs after k, and only after it, and before which k calls
// nothing; -1 if there is none.
func (l *inliner) next(k int32) int32 {
	g := &l.g
	if g.nodes[k].calls {
		return -1
	}
	s := l.only(g.nodes[k].succ)
	if s <= 0 || l.only(g.nodes[s].pred) != k {
		return -1
	}
	return s
}

// previous is the node before which k is next, or -1.
func (l *inliner) previous(k int32) int32 {
	if p := l.only(l.g.nodes[k].pred); p >= 0 && l.next(p) == k {
		return p
	}
	return -1
}

// only is the one hot node among several, or -1.
func (l *inliner) only(nodes []int32) int32 {
	found := int32(-1)
	for _, k := range nodes {
		if !l.g.hot(k) || k == found {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = k
	}
	return found
}

// start returns the node in which call v begins; exact is false if it may run
// more or less often than the call.
func (l *inliner) start(v int32, pc uint64) (d int32, exact bool, why string) {
	g, c := &l.g, &l.calls[v]
	// The nodes of the body, and the nearest one that dominates them all. What
	// the register allocator and the assembler add bears the line of what it is
	// added for, even in another block: it counts only where there is nothing else.
	top := l.body(c, fits)
	if top < 0 && !l.cold {
		top = l.body(c, 0)
	}
	if top < 0 {
		return 0, false, whyPanics
	}
	// A no-op that marks the call is where the body begins.
	if i := g.b.index(int64(pc - g.b.entry)); i >= 0 && g.b.code[g.b.ins[i].off] == 0x90 {
		if k := g.of[i]; g.hot(k) && g.dominates(k, top) {
			return k, true, ""
		}
	}
	d, exact = top, true
	if !slices.Contains(l.region, top) && !l.leadsInto(top) {
		d, exact = l.heaviest(), false
	}
	// A loop that is all of the body's is entered from the node before it.
	for l.ownLoop(d, v) {
		up := g.nodes[d].idom
		if up < 0 {
			return 0, false, whyNoBlock
		}
		if l.only(g.nodes[up].succ) != d {
			exact = false
		}
		d = up
	}
	return d, exact, ""
}

// body finds the region of a call, the nodes with instructions of it that have
// none of the given properties, and the nearest node that dominates them.
func (l *inliner) body(c *executable.InlinedCall, without props) (top int32) {
	g := &l.g
	l.region, l.weight, l.cold = l.region[:0], l.weight[:0], false
	top = -1
	for _, r := range c.Ranges {
		for i := l.at(r[0]); i < len(g.b.ins) && g.b.entry+uint64(g.b.ins[i].off) < r[1]; i++ {
			k := g.of[i]
			if g.b.ins[i].is(without) {
				continue
			}
			if !g.hot(k) {
				l.cold = true
				continue
			}
			if n := len(l.region); n > 0 && l.region[n-1] == k {
				l.weight[n-1]++
				continue
			}
			l.region, l.weight = append(l.region, k), append(l.weight, 1)
			if top < 0 {
				top = k
			} else {
				top = g.commonDominator(top, k)
			}
		}
	}
	return top
}

// leadsInto tells if all ways from a node lead directly into the region.
func (l *inliner) leadsInto(k int32) bool {
	n := &l.g.nodes[k]
	if n.calls {
		return false
	}
	for _, s := range n.succ {
		if l.g.hot(s) && !slices.Contains(l.region, s) {
			return false
		}
	}
	return true
}

// heaviest is the node of the region that dominates most of the call's
// instructions.
func (l *inliner) heaviest() int32 {
	g := &l.g
	best, most := l.region[0], -1
	for _, k := range l.region {
		sum := 0
		for i, o := range l.region {
			if g.dominates(k, o) {
				sum += l.weight[i]
			}
		}
		if sum > most || sum == most && g.nodes[k].order < g.nodes[best].order {
			best, most = k, sum
		}
	}
	return best
}

// ownLoop tells if a loop begins with d that does nothing but what call v does.
func (l *inliner) ownLoop(d, v int32) bool {
	g := &l.g
	if g.nodes[d].loop != d {
		return false
	}
	for _, k := range g.order[g.nodes[d].order:] {
		if !l.inLoop(k, d) {
			continue
		}
		for i := g.nodes[k].from; i < g.nodes[k].to; i++ {
			if !g.b.ins[i].is(fits) && !l.within(i, v) {
				return false
			}
		}
	}
	return true
}

// within tells if an instruction is of call v, or of one that it made.
func (l *inliner) within(i int, v int32) bool {
	for x := l.call[i]; x >= 0; x = int32(l.calls[x].Parent) {
		if x == v {
			return true
		}
	}
	return false
}

// inLoop tells if a node is in the loop of a header, or in one inside of it.
func (l *inliner) inLoop(k, header int32) bool {
	for h := l.g.nodes[k].loop; h >= 0; {
		if h == header {
			return true
		}
		up := l.g.nodes[h].idom // outside of the loop of h
		if up < 0 || l.g.nodes[up].order < l.g.nodes[header].order {
			return false
		}
		h = l.g.nodes[up].loop
	}
	return false
}

// blockWindow finds a window in which the recorder is called as often as node d
// runs. Near is set if nothing is called between the window and the node.
func (l *inliner) blockWindow(d int32) (w window, near bool) {
	if w, ok := l.windowIn(d); ok {
		return w, true
	}
	for k := l.next(d); k >= 0 && k != d; k = l.next(k) {
		if w, ok := l.windowIn(k); ok {
			return w, true
		}
	}
	for k := l.previous(d); k >= 0 && k != d; k = l.previous(k) {
		if w, ok := l.windowIn(k); ok {
			return w, true
		}
	}
	// Others that run equally often, the nearest one behind it first: there the
	// body has begun.
	from := int(l.g.nodes[d].order)
	const far = 16
	for i := from + 1; i < len(l.g.order) && i <= from+far; i++ {
		if k := l.g.order[i]; l.g.equal(d, k) {
			if w, ok := l.windowIn(k); ok {
				return w, false
			}
		}
	}
	for i := from - 1; i > 0 && i >= from-far; i-- {
		if k := l.g.order[i]; !l.early[k] && l.g.equal(k, d) {
			if w, ok := l.windowIn(k); ok {
				return w, false
			}
		}
	}
	return window{}, false
}

// windowIn finds a window with a place for the recorder in node d. It may begin
// before the node and end behind it, where control falls from one to the other.
func (l *inliner) windowIn(d int32) (window, bool) {
	g, b := &l.g, l.g.b
	n := &g.nodes[d]
	for after := n.from; after < n.to; after++ {
		if !l.valid[after] || g.liveAt(d, after) != 0 {
			continue
		}
		// The window may begin with the recorder's place, or before it unless
		// control comes there from elsewhere.
		size := uint32(0)
		for from := after; ; from-- {
			if w, ok := l.windowFrom(from, after); ok {
				return w, true
			}
			if from == 0 || b.enter[from] || size >= jumpSize || !l.moves(from-1) {
				break
			}
			size += uint32(b.ins[from-1].size)
		}
	}
	return window{}, false
}

// moves tells if an instruction may be displaced by a block's hook.
func (l *inliner) moves(i int) bool {
	in := &l.g.b.ins[i]
	return !l.used[i] && in.is(movable) && !in.is(mayFault)
}

// windowFrom makes a window of whole instructions that begins with from.
func (l *inliner) windowFrom(from, after int) (window, bool) {
	b := l.g.b
	size := uint32(0)
	to := from
	for ; to < after || size < jumpSize; to++ {
		if to == len(b.ins) || to > from && b.enter[to] || !l.moves(to) {
			return window{}, false
		}
		if to > from && !b.ins[to-1].flow.falls() {
			return window{}, false
		}
		size += uint32(b.ins[to].size)
	}
	if to > from && to == after && b.enter[after] {
		return window{}, false
	}
	return window{from: from, to: to, after: after}, true
}
