package calltree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A handle is given once, by the default tree of a trace. The other trees of it take
// their handles from there, and add numbers of their own behind.

// number gives the nodes their IDs and the tree its size.
func (t *Tree) number() {
	t.Size = 0
	t.Walk(func(n *Node, _ int) bool {
		t.Size++
		n.ID = t.Size
		return true
	})
}

// numberLike numbers t, a tree of the same trace as base with more nodes. Of gives
// base's node for each node of the trace.
func (t *Tree) numberLike(base *Tree, of []*Node) {
	taken := make([]bool, base.Size+1)
	t.numberBy(base.Size, func(n *Node) int {
		if b := of[n.first]; b != nil && !taken[b.ID] {
			taken[b.ID] = true
			return b.ID
		}
		return 0
	})
}

// numberAlong numbers t, to which the calls of base were unfolded: a path that base
// has, too, leads to the same handle.
func (t *Tree) numberAlong(base *Tree) {
	last := 0
	in := map[*Node]map[identity]*Node{}
	base.Walk(func(n *Node, _ int) bool {
		last = max(last, n.ID)
		if in[n.Parent] == nil {
			in[n.Parent] = map[identity]*Node{}
		}
		in[n.Parent][n.identity()] = n
		return true
	})
	same := map[*Node]*Node{} // of base, by node of t
	t.numberBy(last, func(n *Node) int {
		if n.Parent != nil && same[n.Parent] == nil {
			return 0
		}
		b := in[same[n.Parent]][n.identity()]
		if b == nil {
			return 0
		}
		same[n] = b
		return b.ID
	})
}

// numberBy numbers t by id, and behind last the nodes for which that is 0.
func (t *Tree) numberBy(last int, id func(*Node) int) {
	t.Size = 0
	t.Walk(func(n *Node, _ int) bool {
		t.Size++
		if n.ID = id(n); n.ID == 0 {
			last++
			n.ID = last
		}
		return true
	})
}

// handles is the pattern of [Tree.Focus] that names some entries with all below them,
// and nothing else of the tree: "#9-20", or several of these with commas between. In
// most trees handles ascend, and one range does.
func (f *flat) handles(entries []int) string {
	wanted := map[int]bool{}
	for _, e := range entries {
		for _, n := range f.nodes[e : e+f.size[e]] {
			wanted[n.ID] = true
		}
	}
	if f.ids == nil {
		for _, n := range f.nodes {
			f.ids = append(f.ids, n.ID)
		}
		slices.Sort(f.ids)
	}
	var ranges []string
	for i := 0; i < len(f.ids); i++ {
		from := i
		for i < len(f.ids) && wanted[f.ids[i]] {
			i++
		}
		switch {
		case i == from+1:
			ranges = append(ranges, fmt.Sprintf("#%d", f.ids[from]))
		case i > from:
			ranges = append(ranges, fmt.Sprintf("#%d-%d", f.ids[from], f.ids[i-1]))
		}
	}
	return strings.Join(ranges, ",")
}

// handleRange is "#12", or "#12-40".
type handleRange struct{ from, to int }

// parseHandles reads "#12", "#12-40", and several of these with commas between.
func parseHandles(s string) (ranges []handleRange, ok bool) {
	for part := range strings.SplitSeq(s, ",") {
		digits, ok := strings.CutPrefix(strings.TrimSpace(part), "#")
		if !ok {
			return nil, false
		}
		a, b, isRange := strings.Cut(digits, "-")
		if !isRange {
			b = a
		}
		from, errFrom := strconv.Atoi(a)
		to, errTo := strconv.Atoi(b)
		if errFrom != nil || errTo != nil {
			return nil, false
		}
		ranges = append(ranges, handleRange{from, to})
	}
	return ranges, true
}

// handleMatcher returns the test for the nodes with these handles.
func (t *Tree) handleMatcher(pattern string, ranges []handleRange) (func(*Node) bool, error) {
	match := func(n *Node) bool {
		return slices.ContainsFunc(ranges, func(r handleRange) bool { return r.from <= n.ID && n.ID <= r.to })
	}
	last, found := 0, false
	t.Walk(func(n *Node, _ int) bool {
		last = max(last, n.ID)
		found = found || match(n)
		return true
	})
	if !found {
		first := ranges[0].from
		return nil, &NotFoundError{Pattern: pattern, lastID: last, inGap: 0 < first && first <= last}
	}
	return match, nil
}
