package trace

import "slices"

// Frame is one function on a recorded stack.
type Frame struct {
	Func     FuncID
	CallLine int // line of the call within the caller's frame; 0 unknown
	Inlined  bool
	Via      bool // unrecorded functions stand between the caller's frame and this one
}

// Root says in what kind of root, and for a goroutine by which go statement,
// a stack stands.
type Root struct {
	Kind RootKind
	Go   GoStmt // zero but for RootGoroutine
}

// Builder makes the calling context tree of a trace from the stacks that a
// recorder sees. It merges equal paths, folds recursion onto the ancestor and
// numbers nodes in the order of their first call. It is not safe for
// concurrent use.
type Builder struct {
	t        *Trace
	funcs    map[Function]FuncID
	children map[childKey]NodeID
	roots    map[rootKey]NodeID
}

type childKey struct {
	parent NodeID
	fn     FuncID
	line   int
	marks  Marks
}

type rootKey struct {
	root Root
	fn   FuncID
	via  bool
}

// NewBuilder returns a builder that appends to t's functions and nodes.
func NewBuilder(t *Trace) *Builder {
	return &Builder{t: t, funcs: map[Function]FuncID{}, children: map[childKey]NodeID{}, roots: map[rootKey]NodeID{}}
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
// nodes of no calls: they were seen on a stack, their entry was not. Of the
// first frame, CallLine and Inlined mean nothing.
func (b *Builder) Call(root Root, stack []Frame, n int64) NodeID {
	if root.Kind != RootGoroutine {
		root.Go = GoStmt{Creator: NoNode}
	}
	cur := b.root(root, stack[0])
	last := cur
	for _, f := range stack[1:] {
		var marks Marks
		if f.Inlined {
			marks |= Inlined
		}
		if f.Via {
			marks |= Via
		}
		above := b.above(cur, f.Func)
		if above != NoNode {
			marks |= Recursive
		}
		last = b.child(cur, f, marks)
		cur = last
		if above != NoNode {
			cur = above // the calls of the inner activation belong to the outer one
		}
	}
	b.t.Nodes[last].Calls += n
	return last
}

// above returns the node of function f on the path from id up, or NoNode.
func (b *Builder) above(id NodeID, f FuncID) NodeID {
	for ; id != NoNode; id = b.t.Nodes[id].Parent {
		if b.t.Nodes[id].Func == f {
			return id
		}
	}
	return NoNode
}

func (b *Builder) root(r Root, f Frame) NodeID {
	key := rootKey{r, f.Func, f.Via}
	id, ok := b.roots[key]
	if !ok {
		n := Node{Parent: NoNode, Func: f.Func, Root: r.Kind, Go: r.Go}
		if f.Via {
			n.Marks = Via
		}
		id = b.add(n)
		b.roots[key] = id
	}
	return id
}

func (b *Builder) child(parent NodeID, f Frame, marks Marks) NodeID {
	key := childKey{parent, f.Func, f.CallLine, marks}
	id, ok := b.children[key]
	if !ok {
		id = b.add(Node{Parent: parent, Func: f.Func, CallLine: f.CallLine, Marks: marks, Go: GoStmt{Creator: NoNode}})
		b.children[key] = id
	}
	return id
}

func (b *Builder) add(n Node) NodeID {
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
}
