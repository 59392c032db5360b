package patch

import (
	"iter"

	"tracerag/trace/executable"
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
// So instructions are of unequal weight. Calls, returns and stores stand where the
// source has them.

// weight is how much an instruction says of its line.
type weight uint8

const (
	fitting  weight = iota // moves, constants, jumps
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
func (b *body) weigh(i int) weight {
	in := &b.ins[i]
	switch in.flow {
	case flowCall, flowCallAny, flowRet, flowTrap:
		return acts
	case flowCond, flowJumpAny:
		return branches
	case flowJump:
		return fitting
	}
	if in.is(fits) {
		return fitting
	}
	op, m, ok := operandOf(b.code, in.off)
	switch {
	case !ok:
	case m.memory && m.base != regSP && stores(op):
		// X15 is zero: variables on the stack are cleared early, through pointers.
		if op == map0F|0x11 && m.reg == 15 {
			return fitting
		}
		return acts
	case !m.memory && compares(op, m):
		return fitting // of what has been computed, perhaps elsewhere; the branch tells
	}
	return pure
}

// compares tells if an instruction only sets the flags.
func compares(op int, m operand) bool {
	switch op {
	case 0x38, 0x39, 0x3a, 0x3b, 0x84, 0x85:
		return true
	case 0x80, 0x81, 0x83:
		return m.group == 7
	case 0xf6, 0xf7:
		return m.group < 2
	}
	return false
}

// weights returns the weights of a block's instructions, each with its number.
func (g *graph) weights(k int32) iter.Seq2[int, weight] {
	n := &g.nodes[k]
	return func(yield func(int, weight) bool) {
		chooses := false
		for i := n.from; i < n.to && !chooses; i++ {
			chooses = g.b.chooses(i)
		}
		for i := n.from; i < n.to; i++ {
			w := g.b.weigh(i)
			if w == pure && chooses {
				w = fitting
			}
			if !yield(i, w) {
				return
			}
		}
	}
}

// lines returns the line of each instruction, 0 where it is not known.
func (b *body) lines(spans []executable.LineSpan) []int {
	at := make([]int, len(b.ins))
	for i := range at {
		pc := b.entry + uint64(b.ins[i].off)
		for len(spans) > 0 && spans[0].To <= pc {
			spans = spans[1:]
		}
		if len(spans) > 0 && spans[0].From <= pc {
			at[i] = spans[0].Line
		}
	}
	return at
}

// stores tells if an instruction with a memory operand writes it and nothing else.
func stores(op int) bool {
	switch op {
	case 0x88, 0x89, 0xc6, 0xc7, map0F | 0x11, map0F | 0x29, map0F | 0x7f, map0F | 0xd6:
		return true
	}
	return false
}

// chooses tells if an instruction takes one of two values by the flags.
func (b *body) chooses(i int) bool {
	if b.ins[i].reads == 0 {
		return false
	}
	op, _, ok := operandOf(b.code, b.ins[i].off)
	return ok && (op >= map0F|0x40 && op <= map0F|0x4f || op >= map0F|0x90 && op <= map0F|0x9f)
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
	g     *graph
	fates []Fate
	at    []int   // line, by instruction; 0: unknown
	acts  []int   // by block: the first line on which it acts
	top   []int32 // by block that did not run: the topmost of its dominators that did not
	lines map[int]*evidence
}

func (g *graph) lines(spans []executable.LineSpan, fates []Fate) map[int]Fate {
	r := &lineReader{g: g, fates: fates, at: g.b.lines(spans), acts: make([]int, len(g.nodes)), top: make([]int32, len(g.nodes)), lines: map[int]*evidence{}}
	for _, k := range g.order { // dominators first
		r.top[k] = k
		if up := g.nodes[k].idom; k > 0 && fates[up] == NotRun {
			r.top[k] = r.top[up]
		}
		r.collect(k)
	}
	out := make(map[int]Fate, len(r.lines))
	for line, e := range r.lines {
		if e.n[fitting] == e.all() {
			continue // nobody can tell
		}
		out[line] = r.fate(line, e)
	}
	return out
}

// collect notes what a block's instructions say of their lines.
func (r *lineReader) collect(k int32) {
	g := r.g
	n, fate := &g.nodes[k], r.fates[k]
	for i, w := range g.weights(k) {
		line := r.at[i]
		if line == 0 {
			continue
		}
		e := r.lines[line]
		if e == nil {
			e = &evidence{}
			r.lines[line] = e
		}
		e.n[w][fate]++
		switch {
		case w == acts && (r.acts[k] == 0 || line < r.acts[k]):
			r.acts[k] = line
		case fate != NotRun:
		case w == branches && !r.loads(n, line):
			for _, s := range n.succ {
				e.skipped = e.skipped || r.fates[g.through(s)] != NotRun
			}
		case w < branches:
			e.blocks = append(e.blocks, k)
		}
	}
}

// loads tells if a line's code in a block follows a pointer. A branch that is passed
// by stands alone in its block, but for the comparison.
func (r *lineReader) loads(n *node, line int) bool {
	for i := n.from; i < n.to; i++ {
		if r.at[i] == line && r.g.b.ins[i].is(mayFault) {
			return true
		}
	}
	return false
}

// through returns where control goes from a node that has nothing but what fits
// others together.
func (g *graph) through(k int32) int32 {
	for range len(g.nodes) {
		n := &g.nodes[k]
		if len(n.succ) != 1 {
			break
		}
		for i := n.from; i < n.to; i++ {
			if g.b.weigh(i) != fitting {
				return k
			}
		}
		k = n.succ[0]
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
// Not so if the line stands behind one that did not run, on which a dominator acts;
// or behind those where it was decided that control does not come here.
func (r *lineReader) below(line int, k int32) bool {
	top := r.top[k]
	for d := k; ; d = r.g.nodes[d].idom {
		if r.acts[d] > 0 && r.acts[d] <= line {
			return true
		}
		if d == top {
			break
		}
	}
	for _, p := range r.g.nodes[top].pred {
		if !r.g.hot(p) || r.fates[p] == NotRun {
			continue
		}
		last := r.g.nodes[p].to - 1
		if r.g.b.weigh(last) < branches || r.at[last] == 0 || r.at[last] >= line {
			return false
		}
	}
	return true
}
