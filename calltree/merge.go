package calltree

import "slices"

// Merge returns several runs as one tree: nodes on the same path are one, with
// the counts added and lines and flags united. Children are in the order of
// the first tree that has them, those that only later trees have after them.
// The trees themselves are left alone. If any is sampled, the whole is: calls
// and samples should not be merged.
func Merge(trees ...*Tree) *Tree {
	type key struct {
		parent *Node
		id     identity
	}
	if len(trees) == 1 {
		return trees[0].Clone() // handles are those of its trace
	}
	m := &Tree{}
	nodes := map[key]*Node{}
	var merge func(parent *Node, from []*Node)
	merge = func(parent *Node, from []*Node) {
		for _, n := range from {
			k := key{parent, n.identity()}
			to := nodes[k]
			if to == nil {
				to = n.alone(parent)
				nodes[k] = to
				if parent == nil {
					m.Roots = append(m.Roots, to)
				} else {
					parent.Children = append(parent.Children, to)
				}
			} else {
				to.absorb(n.Calls, n.Total, n.Flags, n.Lines...)
				to.Processes += n.Processes
				to.Values = slices.Concat(to.Values, n.Values)
			}
			merge(to, n.Children)
		}
	}
	for _, t := range trees {
		m.Sampled = m.Sampled || t.Sampled
		merge(nil, t.Roots)
	}
	m.number()
	return m
}

// alone returns a copy of n without children, below parent.
func (n *Node) alone(parent *Node) *Node {
	c := *n
	c.Parent = parent
	c.Children = nil
	c.Lines = slices.Clone(n.Lines)
	return &c
}
