package calltree_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tracerag/calltree"
	"tracerag/trace"
)

// randomTrace records calls of a few functions on random stacks, so that
// recursion, repeats and shared callees are common, in goroutines that start
// each other.
func randomTrace(r *rand.Rand, calls, functions int) *trace.Trace {
	tr := &trace.Trace{}
	b := trace.NewBuilder(tr)
	name := func() string { return fmt.Sprintf("p%d.F%d", r.IntN(3), r.IntN(functions)) }
	root := trace.Root{Kind: trace.RootMain}
	var stack []trace.Frame
	for range calls {
		if stack == nil || r.IntN(10) == 0 {
			kinds := []trace.RootKind{trace.RootMain, trace.RootInit, trace.RootGoroutine, trace.RootGoroutine, trace.RootCallback}
			root = trace.Root{Kind: kinds[r.IntN(len(kinds))]}
			if n := len(tr.Nodes); root.Kind == trace.RootGoroutine && n > 0 && r.IntN(4) > 0 {
				line, creator := r.IntN(3), trace.NodeID(r.IntN(n))
				root.Go = trace.GoStmt{Func: tr.Func(creator).Name, File: "go.go", Line: line, Creator: creator.Ref()}
			}
			stack = nil
		} else {
			stack = stack[:1+r.IntN(len(stack))]
		}
		stack = append(stack, trace.Frame{
			Func:     b.Func(trace.Function{Name: name(), File: "f.go", StartLine: 1}),
			CallLine: r.IntN(4),
			Inlined:  r.IntN(8) == 0,
			Via:      r.IntN(8) == 0,
		})
		b.Call(root, stack, int64(r.IntN(3)))
	}
	return tr
}

// randomGroup is a random trace with processes, some of which have none or are of the
// program itself, joined.
func randomGroup(t *testing.T, r *rand.Rand) *trace.Trace {
	tr := randomTrace(r, 1+r.IntN(30), 1+r.IntN(12))
	tr.Program.MainPath = "example.com/p0"
	of := []*trace.Trace{tr}
	for i := range 1 + r.IntN(5) {
		p := trace.Process{Parent: r.IntN(i + 1), Program: fmt.Sprint("/bin/p", r.IntN(3))}
		var part *trace.Trace
		if r.IntN(5) > 0 {
			part = randomTrace(r, 1+r.IntN(20), 1+r.IntN(12))
			part.Program.MainPath = "example.com" + p.Program[len("/bin"):]
			p.Trace = fmt.Sprintf("%08x", i)
		}
		in := p.Parent
		for of[in] == nil {
			in = tr.Processes[in-1].Parent
		}
		p.Before = r.IntN(len(of[in].Nodes) + 1)
		p.Caller = trace.NodeRef(r.IntN(p.Before + 1))
		tr.Processes = append(tr.Processes, p)
		of = append(of, part)
	}
	joined, err := tr.Join(of[1:])
	if err != nil {
		t.Fatal(err)
	}
	return joined
}

// each runs f on pairs of traces from fixed seeds, then of joined ones.
func each(t *testing.T, f func(t *testing.T, a, b *trace.Trace)) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		var a, b *trace.Trace
		if seed < 100 {
			a = randomTrace(r, 1+r.IntN(60), 1+r.IntN(12))
			b = randomTrace(r, 1+r.IntN(60), 1+r.IntN(12))
		} else {
			a, b = randomGroup(t, r), randomGroup(t, r)
		}
		if err := a.Check(); err != nil {
			t.Fatalf("seed %d: the input is no trace: %v", seed, err)
		}
		f(t, a, b)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

var modes = map[string]calltree.Options{
	"context": {KeepInit: true},
	"graph":   {KeepInit: true, Mode: calltree.Graph},
}

