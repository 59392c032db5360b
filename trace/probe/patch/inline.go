package patch

import (
	"bytes"
	"slices"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/flow"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/x86"
)

// Inlined calls have no entry. What is known of one is which instructions are of
// its body, and what control does between them. The body begins in one basic
// block, which dominates the others and runs once for each call: that is where the
// recorder is to be called. See start for how the block is found where the
// compiler's optimisations have left it without an instruction, and blockSlot
// for where in it, or in one that runs equally often, a hook has room.

const (
	whyPanics   = "only on the way to a panic"
	whyHost     = "its caller has no hook"
	whyComputes = "its caller jumps to computed addresses"
	whyNoBlock  = "no block of its own"
	whyNoSlot   = "no place for a hook in its block"
)

// An inliner finds hooks for the inlined calls of one function after the other.
type inliner struct {
	g      flow.Graph
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
	miss := func(v int, why string) { r.missed = append(r.missed, plan.Missed{Func: i, Call: v, Why: why}) }
	if r.entry.Kind == 0 || w.fn.Lost {
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
	l.begin(&w.fn, &r.entry, calls, m.noReturn)
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
			if win, near := l.blockSlot(d); win.to > 0 {
				h = len(r.inside)
				r.inside = append(r.inside, plan.Hook{
					Kind: plan.Block, Func: i, Approximate: !near,
					At:     l.g.Body.Entry + uint64(l.g.Body.Ins[win.from].Off),
					Code:   bytes.Clone(l.g.Body.BytesOf(win.from, win.to)),
					Before: int(l.offset(win.after) - l.g.Body.Ins[win.from].Off),
				})
				for k := win.from; k < win.to; k++ {
					l.used[k] = true
				}
			}
			l.hooks[d] = h
		}
		if h < 0 {
			miss(v, whyNoSlot)
			continue
		}
		hook := &r.inside[h]
		hook.Begins = append(hook.Begins, v)
		hook.Approximate = hook.Approximate || !exact
	}
}

// offset is where an instruction begins, or the last one ends.
func (l *inliner) offset(i int) uint32 {
	if b := l.g.Body; i < len(b.Ins) {
		return b.Ins[i].Off
	}
	return l.g.Body.Tail
}

// begin prepares for the calls of a function.
func (l *inliner) begin(b *function, entry *plan.Hook, calls []executable.InlinedCall, noReturn func(uint64) bool) {
	first := b.Index(int64(entry.At - b.Entry))
	check := -1
	if entry.Kind == plan.Check {
		check = first
	}
	l.g.Build(&b.Body, check, noReturn)
	l.calls = calls
	n := len(b.Ins)

	l.call = slices.Grow(l.call[:0], n)[:n]
	for i := range l.call {
		l.call[i] = -1
	}
	// Callers come before callees: the innermost call is the last one.
	for v := range calls {
		for _, r := range calls[v].Ranges {
			for k := l.at(r[0]); k < n && b.Entry+uint64(b.Ins[k].Off) < r[1]; k++ {
				l.call[k] = int32(v)
			}
		}
	}

	l.used = slices.Grow(l.used[:0], n)[:n]
	clear(l.used)
	size := entry.At - b.Entry + uint64(max(len(entry.Code), plan.JumpSize))
	for k := first; k < n && uint64(b.Ins[k].Off) < size; k++ {
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
			if b.Code[b.Ins[k].Off] == 0x5d && b.Ins[k].Size == 1 {
				ok = false
			}
			if !b.Ins[k].Flow.Falls() {
				ok = true
			}
		}
	}

	l.early = slices.Grow(l.early[:0], len(l.g.Nodes))[:len(l.g.Nodes)]
	clear(l.early)
	for k := int32(0); k >= 0; k = l.next(k) {
		l.early[k] = true
	}
	l.hooks = map[int32]int{}
}

// at is the first instruction at or behind an address.
func (l *inliner) at(pc uint64) int {
	b := l.g.Body
	off := pc - b.Entry
	for off < uint64(len(b.At)) {
		if k := b.At[off]; k > 0 {
			return int(k) - 1
		}
		off++
	}
	return len(b.Ins)
}

// next is the node that runs after k, and only after it, and before which k calls
// nothing; -1 if there is none.
func (l *inliner) next(k int32) int32 {
	g := &l.g
	if g.Nodes[k].Calls {
		return -1
	}
	s := l.only(g.Nodes[k].Succ)
	if s <= 0 || l.only(g.Nodes[s].Pred) != k {
		return -1
	}
	return s
}

// previous is the node before which k is next, or -1.
func (l *inliner) previous(k int32) int32 {
	if p := l.only(l.g.Nodes[k].Pred); p >= 0 && l.next(p) == k {
		return p
	}
	return -1
}

