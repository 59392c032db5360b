package trace_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"tracerag/trace"
)

// addFunctions gives the builder main.f0, main.f1, ... with ids from 0.
func addFunctions(b *trace.Builder, n int) {
	for i := range n {
		b.Func(trace.Function{Name: fmt.Sprintf("main.f%d", i), Package: "main", File: "f.go", StartLine: i + 1})
	}
}

// model is the tree as the package describes it, by the shortest way there is:
// it looks at every node and walks up every path.
type model []trace.Node

func (m *model) call(parent trace.NodeID, f trace.Frame, n int64) trace.NodeID {
	on := func(id trace.NodeID, fn trace.FuncID) trace.NodeID {
		for ; id != trace.NoNode; id = (*m)[id].Parent {
			if (*m)[id].Func == fn {
				return id
			}
		}
		return trace.NoNode
	}
	node := trace.Node{Parent: parent, Func: f.Func, CallLine: f.CallLine}
	if parent == trace.NoNode {
		node.Root, node.CallLine, f.Inlined = trace.RootMain, 0, false
	} else if p := (*m)[parent]; p.Flags.Has(trace.Recursive) {
		node.Parent = on(p.Parent, p.Func)
	}
	if f.Inlined {
		node.Flags |= trace.Inlined
	}
	if f.Via {
		node.Flags |= trace.Via
	}
	if on(node.Parent, f.Func) != trace.NoNode {
		node.Flags |= trace.Recursive
	}
	for i := range *m {
		known := (*m)[i]
		known.Calls = 0
		if known == node {
			(*m)[i].Calls += n
			return trace.NodeID(i)
		}
	}
	node.Calls = n
	*m = append(*m, node)
	return trace.NodeID(len(*m) - 1)
}

