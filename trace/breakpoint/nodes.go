package breakpoint

import "tracerag/trace"

// nodeIndex finds the nodes of a trace for those of another run's. Functions are
// the same if their names are.
type nodeIndex struct {
	tr       *trace.Trace
	children map[nodeKey]trace.NodeID
	byName   map[namedChild]trace.NodeID // NoNode: several
	roots    map[rootKey]trace.NodeID    // NoNode: several
	known    map[trace.NodeID]trace.NodeID
	unsure   map[trace.NodeID]bool // of the other run's: several nodes may be meant
}

type nodeKey struct {
	parent       trace.NodeID
	fn           string
	line         int
	inlined, via bool
}

type namedChild struct {
	parent trace.NodeID
	fn     string
}

// rootKey leaves out who ran a go statement: a recorder of stacks does not see it.
type rootKey struct {
	kind trace.RootKind
	stmt trace.GoStmt
	fn   string
	via  bool
}

func rootKeyOf(tr *trace.Trace, id trace.NodeID) rootKey {
	n := &tr.Nodes[id]
	stmt := n.Go
	stmt.Creator = 0
	return rootKey{n.Root, stmt, tr.Func(id).Name, n.Flags.Has(trace.Via)}
}

func nodeKeyOf(tr *trace.Trace, id, parent trace.NodeID) nodeKey {
	n := &tr.Nodes[id]
	return nodeKey{parent, tr.Func(id).Name, n.CallLine, n.Flags.Has(trace.Inlined), n.Flags.Has(trace.Via)}
}

func newNodeIndex(tr *trace.Trace) *nodeIndex {
	x := &nodeIndex{tr: tr, children: map[nodeKey]trace.NodeID{}, byName: map[namedChild]trace.NodeID{}, roots: map[rootKey]trace.NodeID{}, known: map[trace.NodeID]trace.NodeID{}, unsure: map[trace.NodeID]bool{}}
	for i := range tr.Nodes {
		id := trace.NodeID(i)
		parent := tr.Nodes[i].Parent
		if parent == trace.NoNode {
			key := rootKeyOf(tr, id)
			if _, ok := x.roots[key]; ok {
				x.roots[key] = trace.NoNode
			} else {
				x.roots[key] = id
			}
			continue
		}
		x.children[nodeKeyOf(tr, id, parent)] = id
		key := namedChild{parent, tr.Func(id).Name}
		if _, ok := x.byName[key]; ok {
			x.byName[key] = trace.NoNode
		} else {
			x.byName[key] = id
		}
	}
	return x
}

// find returns the node in the place of node id of the other run's trace, or
// NoNode. Where a caller calls a function from one line only, the line need not be
// known to both. A goroutine that several nodes started is none of them: which one
// it was is not known.
func (x *nodeIndex) find(other *trace.Trace, id trace.NodeID) trace.NodeID {
	if found, ok := x.known[id]; ok {
		return found
	}
	found, ok := trace.NoNode, false
	up := other.Nodes[id].Parent
	if up == trace.NoNode {
		found, ok = x.roots[rootKeyOf(other, id)]
	} else if parent := x.find(other, up); parent != trace.NoNode {
		if found, ok = x.children[nodeKeyOf(other, id, parent)]; !ok {
			found, ok = x.byName[namedChild{parent, other.Func(id).Name}]
		}
	}
	x.unsure[id] = ok && found == trace.NoNode || up != trace.NoNode && x.unsure[up]
	if !ok {
		found = trace.NoNode
	}
	x.known[id] = found
	return found
}
