package trace

// AttachGoroutines sets the creator of every goroutine whose go statement
// stands in a function with exactly one node: then that node ran it. A function
// with several nodes leaves the creator unknown, since a wrong one would be
// worse than none.
func (b *Builder) AttachGoroutines() {
	t := b.t
	only := map[string]NodeID{}
	for i := range t.Nodes {
		if t.Nodes[i].Marks.Has(Recursive) {
			continue // its calls are the ancestor's, which has a node of its own
		}
		name := t.Func(NodeID(i)).Name
		if _, ok := only[name]; ok {
			only[name] = NoNode
		} else {
			only[name] = NodeID(i)
		}
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if n.Root != RootGoroutine || n.Go.Creator != 0 {
			continue
		}
		if c, ok := only[n.Go.Func]; ok && c != NoNode && !t.createdUnder(c, NodeID(i)) {
			n.Go.Creator = c.Ref()
		}
	}
}

// createdUnder reports whether node id hangs, by parents and creators, below
// the root node root: a goroutine cannot be its own creator.
func (t *Trace) createdUnder(id, root NodeID) bool {
	for id != NoNode {
		if id == root {
			return true
		}
		if n := &t.Nodes[id]; n.Parent != NoNode {
			id = n.Parent
		} else {
			id = n.Go.Creator.Node()
		}
	}
	return false
}
