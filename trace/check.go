package trace

import (
	"cmp"
	"fmt"
	"math"
)

// Check reports a way in which t is not a well-formed trace, if there is one. A
// reader calls it on what it read, and a recorder's tests on what it recorded.
// It takes time in proportion to the number of nodes, whatever their shape.
func (t *Trace) Check() error {
	calls := int64(0)
	for i := range t.Nodes {
		n, id := &t.Nodes[i], NodeID(i)
		switch {
		case n.Parent != NoNode && (n.Parent < 0 || n.Parent >= id):
			return fmt.Errorf("node %d: parent %d does not come before it", id, n.Parent)
		case n.Func < 0 || int(n.Func) >= len(t.Functions):
			return fmt.Errorf("node %d: no function %d", id, n.Func)
		case (n.Parent == NoNode) != (n.Root != NotRoot):
			return fmt.Errorf("node %d: root kind %q with parent %d", id, n.Root, n.Parent)
		case n.Calls < 0:
			return fmt.Errorf("node %d: %d calls", id, n.Calls)
		case n.Calls > math.MaxInt64-calls:
			return fmt.Errorf("node %d: the sum of the calls does not fit into 64 bits", id)
		case n.Root != RootGoroutine && n.Go != GoStmt{}:
			return fmt.Errorf("node %d: a go statement on a node that is not a goroutine's root", id)
		case n.Go.Creator < 0 || int(n.Go.Creator) > len(t.Nodes):
			return fmt.Errorf("node %d: no creator %d", id, n.Go.Creator.Node())
		case n.Go.Creator != 0 && t.Nodes[n.Go.Creator.Node()].Flags.Has(Recursive):
			return fmt.Errorf("node %d: its creator %d is a folded recursion", id, n.Go.Creator.Node())
		case n.Parent == NoNode && n.Flags&(Inlined|Recursive) != 0:
			return fmt.Errorf("node %d: a root that is inlined or recursive", id)
		case n.Parent != NoNode && t.Nodes[n.Parent].Flags.Has(Recursive):
			return fmt.Errorf("node %d: its parent %d is a folded recursion", id, n.Parent)
		}
		calls += n.Calls
	}
	if err := t.checkRecursion(); err != nil {
		return err
	}
	if err := t.checkProcesses(); err != nil { // whose callers lead upwards, too
		return err
	}
	if err := t.checkCreators(); err != nil {
		return err
	}
	if err := t.checkLines(); err != nil {
		return err
	}
	return t.checkValues()
}

// checkRecursion verifies that a node is flagged recursive if and only if its
// function is on the path above it.
func (t *Trace) checkRecursion() error {
	// The tree from the top down: the first child of each node and, last, the
	// first root; and the next child of the same parent.
	first, next := make([]NodeID, len(t.Nodes)+1), make([]NodeID, len(t.Nodes))
	for i := range first {
		first[i] = NoNode
	}
	list := func(parent NodeID) *NodeID {
		if parent == NoNode {
			return &first[len(t.Nodes)]
		}
		return &first[parent]
	}
	for i := len(t.Nodes) - 1; i >= 0; i-- {
		l := list(t.Nodes[i].Parent)
		next[i], *l = *l, NodeID(i)
	}
	on := make([]bool, len(t.Functions)) // the path to the node at hand
	for id := *list(NoNode); id != NoNode; {
		n := &t.Nodes[id]
		if marked := n.Flags.Has(Recursive); marked != on[n.Func] {
			return fmt.Errorf("node %d: flagged recursive is %v, but its function on the path above is %v", id, marked, on[n.Func])
		}
		if first[id] != NoNode {
			on[n.Func] = true
			id = first[id]
			continue
		}
		for next[id] == NoNode && t.Nodes[id].Parent != NoNode {
			id = t.Nodes[id].Parent
			on[t.Nodes[id].Func] = false
		}
		id = next[id]
	}
	return nil
}

// checkCreators verifies that following creators and parents upwards ends.
func (t *Trace) checkCreators() error {
	_, err := t.levels()
	return err
}

// maxLevels bounds how deep a trace in a file is, goroutines below the node that
// started them: what looks at a tree goes down by recursion. A function is on a
// path once, so that a program would need as many functions.
const maxLevels = 1 << 16

// checkLevels verifies that t is not deeper than that.
func (t *Trace) checkLevels() error {
	if deep, err := t.levels(); err != nil || deep > maxLevels {
		return cmp.Or(err, fmt.Errorf("it is %d levels deep, goroutines below what started them, and a file may have %d", deep, maxLevels))
	}
	return nil
}

// levels returns how many nodes the longest way up by parents and creators meets.
func (t *Trace) levels() (most int, err error) {
	const onPath = -1 // from the node at hand
	level := make([]int32, len(t.Nodes))
	var path []NodeID
	for i := range t.Nodes {
		path = path[:0]
		id := NodeID(i)
		for ; id != NoNode && level[id] == 0; id = t.Above(id) {
			level[id] = onPath
			path = append(path, id)
		}
		deep := int32(0)
		if id != NoNode {
			if deep = level[id]; deep == onPath {
				return 0, fmt.Errorf("node %d: it is its own creator", id)
			}
		}
		for j := len(path) - 1; j >= 0; j-- {
			deep++
			level[path[j]] = deep
		}
		most = max(most, int(deep))
	}
	return most, nil
}

// Above returns the parent of a node or, of a goroutine's root, its creator, or else, of a
// root of a process in a joined trace, the node that started that.
func (t *Trace) Above(id NodeID) NodeID {
	n := &t.Nodes[id]
	switch {
	case n.Parent != NoNode:
		return n.Parent
	case n.Go.Creator != 0 || n.Process == 0:
		return n.Go.Creator.Node()
	}
	return t.Processes[n.Process-1].Caller.Node()
}
