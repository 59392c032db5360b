package trace_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"tracerag/trace"
)

// stmt is a go statement of main.fN.
func stmt(n, line int) trace.GoStmt {
	return trace.GoStmt{Func: fmt.Sprintf("main.f%d", n), File: "f.go", Line: line}
}

// roots describes the roots of a trace: function, calls, and the function and
// root that ran the go statement.
func roots(tr *trace.Trace) (out []string) {
	for i, n := range tr.Nodes {
		if n.Parent != trace.NoNode {
			continue
		}
		s := fmt.Sprintf("%s %d", tr.Func(trace.NodeID(i)).Name, n.Calls)
		if c := n.Go.Creator.Node(); c != trace.NoNode {
			s += " by " + tr.Func(c).Name
			for tr.Nodes[c].Parent != trace.NoNode {
				c = tr.Nodes[c].Parent
			}
			s += fmt.Sprintf(" in root %d", c)
		}
		out = append(out, s)
	}
	return out
}

// A recorder that names the creator of every goroutine makes a chain of them,
// as long as the program runs, of goroutines that start each other.
func TestGoroutinesThatStartEachOtherAreFewRoots(t *testing.T) {
	const generations = 10_000
	main := trace.Root{Kind: trace.RootMain}
	for _, c := range []struct {
		name string
		next func(b *trace.Builder, generation int, last trace.NodeID) trace.NodeID // starts a goroutine from the last one
		want []string
	}{
		{"a handler starts the next one", func(b *trace.Builder, i int, last trace.NodeID) trace.NodeID {
			g := stmt(1, 7) // go f1() in f1; the first was started by f0
			if i == 0 {
				g = stmt(0, 3)
			}
			g.Creator = last.Ref()
			return b.Root(trace.Root{Kind: trace.RootGoroutine, Go: g}, trace.Frame{Func: 1}, 1)
		}, []string{"main.f0 1", "main.f1 1 by main.f0 in root 0", "main.f1 9999 by main.f1 in root 1"}},
		{"two in turn, from a function that they call", func(b *trace.Builder, i int, last trace.NodeID) trace.NodeID {
			from, to := 2-(i+1)%2, 1+(i+1)%2
			g := stmt(3, from)
			g.Creator = last.Ref()
			id := b.Root(trace.Root{Kind: trace.RootGoroutine, Go: g}, trace.Frame{Func: trace.FuncID(to)}, 1)
			return b.Child(id, trace.Frame{Func: 3, CallLine: 9}, 1)
		}, []string{"main.f0 1", "main.f2 5000 by main.f0 in root 0", "main.f1 5000 by main.f3 in root 1"}},
		{"by a recursive call", func(b *trace.Builder, i int, last trace.NodeID) trace.NodeID {
			g := stmt(1, 7)
			g.Creator = last.Ref()
			id := b.Root(trace.Root{Kind: trace.RootGoroutine, Go: g}, trace.Frame{Func: 1}, 1)
			id = b.Child(id, trace.Frame{Func: 2}, 1)
			return b.Child(id, trace.Frame{Func: 1}, 1)
		}, []string{"main.f0 1", "main.f1 10000 by main.f0 in root 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := &trace.Trace{}
			b := trace.NewBuilder(tr)
			addFunctions(b, 4)
			last := b.Root(main, trace.Frame{Func: 0}, 1)
			for i := range generations {
				last = c.next(b, i, last)
			}
			b.AttachGoroutines()
			b.Finish()
			if got := roots(tr); !reflect.DeepEqual(got, c.want) {
				t.Errorf("roots %q, want %q", got, c.want)
			}
			file := encode(t, tr)
			if again, err := trace.Read(bytes.NewReader(file)); err != nil || !reflect.DeepEqual(again.Nodes, tr.Nodes) || len(file) > 1000 {
				t.Errorf("a file of %d bytes: %v", len(file), err)
			}
		})
	}
}

// The same program under a recorder that sees statements and no creators: what
// AttachGoroutines makes of it has no circles.
func TestAttachedGoroutinesMakeNoCircle(t *testing.T) {
	build := func(gos ...[2]int) []string { // in f[0]: go f[1]()
		tr := &trace.Trace{}
		b := trace.NewBuilder(tr)
		addFunctions(b, 5)
		b.Root(trace.Root{Kind: trace.RootMain}, trace.Frame{Func: 0}, 1)
		for _, g := range gos {
			b.Root(trace.Root{Kind: trace.RootGoroutine, Go: stmt(g[0], 1)}, trace.Frame{Func: trace.FuncID(g[1])}, 1)
		}
		b.AttachGoroutines()
		if err := b.Finish().Check(); err != nil {
			t.Error(err)
		}
		return roots(tr)
	}
	for _, c := range []struct {
		gos  [][2]int
		want []string
	}{
		{[][2]int{{0, 1}, {1, 2}}, []string{"main.f0 1", "main.f1 1 by main.f0 in root 0", "main.f2 1 by main.f1 in root 1"}},
		// f1 starts f2, f2 starts f1, and who began is not recorded: one of them is left.
		{[][2]int{{2, 1}, {1, 2}}, []string{"main.f0 1", "main.f1 1 by main.f2 in root 2", "main.f2 1"}},
		{[][2]int{{3, 1}, {1, 2}, {2, 3}}, []string{"main.f0 1", "main.f1 1 by main.f3 in root 3", "main.f2 1 by main.f1 in root 1", "main.f3 1"}},
		{[][2]int{{1, 1}}, []string{"main.f0 1", "main.f1 1"}},
		// f1 was started in two ways, so which of its nodes ran a statement is unknown.
		{[][2]int{{0, 1}, {2, 1}, {1, 2}}, []string{"main.f0 1", "main.f1 1 by main.f0 in root 0", "main.f1 1 by main.f2 in root 3", "main.f2 1"}},
	} {
		if got := build(c.gos...); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: roots %q, want %q", c.gos, got, c.want)
		}
	}
	for seed := range uint64(300) { // whatever the statements, Check finds no circle
		r := rand.New(rand.NewPCG(seed, 3))
		gos := make([][2]int, r.IntN(8))
		for i := range gos {
			gos[i] = [2]int{r.IntN(5), r.IntN(5)}
		}
		build(gos...)
	}
}
