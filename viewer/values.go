package viewer

import (
	"tracerag/calltree"
	"tracerag/trace"
)

// observed are the nodes that a row of the page represents, of which values are
// known: of one run, or the first's and the second's.
type observed struct{ before, now *calltree.Node }

// values are the observed calls of a row. Of two runs the first's are in Before.
type values struct {
	Now    []observedCall `json:"now,omitempty"`
	Before []observedCall `json:"before,omitempty"`
}

type observedCall struct {
	Args     []trace.Value `json:"args,omitempty"`
	Results  []trace.Value `json:"results,omitempty"`
	Returned bool          `json:"returned"`
}

// observe keeps what the next row represents, if anything was observed of it.
func (p *Page) observe(before, now *calltree.Node) {
	if before != nil && before.Values != nil || now != nil && now.Values != nil {
		p.observed[len(p.overview.Nodes.ID)] = observed{before, now}
	}
}

// values returns what was observed of row i, if anything was.
func (p *Page) values(i int) (v values, ok bool) {
	o, ok := p.observed[i]
	return values{Now: observedCalls(o.now), Before: observedCalls(o.before)}, ok
}

func observedCalls(n *calltree.Node) []observedCall {
	if n == nil {
		return nil
	}
	var out []observedCall
	for _, a := range n.Values {
		out = append(out, observedCall{a.Args, a.Results, a.Returned})
	}
	return out
}
