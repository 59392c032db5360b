package probe

import (
	"tracerag/trace"
	"tracerag/trace/probe/payload"
)

// startCall is a call by which a recorded program starts another one.
type startCall struct {
	order uint64 // how many nodes the recorder's tree had
	node  uint32 // of the tree, in which the call was made; 0: not known
	site  uint32 // the return address, as nodes have it

	// In the trace, once that is made.
	caller trace.NodeRef
	before int
}

// startsUntil finds where in the trace the starts were made that came when the tree had so
// many nodes, all of which are in the trace.
func (c *converter) startsUntil(nodes uint64) {
	for len(c.starts) > 0 && c.starts[0].order <= nodes {
		s := c.starts[0]
		c.starts = c.starts[1:]
		if n := int(s.node); n > 0 && n < len(c.places) && c.places[n].known {
			// As for a call of a function that has no hook.
			c.nodes = append(c.nodes, payload.Node{Parent: s.node, Site: s.site, Via: true, Target: uint32(len(c.nodes))})
			if cur := c.caller(len(c.nodes) - 1); cur.root == nil {
				s.caller = cur.node.Ref()
			}
			c.nodes = c.nodes[:len(c.nodes)-1]
		}
		s.before = len(c.tr.Nodes)
	}
}
