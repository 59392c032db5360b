package prompt

import (
	"cmp"
	"slices"

	"tracerag/calltree"
	"tracerag/trace"
	"tracerag/trace/symbol"
)

// unfolder chooses which nodes of the call trees are listed where not all of
// them fit. Its costs are guesses: a line's tokens cannot be counted alone,
// since a line break with its indent is one token, and counting a large tree
// takes longer than all else. The caller counts what came out, and corrects.
type unfolder struct {
	branches []branch
	order    []int32 // of branches, the most wanted first
}

// branch is a node in the trees, laid out one after the other in call order.
type branch struct {
	node       *calltree.Node
	parent     int32 // -1: a root
	prev, next int32 // siblings; -1: none
	first      int32 // child; -1: none
	cost       int32
	shown      bool
}

// markCost is about what the mark of a fold takes, with its indent.
const markCost = 11

// newUnfolder lays out the trees. The nodes that are wanted most are the first
// ones of each function, by the function's score; then come the others, likewise.
// So a tree that is cut shows as many of the relevant functions as it can, rather
// than one of them again and again.
func newUnfolder(runs []runMaterial, score func(*trace.Function) float64, cost func(*calltree.Node) int) *unfolder {
	u := &unfolder{}
	size := 0
	for i := range runs {
		size += runs[i].tree.Size
	}
	u.branches = make([]branch, 0, size)
	again := make([]bool, 0, size)
	scores := make([]float64, 0, size)
	for i := range runs {
		seen := map[*trace.Function]bool{}
		var add func(nodes []*calltree.Node, parent int32)
		add = func(nodes []*calltree.Node, parent int32) {
			prev := int32(-1)
			for _, n := range nodes {
				at := int32(len(u.branches))
				u.branches = append(u.branches, branch{node: n, parent: parent, prev: prev, next: -1, first: -1, cost: int32(cost(n))})
				switch {
				case prev >= 0:
					u.branches[prev].next = at
				case parent >= 0:
					u.branches[parent].first = at
				}
				again = append(again, seen[n.Func])
				scores = append(scores, score(n.Func))
				seen[n.Func] = true
				prev = at
				add(n.Children, at)
			}
		}
		add(runs[i].tree.Roots, -1)
	}
	u.order = make([]int32, len(u.branches))
	for i := range u.order {
		u.order[i] = int32(i)
	}
	slices.SortStableFunc(u.order, func(a, b int32) int {
		if again[a] != again[b] {
			if again[a] {
				return 1
			}
			return -1
		}
		return cmp.Compare(scores[b], scores[a])
	})
	return u
}

// positionCost is about what a function's place takes.
const positionCost = 8

// misses is how many nodes in a row may be too costly before the rest is not
// tried: the order is by relevance, not by cost, so that some that come later fit.
const misses = 1000

// choose returns the nodes to show in about as many tokens as budget says. A
// node that is shown has its callers shown.
func (u *unfolder) choose(budget int) map[*calltree.Node]bool {
	for i := range u.branches {
		u.branches[i].shown = false
	}
	left, missed := budget, 0
	for _, i := range u.order {
		if left <= 0 || missed > misses {
			break
		}
		if u.branches[i].shown {
			continue
		}
		if c := u.pathCost(i, left); c > left {
			missed++
		} else {
			left -= c
			missed = 0
			for j := i; j >= 0 && !u.branches[j].shown; j = u.branches[j].parent {
				u.branches[j].shown = true
			}
		}
	}
	nodes := map[*calltree.Node]bool{}
	for i := range u.branches {
		b := &u.branches[i]
		// The mark of a fold takes no less than the one line that it would hide.
		if !b.shown && b.first < 0 && (b.parent < 0 || u.branches[b.parent].shown) && !u.hidden(b.prev) && !u.hidden(b.next) {
			b.shown = true
		}
		if b.shown {
			nodes[b.node] = true
		}
	}
	return nodes
}

// pathCost is what it costs to show a branch and those above it that are not
// shown, with the marks that come and go. It stops counting at stop.
func (u *unfolder) pathCost(i int32, stop int) int {
	c := 0
	if u.branches[i].first >= 0 {
		c = markCost
	}
	for ; i >= 0 && !u.branches[i].shown && c <= stop; i = u.branches[i].parent {
		b := &u.branches[i]
		c += int(b.cost)
		if u.hidden(b.prev) {
			c += markCost
		}
		if u.hidden(b.next) {
			c += markCost
		}
		if b.parent < 0 || u.branches[b.parent].shown {
			c -= markCost // of the fold that it was part of
		}
	}
	return c
}

// hidden reports whether there is a branch that is not shown.
func (u *unfolder) hidden(i int32) bool { return i >= 0 && !u.branches[i].shown }

// unfolder returns one for the trees, nil if the prompt has none.
func (f *fitter) unfolder() *unfolder {
	if !f.hasTree() {
		return nil
	}
	costs := map[*trace.Function]int{}
	keep := f.keepsPositions() && !f.m.cut.below
	cost := func(n *calltree.Node) int {
		c, ok := costs[n.Func]
		if !ok {
			// A line break with the indent is a token, and a count two or three.
			c = 3 + len(symbol.Short(n.Func.Name))/4
			costs[n.Func] = c
			if keep {
				return c + positionCost + n.ValuesLen()/3
			}
		}
		return c + n.ValuesLen()/3
	}
	return newUnfolder(f.m.runs, func(fn *trace.Function) float64 { return f.scores[*fn].score }, cost)
}

// treeTokens counts the trees as they are cut now.
func (f *fitter) treeTokens() int {
	n := 0
	for i := range f.m.runs {
		n += f.o.Counter.Count(f.m.treeText(&f.m.runs[i], f.o.treeVariant()))
	}
	return n
}

// treeVariant is the variant that the tree of a prompt is made for: a template
// is given that with positions.
func (o *Options) treeVariant() Variant {
	if o.Template != "" {
		return TreeOnly
	}
	return o.Variant
}

// keepsPositions reports whether a tree that is cut has the places of functions without
// a source. In [Ordered] they are all that it says of where these are; the paper's variants
// lose them first.
func (f *fitter) keepsPositions() bool { return f.o.Variant == Ordered && f.o.Template == "" }

// fitTree cuts the trees to about the share.
func (f *fitter) fitTree(share int) error {
	if f.tree == nil {
		return nil
	}
	c := f.m.cut
	keep := f.keepsPositions()
	for _, positions := range []bool{true, false} {
		if c.positions = positions || keep; f.nodes() > share*nodesPerToken {
			c.positions = keep
			break
		}
		c.nodes = nil
		bytes := 0
		for i := range f.m.runs {
			bytes += len(f.m.treeText(&f.m.runs[i], f.o.treeVariant()))
		}
		if bytes <= share*bytesPerToken && f.treeTokens() <= share {
			return nil
		}
	}
	// Guesses are off by a factor that is much the same for all of a tree.
	guess, fits := share, map[*calltree.Node]bool{}
	for range 5 {
		c.nodes = f.tree.choose(guess)
		n := f.treeTokens()
		if n <= share && len(c.nodes) > len(fits) {
			fits = c.nodes
		}
		if n <= share && n >= share*9/10 || n == 0 {
			break
		}
		guess = guess * share / n * 97 / 100
	}
	c.nodes = fits
	return nil
}
