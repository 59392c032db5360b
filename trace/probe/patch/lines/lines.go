package lines

import (
	"iter"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/flow"
	"tracerag/trace/probe/patch/x86"
)

// From blocks to lines. The line of an instruction is what the compiler says it is
// for, and the compiler moves instructions:
//
//   - It computes what a branch would have computed before the branch, and then
//     chooses (cmov, setcc). What it moves so calls nothing, stores nothing and
//     does not branch.
//   - It computes what is needed on one way only there, and no longer where the
//     source has it.
//   - What a branch would find out is known already on some way to it: then that way
//     leads directly to where the branch would lead.
//   - The register allocator adds moves, and calls back constants, with the line of
//     what they are for.
//
// So instructions are of unequal weight. Calls, returns and stores are where the
// source has them.

// Weight is how much an instruction says of its line.
type Weight uint8

const (
	Fitting  Weight = iota // moves, constants, jumps
	pure                   // computes or loads
	branches               // decides
	acts                   // calls, stores, returns
	weightKinds
)

// evidence is how many instructions of a line are in blocks of each fate, by their
// weight.
type evidence struct {
	n       [weightKinds][NotRun + 1]int
	blocks  []int32 // that did not run and hold pure or fitting instructions
	skipped bool    // one of the branches that did not run may have been passed by
}

// weigh returns an instruction's weight.
func weigh(b *flow.Body, i int) Weight {
	in := &b.Ins[i]
	switch in.Flow {
	case x86.Call, x86.CallAny, x86.Ret, x86.Trap:
		return acts
	case x86.CondJump, x86.JumpAny:
		return branches
	case x86.Jump:
		return Fitting
	}
	if in.Is(x86.Fits) {
		return Fitting
	}
	op, m, ok := x86.OperandOf(b.Code, in.Off)
	switch {
	case !ok:
	case m.Memory && m.Base != x86.RegSP && x86.Stores(op):
		// X15 is zero: variables on the stack are cleared early, through pointers.
		if x86.StoresX15(op, m) {
			return Fitting
		}
		return acts
	case !m.Memory && x86.Compares(op, m):
		return Fitting // of what has been computed, perhaps elsewhere; the branch tells
	}
	return pure
}

// Weights returns the weights of a block's instructions, each with its number.
func Weights(g *flow.Graph, k int32) iter.Seq2[int, Weight] {
	n := &g.Nodes[k]
	return func(yield func(int, Weight) bool) {
		cond := false
		for i := n.From; i < n.To && !cond; i++ {
			cond = chooses(g.Body, i)
		}
		for i := n.From; i < n.To; i++ {
			w := weigh(g.Body, i)
			if w == pure && cond {
				w = Fitting
			}
			if !yield(i, w) {
				return
			}
		}
	}
}

// LineOf returns the line of each instruction, 0 where it is not known.
func LineOf(b *flow.Body, spans []executable.LineSpan) []int {
	at := make([]int, len(b.Ins))
	for i := range at {
		pc := b.Entry + uint64(b.Ins[i].Off)
		for len(spans) > 0 && spans[0].To <= pc {
			spans = spans[1:]
		}
		if len(spans) > 0 && spans[0].From <= pc {
			at[i] = spans[0].Line
		}
	}
	return at
}

// chooses tells if an instruction takes one of two values by the flags.
func chooses(b *flow.Body, i int) bool {
	if b.Ins[i].Reads == 0 {
		return false
	}
	op, _, ok := x86.OperandOf(b.Code, b.Ins[i].Off)
	return ok && x86.IsConditional(op)
}

// all adds up the evidence of all weights.
func (e *evidence) all() (sum [NotRun + 1]int) {
	for _, n := range e.n {
		for f := range n {
			sum[f] += n[f]
		}
	}
	return sum
}

// A lineReader turns the fates of a function's blocks into those of its lines.
type lineReader struct {
	g     *flow.Graph
	fates []Fate
	at    []int   // line, by instruction; 0: unknown
	acts  []int   // by block: the first line on which it acts
	top   []int32 // by block that did not run: the topmost of its dominators that did not
	Judge map[int]*evidence
}

