// Package treesearch finds the leaves of a tree that are worth most, asking for the worth of
// as few as it can: each question costs a model's answer.
//
// It is the Monte-Carlo tree search of RepoUnderstander (Ma et al. 2024, section 3.3) over an
// abstract graph:
//
//  1. selection: from the root down, the child with the greatest
//     w/n + c*sqrt(2 ln N/n), where w is the worth found below it, n and N are how often it and
//     its parent were visited, and c is sqrt(2)/2;
//  2. expansion: a node whose children were not all visited gets the next one in the order
//     that the graph gives them, the most promising first, when none of the others promises more
//     ([Options.AllFirst]);
//  3. evaluation: from there greedily down to a leaf, whose reward is asked for;
//  4. back-propagation up the way that led there. What a leaf with a good reward
//     refers to (callees) becomes a child of it.
//
// Where the paper is silent: rewards from 0 to 1 are what w adds up, so that c means what it
// means in the formula; a leaf is asked about once, and what has no other leaf left is
// passed over; up to [Options.Parallel] leaves are chosen before the first reward is known, each
// choice counted as a visit that found nothing. The result does not depend on which reward comes first.
package treesearch

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Node names a node of a graph.
type Node int64

// Graph is what is searched.
type Graph interface {
	// Children returns what is below a node, the most promising first; none of a leaf. It is
	// asked once for each node.
	Children(Node) []Node
	// References returns the leaves that a leaf refers to, the most promising first.
	References(Node) []Node
}

// Reward says what leaves are worth, each from 0 to 1, in their order. An error ends the search;
// what it returns beside one, of the first leaves, is kept.
type Reward func(ctx context.Context, leaves []Node) ([]float64, error)

// Options say how long a search goes on. The zero Options are the paper's where it names
// them.
type Options struct {
	// Exploration is c; 0 is sqrt(2)/2.
	Exploration float64
	// Keep is the reward from which a leaf is a result, and its references are looked at; 0 is .6.
	Keep float64
	// Rewards is how many leaves are asked about at most; 0 is 600.
	Rewards int
	// AllFirst visits all children of a node before any of them a second time, which is the
	// usual form of the search and takes more rewards than a model should be asked for: a
	// package has hundreds of functions. Otherwise a child that was not visited counts as
	// one that was visited once, with what its parent is worth on average.
	AllFirst bool
	// Parallel is how many are asked about at once; 0 is 1.
	Parallel int
}

// Found is a leaf and what it is worth.
type Found struct {
	Node   Node
	Reward float64
	// Way leads to it from the root, without both: what the search descended through. A
	// reference has the leaf in it that refers to it.
	Way []Node
}

// Result is what a search has found.
type Result struct {
	Kept  []Found // with a reward of at least Options.Keep, the best first
	All   []Found // every leaf that was asked about, in that order
	Ended Ending
}

// Ending says why a search ended.
type Ending int

// The endings.
const (
	Exhausted Ending = iota // every leaf was asked about
	Spent                   // Options.Rewards were
	Stopped                 // the context ended
)

// Search searches the graph below root. When ctx ends it returns what was found until then; the
// error is the reward's alone.
func Search(ctx context.Context, g Graph, root Node, reward Reward, o Options) (*Result, error) {
	s := &search{
		graph: g, c: cmp.Or(o.Exploration, math.Sqrt2/2), keep: cmp.Or(o.Keep, .6), first: o.AllFirst,
		asked: map[Node]bool{},
	}
	s.root = s.open(root, nil)
	left := cmp.Or(o.Rewards, 600)
	for ctx.Err() == nil {
		var chosen []*visit
		for len(chosen) < min(max(o.Parallel, 1), left) {
			v := s.choose()
			if v == nil {
				break
			}
			chosen = append(chosen, v)
		}
		if len(chosen) == 0 {
			s.result.Ended = Exhausted
			if left == 0 {
				s.result.Ended = Spent
			}
			return s.done(), nil
		}
		left -= len(chosen)
		leaves := make([]Node, len(chosen))
		for i, v := range chosen {
			leaves[i] = v.node
		}
		worth, err := reward(ctx, leaves)
		for i, v := range chosen[:min(len(worth), len(chosen))] {
			s.back(v, worth[i])
		}
		if err != nil && ctx.Err() == nil {
			return s.done(), err
		}
	}
	s.result.Ended = Stopped
	return s.done(), nil
}

