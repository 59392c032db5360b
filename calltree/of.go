package calltree

// Of returns the tree with the given roots, for callers who know nodes from elsewhere than
// a recorded run, such as from the source. It numbers them, and sets parents and totals.
func Of(roots ...*Node) *Tree {
	t := &Tree{Roots: roots}
	var add func(n, parent *Node) int64
	add = func(n, parent *Node) int64 {
		t.Size++
		n.ID, n.Parent, n.Total = t.Size, parent, n.Calls
		for _, c := range n.Children {
			n.Total += add(c, n)
		}
		return n.Total
	}
	for _, n := range roots {
		add(n, nil)
	}
	return t
}
