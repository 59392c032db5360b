package calltree

import (
	"math"
	"slices"

	"tracerag/trace"
)

// Place is a caller in both runs, or none, with what it calls and only one of the runs
// does so, or does so in another way.
type Place struct {
	Under *DiffNode   // nil: of the roots
	Nodes []*DiffNode // that differ, in call order; of what is below them, what [DiffNode.Differing] yields
	Size  int         // nodes that differ, here and below
	Score float64     // how likely it is that this place matters
}

// Differs reports whether a node is not the same in both runs.
func (n *DiffNode) Differs() bool { return n.Change != Common || n.Values != nil }

// Differing yields the children that differ. Those of a node that is the same are a
// [Place] of their own.
func (n *DiffNode) Differing(yield func(*DiffNode) bool) {
	for _, c := range n.Children {
		if c.Differs() && !yield(c) {
			return
		}
	}
}

// rank finds the places where the runs differ, and puts them in order: how much differs
// there, less what only shows that other flags were given, files found and settings
// made; and with a question, how much the functions have to do with it.
func (d *Diff) rank(relevance func(*trace.Function) float64) {
	s := scorer{in: [2]map[string]bool{functionsOf(d.A), functionsOf(d.B)}, alike: map[alike]int{}, interest: map[string]float64{}, relevance: relevance}
	var find func(under *DiffNode, nodes []*DiffNode, context float64)
	find = func(under *DiffNode, nodes []*DiffNode, context float64) {
		// What is below a node that differs is at its place.
		var here []*DiffNode
		inside := under != nil && under.Differs()
		for _, n := range nodes {
			if n.Differs() && !inside {
				here = append(here, n)
			}
		}
		if here != nil {
			p := &Place{Under: under, Nodes: here}
			s.weigh(p, context)
			d.Places = append(d.Places, p)
		}
		for _, n := range nodes {
			c := context
			if i := s.interestOf(n); i == startsUp {
				c = startsUp // and so is what it calls; what parses flags calls all of the program
			}
			find(n, n.Children, c)
		}
	}
	find(nil, d.Roots, 1)
	slices.SortStableFunc(d.Places, func(a, b *Place) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
}

func functionsOf(t *Tree) map[string]bool {
	in := map[string]bool{}
	t.Walk(func(n *Node, _ int) bool {
		in[n.Func.Name] = true
		return true
	})
	return in
}

// alike are changes of which the tenth says less than the first.
type alike struct {
	fn     string
	change Change
}

type scorer struct {
	in        [2]map[string]bool // functions of both trees
	alike     map[alike]int
	interest  map[string]float64
	relevance func(*trace.Function) float64
}

func (s *scorer) interestOf(n *DiffNode) float64 {
	name := n.Node().Func.Name
	i, ok := s.interest[name]
	if !ok {
		i = interest(name)
		s.interest[name] = i
	}
	return i
}

// weigh sets a place's size and score.
func (s *scorer) weigh(p *Place, context float64) {
	sum, relevant := 0.0, 0.0
	asked := func(n *DiffNode, share float64) {
		if s.relevance != nil {
			relevant = max(relevant, share*s.relevance(n.Node().Func))
		}
	}
	var add func(above *DiffNode, n *DiffNode)
	add = func(above, n *DiffNode) {
		p.Size++
		key := alike{n.Node().Func.Name, n.Change}
		s.alike[key]++
		i := s.interestOf(n)
		sum += s.weight(above, n) * i / math.Sqrt(float64(s.alike[key]))
		asked(n, i)
		for c := range n.Differing {
			add(n, c)
		}
	}
	for _, n := range p.Nodes {
		add(nil, n)
	}
	p.Score = math.Log2(1+sum) * context
	if s.relevance != nil {
		if p.Under != nil {
			asked(p.Under, 0.5) // it calls what differs
		}
		p.Score *= 0.02 + relevant
	}
}

// weight is how much a node differs by itself.
func (s *scorer) weight(above, n *DiffNode) float64 {
	w := 0.0
	switch n.Change {
	case Added, Removed:
		w = 1
		if name := n.Node().Func.Name; !s.in[0][name] || !s.in[1][name] {
			w = 3 // the other run did not call it at all
		}
	case Moved:
		w = 1
	case Changed:
		w = 0.3 * min(2, math.Abs(math.Log2(float64(max(n.B.Calls, 1))/float64(max(n.A.Calls, 1)))))
		if sameCounts(above, n) || (n.A.Flags | n.B.Flags).Has(trace.Floor) {
			w /= 5 // its caller was called more often
		}
	case Unrecorded:
		w = 0.05
	}
	if v := n.Values; v != nil {
		w++
		if v.Result {
			w++ // it was given the same
		}
	}
	return w
}

// sameCounts reports whether n was called as often as its caller, in both runs.
func sameCounts(above, n *DiffNode) bool {
	return above != nil && above.Change == Changed && n.Change == Changed && above.A.Calls == n.A.Calls && above.B.Calls == n.B.Calls &&
		above.A.Flags&trace.Floor == n.A.Flags&trace.Floor && above.B.Flags&trace.Floor == n.B.Flags&trace.Floor
}

// Matters returns the first place in call order, of those that matter about as much as
// the best, with its node that differs first; nil if nothing does.
func (d *Diff) Matters() (p *Place, n *DiffNode) {
	if len(d.Places) == 0 {
		return nil, nil
	}
	least := d.Places[0].Score / 2
	good := map[*DiffNode]*Place{}
	for _, p := range d.Places {
		if p.Score >= least {
			good[p.Nodes[0]] = p
		}
	}
	var find func(nodes []*DiffNode) bool
	find = func(nodes []*DiffNode) bool {
		for _, c := range nodes {
			if at := good[c]; at != nil {
				p, n = at, c
				return true
			}
			if find(c.Children) {
				return true
			}
		}
		return false
	}
	find(d.Roots)
	return p, n
}
