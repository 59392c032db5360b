package calltree

// Restored returns the nodes of a and b, which were pruned and focused, with those of the
// whole trees that they are to be compared with: if one run's tree has a node, the
// other's has the node at the same place. A baseline takes a call away wherever it has
// one like it; without the other half, a count that went from 2 to 7 would be 7 calls
// that were added. With values, nodes that were given or returned other values are in
// both, too, where also reports true for one of them.
func Restored(a, b, wholeA, wholeB *Tree, also func(a, b *Node) bool) (*Tree, *Tree) {
	fa, fb := flatten(wholeA), flatten(wholeB)
	keepA, keepB := fa.having(a), fb.having(b)
	type place struct {
		parent int
		id     identity
	}
	at := make(map[place]int, len(fb.nodes))
	for j, n := range fb.nodes {
		at[place{fb.parent[j], n.identity()}] = j
	}
	ofA := nones(len(fa.nodes))
	for i, n := range fa.nodes {
		parent := none
		if p := fa.parent[i]; p != none {
			if parent = ofA[p]; parent == none {
				continue
			}
		}
		j, ok := at[place{parent, n.identity()}]
		if !ok {
			continue
		}
		ofA[i] = j
		if keepA[i] || keepB[j] || firstChange(n, fb.nodes[j]) != nil && also(n, fb.nodes[j]) {
			keepA[i], keepB[j] = true, true
		}
	}
	fa.upwards(keepA)
	fb.upwards(keepB)
	// What leads to a node that only one of them has, both have.
	for i, j := range ofA {
		if j != none && (keepA[i] || keepB[j]) {
			keepA[i], keepB[j] = true, true
		}
	}
	outA, _ := wholeA.copyOf(fa, keepA)
	outB, _ := wholeB.copyOf(fb, keepB)
	return outA, outB
}

// having marks the entries of f that t has, by their handles.
func (f *flat) having(t *Tree) []bool {
	ids := make(map[int]bool, t.Size)
	t.Walk(func(n *Node, _ int) bool {
		ids[n.ID] = true
		return true
	})
	keep := make([]bool, len(f.nodes))
	for i, n := range f.nodes {
		keep[i] = ids[n.ID]
	}
	return keep
}

// upwards marks the entries above those that are marked.
func (f *flat) upwards(keep []bool) {
	for i := len(f.nodes) - 1; i >= 0; i-- {
		if p := f.parent[i]; p >= 0 && keep[i] {
			keep[p] = true
		}
	}
}
