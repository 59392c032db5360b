package patch

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/lines"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/x86"
)

// Block marks say what ran inside a long function: bytes in memory, one for a
// basic block, that are 0 until the block runs. A mark's stub calls nothing and
// changes no register. It looks whether the byte is set already, so that processors do
// not take its cache line from each other. When it has set the byte nobody needs the
// mark any more, and most marks then give the block its own code back: see package stubs.
//
// Not every block needs one: see marker.choose, and [Watch.Lines] for how the other
// blocks' fate follows.

// longFunction is the number of source lines from which on a function's blocks
// have marks. In four programs 88 functions were of 2,000 tokens or more, one of
// them with fewer lines than this.
const longFunction = 150

// findLong finds the functions, among those with these indices, that have so many
// lines that it is worth while to know which of them ran.
func (m *maker) findLong(fns []int) {
	long := make([]bool, len(fns))
	m.parallel(len(fns), func(_ *worker, i int) { long[i] = m.long(&m.f.Funcs[fns[i]]) })
	m.longs = map[string]*atomic.Bool{}
	for i, l := range long {
		if l {
			m.longs[m.f.Funcs[fns[i]].Name] = new(atomic.Bool)
		}
	}
	// Where inlined calls are looked for, notLong is called then.
	var others []int
	pkg, std := "", true
	for i := range m.f.Funcs {
		fn := &m.f.Funcs[i]
		if fn.Package != pkg { // mostly it is that of the one before
			pkg, std = fn.Package, m.f.Std(fn.Package)
		}
		if fn.Entry < fn.End && !std && !(m.o.Inlined && m.recorded(fn.Package)) {
			others = append(others, i)
		}
	}
	m.parallel(len(others), func(_ *worker, i int) { m.notLong(m.f.Inlined(&m.f.Funcs[others[i]])) })
}

func (m *maker) long(fn *executable.Func) bool {
	// Of the functions in five programs none was that long with less code.
	if fn.End-fn.Entry < 2*longFunction || fn.StartLine == 0 || fn.Asm || fn.Wrapper {
		return false
	}
	for s := range m.f.Lines(fn) {
		if s.Line >= fn.StartLine+longFunction-1 {
			return true
		}
	}
	return false
}

// notLong takes note of inlined calls: what runs in a copy of a function's body is
// not seen.
func (m *maker) notLong(calls []executable.InlinedCall) {
	if len(m.longs) == 0 {
		return
	}
	for i := range calls {
		if inlined := m.longs[calls[i].Name]; inlined != nil {
			inlined.Store(true)
		}
	}
}

// marks plans the marks of the long functions, where hooks are the program's. The
// first mark is that of runtime.sigpanic, which is called when an instruction
// faults.
func (m *maker) marks(hooks []plan.Hook) []plan.BlockMark {
	entry := map[int]*plan.Hook{}
	var fns []int
	var changed spans
	for i := range hooks {
		h := &hooks[i]
		for _, s := range h.Sites {
			changed = append(changed, span{s, s + plan.JumpSize})
		}
		if h.Kind != plan.CallSites {
			changed = append(changed, span{h.At, h.At + uint64(max(len(h.Code), plan.JumpSize))})
		}
		if inlined := m.longs[m.f.Funcs[h.Func].Name]; h.Kind.Entry() && inlined != nil && !inlined.Load() {
			entry[h.Func] = h
			fns = append(fns, h.Func)
		}
	}
	if len(fns) == 0 {
		return nil
	}
	changed.sort()
	fault, ok := m.faultMark()
	if !ok {
		return nil
	}
	results := make([][]plan.BlockMark, len(fns))
	m.parallel(len(fns), func(w *worker, i int) { results[i] = m.markFunction(w, fns[i], entry[fns[i]], changed) })
	return append([]plan.BlockMark{fault}, slices.Concat(results...)...)
}