func Judge(g *flow.Graph, spans []executable.LineSpan, fates []Fate) map[int]Fate {
	r := &lineReader{g: g, fates: fates, at: LineOf(g.Body, spans), acts: make([]int, len(g.Nodes)), top: make([]int32, len(g.Nodes)), Judge: map[int]*evidence{}}
	for _, k := range g.Order { // dominators first
		r.top[k] = k
		if up := g.Nodes[k].Idom; k > 0 && fates[up] == NotRun {
			r.top[k] = r.top[up]
		}
		r.collect(k)
	}
	out := make(map[int]Fate, len(r.Judge))
	for line, e := range r.Judge {
		if e.n[Fitting] == e.all() {
			continue // nobody can tell
		}
		out[line] = r.fate(line, e)
	}
	return out
}

// collect notes what a block's instructions say of their lines.
func (r *lineReader) collect(k int32) {
	g := r.g
	n, fate := &g.Nodes[k], r.fates[k]
	for i, w := range Weights(g, k) {
		line := r.at[i]
		if line == 0 {
			continue
		}
		e := r.Judge[line]
		if e == nil {
			e = &evidence{}
			r.Judge[line] = e
		}
		e.n[w][fate]++
		switch {
		case w == acts && (r.acts[k] == 0 || line < r.acts[k]):
			r.acts[k] = line
		case fate != NotRun:
		case w == branches && !r.loads(n, line):
			for _, s := range n.Succ {
				e.skipped = e.skipped || r.fates[through(g, s)] != NotRun
			}
		case w < branches:
			e.blocks = append(e.blocks, k)
		}
	}
}

// loads tells if a line's code in a block follows a pointer. A branch that is passed
// by is alone in its block, but for the comparison.
func (r *lineReader) loads(n *flow.Node, line int) bool {
	for i := n.From; i < n.To; i++ {
		if r.at[i] == line && r.g.Body.Ins[i].Is(x86.MayFault) {
			return true
		}
	}
	return false
}

// through returns where control goes from a node that has nothing but what fits
// others together.
func through(g *flow.Graph, k int32) int32 {
	for range len(g.Nodes) {
		n := &g.Nodes[k]
		if len(n.Succ) != 1 {
			break
		}
		for i := n.From; i < n.To; i++ {
			if weigh(g.Body, i) != Fitting {
				return k
			}
		}
		k = n.Succ[0]
	}
	return k
}

// fate judges the evidence of a line.
func (r *lineReader) fate(line int, e *evidence) Fate {
	n, all := &e.n, e.all()
	switch {
	case n[acts][Ran]+n[branches][Ran]+n[pure][Ran] > 0:
		return Ran
	case n[acts][NotRun] > 0 && n[acts][Unknown]+n[branches][Unknown] == 0:
		return NotRun
	case all[Ran]+all[Unknown] > 0 || e.skipped:
		return Unknown
	case n[branches][NotRun] > 0:
		return NotRun
	}
	// Nothing but what may have been moved there, from above.
	for _, k := range e.blocks {
		if !r.below(line, k) {
			return Unknown
		}
	}
	return NotRun
}

// below tells if a line whose instructions are in a block that did not run did not
// run itself. They come from a dominator of the block, perhaps from one that ran.
// Not so if the line is behind one that did not run, on which a dominator acts;
// or behind those where it was decided that control does not come here.
func (r *lineReader) below(line int, k int32) bool {
	top := r.top[k]
	for d := k; ; d = r.g.Nodes[d].Idom {
		if r.acts[d] > 0 && r.acts[d] <= line {
			return true
		}
		if d == top {
			break
		}
	}
	for _, p := range r.g.Nodes[top].Pred {
		if !r.g.Hot(p) || r.fates[p] == NotRun {
			continue
		}
		last := r.g.Nodes[p].To - 1
		if weigh(r.g.Body, last) < branches || r.at[last] == 0 || r.at[last] >= line {
			return false
		}
	}
	return true
}
