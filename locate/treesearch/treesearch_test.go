package treesearch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// graph is a tree of given children; a leaf's reward is its worth.
type graph struct {
	children, references map[Node][]Node
	worth                map[Node]float64
	asked                []Node
}

func (g *graph) Children(n Node) []Node   { return g.children[n] }
func (g *graph) References(n Node) []Node { return g.references[n] }

func (g *graph) reward(_ context.Context, leaves []Node) (out []float64, _ error) {
	for _, n := range leaves {
		g.asked = append(g.asked, n)
		out = append(out, g.worth[n])
	}
	return out, nil
}

// packages is a tree of packages with files with functions: 1, 11, 111 and so on.
func packages(n int) *graph {
	g := &graph{children: map[Node][]Node{}, references: map[Node][]Node{}, worth: map[Node]float64{}}
	var add func(parent Node, level int)
	add = func(parent Node, level int) {
		for i := range n {
			child := parent*100 + Node(i) + 1
			g.children[parent] = append(g.children[parent], child)
			if level < 3 {
				add(child, level+1)
			}
		}
	}
	add(0, 1)
	return g
}

func nodes(list []Found) (out []Node) {
	for _, f := range list {
		out = append(out, f.Node)
	}
	return out
}

// TestSearchFollowsRewards has 1,000 functions, of which those of one file in the last
// package are worth something: the order that the graph gives them leads elsewhere, and the
// first 80 in that order have none of them.
func TestSearchFollowsRewards(t *testing.T) {
	g := packages(10)
	for n := range Node(10) {
		g.worth[10_10_00+n+1] = .9
		for m := range Node(9) {
			g.worth[10_00_00+(m+1)*100+n+1] = .4 // the package says something of it
		}
	}
	for parallel, least := range map[int]int{1: 6, 4: 4} {
		g.asked = nil
		r, err := Search(t.Context(), g, 0, g.reward, Options{Rewards: 80, Parallel: parallel})
		if err != nil || r.Ended != Spent || len(g.asked) != 80 {
			t.Fatalf("%v, ended %d after %d rewards", err, r.Ended, len(g.asked))
		}
		if len(r.Kept) < least {
			t.Errorf("%d at once: of 10 functions %d were found, of %d asked about", parallel, len(r.Kept), len(g.asked))
		}
		if way := r.Kept[0].Way; !slices.Equal(way, []Node{10, 10_10}) {
			t.Errorf("the way to %d is %v", r.Kept[0].Node, way)
		}
	}
}

// TestReferencesAreFollowed has a good function that calls one in a package which nothing
// else speaks for.
func TestReferencesAreFollowed(t *testing.T) {
	g := packages(10)
	g.worth[1_01_01] = .8
	g.references[1_01_01] = []Node{9_09_09, 1_01_01}
	g.worth[9_09_09] = 1
	g.references[9_09_09] = []Node{1_01_01} // a circle
	r, err := Search(t.Context(), g, 0, g.reward, Options{Rewards: 40})
	if err != nil || !slices.Equal(nodes(r.Kept), []Node{9_09_09, 1_01_01}) {
		t.Errorf("found %v (%v)", r.Kept, err)
	}
	if way := r.Kept[0].Way; !slices.Equal(way, []Node{1, 1_01, 1_01_01}) {
		t.Errorf("the way to it is %v", way)
	}
}

// TestEveryLeafIsAskedAboutOnce tries random graphs, with leaves below several nodes.
func TestEveryLeafIsAskedAboutOnce(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := &graph{children: map[Node][]Node{}, references: map[Node][]Node{}, worth: map[Node]float64{}}
		size := 2 + r.IntN(60)
		reached := map[Node]bool{}
		for n := 1; n < size; n++ {
			for range 1 + r.IntN(2) {
				if parent := Node(r.IntN(n)); !slices.Contains(g.children[parent], Node(n)) {
					g.children[parent] = append(g.children[parent], Node(n))
				}
			}
			g.worth[Node(n)] = r.Float64()*1.4 - .2
		}
		for n := range Node(size) {
			if len(g.children[n]) == 0 {
				reached[n] = true
			}
		}
		for n := range reached {
			for m := range reached {
				if r.IntN(10) == 0 {
					g.references[n] = append(g.references[n], m)
				}
			}
			slices.Sort(g.references[n])
		}
		o := Options{Rewards: 1 + r.IntN(80), Parallel: 1 + r.IntN(5), Keep: .5}
		got, err := Search(t.Context(), g, 0, g.reward, o)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[Node]bool{}
		for _, n := range g.asked {
			if seen[n] || !reached[n] {
				t.Fatalf("seed %d: %d was asked about twice, or is no leaf: %v", seed, n, g.asked)
			}
			seen[n] = true
		}
		if len(g.asked) > o.Rewards || got.Ended == Exhausted && len(seen) != len(reached) || got.Ended == Spent && len(seen) != o.Rewards {
			t.Fatalf("seed %d: ended %d after %d of %d rewards, of %d leaves", seed, got.Ended, len(seen), o.Rewards, len(reached))
		}
		asked := slices.Clone(g.asked)
		g.asked = nil
		if _, err := Search(t.Context(), g, 0, g.reward, o); err != nil || !slices.Equal(asked, g.asked) {
			t.Fatalf("seed %d: another order the second time", seed)
		}
	}
}

// TestSearchEnds by an error and by the context, with what was found until then.
func TestSearchEnds(t *testing.T) {
	g := packages(10)
	g.worth[1_01_01] = 1
	broke := errors.New("no model")
	n := 0
	r, err := Search(t.Context(), g, 0, func(ctx context.Context, leaves []Node) ([]float64, error) {
		if n++; n == 5 {
			return []float64{.7}, broke
		}
		return g.reward(ctx, leaves)
	}, Options{Parallel: 2})
	if err != broke || len(r.All) != 9 || len(r.Kept) != 2 {
		t.Errorf("%v, %d asked about, kept %v", err, len(r.All), r.Kept)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err = Search(ctx, g, 0, func(ctx context.Context, leaves []Node) ([]float64, error) {
		cancel()
		return nil, ctx.Err()
	}, Options{})
	if err != nil || r.Ended != Stopped || len(r.All) != 0 {
		t.Errorf("%v, ended %d with %v", err, r.Ended, r.All)
	}
}

func ExampleSearch() {
	g := packages(3)
	g.worth[2_03_01] = .9
	r, _ := Search(context.Background(), g, 0, g.reward, Options{Rewards: 20})
	fmt.Println(r.Kept)
	// Output: [{20301 0.9 [2 203]}]
}
