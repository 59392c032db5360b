package calltree

import (
	"io"
	"math"
)

type jsonDiff struct {
	Schema  string          `json:"schema"`
	Equal   bool            `json:"equal"`
	Common  int             `json:"common"`
	Changed int             `json:"changed"`
	Moved   int             `json:"moved"`
	Added   int             `json:"added"`
	Removed int             `json:"removed"`
	First   *jsonDivergence `json:"first_divergence,omitempty"`

	Values     int             `json:"values,omitempty"`
	FirstValue *jsonFirstValue `json:"first_value,omitempty"`

	Unrecorded int          `json:"unrecorded,omitempty"`
	Matters    *jsonMatters `json:"first_that_matters,omitempty"`
	Places     []jsonPlace  `json:"places,omitempty"`
}

type jsonMatters struct {
	Path   []string `json:"path"`
	Change string   `json:"change"`
}

type jsonPlace struct {
	Under []string `json:"under"`
	First string   `json:"first"`
	Nodes int      `json:"nodes"`
	Score float64  `json:"score"`
}

type jsonDivergence struct {
	A    []string `json:"a"`
	B    []string `json:"b"`
	Kind string   `json:"kind"`
}

type jsonDiffNode struct {
	Change string    `json:"change"`
	Func   string    `json:"func"`
	Root   string    `json:"root,omitempty"`
	A      *jsonSide `json:"a,omitempty"`
	B      *jsonSide `json:"b,omitempty"`

	Value *jsonChange `json:"value,omitempty"`
}

type jsonChange struct {
	Call   int    `json:"call"`
	What   string `json:"what"`
	Result bool   `json:"result,omitempty"`
	A      string `json:"a"`
	B      string `json:"b"`
}

type jsonFirstValue struct {
	Path []string `json:"path"`
	jsonChange
}

type jsonSide struct {
	ID    int      `json:"id"`
	Calls int64    `json:"calls"`
	Marks []string `json:"marks,omitempty"`
	Under int      `json:"under,omitempty"`
}

// WriteJSON writes the diff as JSON, a node a line, nodes that did not change
// only where they lead to one that did:
//
//	{"schema":"tracerag.diff/1","equal":false,"common":1,"changed":0,"moved":0,"added":1,"removed":0,
//	 "first_divergence":{"a":["main.main"],"b":["main.main","main.run"],"kind":"ends_a"},"nodes":[
//	{"change":"common","func":"main.main","root":"main","a":{"id":1,"calls":1},"b":{"id":1,"calls":1},"children":[
//	{"change":"added","func":"main.run","b":{"id":2,"calls":3,"under":1}}
//	]}
//	]}
//
// (the first two lines are one). change is of common, changed, moved, added,
// removed, unrecorded. a and b are the node in the first and the second tree: its handle,
// calls and marks there, and the handle of its parent, left out for a root.
// The paths of the first divergence are linker names from the root; kind says
// of their ends that they are other functions ("call"), that one run calls
// nothing more below the end of its path ("ends_a", "ends_b"), or that only
// the counts differ ("count").
//
// first_that_matters is the path to the first node, in call order, of the places that
// matter about as much as the best, and its change ("common": its values differ). places
// are the fifty callers that most likely matter, the best first: the path to a
// caller, the first function below it that differs, how many nodes differ there, and
// the score of the rank. unrecorded counts nodes, with this change, that the other run
// could not have recorded.
//
// If values of calls were observed in both runs, values is how many nodes had others,
// first_value the first of them by its path, and value, in a node, what differs there:
// in which of the observed calls ("call", from 1), the name of the argument or result
// ("what"), and its texts in both.
func (d *Diff) WriteJSON(w io.Writer) error {
	l := d.layout()
	kept := func(nodes int) (ids []int) {
		l.children(nodes, func(c int) {
			if l.differ[c] {
				ids = append(ids, c)
			}
		})
		return ids
	}
	roots := kept(-1)
	j := newJSONWriter(w)
	j.open(jsonDiff{
		Schema: "tracerag.diff/1", Equal: d.Equal(),
		Common: d.Common, Changed: d.Changed, Moved: d.Moved, Added: d.Added, Removed: d.Removed,
		First: d.FirstDivergence.json(), Values: d.Values, FirstValue: d.firstValue(),
		Unrecorded: d.Unrecorded, Matters: d.jsonMatters(), Places: d.jsonPlaces(),
	}, "nodes", len(roots) > 0)
	var write func(nodes []int)
	write = func(nodes []int) {
		for i, at := range nodes {
			n, below := l.nodes[at], kept(at)
			j.next(i > 0)
			j.open(jsonDiffNode{
				Change: n.Change.String(),
				Func:   n.Node().Func.Name,
				Root:   string(n.Node().Root),
				A:      sideOf(n.A), B: sideOf(n.B),
				Value: changeOf(n.Values),
			}, "children", len(below) > 0)
			write(below)
			j.close(len(below) > 0)
		}
	}
	write(roots)
	j.close(len(roots) > 0)
	return j.flush()
}

// jsonPlaces bounds what comes before the nodes.
const jsonPlaces = 50

func (d *Diff) jsonMatters() *jsonMatters {
	_, n := d.Matters()
	if n == nil {
		return nil
	}
	return &jsonMatters{linkerNames(pathTo(n.Node(), nil)), n.Change.String()}
}

func (d *Diff) jsonPlaces() []jsonPlace {
	var out []jsonPlace
	for _, p := range d.Places[:min(len(d.Places), jsonPlaces)] {
		j := jsonPlace{Under: []string{}, First: p.Nodes[0].Node().Func.Name, Nodes: p.Size, Score: math.Round(1000*p.Score) / 1000}
		if p.Under != nil {
			j.Under = linkerNames(pathTo(p.Under.Node(), nil))
		}
		out = append(out, j)
	}
	return out
}

func sideOf(n *Node) *jsonSide {
	if n == nil {
		return nil
	}
	s := &jsonSide{ID: n.ID, Calls: n.Calls, Marks: jsonOf(n).Marks}
	if n.Parent != nil {
		s.Under = n.Parent.ID
	}
	return s
}

func changeOf(c *ValueChange) *jsonChange {
	if c == nil {
		return nil
	}
	return &jsonChange{c.Call, c.What, c.Result, c.A, c.B}
}

func (d *Diff) firstValue() *jsonFirstValue {
	if d.FirstValues == nil {
		return nil
	}
	return &jsonFirstValue{linkerNames(pathTo(d.FirstValues.Node(), nil)), *changeOf(d.FirstValues.Values)}
}

func linkerNames(nodes []*Node) []string {
	s := []string{}
	for _, n := range nodes {
		s = append(s, n.Func.Name)
	}
	return s
}

func (d *Divergence) json() *jsonDivergence {
	if d == nil {
		return nil
	}
	out := &jsonDivergence{A: linkerNames(d.PathA()), B: linkerNames(d.PathB()), Kind: "call"}
	switch {
	case d.Count:
		out.Kind = "count"
	case d.A == nil:
		out.Kind = "ends_a"
	case d.B == nil:
		out.Kind = "ends_b"
	}
	return out
}