// build skips the traces whose graph is too bushy.
func build(t *testing.T, tr *trace.Trace, o calltree.Options) *calltree.Tree {
	t.Helper()
	o.MaxNodes = 1000
	tree, err := calltree.Build(tr, o)
	if _, over := err.(*calltree.LimitError); over {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func text(t *testing.T, tree *calltree.Tree) string {
	t.Helper()
	var b bytes.Buffer
	if err := tree.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func all(tree *calltree.Tree) (nodes []*calltree.Node) {
	tree.Walk(func(n *calltree.Node, _ int) bool {
		nodes = append(nodes, n)
		return true
	})
	return nodes
}

// edge is a call of one function by another, in whatever context.
type edge struct {
	caller, callee string
	root           trace.RootKind
	main           string // of a process
}

func edgeOf(n *calltree.Node) edge {
	e := edge{callee: n.Func.Name, root: n.Root}
	if n.Process != nil {
		e.main = n.Process.Main
	}
	if n.Parent != nil {
		e.caller = n.Parent.Func.Name
	}
	return e
}

// edges counts the calls of each edge straight from the trace.
func edges(tr *trace.Trace) map[edge]int64 {
	m := map[edge]int64{}
	for i := range tr.Nodes {
		n := &tr.Nodes[i]
		e := edge{callee: tr.Func(trace.NodeID(i)).Name, root: n.Root}
		above := n.Parent
		switch {
		case n.Go.Creator != 0:
			above = n.Go.Creator.Node()
		case n.Process != 0:
			above = tr.Processes[n.Process-1].Caller.Node()
			e.main = tr.Processes[n.Process-1].Main
		}
		if above != trace.NoNode {
			e.caller = tr.Func(above).Name
		}
		m[e] += n.Calls
	}
	return m
}

// check verifies what holds in every tree.
func check(t *testing.T, tree *calltree.Tree, mode calltree.Mode) {
	t.Helper()
	nodes := all(tree)
	if len(nodes) != tree.Size {
		t.Errorf("size %d of %d nodes", tree.Size, len(nodes))
	}
	ids := map[int]bool{}
	for _, n := range nodes {
		if n.ID < 1 || ids[n.ID] {
			t.Errorf("#%d is the handle of two nodes, or of none", n.ID)
		}
		ids[n.ID] = true
		on := false
		if n.Parent != nil {
			// A process begins a path of its own; the graph knows functions, not processes.
			for p := n; p.Parent != nil && (p.Process == nil || mode == calltree.Graph); p = p.Parent {
				on = on || p.Parent.Func.Name == n.Func.Name
			}
			if !slices.Contains(n.Parent.Children, n) {
				t.Errorf("#%d is no child of its parent", n.ID)
			}
		} else if !slices.Contains(tree.Roots, n) {
			t.Errorf("#%d has no parent and is no root", n.ID)
		}
		if on != n.Flags.Has(trace.Recursive) {
			t.Errorf("#%d: recursive is %v, on the path above is %v", n.ID, !on, on)
		}
		if on && len(n.Children) > 0 {
			t.Errorf("#%d: a recursive call was entered", n.ID)
		}
		if !slices.IsSorted(n.Lines) || slices.Contains(n.Lines, 0) {
			t.Errorf("#%d: lines %v", n.ID, n.Lines)
		}
		siblings := map[edge]string{}
		for _, c := range n.Children {
			goFunc := ""
			if c.Go != nil {
				goFunc = "in " + c.Go.Func
			}
			if siblings[edgeOf(c)] == goFunc && goFunc != "" || c.Go == nil && siblings[edgeOf(c)] != "" {
				t.Errorf("#%d has the child %s twice", n.ID, c.Func.Name)
			}
			siblings[edgeOf(c)] = "in " + goFunc
		}
	}
}

func TestBuildKeepsEveryCall(t *testing.T) {
	each(t, func(t *testing.T, tr, _ *trace.Trace) {
		want := edges(tr)
		for mode, o := range modes {
			tree := build(t, tr, o)
			if tree == nil {
				continue
			}
			check(t, tree, o.Mode)
			got := map[edge]int64{}
			for _, n := range all(tree) {
				if o.Mode == calltree.Context {
					got[edgeOf(n)] += n.Calls
					sum := n.Calls
					for _, c := range n.Children {
						sum += c.Total
					}
					if n.Total != sum {
						t.Errorf("#%d: total %d, want %d", n.ID, n.Total, sum)
					}
				} else if before, ok := got[edgeOf(n)]; ok && before != n.Calls {
					t.Errorf("%v is unfolded with %d calls and with %d", edgeOf(n), before, n.Calls)
				} else {
					got[edgeOf(n)] = n.Calls
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s: calls by edge\n got %v\nwant %v", mode, got, want)
			}
		}
	})
}

// pruneBySweeps is the paper's rule as it is written: remove the leaves that
// are in the baseline, again and again.
func pruneBySweeps(tree, baseline *calltree.Tree) {
	known := map[edge]bool{}
	for _, n := range all(baseline) {
		known[edgeOf(n)] = true
	}
	for again := true; again; {
		again = false
		goes := func(n *calltree.Node) bool {
			gone := len(n.Children) == 0 && known[edgeOf(n)]
			again = again || gone
			return gone
		}
		for _, n := range all(tree) {
			n.Children = slices.DeleteFunc(n.Children, goes)
		}
		tree.Roots = slices.DeleteFunc(tree.Roots, goes)
	}
	tree.Size = len(all(tree))
}

// TestHandles: a handle names one node in every tree of a trace. In the default tree
// it is the position; where another tree has the same path, it has the same handle.
func TestHandles(t *testing.T) {
	path := func(n *calltree.Node) string {
		var s []string
		for p := range n.Up() {
			goFunc := ""
			if p.Go != nil {
				goFunc = p.Go.Func
			}
			s = append(s, fmt.Sprint(edgeOf(p), goFunc))
		}
		return strings.Join(s, " < ")
	}
	same := 0
	each(t, func(t *testing.T, tr, other *trace.Trace) {
		base := build(t, tr, calltree.Options{})
		handle := map[string]int{}
		for i, n := range all(base) {
			if n.ID != i+1 {
				t.Errorf("#%d is the node number %d", n.ID, i+1)
			}
			handle[path(n)] = n.ID
		}
		trees := map[string]*calltree.Tree{
			"init":  build(t, tr, calltree.Options{KeepInit: true}),
			"graph": build(t, tr, calltree.Options{Mode: calltree.Graph}),
			"both":  build(t, tr, calltree.Options{Mode: calltree.Graph, KeepInit: true}),
		}
		pruned := build(t, tr, calltree.Options{})
		pruned.Prune(build(t, other, calltree.Options{}))
		trees["pruned"] = pruned
		if focused, err := base.Focus("*.F1"); err == nil {
			trees["focused"] = focused
		}
		for name, tree := range trees {
			if tree == nil {
				continue
			}
			for _, n := range all(tree) {
				want, ok := handle[path(n)]
				switch {
				case ok && n.ID != want:
					t.Errorf("%s: %s is #%d, elsewhere #%d", name, path(n), n.ID, want)
				case ok:
					same++
				case n.ID <= base.Size && name != "init" && name != "both":
					t.Errorf("%s: #%d is another node than the default tree's", name, n.ID)
				}
			}
		}
	})
	if same < 1000 {
		t.Errorf("only %d nodes were compared", same)
	}
}

func TestPrune(t *testing.T) {
	each(t, func(t *testing.T, a, b *trace.Trace) {
		for _, o := range modes {
			tree, want, baseline := build(t, a, o), build(t, a, o), build(t, b, o)
			if tree == nil || baseline == nil {
				continue
			}
			size, before := tree.Size, text(t, baseline)
			removed := tree.Prune(baseline)
			check(t, tree, o.Mode)
			if removed != size-tree.Size {
				t.Errorf("removed %d of %d, %d are left", removed, size, tree.Size)
			}
			pruneBySweeps(want, baseline)
			if got, want := text(t, tree), text(t, want); got != want {
				t.Errorf("pruned to\n%s\nwant\n%s", got, want)
			}
			if text(t, baseline) != before {
				t.Error("the baseline was changed")
			}
			if again := tree.Prune(baseline); again != 0 {
				t.Errorf("pruning again removed %d", again)
			}
			if tree = build(t, a, o); tree.Prune(build(t, a, o)) != size || tree.Size != 0 || tree.Roots != nil {
				t.Errorf("pruned by itself, %d of %d nodes stay", tree.Size, size)
			}
		}
	})
}

func TestMerge(t *testing.T) {
	each(t, func(t *testing.T, x, y *trace.Trace) {
		a, b := build(t, x, modes["context"]), build(t, y, modes["context"])
		textA, textB := text(t, a), text(t, b)
		if got := text(t, calltree.Merge(a)); got != textA {
			t.Errorf("one tree merged is\n%s\nwant\n%s", got, textA)
		}
		twice := calltree.Merge(a, a)
		if twice.Size != a.Size {
			t.Errorf("size %d of a tree of %d with itself", twice.Size, a.Size)
		}
		for i, n := range all(twice) {
			if one := all(a)[i]; n.Calls != 2*one.Calls || n.Total != 2*one.Total || n.Func.Name != one.Func.Name {
				t.Errorf("#%d has %d calls, alone %d", n.ID, n.Calls, one.Calls)
			}
		}
		both := calltree.Merge(a, b)
		check(t, both, calltree.Context)
		want := edges(x)
		for e, calls := range edges(y) {
			want[e] += calls
		}
		got := map[edge]int64{}
		for _, n := range all(both) {
			got[edgeOf(n)] += n.Calls
		}
		if !maps.Equal(got, want) {
			t.Errorf("calls by edge\n got %v\nwant %v", got, want)
		}
		for _, tree := range []*calltree.Tree{a, b} {
			if d := calltree.Compare(tree, both); d.Removed+d.Moved > 0 {
				t.Errorf("a merged tree lacks something of its parts: %v", d)
			}
		}
		if text(t, a) != textA || text(t, b) != textB {
			t.Error("a part was changed")
		}
	})
	if m := calltree.Merge(); m.Size != 0 || len(m.Roots) != 0 {
		t.Errorf("nothing merged is %v", m)
	}
}

func TestFocus(t *testing.T) {
	each(t, func(t *testing.T, tr, _ *trace.Trace) {
		tree := build(t, tr, modes["context"])
		if tree.Size > 40 {
			return // the check is cubic
		}
		before := text(t, tree)
		nodes := all(tree)
		byID := map[int]*calltree.Node{}
		for _, n := range nodes {
			byID[n.ID] = n
		}
		for _, n := range nodes {
			for _, pattern := range []string{n.Func.Name, "#" + strconv.Itoa(n.ID)} {
				focused, err := tree.Focus(pattern)
				if err != nil {
					t.Fatal(err)
				}
				check(t, focused, calltree.Context)
				matches := func(n *calltree.Node) bool { return n.Func.Name == pattern || "#"+strconv.Itoa(n.ID) == pattern }
				found := map[int]bool{}
				for _, f := range all(focused) {
					found[f.ID] = true
					of := byID[f.ID]
					if f == of || f.Func != of.Func || f.Calls != of.Calls || f.Parent != nil && f.Parent.ID != of.Parent.ID {
						t.Errorf("focus on %s: #%d is not a copy of the tree's", pattern, f.ID)
					}
				}
				for _, n := range nodes {
					want := slices.ContainsFunc(slices.Collect(n.Up()), matches)
					if !want { // on the way to one
						for _, m := range nodes {
							want = want || matches(m) && slices.Contains(slices.Collect(m.Up()), n)
						}
					}
					if found[n.ID] != want {
						t.Errorf("focus on %s: #%d is there: %v", pattern, n.ID, !want)
					}
				}
			}
		}
		if text(t, tree) != before {
			t.Error("the tree was changed")
		}
	})
}

var moreNodes = regexp.MustCompile(`\[(\d+) more nodes?: tree --focus=(#\S+)\]`)

// TestCutsShowWhatTheySay follows every cut's command: together with the nodes
// that are shown, what the commands show is the whole tree.
func TestCutsShowWhatTheySay(t *testing.T) {
	each(t, func(t *testing.T, tr, _ *trace.Trace) {
		tree := build(t, tr, modes["context"])
		for i := 0; 1+i/2*(1+tree.Size/4) <= tree.Size; i++ {
			limit, marks := 1+i/2*(1+tree.Size/4), i%2 == 1 // marks of the view's own, or those of the command line
			view := calltree.View{MaxNodes: limit, IDs: true, Command: "tree"}
			if marks {
				view.Cut = func(n int, focus string) string { return fmt.Sprintf("[%d more nodes: tree --focus=%s]", n, focus) }
			}
			var b bytes.Buffer
			if err := tree.WriteText(&b, view); err != nil {
				t.Fatal(err)
			}
			seen := map[int]bool{}
			for line := range strings.Lines(b.String()) {
				if m := moreNodes.FindStringSubmatch(line); m != nil {
					hidden, err := tree.Focus(m[2])
					if err != nil {
						t.Fatal(err)
					}
					fresh := 0
					for _, n := range all(hidden) {
						if !seen[n.ID] {
							fresh++
							seen[n.ID] = true
						}
					}
					if strconv.Itoa(fresh) != m[1] {
						t.Errorf("limit %d: %s shows %d nodes that were hidden", limit, strings.TrimSpace(line), fresh)
					}
					continue
				}
				var id int
				if _, err := fmt.Sscanf(strings.TrimSpace(line), "#%d ", &id); err != nil {
					t.Fatalf("no handle in %q", line)
				}
				seen[id] = true
			}
			if len(seen) != tree.Size {
				t.Errorf("limit %d: %d of %d nodes are shown or hidden by a cut", limit, len(seen), tree.Size)
			}
			shown := strings.Count(b.String(), "\n") - strings.Count(b.String(), " more node")
			if marks && (shown < limit || strings.Contains(b.String(), "[1 more")) || !marks && shown != limit {
				t.Errorf("limit %d: %d nodes are shown:\n%s", limit, shown, &b)
			}
		}
	})
}

func TestJSONHoldsTheTree(t *testing.T) {
	type node struct {
		ID       int
		Func     string
		Calls    int64
		Children []node
	}
	each(t, func(t *testing.T, tr, _ *trace.Trace) {
		tree := build(t, tr, modes["context"])
		var got struct {
			Schema string
			Nodes  int
			Roots  []node
		}
		if err := json.Unmarshal([]byte(text(t, tree)), &got); err != nil {
			t.Fatal(err)
		}
		if got.Schema != "tracerag.tree/1" || got.Nodes != tree.Size {
			t.Errorf("schema %q, %d nodes of %d", got.Schema, got.Nodes, tree.Size)
		}
		var same func(got []node, want []*calltree.Node)
		same = func(got []node, want []*calltree.Node) {
			if len(got) != len(want) {
				t.Errorf("%d nodes of %d", len(got), len(want))
				return
			}
			for i, n := range want {
				if g := got[i]; g.ID != n.ID || g.Func != n.Func.Name || g.Calls != n.Calls {
					t.Errorf("%v, want %v", g, n)
				}
				same(got[i].Children, n.Children)
			}
		}
		same(got.Roots, tree.Roots)
	})
}

// TestIndents: however deep a tree is, no line of its compact text has more than 40
// columns before the name, and the text keeps to a proportion of the plain one.
func TestIndents(t *testing.T) {
	tr := &trace.Trace{}
	b := trace.NewBuilder(tr)
	stack := []trace.Frame{{Func: b.Func(trace.Function{Name: "main.main", Package: "main", File: "/src/main.go", StartLine: 1})}}
	for i := range 400 {
		f := b.Func(trace.Function{Name: fmt.Sprintf("example.com/app/pkg%d.(*Type%d).Method%d", i%7, i%31, i), Package: "example.com/app", File: "/src/app/app.go", StartLine: i + 1})
		stack = append(stack, trace.Frame{Func: f})
		b.Call(trace.Root{Kind: trace.RootMain}, stack, int64(1+i%3))
		for range i % 5 {
			leaf := b.Func(trace.Function{Name: fmt.Sprintf("example.com/lib.helper%d", i%13), Package: "example.com/lib", File: "/src/lib/lib.go", StartLine: 1 + i%13})
			b.Call(trace.Root{Kind: trace.RootMain}, append(slices.Clip(stack), trace.Frame{Func: leaf}), 1)
		}
	}
	tree, err := calltree.Build(b.Finish(), calltree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(tree *calltree.Tree, compact bool) string {
		var out bytes.Buffer
		v := calltree.View{Counts: true, Positions: true, Compact: compact, Dependency: func(f *trace.Function) bool { return f.Package == "example.com/lib" }}
		if err := tree.WriteText(&out, v); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for _, pattern := range []string{"Method0", "Method60", "Method330", "Method399"} {
		focused, err := tree.Focus(pattern)
		if err != nil {
			t.Fatal(err)
		}
		got, plain := write(focused, true), write(focused, false)
		for line := range strings.Lines(got) {
			if at := strings.IndexFunc(line, func(r rune) bool { return r >= 'a' && r <= 'z' }); at > 40 {
				t.Errorf("%s: %d columns before the name: %q", pattern, at, line)
			}
		}
		if 3*len(got) > len(plain) {
			t.Errorf("%s: %d bytes, and of the whole way and every indent %d", pattern, len(got), len(plain))
		}
	}
}
