package trace

// paths knows, while a tree grows, the path above every node, and so whether a
// new node is recursive. Short paths are walked up. For long ones, which that
// would make quadratic, it keeps one path at hand and moves it from node to
// node: in all no further than the program went between the first calls, or
// than the stacks are long that a recorder reports.
type paths struct {
	nodes []pathNode

	at NodeID   // the end of the path at hand plus one; 0 none
	on []NodeID // by function, its node on that path plus one; 0 none
}

// pathNode is a node by what matters here, a quarter of its size.
type pathNode struct {
	parent NodeID
	fn     FuncID
	depth  int32  // of a root 0
	root   NodeID // at the top of the path
	folded NodeID // of a recursive node, the ancestor that it folds onto; else NoNode
}

// shortPath is the number of functions that are walked up before the path at
// hand is asked. Between 8 and 32 a tree of a million nodes shows no difference,
// at 128 a long chain takes a fifth longer.
const shortPath = 32

// add takes up the next node and reports whether it is recursive. The parent
// must not be.
func (p *paths) add(parent NodeID, f FuncID) (recursive bool) {
	n := pathNode{parent: parent, fn: f, root: NodeID(len(p.nodes)), folded: NoNode}
	if parent != NoNode {
		n.depth, n.root = p.nodes[parent].depth+1, p.nodes[parent].root
		n.folded = p.above(parent, f)
	}
	p.nodes = append(p.nodes, n)
	return n.folded != NoNode
}

// context returns the node below which the calls made in id hang: the ancestor
// that id folds onto, or itself.
func (p *paths) context(id NodeID) NodeID {
	if above := p.nodes[id].folded; above != NoNode {
		return above
	}
	return id
}

// above returns the node of f on the path from id up, or NoNode.
func (p *paths) above(id NodeID, f FuncID) NodeID {
	up := id
	for range shortPath {
		if up == NoNode || p.nodes[up].fn == f {
			return up
		}
		up = p.nodes[up].parent
	}
	p.move(id)
	if int(f) >= len(p.on) {
		return NoNode
	}
	return p.on[f] - 1
}

// move makes the path that ends in id the one at hand.
func (p *paths) move(id NodeID) {
	from, to := p.at-1, id
	for from != to { // up to where they meet, off the old path first
		if to == NoNode || from != NoNode && p.nodes[from].depth >= p.nodes[to].depth {
			p.on[p.nodes[from].fn] = 0
			from = p.nodes[from].parent
		} else {
			to = p.nodes[to].parent
		}
	}
	for up := id; up != to; up = p.nodes[up].parent {
		f := int(p.nodes[up].fn)
		if f >= len(p.on) {
			p.on = append(p.on, make([]NodeID, f+1-len(p.on))...)
		}
		p.on[f] = up + 1
	}
	p.at = id + 1
}