// search is one call of Search.
type search struct {
	graph  Graph
	c      float64
	keep   float64
	first  bool
	root   *visit
	asked  map[Node]bool // leaves
	result Result
}

// visit is a node where the search has been.
type visit struct {
	node     Node
	parent   *visit
	children []*visit // visited ones, in the order of visits
	next     []Node   // others, the most promising first
	leaf     bool     // of the graph
	spent    bool     // nothing below it is left to ask about
	n, w     float64
}

func (s *search) open(n Node, parent *visit) *visit {
	v := &visit{node: n, parent: parent, next: s.graph.Children(n)}
	v.leaf = len(v.next) == 0
	return v
}

// choose returns the leaf to ask about next, counted as visited; nil if none is left.
func (s *search) choose() *visit {
	v := s.root
	for {
		best, bound := s.promising(v)
		// The first visit of a child goes on greedily, as all its own do.
		if best == nil || s.first || s.urgency(v) >= bound {
			if leaf := s.expand(v); leaf != nil {
				for up := leaf; up != nil; up = up.parent {
					up.n++
				}
				return leaf
			}
		}
		if best == nil {
			v.spent = true
			if best = v.parent; best == nil {
				return nil
			}
		}
		v = best
	}
}

// expand visits the next child of a node, and goes down from it to a leaf that was not asked
// about; nil if the node has no such child.
func (s *search) expand(v *visit) *visit {
	for len(v.next) > 0 {
		child := s.open(v.next[0], v)
		v.next = v.next[1:]
		if child.leaf {
			if s.asked[child.node] {
				continue
			}
			s.asked[child.node] = true
			v.children = append(v.children, child)
			return child
		}
		if leaf := s.expand(child); leaf != nil {
			v.children = append(v.children, child)
			return leaf
		}
	}
	return nil
}

// promising returns the child with the greatest bound, the first of equals; nil if all are spent.
func (s *search) promising(v *visit) (best *visit, most float64) {
	most = math.Inf(-1)
	for _, c := range v.children {
		if c.spent {
			continue
		}
		if bound := s.bound(c.w/c.n, v.n, c.n); bound > most {
			best, most = c, bound
		}
	}
	return best, most
}

// urgency is the bound of a child that was not visited: it is a little worse than its parent is
// so far, so that what a good leaf refers to, or is beside, comes first.
func (s *search) urgency(v *visit) float64 { return s.bound(v.w/(v.n+1), v.n, 1) }

func (s *search) bound(mean, parent, visits float64) float64 {
	return mean + s.c*math.Sqrt(2*math.Log(max(parent, 1))/visits)
}

// back adds a leaf's reward to the way that led to it, and looks at what it refers to.
func (s *search) back(v *visit, reward float64) {
	if math.IsNaN(reward) {
		reward = 0
	}
	reward = min(max(reward, 0), 1)
	s.result.All = append(s.result.All, Found{v.node, reward, v.way()})
	refers := false
	if reward >= s.keep {
		for _, r := range s.graph.References(v.node) {
			if r != v.node && !s.asked[r] {
				v.next = append(v.next, r)
				refers = true
			}
		}
	}
	v.spent = !refers
	for up := v; up != nil; up = up.parent {
		up.w += reward
		up.spent = up.spent && up == v // what is above has something to ask about again, or learns that it has not
	}
}

func (v *visit) way() (way []Node) {
	for up := v.parent; up != nil && up.parent != nil; up = up.parent {
		way = append(way, up.node)
	}
	slices.Reverse(way)
	return way
}

func (s *search) done() *Result {
	for _, f := range s.result.All {
		if f.Reward >= s.keep {
			s.result.Kept = append(s.result.Kept, f)
		}
	}
	slices.SortStableFunc(s.result.Kept, func(a, b Found) int { return cmp.Compare(b.Reward, a.Reward) })
	return &s.result
}
