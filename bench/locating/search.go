package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"text/tabwriter"

	"tracerag/bench/corpus"
	"tracerag/eval/retrieval"
	"tracerag/knowledge"
	"tracerag/locate"
	"tracerag/locate/guided"
	"tracerag/locate/treesearch"
)

// rewards is how many functions a search may ask about.
const rewards = 60

// reward is what a scripted model says of a function, 1 to 10: its true value and noise of the
// normal distribution, rounded. The true value is 9 of what the fix changed, 5 of what is in a
// file with that, or calls it (where the calls are known), 4 of what is in its package, and 2 of
// others. The noise is known by the case and the function, so that all orders have the same.
func reward(c *loaded, d *knowledge.Decl, callers map[int64]bool, noise float64) float64 {
	value := 2.0
	switch {
	case c.IsGold(d.Path, d.Name):
		value = 9
	case c.IsGoldFile(d.Path), callers[d.ID]:
		value = 5
	case slices.ContainsFunc(c.Gold, func(g corpus.Gold) bool { return path.Dir(g.File) == path.Dir(d.Path) }):
		value = 4
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00%d", c.ID, d.Path, d.Name, d.Nth)
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	return math.Round(min(max(value+noise*r.NormFloat64(), 1), 10))
}

// variant is a way to choose what is asked about.
type variant struct {
	name  string
	words int // of the rewards
	tree  treesearch.Options
}

// variants are what docs/locating.md has figures of.
var variants = []variant{
	{"the first 60 by words", rewards, treesearch.Options{}},
	{"the tree", 0, treesearch.Options{}},
	{"the tree, all children first", 0, treesearch.Options{AllFirst: true}},
	{"the tree, c = .3", 0, treesearch.Options{Exploration: .3}},
	{"the tree, c = .1", 0, treesearch.Options{Exploration: .1}},
	{"the tree, c = .05", 0, treesearch.Options{Exploration: .05}},
	{"the tree, c = .05, 4 at once", 0, treesearch.Options{Exploration: .05, Parallel: 4}},
	{"the tree, c = .05, 12 at once", 0, treesearch.Options{Exploration: .05, Parallel: 12}},
	{"30 by words, then the tree", 30, treesearch.Options{}},
	{"30 by words, then the tree, c = .05", 30, treesearch.Options{Exploration: .05}},
}

// searched is what one way found for one case.
type searched struct {
	result
	asked bool // about a gold function
}

// searchAll measures variants, by noise, variant and case.
func searchAll(all []*loaded, noises []float64) ([][][]searched, error) {
	out := make([][][]searched, len(noises))
	for n := range out {
		out[n] = make([][]searched, len(variants))
		for v := range out[n] {
			out[n][v] = make([]searched, len(all))
		}
	}
	return out, inParallel(len(all), func(i int) error {
		q := locate.Question{Text: all[i].Report}
		f, err := locate.Find(context.Background(), all[i].store, q, locate.Options{Text: all[i].store.Text})
		if err != nil {
			return fmt.Errorf("%s: %w", all[i].ID, err)
		}
		callers, err := callersOfGold(all[i])
		if err != nil {
			return err
		}
		for n, noise := range noises {
			for v := range variants {
				t, err := guided.NewTree(context.Background(), all[i].store, q, f)
				if err == nil {
					out[n][v][i], err = searchOne(all[i], t, &variants[v], callers, noise)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", all[i].ID, err)
				}
			}
		}
		return nil
	})
}

// callersOfGold are the functions that call what the fix changed.
func callersOfGold(c *loaded) (map[int64]bool, error) {
	var ids []int64
	for _, e := range c.store.Edges {
		ids = append(ids, e.Callee)
	}
	decls, err := c.store.Decls(context.Background(), ids)
	out := map[int64]bool{}
	for i, d := range decls {
		if e := c.store.Edges[i]; c.IsGold(d.Path, d.Name) && e.Kind == knowledge.Static {
			out[e.Caller] = true
		}
	}
	return out, err
}

func searchOne(c *loaded, t *guided.Tree, v *variant, callers map[int64]bool, noise float64) (searched, error) {
	n := 0
	worth := func(_ context.Context, leaves []treesearch.Node) (out []float64, _ error) {
		for _, l := range leaves {
			out = append(out, reward(c, t.Decl(l), callers, noise)/10)
			n++
		}
		return out, nil
	}
	all, err := t.Search(context.Background(), worth, guided.Sample{Rewards: rewards, Words: v.words, Tree: v.tree})
	if err != nil {
		return searched{}, err
	}
	if n > rewards {
		return searched{}, fmt.Errorf("%d rewards", n)
	}
	var order []found
	var s searched
	for _, f := range all {
		d := t.Decl(f.Node)
		order = append(order, found{d.Path, d.Name})
		s.asked = s.asked || c.IsGold(d.Path, d.Name)
	}
	s.result = judge(c, order, filesOf(order))
	return s, nil
}

// searching measures what the tree of --how=search adds: is the gold among the best ten, when
// each way asks for the rewards of 60 functions? The halves are every other case.
func searching(w, log io.Writer, all []*loaded, set settings) error {
	all = withFunctions(all)
	if set.calls != "" {
		if err := withCalls(log, all, set); err != nil {
			return err
		}
	}
	noises := []float64{0, 1.5, 2.5}
	found, err := searchAll(all, noises)
	if err != nil {
		return err
	}
	for n, noise := range noises {
		fmt.Fprintf(w, "\nrewards with noise %.1f\n", noise)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "\tasked about\tany@1\tany@5\tany@10\tMRR\tfirst half: any@10\tsecond half\t")
		for v := range variants {
			rs := found[n][v]
			var halves [2][]searched
			for j, r := range rs {
				halves[j%2] = append(halves[j%2], r)
			}
			top := func(n int) func(searched) bool { return func(r searched) bool { return r.Any(n) } }
			fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t\n", variants[v].name,
				retrieval.Share(rs, func(r searched) bool { return r.asked }),
				retrieval.Share(rs, top(1)), retrieval.Share(rs, top(5)), retrieval.Share(rs, top(10)), retrieval.Mean(reciprocalsOf(rs)),
				retrieval.Share(halves[0], top(10)), retrieval.Share(halves[1], top(10)))
		}
		t.Flush()
	}
	return nil
}

func reciprocalsOf(rs []searched) []float64 {
	var out []float64
	for _, r := range rs {
		out = append(out, r.Reciprocal())
	}
	return out
}
