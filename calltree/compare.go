package calltree

import (
	"fmt"
	"slices"
	"strings"

	"tracerag/trace"
)

// Change says what became of a node from one tree to the other.
type Change int

// The changes.
const (
	Common     Change = iota // at the same place in both, called as often
	Changed                  // at the same place in both, called more or less often
	Moved                    // the same function, called once in each, in another context
	Added                    // in the second tree only
	Removed                  // in the first tree only
	Unrecorded               // in one tree only, and the other run could not have recorded it
)

func (c Change) String() string {
	return [...]string{"common", "changed", "moved", "added", "removed", "unrecorded"}[c]
}

// Diff is the difference of two trees.
//
// Two nodes are at the same place if the paths that lead to them from the root
// name the same functions, the same kinds of root and, where a path leads
// through a goroutine's start, the same function of the go statement. Times,
// ids, addresses, lines and flags are not compared. Counts are, if both are
// known: of a floor only that it is not passed from below, and neither
// approximate counts, nor calls that were only seen on a stack, nor samples.
//
// A function that has no node at the same place in both trees has moved, if each tree
// has one node of it, which was called once. What
// is below such a pair is compared as though it were at the same place: so a call that
// was wrapped in another is one moved node, not a subtree removed and the same one
// added. Of a function that was called more often nobody knows which call became which.
type Diff struct {
	A, B *Tree

	// Common+Changed+Moved+Removed is A's size, Common+Changed+Moved+Added B's, but for
	// the Unrecorded nodes, which are of either.
	Common, Changed, Moved, Added, Removed, Unrecorded int

	// Places are where the runs differ, the one that most likely matters first.
	Places []*Place

	// Values is how many nodes of both runs were given or returned other values, as
	// far as these were observed in both, and FirstValues the one where it happened
	// first, in the order of the second run. They do not make the runs different: a time or a
	// temporary file's name differs always.
	Values      int
	FirstValues *DiffNode

	// First is where the runs part, in call order; nil if they do not.
	FirstDivergence *Divergence

	// Roots is the second tree, with what is only in the first put where it
	// was: below the same parent, behind the same sibling.
	Roots []*DiffNode

	counts bool // are compared
}

// DiffNode is a node of one tree or of both.
type DiffNode struct {
	Change   Change
	A, B     *Node        // A is nil if added, B if removed
	Values   *ValueChange // the first value that differs; nil none
	Children []*DiffNode
}

// Node is the node in the second tree, or else in the first.
func (n *DiffNode) Node() *Node {
	if n.B != nil {
		return n.B
	}
	return n.A
}

// Equal reports whether the runs called the same functions in the same order
// and as often as each other, as far as was recorded.
func (d *Diff) Equal() bool { return d.FirstDivergence == nil }

// String returns the counts: "2 added, 1 moved, 40 unchanged; 3 with other values".
func (d *Diff) String() string {
	var s []string
	for _, c := range []struct {
		n    int
		what string
	}{{d.Added, "added"}, {d.Removed, "removed"}, {d.Moved, "moved"}, {d.Changed, "with another count"}, {d.Unrecorded, "that the other run could not record"}} {
		if c.n > 0 {
			s = append(s, fmt.Sprint(c.n, " ", c.what))
		}
	}
	out := strings.Join(append(s, fmt.Sprint(d.Common, " unchanged")), ", ")
	if d.Values > 0 {
		out += fmt.Sprint("; ", d.Values, " with other values")
	}
	return out
}

// none is the index of no entry, and the parent of a root.
const none = -1

// matching pairs the entries of two trees.
type matching struct {
	a, b  *flat
	ofA   []int  // entry of b for each of a; none
	ofB   []int  // and the other way round
	moved []bool // by entry of a
}

// Ignore is a way in which two runs may differ without being different.
type Ignore uint8

// What may be ignored of runs whose goroutines interleave or that range over maps.
const (
	IgnoreCounts Ignore = 1 << iota // how often a node was called
	IgnoreOrder                     // in which order a caller called what it called
)