// faultMark is the mark at the entry of runtime.sigpanic.
func (m *maker) faultMark() (plan.BlockMark, bool) {
	i := slices.IndexFunc(m.f.Funcs, func(fn executable.Func) bool { return fn.Name == "runtime.sigpanic" })
	if i < 0 {
		return plan.BlockMark{}, false
	}
	fn := &m.f.Funcs[i]
	var b function
	if b.Disassemble(fn.Entry, m.code.Bytes(fn.Entry, fn.End-fn.Entry), m.word) != "" {
		return plan.BlockMark{}, false
	}
	h, why := b.entryHook(m.morestack)
	if why != "" || h.Ahead > 0 {
		return plan.BlockMark{}, false
	}
	return plan.BlockMark{Func: i, Block: h.At + uint64(h.Before), At: h.At, Flags: true, Code: h.Code, Before: h.Before}, true
}

func (m *maker) markFunction(w *worker, i int, entry *plan.Hook, changed spans) []plan.BlockMark {
	if m.takeApart(&w.fn, &m.f.Funcs[i]) != "" || w.fn.Lost {
		return nil
	}
	k := marker{fn: i, l: &w.inliner, at: lines.LineOf(&w.fn.Body, slices.Collect(m.f.Lines(&m.f.Funcs[i]))), name: m.nameAt}
	return k.marks(&w.fn, entry, changed, m.noReturn)
}

// nameAt is the name of the function that begins at an address, "" if none does.
func (m *maker) nameAt(entry uint64) string {
	if fn := m.f.Func(entry); fn != nil && fn.Entry == entry {
		return fn.Name
	}
	return ""
}

// A marker finds the marks of one function.
type marker struct {
	fn   int
	at   []int                     // line, by instruction
	name func(entry uint64) string // of a function, "" if there is none
	l    *inliner                  // its graph, and which instructions are displaced
	out  []plan.BlockMark

	checked bool // the stack is checked at its entry
}

func (k *marker) marks(b *function, entry *plan.Hook, changed spans, noReturn func(uint64) bool) []plan.BlockMark {
	l := k.l
	k.checked = entry.Kind == plan.Check
	l.g.BuildWhole(&b.Body, checkOf(b, entry), noReturn)
	l.used = append(l.used[:0], make([]bool, len(b.Ins))...)
	changed = changed.from(b.Entry)
	for i := range b.Ins {
		from := b.Entry + uint64(b.Ins[i].Off)
		for len(changed) > 0 && changed[0].to <= from {
			changed = changed[1:]
		}
		l.used[i] = len(changed) > 0 && changed[0].from < b.Entry+uint64(b.Ins[i].End())
	}
	left := k.choose()
	for _, most := range []int{once, onceOutside, certain, anywhere} {
		left = slices.DeleteFunc(left, func(block int32) bool { return k.place(block, most) })
	}
	slices.SortFunc(k.out, func(a, b plan.BlockMark) int { return cmp.Compare(a.At, b.At) })
	return k.out
}

// checkOf is the instruction that branches for the stack check, or -1.
func checkOf(b *function, entry *plan.Hook) int {
	if entry.Kind != plan.Check {
		return -1
	}
	return b.Index(int64(entry.At - b.Entry))
}

// choose finds the blocks that have to have marks.
//
// A block is of use if it has a line that none of its dominators has: where one has
// run, so has the line. Of those that are of use, and of those whose fate others
// need, a block has no mark
//
//   - at the function's entry, which has a hook;
//   - if it runs whenever the one before it does and has ended, and that is not
//     left by a call or a fault;
//   - if it calls nothing, and leads only to blocks whose fate is known and which
//     nobody comes to but through it: one of those has run if it has;
//   - if it comes back from a call and leads only to such blocks: when one has run so
//     has this. It is unknown only when the call did not come back, or what comes
//     next did not.
func (k *marker) choose() (marked []int32) {
	g := &k.l.g
	wanted := k.useful()
	known := make([]bool, len(g.Nodes))
	for o := len(g.Order) - 1; o > 0; o-- {
		b := g.Order[o]
		n := &g.Nodes[b]
		all := len(n.Succ) > 0
		for _, s := range n.Succ {
			all = all && known[s] && g.Nodes[s].Idom == b
		}
		p := g.OnlyPred(b)
		switch {
		case all && (!n.Calls || p >= 0 && g.Nodes[p].Calls):
			known[b] = true
		case !wanted[b]:
		case p >= 0 && !g.Nodes[p].Calls && len(g.Nodes[p].Succ) == 1:
			known[b], wanted[p] = true, true
		default:
			known[b] = true
			marked = append(marked, b)
		}
	}
	return marked
}