// Calls reported by the caller's node and calls reported with their stacks give
// the tree of the model, on paths of three functions and on paths of hundreds.
func TestBuilderMakesTheTreeOfTheModel(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		nfuncs, longest := 2+r.IntN(1<<r.IntN(9)), 1+r.IntN(1<<r.IntN(9))
		frame := func() trace.Frame {
			return trace.Frame{Func: trace.FuncID(r.IntN(nfuncs)), CallLine: r.IntN(2), Inlined: r.IntN(4) == 0, Via: r.IntN(4) == 0}
		}
		tr, want := &trace.Trace{}, model{}
		b := trace.NewBuilder(tr)
		addFunctions(b, nfuncs)
		main := trace.Root{Kind: trace.RootMain}
		for range 20 {
			stack := make([]trace.Frame, 1+r.IntN(longest))
			m := trace.NoNode
			for i := range stack {
				stack[i] = frame()
				m = want.call(m, stack[i], 0)
			}
			want[m].Calls += 3
			if got := b.Call(main, stack, 3); got != m {
				t.Fatalf("seed %d: Call gives node %d, want %d", seed, got, m)
			}
			parent, f := trace.NodeID(r.IntN(len(want))), frame()
			m = want.call(parent, f, 2)
			if got := b.Child(parent, f, 2); got != m {
				t.Fatalf("seed %d: Child gives node %d, want %d", seed, got, m)
			}
			f = frame()
			m = want.call(trace.NoNode, f, 1)
			if got := b.Root(main, f, 1); got != m {
				t.Fatalf("seed %d: Root gives node %d, want %d", seed, got, m)
			}
		}
		if !reflect.DeepEqual(tr.Nodes, []trace.Node(want)) {
			t.Fatalf("seed %d: nodes\n%+v\nwant\n%+v", seed, tr.Nodes, want)
		}
		if err := tr.Check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func TestAnEmptyStackRecordsNothing(t *testing.T) {
	tr := &trace.Trace{}
	if id := trace.NewBuilder(tr).Call(trace.Root{Kind: trace.RootMain}, nil, 1); id != trace.NoNode || len(tr.Nodes) > 0 {
		t.Errorf("an empty stack gives node %d of %+v", id, tr.Nodes)
	}
}

// Building and checking take time in proportion to the calls, however deep they
// nest: walking up every path of this chain would take minutes.
func TestADeepChainTakesLinearTime(t *testing.T) {
	const depth = 300_000
	start := time.Now()
	tr := &trace.Trace{Functions: make([]trace.Function, depth+1)}
	b := trace.NewBuilder(tr)
	id := b.Root(trace.Root{Kind: trace.RootMain}, trace.Frame{Func: 0}, 1)
	for f := range trace.FuncID(depth - 1) {
		b.Child(id, trace.Frame{Func: depth}, 1) // called at every depth
		id = b.Child(id, trace.Frame{Func: f + 1}, 1)
	}
	if n := tr.Nodes[b.Child(id, trace.Frame{Func: 0}, 1)]; !n.Flags.Has(trace.Recursive) || n.Parent != id {
		t.Errorf("the innermost function calls the outermost: %+v", n)
	}
	// Every function starts a goroutine, of which the next one is started.
	root := trace.Root{Kind: trace.RootGoroutine}
	for f := range trace.FuncID(depth) {
		root.Go.Line = int(f)
		root.Go.Creator = b.Root(root, trace.Frame{Func: f}, 1).Ref()
	}
	if err := tr.Check(); err != nil {
		t.Error(err)
	}
	// A profile repeats the path for every node. This one does not fit.
	if err := tr.Write(io.Discard); !errors.As(err, new(*trace.SizeError)) {
		t.Errorf("written: %v", err)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("it took %v", d)
	}
}

// BenchmarkBuilder feeds a finished tree of a million edges to a builder, as a
// recorder does that counts calls per edge.
func BenchmarkBuilder(b *testing.B) {
	const edges = 1_000_000
	type edge struct {
		parent int // an edge before this one
		f      trace.Frame
	}
	grow := func(next func(i int) edge) []edge {
		out := make([]edge, edges)
		for i := 1; i < edges; i++ {
			out[i] = next(i)
		}
		return out
	}
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name  string
		funcs int
		edges []edge
	}{
		// What a program does: it calls and returns at random, in first-call order,
		// and goes back to where it was before.
		{"program", 3000, grow(func() func(i int) edge {
			stack := []int{0}
			return func(i int) edge {
				for r.IntN(2) == 0 || len(stack) > 60 {
					stack = stack[:1+r.IntN(len(stack))]
				}
				e := edge{stack[len(stack)-1], trace.Frame{Func: trace.FuncID(r.IntN(3000)), CallLine: r.IntN(500)}}
				stack = append(stack, i)
				return e
			}
		}())},
		// The worst case: parents anywhere in the tree, on paths of hundreds.
		{"scattered", 3000, grow(func(i int) edge {
			return edge{max(0, i-1-r.IntN(1+i/10)), trace.Frame{Func: trace.FuncID(r.IntN(3000)), CallLine: r.IntN(500)}}
		})},
		// One path of half a million functions, each of which calls the same leaf.
		{"chain", edges, grow(func(i int) edge {
			if i%2 == 0 {
				return edge{i - 1, trace.Frame{Func: 0, CallLine: 1}}
			}
			return edge{max(0, i-2), trace.Frame{Func: trace.FuncID(i), CallLine: 2}}
		})},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			ids := make([]trace.NodeID, edges)
			var tr *trace.Trace
			for b.Loop() {
				tr = &trace.Trace{Functions: make([]trace.Function, c.funcs)}
				bl := trace.NewBuilder(tr)
				ids[0] = bl.Root(trace.Root{Kind: trace.RootMain}, trace.Frame{Func: trace.FuncID(c.funcs - 1)}, 1)
				for i, e := range c.edges[1:] {
					ids[i+1] = bl.Child(ids[e.parent], e.f, 1)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*edges), "ns/call")
			b.ReportMetric(float64(len(tr.Nodes)), "nodes")
		})
	}
}

// A recorder that says nothing of a goroutine's creator does not name node 0.
func TestTheZeroGoStmtHasNoCreator(t *testing.T) {
	tr := &trace.Trace{}
	b := trace.NewBuilder(tr)
	addFunctions(b, 2)
	b.Root(trace.Root{Kind: trace.RootMain}, trace.Frame{Func: 0}, 1)
	id := b.Root(trace.Root{Kind: trace.RootGoroutine}, trace.Frame{Func: 1}, 1)
	if c := tr.Nodes[id].Go.Creator.Node(); c != trace.NoNode {
		t.Errorf("created by node %d", c)
	}
	if tr.Nodes[id].Go.Creator = trace.NodeID(0).Ref(); tr.Nodes[id].Go.Creator.Node() != 0 {
		t.Error("node 0 cannot be a creator")
	}
	if err := tr.Check(); err != nil {
		t.Error(err)
	}
}
