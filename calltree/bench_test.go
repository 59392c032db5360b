package calltree_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"tracerag/calltree"
	"tracerag/trace"
)

// wideTrace is a trace of n nodes without recursion: at each of 40 levels its
// own 50 functions, so that paths share callees but never repeat one.
func wideTrace(n int, seed uint64) *trace.Trace {
	const levels, perLevel = 40, 50
	r := rand.New(rand.NewPCG(seed, 1))
	tr := &trace.Trace{}
	for i := range levels * perLevel {
		tr.Functions = append(tr.Functions, trace.Function{
			Name: fmt.Sprintf("example.com/app/p%d.(*T).F%d", i/perLevel, i%perLevel), File: "/src/f.go", StartLine: i + 1,
		})
	}
	level := make([]int, n)
	for i := range n {
		node := trace.Node{Parent: trace.NoNode, Root: trace.RootMain, Calls: 1}
		if i > 0 {
			p := r.IntN(i)
			for level[p] == levels-1 {
				p = r.IntN(i)
			}
			node.Parent, node.Root, node.CallLine = trace.NodeID(p), trace.NotRoot, r.IntN(100)
			level[i] = level[p] + 1
		}
		node.Func = trace.FuncID(level[i]*perLevel + r.IntN(perLevel))
		tr.Nodes = append(tr.Nodes, node)
	}
	return tr
}

// deepTrace is one path of n functions.
func deepTrace(n int) *trace.Trace {
	tr := &trace.Trace{}
	for i := range n {
		tr.Functions = append(tr.Functions, trace.Function{Name: fmt.Sprintf("p.F%d", i)})
		tr.Nodes = append(tr.Nodes, trace.Node{Parent: trace.NodeID(i) - 1, Func: trace.FuncID(i), Calls: 1})
	}
	tr.Nodes[0].Root = trace.RootMain
	return tr
}

// TestDeepTree runs everything on a path of 10,000 functions. What is
// quadratic in the depth shows here: a hundred million steps.
func TestDeepTree(t *testing.T) {
	const n = 10_000
	for _, o := range []calltree.Options{{}, {Mode: calltree.Graph}} {
		tree, err := calltree.Build(deepTrace(n), o)
		if err != nil {
			t.Fatal(err)
		}
		longer, err := calltree.Build(deepTrace(n), o)
		if err != nil {
			t.Fatal(err)
		}
		d := calltree.Compare(tree, longer)
		if !d.Equal() || tree.Size != n {
			t.Errorf("%d nodes: %v", tree.Size, d)
		}
		for name, write := range map[string]func() error{
			"text":      func() error { return tree.WriteText(io.Discard, calltree.View{}) },
			"json":      func() error { return tree.WriteJSON(io.Discard) },
			"dot":       func() error { return tree.WriteDOT(io.Discard, calltree.View{MaxNodes: -1}) },
			"diff":      func() error { return d.WriteText(io.Discard, calltree.View{}) },
			"diff json": func() error { return d.WriteJSON(io.Discard) },
		} {
			if err := write(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if focused, err := tree.Focus("F9999"); err != nil || focused.Size != n {
			t.Errorf("focus on the last: %v", err)
		}
		if removed := calltree.Merge(tree, longer).Prune(longer); removed != n {
			t.Errorf("removed %d", removed)
		}
	}
}

func benchTree(b *testing.B, seed uint64) *calltree.Tree {
	tree, err := calltree.Build(wideTrace(50_000, seed), calltree.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return tree
}

func BenchmarkBuild(b *testing.B) {
	tr := wideTrace(50_000, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := calltree.Build(tr, calltree.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBuildGraph unfolds into the default limit of nodes.
func BenchmarkBuildGraph(b *testing.B) {
	tr := wideTrace(50_000, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := calltree.Build(tr, calltree.Options{Mode: calltree.Graph}); err == nil {
			b.Fatal("the graph is smaller than it was meant to be")
		}
	}
}

func BenchmarkPrune(b *testing.B) {
	tree, baseline := benchTree(b, 1), benchTree(b, 2)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		victim := calltree.Merge(tree)
		b.StartTimer()
		victim.Prune(baseline)
	}
}

func BenchmarkMerge(b *testing.B) {
	x, y := benchTree(b, 1), benchTree(b, 2)
	b.ReportAllocs()
	for b.Loop() {
		calltree.Merge(x, y)
	}
}

func BenchmarkCompare(b *testing.B) {
	x, y := benchTree(b, 1), benchTree(b, 2)
	b.ReportAllocs()
	for b.Loop() {
		calltree.Compare(x, y)
	}
}

func BenchmarkText(b *testing.B) {
	tree := benchTree(b, 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := tree.WriteText(io.Discard, calltree.View{Counts: true, Positions: true}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTextBudget(b *testing.B) {
	tree := benchTree(b, 1)
	for b.Loop() {
		if err := tree.WriteText(io.Discard, calltree.View{MaxNodes: 200}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJSON(b *testing.B) {
	tree := benchTree(b, 1)
	for b.Loop() {
		if err := tree.WriteJSON(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
