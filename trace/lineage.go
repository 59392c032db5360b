package trace

// lineages knows which goroutines descend from which, to find that a goroutine
// was started by one of its own kind: the question that paths answers for
// calls, here asked of roots. Its members are roots; what kind of root they are
// (statement and function, no matter who ran it) represents a function.
type lineages struct {
	paths   paths
	roots   []NodeID           // by member
	member  map[NodeID]NodeID  // by root
	origins map[rootKey]FuncID // of keys without a creator
}

// ancestor returns the root of key's kind that is from or that from descends
// from, or NoNode. from is the root in which key's go statement ran.
func (l *lineages) ancestor(from NodeID, key rootKey) NodeID {
	if from == NoNode {
		return NoNode
	}
	if m := l.paths.above(l.member[from], l.origin(key)); m != NoNode {
		return l.roots[m]
	}
	return NoNode
}

// add takes up a new root.
func (l *lineages) add(id, from NodeID, key rootKey) {
	parent := NoNode
	if from != NoNode {
		parent = l.member[from]
	}
	l.member[id] = NodeID(len(l.roots))
	l.roots = append(l.roots, id)
	l.paths.add(parent, l.origin(key))
}

func (l *lineages) origin(key rootKey) FuncID {
	key.root.Go.Creator = 0
	o, ok := l.origins[key]
	if !ok {
		o = FuncID(len(l.origins))
		l.origins[key] = o
	}
	return o
}
