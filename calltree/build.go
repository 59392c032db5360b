package calltree

import (
	"cmp"
	"fmt"
	"slices"

	"tracerag/trace"
)

// Mode is a reading of the paper's call tree.
type Mode int

// The modes.
const (
	Context Mode = iota // a node per calling context
	Graph               // the call graph unfolded into a tree
)

// Options say how a tree is built.
type Options struct {
	Mode Mode

	// KeepInit keeps the roots of package initialisation. Without it they are
	// left out with all that they called. A goroutine that they started is
	// then a root of its own if it made any recorded call, for it may well be
	// the worker that does the program's job; one that made none goes too.
	KeepInit bool

	// MaxNodes bounds the tree in Graph mode; 0 means 100,000.
	MaxNodes int
}

// Build returns the call tree of t.
//
// In Context mode every call of the trace is counted at exactly one node. In
// Graph mode a node shows the calls of its edge of the call graph, caller to
// callee, over all contexts: where the edge is unfolded twice, both nodes show
// that count, and only the sum over distinct edges is the number of calls.
//
// It fails with a [*LimitError] when a Graph tree grows beyond o.MaxNodes, and
// for a trace whose goroutines started each other in a circle.
func Build(t *trace.Trace, o Options) (*Tree, error) {
	tree, of, err := buildContext(t, false)
	if err == nil && o.KeepInit {
		var whole *Tree
		if whole, _, err = buildContext(t, true); err == nil {
			whole.numberLike(tree, of)
			tree = whole
		}
	}
	if err != nil {
		return nil, err
	}
	if o.Mode == Graph {
		return unfold(tree, cmp.Or(o.MaxNodes, defaultMaxNodes))
	}
	return tree, nil
}

// buildContext returns the Context tree, and its node for each of the trace's, nil
// for one that is left out.
func buildContext(t *trace.Trace, keepInit bool) (*Tree, []*Node, error) {
	f := newFolder(t)
	want := f.link(keepInit)
	top := &growing{Node: &Node{}, fn: -1, level: -1, waiting: []trace.NodeID{f.top()}}
	f.enter(top)
	if f.seen != want {
		return nil, nil, fmt.Errorf("%d nodes of the trace hang from goroutines that started each other: the trace is damaged, record it again", want-f.seen)
	}

	observe(t, f.of)
	tree := &Tree{Roots: top.Children, Sampled: t.Sampled}
	byFirst := func(a, b *Node) int { return cmp.Compare(a.first, b.first) }
	slices.SortFunc(tree.Roots, byFirst)
	tree.Walk(func(n *Node, _ int) bool {
		slices.SortFunc(n.Children, byFirst)
		return true
	})
	for _, n := range tree.Roots {
		n.Parent = nil
	}
	tree.number()
	sum := flatten(tree)
	for i, n := range slices.Backward(sum.nodes) {
		n.Total += n.Calls
		if p := sum.parent[i]; p >= 0 {
			sum.nodes[p].Total += n.Total
		}
	}
	return tree, f.of, nil
}

// folder maps the nodes of a trace onto the nodes of its tree.
//
// It walks the tree that it grows, not the trace. A node of the tree has
// waiting those nodes of the trace whose children are to become its own; a
// recursive call hands its children to the ancestor instead, which is on the
// path at that moment and sees to them when the walk is back there. So the
// path is always known, each node of the trace is met once, and the work is
// linear however deep the tree is. A process begins a path of its own: a program that
// runs itself is not one function that calls itself.
type folder struct {
	t        *trace.Trace
	fn       []trace.FuncID // the first function of the same name
	kid, sib []trace.NodeID // first child and next sibling, goroutines below their creator; NoNode ends
	nodes    map[growingKey]*growing
	path     []*growing // by function: its last node on the path from the root
	began    []bool     // by node of the trace: it is not below a node of its own process; nil: there is one process
	of       []*Node    // of the tree, by node of the trace; nil if it is left out
	seen     int        // nodes of the trace that have been mapped
}

// growing is a node of the tree under construction.
type growing struct {
	*Node
	fn      trace.FuncID
	waiting []trace.NodeID

	level, base int            // how far down it is, and the uppermost node of its process
	processes   map[int32]bool // which began here
}

type growingKey struct {
	parent *Node
	fn     trace.FuncID
	root   trace.RootKind
	goFunc string
	main   string // of a process that begins here
}