// useful tells which blocks have a line that no dominator has.
func (k *marker) useful() []bool {
	g := &k.l.g
	use := make([]bool, len(g.Nodes))
	own := make([][]int, len(g.Nodes)) // lines
	below := make([][]int32, len(g.Nodes))
	for _, b := range g.Order {
		for i, w := range lines.Weights(g, b) {
			if line := k.at[i]; w > lines.Fitting && line > 0 && !slices.Contains(own[b], line) {
				own[b] = append(own[b], line)
			}
		}
		if up := g.Nodes[b].Idom; up >= 0 {
			below[up] = append(below[up], b)
		}
	}
	// Down the tree of dominators, with the lines of those that are above.
	above := map[int]bool{}
	var path []int32
	for next := []int32{0}; len(next) > 0; {
		b := next[len(next)-1]
		if n := len(path); n > 0 && path[n-1] == b { // all below it was seen
			next, path = next[:len(next)-1], path[:n-1]
			for _, line := range own[b] {
				delete(above, line)
			}
			continue
		}
		path = append(path, b)
		next = append(next, below[b]...)
		// Of its lines those are kept that it has first.
		own[b] = slices.DeleteFunc(own[b], func(line int) bool { return above[line] })
		use[b] = len(own[b]) > 0
		for _, line := range own[b] {
			above[line] = true
		}
	}
	return use
}

// What a place for a mark costs. Most counts that less is known where something
// faults. With what stays in the way counting more, 86 % of esbuild's marks could be
// taken away instead of 76, and of the lines of a run that faulted 8.5 % instead of 6 were
// not known. Then comes what stays, then that the stub has more to do, and that the place
// is not in the block alone: it may be what another block needs.
const (
	costOutside = 1 << iota
	costFlags
	costStays
	costBehind

	// Places are given away in this order, each at this cost at most.
	once        = costFlags
	onceOutside = once | costOutside
	certain     = onceOutside | costStays
	anywhere    = certain | costBehind
)

func costOf(m *plan.BlockMark) int {
	c := 0
	if !m.Once {
		c |= costStays
	}
	if m.Behind {
		c |= costBehind
	}
	if m.Flags {
		c |= costFlags
	}
	return c
}

// place puts a mark into a block, if there is a place for it at that cost.
func (k *marker) place(b int32, most int) bool {
	l, g := k.l, &k.l.g
	n := &g.Nodes[b]
	var best plan.BlockMark
	cost := anywhere + 1
	take := func(mk plan.BlockMark, c int) {
		mk.Once = k.checked && mk.OneWord()
		if c |= costOf(&mk); c <= most && c < cost {
			best, cost = mk, c
		}
	}
	behind := false
	for after := n.From; after < n.To && cost > 0; after++ {
		live := g.LiveAt(b, after) != 0
		for w := range k.slots(after) {
			c := 0
			if w.from < n.From || w.to > n.To {
				c = costOutside
			}
			take(plan.BlockMark{
				Form: plan.MarkSlot, At: g.Body.Entry + uint64(g.Body.Ins[w.from].Off), Behind: behind, Flags: live,
				Code: g.Body.BytesOf(w.from, w.to), Before: int(l.offset(w.after) - g.Body.Ins[w.from].Off),
			}, c)
		}
		behind = behind || g.Body.Ins[after].Is(x86.MayFault)
	}
	if mk, ok := k.call(b); ok {
		take(mk, 0)
	}
	if cost > onceOutside && most >= onceOutside {
		// Several marks instead of one, where that is worth it.
		if all, marks := k.edges(b); len(marks) > 0 && (all || cost > anywhere && most == anywhere) {
			for _, mk := range marks {
				k.add(b, mk)
			}
			return true
		}
	}
	if cost > anywhere {
		return false
	}
	k.add(b, best)
	return true
}

