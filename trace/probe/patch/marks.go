package patch

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"tracerag/trace/executable"
)

// What ran inside a long function is told by marks: bytes in memory, one for a
// basic block, that are 0 until the block runs. A mark's stub calls nobody and
// changes no register. It looks whether the byte is set already, so that processors do
// not take its cache line from each other. When it has set the byte nobody needs the
// mark any more, and most marks then give the block its own code back: see markstub.go.
//
// Not every block needs one: see marker.choose, and [Watch.Lines] for how the other
// blocks' fate follows.

// LongFunction is the number of source lines from which on a function's blocks
// have marks. In four programs 88 functions were of 2,000 tokens or more, one of
// them with fewer lines than this.
const LongFunction = 150

// Mark is one place in the code where a byte is set.
type Mark struct {
	Func  int    // index in executable.File.Funcs of the function that has the code
	Block uint64 // link-time address of the block that has run when the byte is set
	// Behind is set if something in the block runs before the mark that may fault:
	// the block has run in vain then.
	Behind bool
	// Once is set if the mark may give the code back when the block has run: one
	// aligned store does, and the stack is known to have room for what that takes.
	Once bool

	At     uint64 // link-time address of the changed code
	form   markForm
	flags  bool   // the flags matter at the mark
	code   []byte // the displaced instructions, or the branch that is led through the stub
	before int    // bytes of the displaced instructions that run before the mark
}

// markForm is how a mark is put into the code.
type markForm uint8

