package calltree_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"tracerag/calltree"
	"tracerag/trace"
)

func TestCompare(t *testing.T) {
	each(t, func(t *testing.T, x, y *trace.Trace) {
		for _, o := range modes {
			a, b := build(t, x, o), build(t, y, o)
			if a == nil || b == nil {
				continue
			}
			if d := calltree.Compare(a, build(t, x, o)); !d.Equal() || d.Common != a.Size || d.Changed+d.Moved+d.Added+d.Removed != 0 {
				t.Errorf("a tree with itself: %v", d)
			}
			textA, textB := text(t, a), text(t, b)
			d := calltree.Compare(a, b)
			if d.Common+d.Changed+d.Moved+d.Removed != a.Size || d.Common+d.Changed+d.Moved+d.Added != b.Size {
				t.Errorf("%v, of %d and %d nodes", d, a.Size, b.Size)
			}
			if d.Equal() && d.Changed+d.Moved+d.Added+d.Removed > 0 {
				t.Errorf("equal, and yet: %v", d)
			}
			checkDiff(t, d)
			if text(t, a) != textA || text(t, b) != textB {
				t.Error("a side was changed")
			}
			var out bytes.Buffer
			if err := d.WriteJSON(&out); err != nil || !json.Valid(out.Bytes()) {
				t.Errorf("the JSON is not valid (%v):\n%s", err, &out)
			}
		}
	})
}

// checkDiff verifies that every node of both trees is in the diff once,
// below its own parent: in the second tree, or in the first if it is only there.
func checkDiff(t *testing.T, d *calltree.Diff) {
	t.Helper()
	var seenA, seenB []*calltree.Node
	place := map[*calltree.Node]int{}
	for _, tree := range []*calltree.Tree{d.A, d.B} {
		for i, n := range all(tree) {
			place[n] = i
		}
	}
	var walk func(parent *calltree.DiffNode)
	walk = func(parent *calltree.DiffNode) {
		var order []int
		for _, n := range parent.Children {
			switch {
			case n.B != nil && n.B.Parent != parent.B, n.B == nil && n.A.Parent != parent.A:
				t.Errorf("%v %s is below another parent than its own", n.Change, n.Node().Func.Name)
			case n.A != nil && n.B != nil && n.A.Func.Name != n.B.Func.Name:
				t.Errorf("%s is paired with %s", n.A.Func.Name, n.B.Func.Name)
			}
			if n.A != nil {
				seenA = append(seenA, n.A)
			}
			if n.B != nil {
				seenB = append(seenB, n.B)
				order = append(order, place[n.B])
			}
			walk(n)
		}
		if !slices.IsSorted(order) {
			t.Errorf("not in the order of the second tree: %v", order)
		}
	}
	walk(&calltree.DiffNode{Children: d.Roots})
	inOrder := func(a, b *calltree.Node) int { return place[a] - place[b] }
	slices.SortFunc(seenA, inOrder)
	slices.SortFunc(seenB, inOrder)
	if !slices.Equal(seenA, all(d.A)) || !slices.Equal(seenB, all(d.B)) {
		t.Error("the diff does not hold every node of both trees once")
	}
}
