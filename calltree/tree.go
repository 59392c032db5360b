// Package calltree turns a trace into the call tree that people and prompts
// are shown.
//
// The tree is that of Kamiya 2024, section 3.1, in one of two readings of it:
//
//   - [Context], the default: a node is a function in one calling context.
//     What a caller called several times, from one line or from many, inlined
//     or not, is one child of it. It has at most as many nodes as the trace.
//   - [Graph], the paper's own: the call graph (a node per function) unfolded
//     from the roots. Every call that a function ever made is shown wherever
//     the function is, so the tree can grow exponentially and has a limit.
//
// In both, children are in the order of their first call; a function called
// from two callers is two nodes; and a recursive call is shown once, as a leaf
// marked so, while the calls made inside it are counted at the ancestor that
// it is an activation of.
//
// A goroutine is below the function that started it, where that is known,
// and is a root of its own otherwise. The path on which recursion is looked
// for leads through such a go statement, so that a walk which starts a
// goroutine for each directory folds as a walk without goroutines does.
//
// So is a process of a joined trace ([trace.Trace.Join]): the roots of its program are
// below the function that started it. Processes of one program that one caller started
// are merged as repeated calls are.
//
// From a built tree: [Tree.Prune] takes away what another run did too,
// [Tree.Focus] narrows it to some functions, [Merge] puts runs together,
// [Compare] sets two of them side by side. The Write methods render.
//
// Functions of different trees are the same if their linker names are: traces
// of two builds compare, and neither lines nor addresses tell nodes apart.
//
// # A new output of tracerag tree
//
// An output is a Write method of [Tree], in a file of this package, with a golden file
// in testdata. tree's flag --format (cmd/tracerag/tree.go) names it; package export
// may offer it as a file for other tools, too, by a row of its Formats.
package calltree

import (
	"iter"
	"slices"

	"tracerag/trace"
)

// Tree is a call tree: the calls of one run, repeats merged per caller,
// children in the order of their first call.
type Tree struct {
	Roots   []*Node
	Size    int  // nodes in the tree
	Sampled bool // counts are samples
}

// Node is a function called by one caller in one context.
type Node struct {
	// ID is a stable handle, written "#12": it names one node in every tree of a
	// trace. It is the 1-based position in call order, depth first, in the Context
	// tree without initialisation. Nodes that only other trees have, those of
	// initialisation and the places to which [Graph] unfolds what ran elsewhere, are
	// numbered behind these. Pruning and focusing keep it, and leave gaps.
	ID       int
	Func     *trace.Function
	Parent   *Node // nil for a root
	Children []*Node
	Calls    int64          // calls made here, or samples; 0: seen on a stack only
	Total    int64          // Calls of the node and all that is below it, as built: pruning keeps it
	Lines    []int          // lines of the calls within the parent, ascending, 0 left out
	Flags    trace.Flags    // each set if it holds for any of the merged calls
	Root     trace.RootKind // where control came from; a goroutine whose creator is known has a Parent too
	Go       *trace.GoStmt  // of a goroutine's root, the first of several

	// Process is, of a root of another process than that of the node above, the process,
	// the first of several: its program was started by the node above. Processes is how many
	// of the same program began here.
	Process   *trace.Process
	Processes int

	// Values are the observed ones of the calls made here, in order; nil none.
	Values []trace.Activation

	first trace.NodeID // of the trace's nodes that are counted here, which are in the order of first calls
	again []*Node      // below it, the recursive calls of its function, whose own calls are counted here
	way   bool         // only leads to what a focus is on
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

// Up yields the node, its parent, and so on up to the root.
func (n *Node) Up() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for ; n != nil && yield(n); n = n.Parent {
		}
	}
}

// identity tells a node from its siblings, in one tree and across trees.
type identity struct {
	fn     string         // linker name
	root   trace.RootKind // a call and a go statement of one function differ
	goFunc string         // linker name of the function that holds the go statement
	main   string         // of a process that begins: its program
}

func (n *Node) identity() identity {
	id := identity{fn: n.Func.Name, root: n.Root}
	if n.Process != nil {
		id.main = n.Process.Main
	}
	if n.Go != nil {
		id.goFunc = n.Go.Func
	}
	return id
}

// maxLines bounds the lines of a node: each is put in its place among the others. No
// function has as many calls of another one that is not damaged, or made to take hours.
const maxLines = 10_000

// absorb adds the counts, lines and flags of another node of the same identity.
func (n *Node) absorb(calls, total int64, flags trace.Flags, lines ...int) {
	n.Calls += calls
	n.Total += total
	n.Flags |= flags
	for _, line := range lines {
		if i, found := slices.BinarySearch(n.Lines, line); !found && line != 0 && len(n.Lines) < maxLines {
			n.Lines = slices.Insert(n.Lines, i, line)
		}
	}
}
