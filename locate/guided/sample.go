package guided

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"tracerag/locate/treesearch"
)

// Sample says which functions of a tree a model is asked about.
type Sample struct {
	Rewards int // how many at most
	// Words is how many of them are the first in the order of words. The tree chooses the others,
	// and knows what those are worth.
	Words int
	// Tree says how. Its Rewards count for nothing.
	Tree treesearch.Options
}

// errSpent ends a search of which all rewards are spent.
var errSpent = errors.New("all rewards are spent")

// Search asks what functions are worth, from 0 to 1, none twice. It returns those that it asked
// about, the best first. An error ends it, and what was found until then is returned beside it;
// the end of ctx is no error.
func (t *Tree) Search(ctx context.Context, reward treesearch.Reward, s Sample) ([]treesearch.Found, error) {
	known := map[treesearch.Node]float64{}
	ask := func(ctx context.Context, leaves []treesearch.Node) ([]float64, error) {
		var unknown []treesearch.Node
		for _, n := range leaves {
			if _, ok := known[n]; !ok && t.Decl(n) != nil {
				unknown = append(unknown, n)
			}
		}
		spent := len(known)+len(unknown) > s.Rewards
		unknown = unknown[:min(len(unknown), s.Rewards-len(known))]
		var err error
		if len(unknown) > 0 {
			var worth []float64
			worth, err = reward(ctx, unknown)
			for i, w := range worth[:min(len(worth), len(unknown))] {
				known[unknown[i]] = w
			}
		}
		var out []float64
		for _, n := range leaves {
			w, ok := known[n]
			if !ok && t.Decl(n) != nil {
				break // what is behind it gets no reward either
			}
			out = append(out, w) // a package without functions is worth nothing
		}
		if err == nil && (spent || len(known) >= s.Rewards) {
			err = errSpent
		}
		return out, err
	}
	first, err := t.Words(min(s.Words, s.Rewards))
	step := max(s.Tree.Parallel, 1)
	for len(first) > 0 && err == nil && ctx.Err() == nil {
		_, err = ask(ctx, first[:min(step, len(first))])
		first = first[min(step, len(first)):]
	}
	ways := map[treesearch.Node][]treesearch.Node{}
	if err == nil && ctx.Err() == nil {
		o := s.Tree
		o.Rewards = math.MaxInt
		var r *treesearch.Result
		r, err = treesearch.Search(ctx, t, t.Root, ask, o)
		for _, f := range r.All {
			ways[f.Node] = f.Way
		}
	}
	if errors.Is(err, errSpent) || ctx.Err() != nil {
		err = nil
	}
	if err == nil && ctx.Err() == nil {
		err = t.err
	}
	found := make([]treesearch.Found, 0, len(known))
	for n, w := range known {
		found = append(found, treesearch.Found{Node: n, Reward: w, Way: ways[n]})
	}
	slices.SortFunc(found, func(a, b treesearch.Found) int {
		return cmp.Or(cmp.Compare(b.Reward, a.Reward), cmp.Compare(t.Place(a.Node), t.Place(b.Node)), cmp.Compare(a.Node, b.Node))
	})
	return found, err
}