// Compare returns what changed from a to b. The trees are left alone, and are
// to be built with the same options.
func Compare(a, b *Tree, ignore ...Ignore) *Diff {
	var c Comparison
	for _, i := range ignore {
		c.Ignore |= i
	}
	return c.Of(a, b)
}

// Comparison says how trees are compared. The zero value leaves nothing out of account.
type Comparison struct {
	Ignore Ignore

	// RecordsA and RecordsB report whether a run could have recorded a function; nil:
	// any. What calls through one that it could not is compared as though that were
	// not there.
	RecordsA, RecordsB func(*trace.Function) bool

	// Relevance says, from 0 to 1, how much a function has to do with what is asked.
	// Nil: nothing is asked.
	Relevance func(*trace.Function) float64
}

// Of compares two trees.
func (c Comparison) Of(a, b *Tree) *Diff {
	without := c.Ignore
	m := match(flatten(a), flatten(b), c.RecordsA, c.RecordsB)
	d := &Diff{A: a, B: b, counts: !a.Sampled && !b.Sampled && without&IgnoreCounts == 0}
	d.arrange(m)
	var counted *Divergence
	var classify func(nodes []*DiffNode, unrecorded bool)
	classify = func(nodes []*DiffNode, unrecorded bool) {
		for _, n := range nodes {
			switch {
			case n.A == nil && (unrecorded || c.RecordsA != nil && !c.RecordsA(n.B.Func)), n.B == nil && (unrecorded || c.RecordsB != nil && !c.RecordsB(n.A.Func)):
				n.Change = Unrecorded
				d.Unrecorded++
			case n.A == nil:
				n.Change = Added
				d.Added++
			case n.B == nil:
				n.Change = Removed
				d.Removed++
			case n.Change == Moved:
				d.Moved++
			case d.counts && countsDiffer(n.A, n.B):
				n.Change = Changed
				d.Changed++
				if counted == nil {
					counted = &Divergence{A: n.A, B: n.B, UnderA: n.A.Parent, UnderB: n.B.Parent, Count: true}
				}
			default:
				d.Common++
			}
			if n.A != nil && n.B != nil {
				if n.Values = firstChange(n.A, n.B); n.Values != nil {
					d.Values++
				}
			}
			// What a call is given comes before what it calls, what it returns after.
			first := func(result bool) {
				if d.FirstValues == nil && n.Values != nil && n.Values.Result == result {
					d.FirstValues = n
				}
			}
			first(false)
			classify(n.Children, n.Change == Unrecorded)
			first(true)
		}
	}
	classify(d.Roots, false)
	if d.FirstDivergence = diverge(a.Roots, b.Roots, nil, nil, without&IgnoreOrder == 0); d.FirstDivergence == nil {
		d.FirstDivergence = counted
	}
	d.rank(c.Relevance)
	return d
}

// countsDiffer reports whether two counts cannot be the same number.
func countsDiffer(a, b *Node) bool {
	loose := (a.Flags | b.Flags).Has(trace.Approximate)
	if loose || a.Calls == 0 || b.Calls == 0 {
		return false
	}
	floorA, floorB := a.Flags.Has(trace.Floor), b.Flags.Has(trace.Floor)
	switch {
	case floorA && floorB:
		return false
	case floorA:
		return b.Calls < a.Calls
	case floorB:
		return a.Calls < b.Calls
	}
	return a.Calls != b.Calls
}

