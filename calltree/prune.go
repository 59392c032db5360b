package calltree

import "tracerag/trace"

// Clone returns a copy of t.
func (t *Tree) Clone() *Tree { return t.Without(func(*Node) bool { return false }) }

// call is what the pruning rule compares: function and caller, whatever is
// further up.
type call struct {
	fn, caller string         // linker names; no caller for a root
	root       trace.RootKind // a goroutine's start is not the same as a call
	main       string         // nor is that of a process, by its program
}

func (n *Node) call() call {
	c := call{fn: n.Func.Name, root: n.Root}
	if n.Parent != nil {
		c.caller = n.Parent.Func.Name
	}
	if n.Process != nil {
		c.main = n.Process.Main
	}
	return c
}

// Prune removes from t what the baseline did too, and returns how many nodes
// that were. The rule is the paper's: a leaf goes if the same call (the same
// function by the same caller; for a root, the same kind of root) is
// anywhere in the baseline, and so does what thereby becomes a leaf, until
// none is left to go. A node with a child that stays, stays: the way to what
// only this run did remains whole.
//
// Prune changes t and leaves the baseline alone, which must have been built
// with the same options. IDs and totals stay as they were built. Several
// baselines are merged first.
func (t *Tree) Prune(baseline *Tree) (removed int) {
	known := map[call]bool{}
	baseline.Walk(func(n *Node, _ int) bool {
		known[n.call()] = true
		return true
	})

	// Backwards every child is decided before its parent, so one pass does
	// what the paper's repeated sweeps do.
	f := flatten(t)
	keep := make([]bool, len(f.nodes))
	for i := len(f.nodes) - 1; i >= 0; i-- {
		if !keep[i] && known[f.nodes[i].call()] {
			removed++
			continue
		}
		keep[i] = true
		if p := f.parent[i]; p >= 0 {
			keep[p] = true
		}
	}
	if removed > 0 {
		t.retain(f, keep)
	}
	return removed
}

// retain reduces t, of which f is the layout, to the nodes to keep.
func (t *Tree) retain(f *flat, keep []bool) {
	t.Roots, t.Size = nil, 0
	for i, n := range f.nodes {
		if !keep[i] {
			continue
		}
		t.Size++
		n.Children = nil
		if n.Parent == nil {
			t.Roots = append(t.Roots, n)
		} else {
			n.Parent.Children = append(n.Parent.Children, n)
		}
	}
}
