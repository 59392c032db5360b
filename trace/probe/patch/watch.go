package patch

import (
	"slices"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/lines"
	"tracerag/trace/probe/patch/plan"
)

// Watch finds which lines ran, from the bytes of a plan's block marks.
type Watch struct {
	m     *maker
	entry map[int]*plan.Hook
	marks map[int][2]int // from, to in the plan's marks, by function
	plan  *plan.Plan
	w     worker
}

// NewWatch returns what reads the plan's marks. F and code are the program that the
// plan was made for.
func NewWatch(p *plan.Plan, f *executable.File, code *executable.Code) *Watch {
	w := &Watch{m: newMaker(f, code, func(string) bool { return false }, Options{}), plan: p, entry: map[int]*plan.Hook{}, marks: map[int][2]int{}}
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
func (w *Watch) Lines(fn int, whole bool, mark func(i int) lines.Fate) map[int]lines.Fate {
	marks, ok := w.marks[fn]
	f := &w.m.f.Funcs[fn]
	if !ok || w.entry[fn] == nil || w.m.takeApart(&w.w.fn, f) != "" {
		return nil
	}
	g := &w.w.inliner.g
	g.BuildWhole(&w.w.fn.Body, checkOf(&w.w.fn, w.entry[fn]), w.m.noReturn)
	fates := make([]lines.Fate, len(g.Nodes))
	faults := mark(0) != lines.NotRun
	known := make([]bool, len(g.Nodes)) // it has a mark
	for i := marks[0]; i < marks[1]; i++ {
		mk := &w.plan.Marks[i]
		at := g.Body.Index(int64(mk.Block - f.Entry))
		if at < 0 {
			return nil // not the program that it was made for
		}
		k := g.NodeOf[at]
		fate := mark(i)
		if mk.Behind && faults && fate == lines.NotRun {
			fate = lines.Unknown
		}
		// Of several marks of a block, one for each way to it, one is enough.
		switch {
		case fate == lines.Ran, !known[k]:
			fates[k] = fate
		case fate == lines.Unknown && fates[k] == lines.NotRun:
			fates[k] = lines.Unknown
		}
		known[k] = true
	}
	if whole {
		fates[0] = lines.Ran
	}
	lines.Spread(g, fates, faults, whole)
	return lines.Judge(g, slices.Collect(w.m.f.Lines(f)), fates)
}