// match pairs what stands at the same place, and then what moved.
func match(a, b *flat, recordsA, recordsB func(*trace.Function) bool) *matching {
	aboveA, aboveB := a.above(recordsB), b.above(recordsA) // what one could not record is passed over
	type place struct{ parent, id int }
	ids := map[identity]int{}
	identify := func(f *flat) []int {
		of := make([]int, len(f.nodes))
		for i, n := range f.nodes {
			id, ok := ids[n.identity()]
			if !ok {
				id = len(ids)
				ids[n.identity()] = id
			}
			of[i] = id
		}
		return of
	}
	idA, idB := identify(a), identify(b)
	at := make(map[place]int, len(b.nodes))
	for j := range slices.Backward(b.nodes) { // the first of several
		at[place{aboveB[j], idB[j]}] = j
	}
	m := &matching{a: a, b: b, ofA: nones(len(a.nodes)), ofB: nones(len(b.nodes)), moved: make([]bool, len(a.nodes))}
	// below looks for entry i of a below the entry that its parent is paired with.
	below := func(i int) bool {
		parent := none
		if p := aboveA[i]; p != none {
			if parent = m.ofA[p]; parent == none {
				return false
			}
		}
		j, ok := at[place{parent, idA[i]}]
		if !ok || m.ofB[j] != none {
			return false
		}
		m.ofA[i], m.ofB[j] = j, i
		return true
	}
	settled := make([]bool, len(ids)) // has a node at the same place in both
	for i := range a.nodes {
		if below(i) {
			settled[idA[i]] = true
		}
	}
	leftA, leftB := make([]int, len(ids)), make([][]int, len(ids)) // unpaired entries
	for i := range a.nodes {
		if m.ofA[i] == none {
			leftA[idA[i]]++
		}
	}
	for j := range b.nodes {
		if m.ofB[j] == none {
			leftB[idB[j]] = append(leftB[idB[j]], j)
		}
	}
	for i, n := range a.nodes {
		id := idA[i]
		if m.ofA[i] != none || below(i) || settled[id] || leftA[id] != 1 || len(leftB[id]) != 1 {
			continue
		}
		j := leftB[id][0]
		if m.ofB[j] == none && n.Calls == 1 && b.nodes[j].Calls == 1 {
			m.ofA[i], m.ofB[j] = j, i
			m.moved[i] = true
		}
	}
	return m
}

// above returns, by entry, the nearest one above that records reports true for.
func (f *flat) above(records func(*trace.Function) bool) []int {
	if records == nil {
		return f.parent
	}
	above := make([]int, len(f.nodes))
	for i, p := range f.parent {
		if above[i] = p; p != none && !records(f.nodes[p].Func) {
			above[i] = above[p]
		}
	}
	return above
}

func nones(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = none
	}
	return s
}

// arrange makes the nodes of d: those of b as they stand, and each one that is
// only in a behind the sibling that it follows there.
func (d *Diff) arrange(m *matching) {
	ofA, ofB := make([]*DiffNode, len(m.a.nodes)), make([]*DiffNode, len(m.b.nodes))
	for j, n := range m.b.nodes {
		ofB[j] = &DiffNode{B: n}
		if i := m.ofB[j]; i != none {
			ofB[j].A = m.a.nodes[i]
			if m.moved[i] {
				ofB[j].Change = Moved
			}
		}
	}
	top := &DiffNode{}
	list := func(of []*DiffNode, i int) *DiffNode {
		if i == none {
			return top
		}
		return of[i]
	}

	head := map[*DiffNode][]*DiffNode{} // removed before the first sibling that stayed
	behind := make([][]*DiffNode, len(m.b.nodes))
	last := nones(len(m.a.nodes) + 1) // by parent in a, +1: its last child that stayed
	for i, n := range m.a.nodes {
		p := m.a.parent[i]
		parent := none // in b
		if p != none {
			parent = m.ofA[p]
		}
		if j := m.ofA[i]; j != none {
			if m.b.parent[j] == parent && (p == none || parent != none) {
				last[p+1] = j
			}
			continue
		}
		ofA[i] = &DiffNode{A: n}
		switch after := last[p+1]; {
		case p != none && parent == none: // its parent is removed too
			ofA[p].Children = append(ofA[p].Children, ofA[i])
		case after != none:
			behind[after] = append(behind[after], ofA[i])
		default:
			to := list(ofB, parent)
			head[to] = append(head[to], ofA[i])
		}
	}
	top.Children = head[top]
	for j := range m.b.nodes {
		ofB[j].Children = head[ofB[j]]
		to := list(ofB, m.b.parent[j])
		to.Children = append(append(to.Children, ofB[j]), behind[j]...)
	}
	d.Roots = top.Children
}
