package calltree

import (
	"cmp"
	"fmt"
	"slices"

	"tracerag/trace"
)

// defaultMaxNodes bounds an unfolded graph. A person reads hundreds of nodes
// and a prompt holds some thousands; beyond this the count is of no use.
const defaultMaxNodes = 100_000

// LimitError says that an unfolded call graph has too many nodes.
type LimitError struct {
	Limit int // nodes that were allowed
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the call graph unfolds into more than %d nodes: use the default tree, which has no more nodes than the run had contexts, and narrow it by a focus or prune it by a baseline", e.Limit)
}

// edge is all that is known of the calls of one function by another; node is
// the pattern of the nodes that it unfolds into.
type edge struct {
	node Node
}

// unfolder holds a call graph.
type unfolder struct {
	out    map[string][]*edge // by the caller's linker name
	onPath map[string]*Node   // by linker name
	size   int
	limit  int
}

// unfold makes the Graph tree from the Context tree. It starts from that tree because the recursion
// through goroutines is folded there already, so that no edge is below
// itself and its Total counts nothing twice. Only a program that runs itself has an edge
// below itself.
func unfold(t *Tree, limit int) (*Tree, error) {
	type edgeKey struct {
		top    bool // no caller: a root
		caller string
		callee identity
	}
	edges := map[edgeKey]*edge{}
	var roots []*edge
	processes := false
	u := &unfolder{out: map[string][]*edge{}, onPath: map[string]*Node{}, limit: limit}
	t.Walk(func(n *Node, _ int) bool {
		key := edgeKey{top: n.Parent == nil, callee: n.identity()}
		if !key.top {
			key.caller = n.Parent.Func.Name
		}
		e := edges[key]
		if e == nil {
			e = &edge{node: Node{Func: n.Func, Root: n.Root, first: n.first}}
			edges[key] = e
			if key.top {
				roots = append(roots, e)
			} else {
				u.out[key.caller] = append(u.out[key.caller], e)
			}
		}
		if n.first <= e.node.first {
			e.node.first = n.first
			e.node.Go = n.Go
			e.node.Process = n.Process
		}
		e.node.Processes += n.Processes
		e.node.Values = append(e.node.Values, n.Values...)
		total := n.Total
		processes = processes || n.Process != nil
		for up := n.Parent; processes && up != nil; up = up.Parent {
			if up.identity() == key.callee && (up.Parent == nil) == key.top && (key.top || up.Parent.Func.Name == key.caller) {
				total = 0 // a part of that
				break
			}
		}
		e.node.absorb(n.Calls, total, n.Flags&^trace.Recursive, n.Lines...)
		return true
	})
	for _, out := range u.out {
		slices.SortFunc(out, func(a, b *edge) int { return cmp.Compare(a.node.first, b.node.first) })
	}

	g := &Tree{Sampled: t.Sampled}
	for _, e := range roots {
		root, ok := u.node(nil, e)
		if !ok {
			return nil, &LimitError{Limit: limit}
		}
		g.Roots = append(g.Roots, root)
	}
	g.numberAlong(t)
	return g, nil
}

// node unfolds e below parent, and reports whether there was room.
func (u *unfolder) node(parent *Node, e *edge) (*Node, bool) {
	if u.size++; u.size > u.limit {
		return nil, false
	}
	n := e.node
	n.Parent = parent
	n.Lines = slices.Clone(n.Lines)
	fn := n.Func.Name
	if above := u.onPath[fn]; above != nil {
		n.Flags |= trace.Recursive
		above.again = append(above.again, &n)
		return &n, true
	}
	u.onPath[fn] = &n
	for _, out := range u.out[fn] {
		child, ok := u.node(&n, out)
		if !ok {
			return nil, false
		}
		n.Children = append(n.Children, child)
	}
	u.onPath[fn] = nil
	return &n, true
}
