package calltree

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"tracerag/trace"
)

// drawnNodes bounds a drawing by default: each node has an edge and may have
// one more to a cut, and Mermaid refuses more than 500 edges.
const drawnNodes = 240

// drawing is the language of a drawing program.
type drawing struct {
	head, foot string
	node, cut  string // formats: handle or number of the node above, label
	edge       string // formats: the two ends' names
	goEdge     string
	process    string // likewise, to the root of a process
	escape     *strings.Replacer
	newline    string
}

var dot = drawing{
	head:    "digraph calltree {\n  rankdir=LR;\n  node [shape=box, fontname=\"Helvetica\"];\n",
	foot:    "}\n",
	node:    "  n%d [label=\"%s\"];\n",
	cut:     "  more%d [label=\"%s\", shape=plaintext];\n",
	edge:    "  %s -> %s;\n",
	goEdge:  "  %s -> %s [label=\"go\", style=dashed];\n",
	process: "  %s -> %s [label=\"process\", style=dashed];\n",
	escape:  strings.NewReplacer(`\`, `\\`, `"`, `\"`),
	newline: `\n`,
}

var mermaid = drawing{
	head:    "flowchart LR\n",
	node:    "  n%d[\"%s\"]\n",
	cut:     "  more%d([\"%s\"])\n",
	edge:    "  %s --> %s\n",
	goEdge:  "  %s -. go .-> %s\n",
	process: "  %s -. process .-> %s\n",
	// Within quotes Mermaid knows entities, Markdown after a backtick, and
	// HTML tags.
	escape:  strings.NewReplacer(`#`, `#35;`, `"`, `#quot;`, `<`, `#lt;`, `>`, `#gt;`, "`", `#96;`, `&`, `#amp;`, `\`, `#92;`),
	newline: `<br>`,
}

// WriteDOT writes the tree as a graph for Graphviz. Goroutines and processes hang from
// dashed edges, and a cut is a node that says how many are not drawn.
func (t *Tree) WriteDOT(w io.Writer, v View) error { return t.draw(w, v, &dot) }

// WriteMermaid writes the tree as a Mermaid flowchart, which Markdown viewers
// draw.
func (t *Tree) WriteMermaid(w io.Writer, v View) error { return t.draw(w, v, &mermaid) }

func (t *Tree) draw(w io.Writer, v View, d *drawing) error {
	v.Color, v.Compact = nil, false
	v.MaxNodes = cmp.Or(v.MaxNodes, drawnNodes)
	b := bufio.NewWriter(w)
	b.WriteString(d.head)
	f := flatten(t)
	shown := f.fill(v.Depth, v.MaxNodes, nil)
	for i, n := range f.nodes {
		if !shown[i] {
			continue
		}
		fmt.Fprintf(b, d.node, n.ID, v.label(n, t.Sampled, d))
		if p := f.parent[i]; p >= 0 {
			edge := d.edge
			switch {
			case n.Process != nil:
				edge = d.process
			case n.Root == trace.RootGoroutine:
				edge = d.goEdge
			}
			fmt.Fprintf(b, edge, fmt.Sprint("n", f.nodes[p].ID), fmt.Sprint("n", n.ID))
		}
		if c, ok := f.cuts(i, shown, nil); ok {
			fmt.Fprintf(b, d.cut, n.ID, d.escape.Replace(v.more(c)))
			fmt.Fprintf(b, d.edge, fmt.Sprint("n", n.ID), fmt.Sprint("more", n.ID))
		}
	}
	if c, ok := f.cuts(-1, shown, nil); ok {
		fmt.Fprintf(b, d.cut, 0, d.escape.Replace(v.more(c)))
	}
	b.WriteString(d.foot)
	return b.Flush()
}

// label is the node's line of text, the name on a line of its own.
func (v *View) label(n *Node, sampled bool, d *drawing) string {
	name := ShortName(n.Func.Name)
	before, after, _ := strings.Cut(v.line(n, sampled), name)
	s := d.escape.Replace(before + name)
	if after = strings.TrimSpace(after); after != "" {
		s += d.newline + d.escape.Replace(after)
	}
	return s
}
