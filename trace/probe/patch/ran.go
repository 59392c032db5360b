package patch

import (
	"slices"

	"tracerag/trace/executable"
)

// Fate is what became of a block, or of a line.
type Fate uint8

const (
	Unknown Fate = iota
	Ran
	NotRun
)

// A Watch tells from the bytes of a plan's marks which lines ran.
type Watch struct {
	m     *maker
	entry map[int]*Hook
	marks map[int][2]int // from, to in the plan's marks, by function
	plan  *Plan
	w     worker
}

// Watch returns what reads the plan's marks. F and code are the program that the
// plan was made for.
func (p *Plan) Watch(f *executable.File, code *executable.Code) *Watch {
	w := &Watch{m: newMaker(f, code, func(string) bool { return false }, Options{}), plan: p, entry: map[int]*Hook{}, marks: map[int][2]int{}}
	for i := 1; i < len(p.Marks); {
		fn, from := p.Marks[i].Func, i
		for i < len(p.Marks) && p.Marks[i].Func == fn {
			i++
		}
		w.marks[fn] = [2]int{from, i}
	}
	for i := range p.Hooks {
		if h := &p.Hooks[i]; h.Kind.Entry() {
			if _, ok := w.marks[h.Func]; ok {
				w.entry[h.Func] = h
			}
		}
	}
	return w
}

// Lines returns the fate of the lines of a function that was called, as far as it
// has code on them; nil if it has no marks. Mark tells a mark's own fate. Without
// whole, the function may have begun before the marks were made, so that a block may
// have run and those before it, as far as is known, not.
func (w *Watch) Lines(fn int, whole bool, mark func(i int) Fate) map[int]Fate {
	marks, ok := w.marks[fn]
	f := &w.m.f.Funcs[fn]
	if !ok || w.entry[fn] == nil || w.m.takeApart(&w.w.body, f) != "" {
		return nil
	}
	g := &w.w.inliner.g
	g.buildWhole(&w.w.body, checkOf(&w.w.body, w.entry[fn]), w.m.noReturn)
	fates := make([]Fate, len(g.nodes))
	faults := mark(0) != NotRun
	known := make([]bool, len(g.nodes)) // it has a mark
	for i := marks[0]; i < marks[1]; i++ {
		mk := &w.plan.Marks[i]
		at := g.b.index(int64(mk.Block - f.Entry))
		if at < 0 {
			return nil // not the program that it was made for
		}
		k := g.of[at]
		fate := mark(i)
		if mk.Behind && faults && fate == NotRun {
			fate = Unknown
		}
		// Of several marks of a block, one for each way to it, one is enough.
		switch {
		case fate == Ran, !known[k]:
			fates[k] = fate
		case fate == Unknown && fates[k] == NotRun:
			fates[k] = Unknown
		}
		known[k] = true
	}
	if whole {
		fates[0] = Ran
	}
	g.spread(fates, faults, whole)
	return g.lines(slices.Collect(w.m.f.Lines(f)), fates)
}

// spread finds the fates that follow from the known ones. Where instructions
// faulted a block may have run without any of its successors; without whole, one may
// have run without any that leads to it. A goroutine that the program's end, or a look
// at the running program, finds between two instructions counts as one that came on.
func (g *graph) spread(fates []Fate, faults, whole bool) {
	// Each node is looked at once, and again when something changes that it depends on. To
	// go through all of them until nothing changes any more would take a pass for each call
	// in a long row of them.
	due := slices.Clone(g.order)
	slices.Reverse(due) // it is taken from the end
	waits := make([]bool, len(g.nodes))
	for _, k := range due {
		waits[k] = true
	}
	look := func(k int32) {
		if g.hot(k) && !waits[k] {
			waits[k] = true
			due = append(due, k)
		}
	}
	var dominated [][]int32
	if whole {
		dominated = make([][]int32, len(g.nodes))
		for _, k := range g.order {
			if k > 0 {
				dominated[g.nodes[k].idom] = append(dominated[g.nodes[k].idom], k)
			}
		}
	}
	set := func(k int32, f Fate) {
		if fates[k] != Unknown {
			return
		}
		fates[k] = f
		look(k)
		n := &g.nodes[k]
		for _, p := range n.pred {
			look(p)
		}
		for _, s := range n.succ {
			look(s)
		}
		if whole && f == NotRun {
			for _, d := range dominated[k] {
				look(d)
			}
		}
	}
	for len(due) > 0 {
		k := due[len(due)-1]
		due = due[:len(due)-1]
		waits[k] = false
		n := &g.nodes[k]
		if whole && k > 0 {
			// Nobody comes here but by the dominator, and by a predecessor.
			switch {
			case fates[k] == Ran:
				set(n.idom, Ran)
			case fates[n.idom] == NotRun || g.all(n.pred, fates, NotRun):
				set(k, NotRun)
			}
		}
		if !g.endsIn(n) || faults && g.mayFault(n) {
			continue
		}
		// From here on it is one of the successors.
		if g.all(n.succ, fates, NotRun) {
			set(k, NotRun)
		}
		if fates[k] == Ran {
			if s := g.last(n.succ, fates); s >= 0 {
				set(s, Ran)
			}
		}
	}
}

// endsIn tells if control that came to a node goes on to one of its successors.
func (g *graph) endsIn(n *node) bool {
	last := &g.b.ins[n.to-1]
	switch {
	case n.calls || len(n.succ) == 0:
		return false
	case last.flow == flowCond:
		return len(n.succ) == 2
	}
	return true
}

func (g *graph) mayFault(n *node) bool {
	for i := n.from; i < n.to; i++ {
		if g.b.ins[i].is(mayFault) {
			return true
		}
	}
	return false
}

// all tells if all nodes of a list that are reached have a fate.
func (g *graph) all(nodes []int32, fates []Fate, f Fate) bool {
	for _, k := range nodes {
		if g.hot(k) && fates[k] != f {
			return false
		}
	}
	return true
}

// last is the only node of a list that may have run, or -1.
func (g *graph) last(nodes []int32, fates []Fate) int32 {
	found := int32(-1)
	for _, k := range nodes {
		if fates[k] == NotRun || k == found {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = k
	}
	return found
}
