package patch

import (
	"cmp"
	"slices"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/lines"
	"tracerag/trace/probe/patch/plan"
)

// Watch finds which lines ran, from the bytes of a plan's block marks.
type Watch struct {
	m    *maker
	plan *plan.Plan
	w    worker
}

// NewWatch returns what reads the plan's marks. F and code are the program that the
// plan was made for.
func NewWatch(p *plan.Plan, f *executable.File, code *executable.Code) *Watch {
	return &Watch{m: newMaker(f, code, func(string) bool { return false }, Options{}), plan: p}
}

// marks are the places in the plan's marks of those of a function, from and to. They are
// looked for, as its hook is: of a large program few functions are called.
func (w *Watch) marks(fn int) (from, to int) {
	if len(w.plan.Marks) == 0 {
		return 0, 0
	}
	own := w.plan.Marks[1:] // the first is that of faults
	from, _ = slices.BinarySearchFunc(own, fn, func(m plan.BlockMark, fn int) int { return cmp.Compare(m.Func, fn) })
	for to = from; to < len(own) && own[to].Func == fn; to++ {
	}
	return from + 1, to + 1
}

// entry is the hook by which a function is entered, nil if it has none.
func (w *Watch) entry(fn int) *plan.Hook {
	hooks := w.plan.Hooks
	i, _ := slices.BinarySearchFunc(hooks, fn, func(h plan.Hook, fn int) int { return cmp.Compare(h.Func, fn) })
	var entry *plan.Hook
	for ; i < len(hooks) && hooks[i].Func == fn; i++ {
		if hooks[i].Kind.Entry() {
			entry = &hooks[i]
		}
	}
	return entry
}

// Lines returns the fate of the lines of a function that was called, as far as it
// has code on them; nil if it has no marks. Mark tells a mark's own fate. Without
// whole, the function may have begun before the marks were made, so that a block may
// have run and those before it, as far as is known, not.
func (w *Watch) Lines(fn int, whole bool, mark func(i int) lines.Fate) map[int]lines.Fate {
	from, to := w.marks(fn)
	entry := w.entry(fn)
	f := &w.m.f.Funcs[fn]
	if from == to || entry == nil || w.m.takeApart(&w.w.fn, f) != "" {
		return nil
	}
	g := &w.w.inliner.g
	g.BuildWhole(&w.w.fn.Body, checkOf(&w.w.fn, entry), w.m.noReturn)
	fates := make([]lines.Fate, len(g.Nodes))
	faults := mark(0) != lines.NotRun
	known := make([]bool, len(g.Nodes)) // it has a mark
	for i := from; i < to; i++ {
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