const (
	markWindow markForm = iota // displaced instructions, as with a hook
	markCall                   // a direct call, which is led through the stub
	markTaken                  // a conditional branch of six bytes, whose target is the stub
)

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
	if fn.End-fn.Entry < 2*LongFunction || fn.StartLine == 0 || fn.Asm || fn.Wrapper {
		return false
	}
	for s := range m.f.Lines(fn) {
		if s.Line >= fn.StartLine+LongFunction-1 {
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
func (m *maker) marks(hooks []Hook) []Mark {
	entry := map[int]*Hook{}
	var fns []int
	var changed spans
	for i := range hooks {
		h := &hooks[i]
		for _, s := range h.Sites {
			changed = append(changed, span{s, s + jumpSize})
		}
		if h.Kind != CallSites {
			changed = append(changed, span{h.At, h.At + uint64(max(len(h.code), jumpSize))})
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
	results := make([][]Mark, len(fns))
	m.parallel(len(fns), func(w *worker, i int) { results[i] = m.markFunction(w, fns[i], entry[fns[i]], changed) })
	return append([]Mark{fault}, slices.Concat(results...)...)
}

// faultMark is the mark at the entry of runtime.sigpanic.
func (m *maker) faultMark() (Mark, bool) {
	i := slices.IndexFunc(m.f.Funcs, func(fn executable.Func) bool { return fn.Name == "runtime.sigpanic" })
	if i < 0 {
		return Mark{}, false
	}
	fn := &m.f.Funcs[i]
	var b body
	if b.disassemble(fn.Entry, m.code.Bytes(fn.Entry, fn.End-fn.Entry), m.word) != "" {
		return Mark{}, false
	}
	h, why := b.entryHook(m.morestack)
	if why != "" || h.ahead > 0 {
		return Mark{}, false
	}
	return Mark{Func: i, Block: h.At + uint64(h.before), At: h.At, flags: true, code: h.code, before: h.before}, true
}

func (m *maker) markFunction(w *worker, i int, entry *Hook, changed spans) []Mark {
	if m.takeApart(&w.body, &m.f.Funcs[i]) != "" || w.body.lost {
		return nil
	}
	k := marker{fn: i, l: &w.inliner, at: w.body.lines(slices.Collect(m.f.Lines(&m.f.Funcs[i]))), name: m.nameAt}
	return k.marks(&w.body, entry, changed, m.noReturn)
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
	out  []Mark

	checked bool // the stack is checked at its entry
}

func (k *marker) marks(b *body, entry *Hook, changed spans, noReturn func(uint64) bool) []Mark {
	l := k.l
	k.checked = entry.Kind == Check
	l.g.buildWhole(b, checkOf(b, entry), noReturn)
	l.used = append(l.used[:0], make([]bool, len(b.ins))...)
	changed = changed.from(b.entry)
	for i := range b.ins {
		from := b.entry + uint64(b.ins[i].off)
		for len(changed) > 0 && changed[0].to <= from {
			changed = changed[1:]
		}
		l.used[i] = len(changed) > 0 && changed[0].from < b.entry+uint64(b.ins[i].end())
	}
	left := k.choose()
	for _, most := range []int{once, onceOutside, certain, anywhere} {
		left = slices.DeleteFunc(left, func(block int32) bool { return k.place(block, most) })
	}
	slices.SortFunc(k.out, func(a, b Mark) int { return cmp.Compare(a.At, b.At) })
	return k.out
}

// checkOf is the instruction that branches for the stack check, or -1.
func checkOf(b *body, entry *Hook) int {
	if entry.Kind != Check {
		return -1
	}
	return b.index(int64(entry.At - b.entry))
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
	known := make([]bool, len(g.nodes))
	for o := len(g.order) - 1; o > 0; o-- {
		b := g.order[o]
		n := &g.nodes[b]
		all := len(n.succ) > 0
		for _, s := range n.succ {
			all = all && known[s] && g.nodes[s].idom == b
		}
		p := g.single(b)
		switch {
		case all && (!n.calls || p >= 0 && g.nodes[p].calls):
			known[b] = true
		case !wanted[b]:
		case p >= 0 && !g.nodes[p].calls && len(g.nodes[p].succ) == 1:
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
	use := make([]bool, len(g.nodes))
	own := make([][]int, len(g.nodes)) // lines
	below := make([][]int32, len(g.nodes))
	for _, b := range g.order {
		for i, w := range g.weights(b) {
			if line := k.at[i]; w > fitting && line > 0 && !slices.Contains(own[b], line) {
				own[b] = append(own[b], line)
			}
		}
		if up := g.nodes[b].idom; up >= 0 {
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

func (m *Mark) cost() int {
	c := 0
	if !m.Once {
		c |= costStays
	}
	if m.Behind {
		c |= costBehind
	}
	if m.flags {
		c |= costFlags
	}
	return c
}

// place puts a mark into a block, if there is a place for it at that cost.
func (k *marker) place(b int32, most int) bool {
	l, g := k.l, &k.l.g
	n := &g.nodes[b]
	var best Mark
	cost := anywhere + 1
	take := func(mk Mark, c int) {
		mk.Once = k.checked && mk.oneWord()
		if c |= mk.cost(); c <= most && c < cost {
			best, cost = mk, c
		}
	}
	behind := false
	for after := n.from; after < n.to && cost > 0; after++ {
		live := g.liveAt(b, after) != 0
		for w := range k.windows(after) {
			c := 0
			if w.from < n.from || w.to > n.to {
				c = costOutside
			}
			take(Mark{
				form: markWindow, At: g.b.entry + uint64(g.b.ins[w.from].off), Behind: behind, flags: live,
				code: g.b.bytesOf(w.from, w.to), before: int(l.offset(w.after) - g.b.ins[w.from].off),
			}, c)
		}
		behind = behind || g.b.ins[after].is(mayFault)
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

// changed is which bytes of the code the mark changes, from At on: a jump, or where a
// branch leads.
func (m *Mark) changed() (from, to int) {
	switch {
	case m.form != markWindow:
		return len(m.code) - 4, len(m.code)
	case m.code[0] == 0xe9:
		return 1, jumpSize
	}
	return 0, jumpSize
}

// oneWord tells if what the mark changes is within eight aligned bytes, wherever the
// program is loaded: that is a matter of pages.
func (m *Mark) oneWord() bool {
	from, to := m.changed()
	return (m.At+uint64(from))/8 == (m.At+uint64(to)-1)/8
}

// add adds a mark and takes the instructions that it displaces.
func (k *marker) add(b int32, mk Mark) {
	body := k.l.g.b
	mk.Func, mk.Block = k.fn, body.entry+uint64(body.ins[k.l.g.nodes[b].from].off)
	mk.code = bytes.Clone(mk.code)
	k.out = append(k.out, mk)
	for i := body.index(int64(mk.At - body.entry)); i < len(body.ins) && body.entry+uint64(body.ins[i].off) < mk.At+uint64(len(mk.code)); i++ {
		k.l.used[i] = true
	}
}

// farBack is how many bytes a window may have, or little more, before the instruction
// that it is looked for. With fewer there are less windows that are in one word, with
// more it takes the room of others.
const farBack = 16

// windows are instructions to displace around a mark before instruction after.
func (k *marker) windows(after int) iter.Seq[window] {
	return func(yield func(window) bool) {
		b := k.l.g.b
		size := uint32(0)
		for from := after; ; from-- {
			if w, ok := k.l.windowFrom(from, after); ok && !yield(w) {
				return
			}
			if from == 0 || b.enter[from] || size >= farBack || !k.l.moves(from-1) || !b.ins[from-1].flow.falls() {
				return
			}
			size += uint32(b.ins[from-1].size)
		}
	}
}

// call is a mark at the direct call that ends a block.
func (k *marker) call(b int32) (Mark, bool) {
	g := &k.l.g
	n := &g.nodes[b]
	in := &g.b.ins[n.to-1]
	if in.flow != flowCall || in.size != jumpSize || k.l.used[n.to-1] {
		return Mark{}, false
	}
	mk := Mark{At: g.b.entry + uint64(in.off), form: markCall, flags: true, code: g.b.bytesOf(n.to-1, n.to)}
	callee := k.name(g.b.entry + uint64(in.target))
	if callee == "" {
		return Mark{}, false // the middle of duffzero
	}
	// Those have conventions of their own.
	for _, p := range []string{"runtime.duff", "runtime.gcWriteBarrier", "runtime.morestack"} {
		if strings.HasPrefix(callee, p) {
			return Mark{}, false
		}
	}
	for i := n.from; i < n.to-1; i++ {
		mk.Behind = mk.Behind || g.b.ins[i].is(mayFault)
	}
	mk.flags = strings.HasPrefix(callee, "runtime.")
	return mk, true
}

// edges are marks of a block at the branches that lead to it, if all of them can be led
// through stubs. Once tells if all can be taken away.
func (k *marker) edges(b int32) (once bool, marks []Mark) {
	g := &k.l.g
	n := &g.nodes[b]
	once = true
	for _, p := range n.pred {
		if !g.hot(p) {
			continue
		}
		last := g.nodes[p].to - 1
		in := &g.b.ins[last]
		to := g.b.index(in.target)
		if in.flow != flowCond || in.size != jumpSize+1 || to != n.from || g.nodes[p].to == n.from || k.l.used[last] {
			return false, nil
		}
		mk := Mark{At: g.b.entry + uint64(in.off), form: markTaken, flags: n.live != 0, code: g.b.bytesOf(last, last+1)}
		mk.Once = k.checked && mk.oneWord()
		once = once && mk.Once
		marks = append(marks, mk)
	}
	return once, marks
}

// buildWhole makes the graph of a function with the nodes that lead to a panic, but
// without postdominators and loops.
func (g *graph) buildWhole(b *body, check int, noReturn func(addr uint64) bool) {
	g.b = b
	g.cut()
	g.connect(check, noReturn)
	for i := range g.nodes {
		g.nodes[i].cold = false
	}
	g.number()
	g.dominators()
	g.liveness()
}

// single is the one node that leads to another, or -1.
func (g *graph) single(k int32) int32 {
	found := int32(-1)
	for _, p := range g.nodes[k].pred {
		if !g.hot(p) || p == found {
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
