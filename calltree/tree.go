// Package calltree turns a trace into the call tree that people and prompts
// are shown.
package calltree

import "tracerag/trace"

// Tree is a call tree: the calls of one run, repeats merged per caller,
// children in the order of their first call.
type Tree struct {
	Roots   []*Node
	Size    int  // nodes in the tree
	Sampled bool // counts are samples
}

// Node is a function called by one caller in one context.
type Node struct {
	ID       int // 1-based position in the order of first call, depth first: a stable handle
	Func     *trace.Function
	Parent   *Node // nil for a root
	Children []*Node
	Calls    int64 // calls made here, or samples; 0: seen on a stack only
	Lines    []int // lines of the calls within the parent, ascending, 0 left out
	Marks    trace.Marks
	Root     trace.RootKind // where control came from; a goroutine whose creator is known has a Parent too
	Go       *trace.GoStmt  // of a goroutine's root
}

// Walk calls f for the nodes of the tree in call order, a parent before its
// children; f returning false leaves out the children.
func (t *Tree) Walk(f func(n *Node, depth int) bool) {
	var walk func(nodes []*Node, depth int)
	walk = func(nodes []*Node, depth int) {
		for _, n := range nodes {
			if f(n, depth) {
				walk(n.Children, depth+1)
			}
		}
	}
	walk(t.Roots, 0)
}