// only is the one hot node among several, or -1.
func (l *inliner) only(nodes []int32) int32 {
	found := int32(-1)
	for _, k := range nodes {
		if !l.g.Hot(k) || k == found {
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
	top := l.body(c, x86.Fits)
	if top < 0 && !l.cold {
		top = l.body(c, 0)
	}
	if top < 0 {
		return 0, false, whyPanics
	}
	// A no-op that marks the call is where the body begins.
	if i := g.Body.Index(int64(pc - g.Body.Entry)); i >= 0 && g.Body.Code[g.Body.Ins[i].Off] == 0x90 {
		if k := g.NodeOf[i]; g.Hot(k) && g.Dominates(k, top) {
			return k, true, ""
		}
	}
	d, exact = top, true
	if !slices.Contains(l.region, top) && !l.leadsInto(top) {
		d, exact = l.heaviest(), false
	}
	// A loop that is all of the body's is entered from the node before it.
	for l.ownLoop(d, v) {
		up := g.Nodes[d].Idom
		if up < 0 {
			return 0, false, whyNoBlock
		}
		if l.only(g.Nodes[up].Succ) != d {
			exact = false
		}
		d = up
	}
	return d, exact, ""
}

// body finds the region of a call, the nodes with instructions of it that have
// none of the given properties, and the nearest node that dominates them.
func (l *inliner) body(c *executable.InlinedCall, without x86.Props) (top int32) {
	g := &l.g
	l.region, l.weight, l.cold = l.region[:0], l.weight[:0], false
	top = -1
	for _, r := range c.Ranges {
		for i := l.at(r[0]); i < len(g.Body.Ins) && g.Body.Entry+uint64(g.Body.Ins[i].Off) < r[1]; i++ {
			k := g.NodeOf[i]
			if g.Body.Ins[i].Is(without) {
				continue
			}
			if !g.Hot(k) {
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
				top = g.CommonDominator(top, k)
			}
		}
	}
	return top
}

// leadsInto tells if all ways from a node lead directly into the region.
func (l *inliner) leadsInto(k int32) bool {
	n := &l.g.Nodes[k]
	if n.Calls {
		return false
	}
	for _, s := range n.Succ {
		if l.g.Hot(s) && !slices.Contains(l.region, s) {
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
			if g.Dominates(k, o) {
				sum += l.weight[i]
			}
		}
		if sum > most || sum == most && g.Nodes[k].Order < g.Nodes[best].Order {
			best, most = k, sum
		}
	}
	return best
}

// ownLoop tells if a loop begins with d that does nothing but what call v does.
func (l *inliner) ownLoop(d, v int32) bool {
	g := &l.g
	if g.Nodes[d].Loop != d {
		return false
	}
	for _, k := range g.Order[g.Nodes[d].Order:] {
		if !l.inLoop(k, d) {
			continue
		}
		for i := g.Nodes[k].From; i < g.Nodes[k].To; i++ {
			if !g.Body.Ins[i].Is(x86.Fits) && !l.within(i, v) {
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
	for h := l.g.Nodes[k].Loop; h >= 0; {
		if h == header {
			return true
		}
		up := l.g.Nodes[h].Idom // outside of the loop of h
		if up < 0 || l.g.Nodes[up].Order < l.g.Nodes[header].Order {
			return false
		}
		h = l.g.Nodes[up].Loop
	}
	return false
}

// blockSlot finds a slot in which the recorder is called as often as node d
// runs. Near is set if nothing is called between the slot and the node.
func (l *inliner) blockSlot(d int32) (w slot, near bool) {
	if w, ok := l.slotIn(d); ok {
		return w, true
	}
	for k := l.next(d); k >= 0 && k != d; k = l.next(k) {
		if w, ok := l.slotIn(k); ok {
			return w, true
		}
	}
	for k := l.previous(d); k >= 0 && k != d; k = l.previous(k) {
		if w, ok := l.slotIn(k); ok {
			return w, true
		}
	}
	// Others that run equally often, the nearest one behind it first: there the
	// body has begun.
	from := int(l.g.Nodes[d].Order)
	const far = 16
	for i := from + 1; i < len(l.g.Order) && i <= from+far; i++ {
		if k := l.g.Order[i]; l.g.EquallyOften(d, k) {
			if w, ok := l.slotIn(k); ok {
				return w, false
			}
		}
	}
	for i := from - 1; i > 0 && i >= from-far; i-- {
		if k := l.g.Order[i]; !l.early[k] && l.g.EquallyOften(k, d) {
			if w, ok := l.slotIn(k); ok {
				return w, false
			}
		}
	}
	return slot{}, false
}

// slotIn finds a slot with a place for the recorder in node d. It may begin
// before the node and end behind it, where control falls from one to the other.
func (l *inliner) slotIn(d int32) (slot, bool) {
	g, b := &l.g, l.g.Body
	n := &g.Nodes[d]
	for after := n.From; after < n.To; after++ {
		if !l.valid[after] || g.LiveAt(d, after) != 0 {
			continue
		}
		// The slot may begin with the recorder's place, or before it unless
		// control comes there from elsewhere.
		size := uint32(0)
		for from := after; ; from-- {
			if w, ok := l.slotFrom(from, after); ok {
				return w, true
			}
			if from == 0 || b.Entered[from] || size >= plan.JumpSize || !l.moves(from-1) {
				break
			}
			size += uint32(b.Ins[from-1].Size)
		}
	}
	return slot{}, false
}

// moves tells if an instruction may be displaced by a block's hook.
func (l *inliner) moves(i int) bool {
	in := &l.g.Body.Ins[i]
	return !l.used[i] && in.Is(x86.Movable) && !in.Is(x86.MayFault)
}

// slotFrom makes a slot of whole instructions that begins with from.
func (l *inliner) slotFrom(from, after int) (slot, bool) {
	b := l.g.Body
	size := uint32(0)
	to := from
	for ; to < after || size < plan.JumpSize; to++ {
		if to == len(b.Ins) || to > from && b.Entered[to] || !l.moves(to) {
			return slot{}, false
		}
		if to > from && !b.Ins[to-1].Flow.Falls() {
			return slot{}, false
		}
		size += uint32(b.Ins[to].Size)
	}
	if to > from && to == after && b.Entered[after] {
		return slot{}, false
	}
	return slot{from: from, to: to, after: after}, true
}