// add adds a mark and takes the instructions that it displaces.
func (k *marker) add(b int32, mk plan.BlockMark) {
	body := k.l.g.Body
	mk.Func, mk.Block = k.fn, body.Entry+uint64(body.Ins[k.l.g.Nodes[b].From].Off)
	mk.Code = bytes.Clone(mk.Code)
	k.out = append(k.out, mk)
	for i := body.Index(int64(mk.At - body.Entry)); i < len(body.Ins) && body.Entry+uint64(body.Ins[i].Off) < mk.At+uint64(len(mk.Code)); i++ {
		k.l.used[i] = true
	}
}

// farBack is how many bytes a slot may have, or little more, before the instruction
// that it is looked for. With fewer there are less slots that are in one word, with
// more it takes the room of others.
const farBack = 16

// slots are instructions to displace around a mark before instruction after.
func (k *marker) slots(after int) iter.Seq[slot] {
	return func(yield func(slot) bool) {
		b := k.l.g.Body
		size := uint32(0)
		for from := after; ; from-- {
			if w, ok := k.l.slotFrom(from, after); ok && !yield(w) {
				return
			}
			if from == 0 || b.Entered[from] || size >= farBack || !k.l.moves(from-1) || !b.Ins[from-1].Flow.Falls() {
				return
			}
			size += uint32(b.Ins[from-1].Size)
		}
	}
}

// call is a mark at the direct call that ends a block.
func (k *marker) call(b int32) (plan.BlockMark, bool) {
	g := &k.l.g
	n := &g.Nodes[b]
	in := &g.Body.Ins[n.To-1]
	if in.Flow != x86.Call || in.Size != plan.JumpSize || k.l.used[n.To-1] {
		return plan.BlockMark{}, false
	}
	mk := plan.BlockMark{At: g.Body.Entry + uint64(in.Off), Form: plan.MarkCall, Flags: true, Code: g.Body.BytesOf(n.To-1, n.To)}
	callee := k.name(g.Body.Entry + uint64(in.Target))
	if callee == "" {
		return plan.BlockMark{}, false // the middle of duffzero
	}
	// Those have conventions of their own.
	for _, p := range []string{"runtime.duff", "runtime.gcWriteBarrier", "runtime.morestack"} {
		if strings.HasPrefix(callee, p) {
			return plan.BlockMark{}, false
		}
	}
	for i := n.From; i < n.To-1; i++ {
		mk.Behind = mk.Behind || g.Body.Ins[i].Is(x86.MayFault)
	}
	mk.Flags = strings.HasPrefix(callee, "runtime.")
	return mk, true
}

// edges are marks of a block at the branches that lead to it, if all of them can be led
// through stubs. Once tells if all can be taken away.
func (k *marker) edges(b int32) (once bool, marks []plan.BlockMark) {
	g := &k.l.g
	n := &g.Nodes[b]
	once = true
	for _, p := range n.Pred {
		if !g.Hot(p) {
			continue
		}
		last := g.Nodes[p].To - 1
		in := &g.Body.Ins[last]
		to := g.Body.Index(in.Target)
		if in.Flow != x86.CondJump || in.Size != plan.JumpSize+1 || to != n.From || g.Nodes[p].To == n.From || k.l.used[last] {
			return false, nil
		}
		mk := plan.BlockMark{At: g.Body.Entry + uint64(in.Off), Form: plan.MarkTaken, Flags: n.Live != 0, Code: g.Body.BytesOf(last, last+1)}
		mk.Once = k.checked && mk.OneWord()
		once = once && mk.Once
		marks = append(marks, mk)
	}
	return once, marks
}
