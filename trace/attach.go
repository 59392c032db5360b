package trace

// AttachGoroutines sets the creator of every goroutine whose go statement
// is in a function with exactly one node: then that node ran it. A function
// with several nodes leaves the creator unknown, since a wrong one would be
// worse than none; so does one that the goroutine itself called or, by the
// goroutines that it started, led to. It is for recorders that do not see which
// node ran a statement, and comes after the last call.
func (b *Builder) AttachGoroutines() {
	t := b.t
	only := map[string]NodeID{}
	for i := range t.Nodes {
		if t.Nodes[i].Flags.Has(Recursive) {
			continue // its calls are the ancestor's, which has a node of its own
		}
		name := t.Func(NodeID(i)).Name
		if _, ok := only[name]; ok {
			only[name] = NoNode
		} else {
			only[name] = NodeID(i)
		}
	}
	// A goroutine that has no creator yet is at the top of all that descends
	// from it. So the top above a node says whether they would be a circle.
	// up leads to it and is shortened on the way, as in a union-find.
	up := make([]NodeID, len(t.Nodes))
	for i := range up {
		if up[i] = t.Above(NodeID(i)); up[i] == NoNode {
			up[i] = NodeID(i)
		}
	}
	top := func(id NodeID) NodeID {
		for up[id] != id {
			up[id] = up[up[id]]
			id = up[id]
		}
		return id
	}
	for i := range t.Nodes {
		n, id := &t.Nodes[i], NodeID(i)
		if n.Root != RootGoroutine || n.Go.Creator != 0 {
			continue
		}
		if c, ok := only[n.Go.Func]; ok && c != NoNode && top(c) != id {
			n.Go.Creator = c.Ref()
			up[id] = c
		}
	}
}
