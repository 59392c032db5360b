package patch

import (
	"cmp"
	"slices"

	"tracerag/trace/probe/patch/plan"
)

// Between a recorded call and its caller there may be any number of frames that are
// not recorded, if functions that are not recorded call themselves: text/template
// walks nested templates so, encoding/json nested values. The recorder walks past
// all of them at each call. A waypoint is a function on such a cycle, with a hook
// that counts nothing: once there are that many frames the recorder remembers there
// how a walk ended.
//
// Cycles are found by the direct calls of each function, as far as these can be
// distinguished from bytes that look like one. A call too many makes a waypoint too many,
// which does no harm; of calls by function value or through an interface it is not
// known where they lead, and a recursion by them alone has no waypoint, so that walks
// stay long there. Functions that cannot come to a recorded one need none. In programs
// of 3,000 to 48,000 functions 20 to 100 were left.

// waypoints finds hooks of kind Check or Frame, by function.
func (m *maker) waypoints() []plan.Hook {
	var fns []int
	for i := range m.f.Funcs {
		if fn := &m.f.Funcs[i]; fn.Entry < fn.End && !fn.Asm && !m.recorded(fn.Package) && refuse(fn) == "" {
			fns = append(fns, i)
		}
	}
	g := newCallGraph(m, fns)
	g.leaveOut()
	chosen := g.breakCycles()
	hooks := make([]plan.Hook, len(chosen))
	m.parallel(len(chosen), func(w *worker, i int) {
		fn := &m.f.Funcs[chosen[i]]
		if m.takeApart(&w.fn, fn) != "" {
			return
		}
		h, why := w.fn.entryHook(m.morestack)
		if why == "" && (h.Kind == plan.Check || h.Kind == plan.Frame) && !h.MayFault {
			h.Func, h.Callee = chosen[i], fn.Entry
			hooks[i] = h
		}
	})
	return slices.DeleteFunc(hooks, func(h plan.Hook) bool { return h.Kind == 0 })
}

// A callGraph has the direct calls among some functions.
type callGraph struct {
	fns   []int     // indices in executable.File.Funcs
	calls [][]int32 // by place in fns, sorted: places in fns
	out   []bool    // by place in fns: calls something recorded, or nobody knows what
	gone  []bool    // by place in fns: does not matter any more
}

func newCallGraph(m *maker, fns []int) *callGraph {
	g := &callGraph{fns: fns, calls: make([][]int32, len(fns)), out: make([]bool, len(fns)), gone: make([]bool, len(fns))}
	at := make(map[uint64]int32, len(fns))
	var filter addressFilter
	for i, f := range fns {
		at[m.f.Funcs[f].Entry] = int32(i)
		filter.add(m.f.Funcs[f].Entry)
	}
	const recorded = -1
	for i := range m.f.Funcs {
		if fn := &m.f.Funcs[i]; m.recorded(fn.Package) {
			at[fn.Entry] = recorded
			filter.add(fn.Entry)
		}
	}
	m.parallel(len(fns), func(_ *worker, i int) {
		fn := &m.f.Funcs[fns[i]]
		code := m.code.Bytes(fn.Entry, fn.End-fn.Entry)
		for off := 0; off+plan.JumpSize <= len(code); off++ {
			if code[off] == 0xff && code[off+1]&^7 == 0xd0 { // call of a register, as the compiler makes it
				g.out[i] = true
			}
			if code[off] != 0xe8 {
				continue
			}
			to := fn.Entry + uint64(off+plan.JumpSize) + uint64(int64(int32(le.Uint32(code[off+1:]))))
			if !filter.has(to) {
				continue
			}
			switch k, ok := at[to]; {
			case !ok:
			case k == recorded:
				g.out[i] = true
			default:
				g.calls[i] = append(g.calls[i], k)
			}
		}
		slices.Sort(g.calls[i])
		g.calls[i] = slices.Compact(g.calls[i])
	})
	return g
}

// leaveOut takes away the functions that come to nothing but each other.
func (g *callGraph) leaveOut() {
	callers := make([][]int32, len(g.fns))
	var work []int32
	for i, calls := range g.calls {
		for _, k := range calls {
			callers[k] = append(callers[k], int32(i))
		}
		if g.gone[i] = !g.out[i]; g.out[i] {
			work = append(work, int32(i))
		}
	}
	for len(work) > 0 {
		k := work[len(work)-1]
		work = work[:len(work)-1]
		for _, c := range callers[k] {
			if g.gone[c] {
				g.gone[c] = false
				work = append(work, c)
			}
		}
	}
}

// breakCycles returns functions, sorted, so many that every cycle goes through one
// of them: again and again, of what is left of each set of functions that all reach
// each other, the one with the most ways through it. To find the fewest would take
// exponential time.
func (g *callGraph) breakCycles() []int {
	var chosen []int
	all := make([]int32, len(g.fns))
	for i := range all {
		all[i] = int32(i)
	}
	work := g.components(all)
	in, out := make([]int32, len(g.fns)), make([]int32, len(g.fns))
	inside := make([]int32, len(g.fns)) // the number of the component that a function is in
	for n := int32(1); len(work) > 0; n++ {
		c := work[len(work)-1]
		work = work[:len(work)-1]
		for _, f := range c {
			in[f], out[f], inside[f] = 0, 0, n
		}
		for _, f := range c {
			for _, t := range g.calls[f] {
				if inside[t] == n {
					out[f]++
					in[t]++
				}
			}
		}
		best := slices.MaxFunc(c, func(a, b int32) int {
			return cmp.Or(cmp.Compare(int64(in[a])*int64(out[a]), int64(in[b])*int64(out[b])), cmp.Compare(b, a))
		})
		g.gone[best] = true
		chosen = append(chosen, g.fns[best])
		work = append(work, g.components(c)...)
	}
	slices.Sort(chosen)
	return chosen
}

// components returns the sets of those functions among these, and not gone, that
// reach each other, as far as there is a cycle in them. Tarjan's algorithm ("Depth-first
// search and linear graph algorithms", 1972), without recursion.
func (g *callGraph) components(of []int32) [][]int32 {
	const none = -1
	type state struct {
		index, low int32
		open       bool // on the stack of those whose component is not known yet
		next       int  // of its calls
	}
	states := make(map[int32]*state, len(of))
	for _, f := range of {
		if !g.gone[f] {
			states[f] = &state{index: none}
		}
	}
	var out [][]int32
	var path, open []int32
	next := int32(0)
	enter := func(f int32) {
		s := states[f]
		s.index, s.low, s.open = next, next, true
		next++
		path, open = append(path, f), append(open, f)
	}
	for _, root := range of {
		if s := states[root]; s == nil || s.index != none {
			continue
		}
		enter(root)
		for len(path) > 0 {
			f := path[len(path)-1]
			s := states[f]
			if s.next < len(g.calls[f]) {
				t := g.calls[f][s.next]
				s.next++
				switch to := states[t]; {
				case to == nil:
				case to.index == none:
					enter(t)
				case to.open:
					s.low = min(s.low, to.index)
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				up := states[path[len(path)-1]]
				up.low = min(up.low, s.low)
			}
			if s.low != s.index {
				continue
			}
			from := len(open) - 1
			for open[from] != f {
				from--
			}
			c := slices.Clone(open[from:])
			open = open[:from]
			for _, k := range c {
				states[k].open = false
			}
			if _, self := slices.BinarySearch(g.calls[f], f); len(c) > 1 || self {
				out = append(out, c)
			}
		}
	}
	return out
}
