package calltree

import (
	"cmp"
	"slices"
	"strings"

	"tracerag/trace"
)

// Divergence is the first point, in call order, at which two runs part: where
// one calls another function than the other or none, or, if they call the same
// functions throughout, where one calls a function more often.
type Divergence struct {
	A, B           *Node // what each calls; nil if it calls nothing more from there
	UnderA, UnderB *Node // the callers, which are at the same place; nil for roots
	Count          bool  // only the counts of A and B differ
}

// PathA returns the path to where the first run parts, from the root. The last
// node is a function that the second run does not call there, or, if A is
// nil, the caller, which calls nothing more.
func (d *Divergence) PathA() []*Node { return pathTo(d.A, d.UnderA) }

// PathB is PathA for the second run.
func (d *Divergence) PathB() []*Node { return pathTo(d.B, d.UnderB) }

func pathTo(n, under *Node) []*Node {
	if n == nil {
		n = under
	}
	path := slices.Collect(n.Up())
	slices.Reverse(path)
	return path
}

// diverge walks two trees in step, down to the first node that differs. What
// runs by itself, goroutines, callbacks and processes, comes after the calls of the same
// caller and is compared as a set: its order is the scheduler's, and differs
// between two runs of one program. Without order, all is.
func diverge(a, b []*Node, underA, underB *Node, order bool) *Divergence {
	callsA, setA := sequence(a, order)
	callsB, setB := sequence(b, order)
	if d := inStep(callsA, callsB, underA, underB, order); d != nil {
		return d
	}
	return inStep(setA, setB, underA, underB, order)
}

func inStep(a, b []*Node, underA, underB *Node, order bool) *Divergence {
	for i := range max(len(a), len(b)) {
		d := &Divergence{UnderA: underA, UnderB: underB}
		if i < len(a) {
			d.A = a[i]
		}
		if i < len(b) {
			d.B = b[i]
		}
		if d.A == nil || d.B == nil || d.A.identity() != d.B.identity() {
			return d
		}
		if d := diverge(d.A.Children, d.B.Children, d.A, d.B, order); d != nil {
			return d
		}
	}
	return nil
}

// sequence splits siblings into those whose order is the program's, and the
// others in an order that does not depend on the run.
func sequence(nodes []*Node, order bool) (calls, set []*Node) {
	for _, n := range nodes {
		if !order || n.Root == trace.RootGoroutine || n.Root == trace.RootCallback || n.Process != nil {
			set = append(set, n)
		} else {
			calls = append(calls, n)
		}
	}
	slices.SortFunc(set, func(a, b *Node) int {
		x, y := a.identity(), b.identity()
		return cmp.Or(strings.Compare(string(x.root), string(y.root)), strings.Compare(x.fn, y.fn), strings.Compare(x.goFunc, y.goFunc), strings.Compare(x.main, y.main))
	})
	return calls, set
}