func newFolder(t *trace.Trace) *folder {
	f := &folder{
		t:     t,
		fn:    make([]trace.FuncID, len(t.Functions)),
		kid:   slices.Repeat([]trace.NodeID{trace.NoNode}, len(t.Nodes)+1),
		sib:   slices.Repeat([]trace.NodeID{trace.NoNode}, len(t.Nodes)),
		nodes: make(map[growingKey]*growing, len(t.Nodes)),
		path:  make([]*growing, len(t.Functions)),
		of:    make([]*Node, len(t.Nodes)),
	}
	if len(t.Processes) > 0 {
		f.began = make([]bool, len(t.Nodes))
	}
	byName := make(map[string]trace.FuncID, len(t.Functions))
	for i := range t.Functions {
		id, ok := byName[t.Functions[i].Name]
		if !ok {
			id = trace.FuncID(i)
			byName[t.Functions[i].Name] = id
		}
		f.fn[i] = id
	}
	return f
}

// top is the id, one beyond the trace's, whose children are the roots.
func (f *folder) top() trace.NodeID { return trace.NodeID(len(f.t.Nodes)) }

// link fills kid and sib, and returns how many nodes of the trace belong to
// the tree.
func (f *folder) link(keepInit bool) int {
	nodes := f.t.Nodes
	out := make([]bool, len(nodes))  // belongs to initialisation
	busy := make([]bool, len(nodes)) // called or started something
	for i := range nodes {
		n := &nodes[i]
		if n.Parent != trace.NoNode {
			out[i] = out[n.Parent]
			busy[n.Parent] = true
		} else {
			out[i] = n.Root == trace.RootInit && !keepInit
		}
		if above := f.t.Above(trace.NodeID(i)); above != trace.NoNode {
			busy[above] = true
		}
	}
	want := 0
	for i := range slices.Backward(nodes) {
		n := &nodes[i]
		above := f.t.Above(trace.NodeID(i))
		if n.Process != 0 {
			caller := f.t.Processes[n.Process-1].Caller.Node()
			if n.Go.Creator != 0 && out[above] {
				above = caller
				out[i] = !busy[i]
			}
			if above != trace.NoNode && out[above] {
				above = trace.NoNode
			}
			f.began[i] = n.Go.Creator == 0 || above != n.Go.Creator.Node()
		} else if above != trace.NoNode && n.Root == trace.RootGoroutine && out[above] {
			above = trace.NoNode
			out[i] = !busy[i]
		}
		if out[i] {
			continue
		}
		want++
		if above == trace.NoNode {
			above = f.top()
		}
		f.sib[i] = f.kid[above]
		f.kid[above] = trace.NodeID(i)
	}
	return want
}

// enter grows the tree below at.
func (f *folder) enter(at *growing) {
	if at.fn >= 0 {
		before := f.path[at.fn] // of another process
		f.path[at.fn] = at
		defer func() { f.path[at.fn] = before }()
	}
	for len(at.waiting) > 0 {
		from := at.waiting
		at.waiting = nil
		var next []*growing
		for _, id := range from {
			for k := f.kid[id]; k != trace.NoNode; k = f.sib[k] {
				child := f.child(at, k)
				to := child
				if above := f.path[child.fn]; above != nil && above.level >= child.base {
					if !child.Flags.Has(trace.Recursive) {
						above.again = append(above.again, child.Node)
					}
					child.Flags |= trace.Recursive
					to = above
				} else if len(child.waiting) == 0 {
					next = append(next, child)
				}
				to.waiting = append(to.waiting, k)
			}
		}
		for _, child := range next {
			f.enter(child)
		}
	}
}

// child counts the trace's node k at the child of at that it belongs to.
func (f *folder) child(at *growing, k trace.NodeID) *growing {
	f.seen++
	n := &f.t.Nodes[k]
	key := growingKey{parent: at.Node, fn: f.fn[n.Func], root: n.Root, goFunc: n.Go.Func}
	began := f.began != nil && f.began[k]
	if began {
		key.main = f.t.Processes[n.Process-1].Main
	}
	g := f.nodes[key]
	if g == nil {
		g = &growing{fn: key.fn, level: at.level + 1, base: at.base, Node: &Node{
			first:  k,
			Func:   &f.t.Functions[key.fn],
			Parent: at.Node,
			Root:   n.Root,
		}}
		if began {
			g.base = g.level
			g.processes = map[int32]bool{}
		}
		f.nodes[key] = g
		at.Children = append(at.Children, g.Node)
	}
	if began && !g.processes[n.Process] {
		g.processes[n.Process] = true
		g.Processes++
	}
	f.of[k] = g.Node
	if k <= g.first {
		g.first = k
		if n.Root == trace.RootGoroutine {
			stmt := n.Go
			g.Go = &stmt
		}
		if began {
			g.Process = &f.t.Processes[n.Process-1]
		}
	}
	line := n.CallLine
	if n.Root == trace.RootGoroutine && at.Func != nil && n.Go.Func == at.Func.Name {
		line = n.Go.Line
	}
	// Whether the call is recursive is for the tree's path to say: with a
	// caller that was folded through a go statement, it may be so no longer.
	g.absorb(n.Calls, 0, n.Flags&^trace.Recursive, line)
	return g
}
