package trace

import "slices"

// Frame is one function on a recorded stack.
type Frame struct {
	Func     FuncID
	CallLine int // line of the call within the caller's frame; 0 unknown
	Inlined  bool
	Via      bool // unrecorded functions are between the caller's frame and this one
}

// Root says in what kind of root, and for a goroutine by which go statement,
// a stack is.
type Root struct {
	Kind RootKind
	Go   GoStmt // zero but for RootGoroutine
}

// Builder makes the calling context tree of a trace from the calls that a
// recorder reports, either each with its whole stack ([Builder.Call]) or each
// with the node of its caller ([Builder.Root], [Builder.Child]); the two may be
// mixed. It merges calls of one function from one line of one context, folds
// recursion onto the ancestor and numbers nodes in the order in which it first
// hears of them, which has to be the order of the first calls. It is not safe
// for concurrent use.
type Builder struct {
	t        *Trace
	funcs    map[Function]FuncID
	children map[childKey]NodeID
	roots    map[rootKey]NodeID
	paths    paths
	lineages lineages
}

// childKey is what makes two calls the same node. Whether it is recursive
// follows from the parent and the function.
type childKey struct {
	parent       NodeID
	fn           FuncID
	line         int
	inlined, via bool
}

type rootKey struct {
	root Root
	fn   FuncID
	via  bool
}

// NewBuilder returns a builder that fills t. It panics when t has nodes
// already: it could not merge calls into them.
func NewBuilder(t *Trace) *Builder {
	if len(t.Nodes) > 0 {
		panic("trace: NewBuilder of a trace that has nodes already")
	}
	return &Builder{t: t, funcs: map[Function]FuncID{}, children: map[childKey]NodeID{}, roots: map[rootKey]NodeID{},
		lineages: lineages{member: map[NodeID]NodeID{}, origins: map[rootKey]FuncID{}}}
}

// Grow makes room for about so many more nodes.
func (b *Builder) Grow(n int) {
	b.t.Nodes = slices.Grow(b.t.Nodes, n)
	b.paths.nodes = slices.Grow(b.paths.nodes, n)
}

// Func returns the id of f, which it adds when it is new.
func (b *Builder) Func(f Function) FuncID {
	id, ok := b.funcs[f]
	if !ok {
		id = FuncID(len(b.t.Functions))
		b.t.Functions = append(b.t.Functions, f)
		b.funcs[f] = id
	}
	return id
}

// Call records n calls of the last frame of stack (outermost frame first), and
// returns its node. Frames above it that were never recorded as called become
// nodes of no calls: they were seen on a stack, their entry was not. An empty
// stack calls nothing: it records nothing and gives NoNode.
func (b *Builder) Call(root Root, stack []Frame, n int64) NodeID {
	if len(stack) == 0 {
		return NoNode
	}
	id := b.Root(root, stack[0], 0)
	for _, f := range stack[1:] {
		id = b.Child(id, f, 0)
	}
	b.t.Nodes[id].Calls += n
	return id
}

// Root records n calls of f as the first recorded function of root, and returns
// its node. Calls of equal roots with equal functions are one node. CallLine and
// Inlined of f mean nothing. A creator has to be a node that this builder
// returned.
//
// Goroutines that start each other without end (a handler that starts the next
// one) would be a root each, of an endless chain of creators. So a goroutine
// that descends from one of the same statement and function is that one, as
// recursion is folded onto the ancestor.
func (b *Builder) Root(root Root, f Frame, n int64) NodeID {
	if root.Kind != RootGoroutine {
		root.Go = GoStmt{}
	}
	if c := root.Go.Creator.Node(); c != NoNode {
		root.Go.Creator = b.paths.context(c).Ref()
	}
	key := rootKey{root, f.Func, f.Via}
	id, ok := b.roots[key]
	if !ok {
		id = b.newRoot(key)
		b.roots[key] = id
	}
	b.t.Nodes[id].Calls += n
	return id
}

// Child records n calls of f by parent, a node that this builder returned, and
// returns its node. Repeated calls of one function from one line are one node.
//
// A function that is on the path from parent up becomes a Recursive leaf.
// The calls made inside it belong to that ancestor: a recorder names the leaf
// as their parent, and Child hangs them below the ancestor.
func (b *Builder) Child(parent NodeID, f Frame, n int64) NodeID {
	parent = b.paths.context(parent)
	key := childKey{parent, f.Func, f.CallLine, f.Inlined, f.Via}
	id, ok := b.children[key]
	if !ok {
		node := Node{Parent: parent, Func: f.Func, CallLine: f.CallLine}
		if f.Inlined {
			node.Flags |= Inlined
		}
		if f.Via {
			node.Flags |= Via
		}
		id = b.add(node)
		b.children[key] = id
	}
	b.t.Nodes[id].Calls += n
	return id
}

// newRoot returns the node of a root that was not met before.
func (b *Builder) newRoot(key rootKey) NodeID {
	n := Node{Parent: NoNode, Func: key.fn, Root: key.root.Kind, Go: key.root.Go}
	if key.via {
		n.Flags = Via
	}
	from := NoNode
	if c := n.Go.Creator.Node(); c != NoNode {
		from = b.paths.nodes[c].root
	}
	if id := b.lineages.ancestor(from, key); id != NoNode {
		return id
	}
	id := b.add(n)
	b.lineages.add(id, from, key)
	return id
}

func (b *Builder) add(n Node) NodeID {
	if b.paths.add(n.Parent, n.Func) {
		n.Flags |= Recursive
	}
	b.t.Nodes = append(b.t.Nodes, n)
	return NodeID(len(b.t.Nodes) - 1)
}

// Finish brings the trace into its canonical form: functions in the order in
// which nodes first name them, functions that no node names left out.
func (b *Builder) Finish() *Trace {
	b.t.canonical()
	return b.t
}

// canonical renumbers functions by first use, so that equal runs give equal
// files whatever order a recorder met the functions in.
func (t *Trace) canonical() {
	remap := make([]FuncID, len(t.Functions))
	for i := range remap {
		remap[i] = -1
	}
	funcs := make([]Function, 0, len(t.Functions))
	for i := range t.Nodes {
		f := &t.Nodes[i].Func
		if remap[*f] < 0 {
			remap[*f] = FuncID(len(funcs))
			funcs = append(funcs, t.Functions[*f])
		}
		*f = remap[*f]
	}
	t.Functions = slices.Clip(funcs)
	if t.Lines == nil {
		return
	}
	lines := map[FuncID]Lines{}
	for id, l := range t.Lines {
		if int(id) < len(remap) && remap[id] >= 0 {
			lines[remap[id]] = l
		}
	}
	t.Lines = lines
}
