package calltree

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// layout is a diff in preorder, with what is unchanged told apart.
type layout struct {
	shape
	nodes  []*DiffNode
	differ []bool // it, or something below it, is not the same
}

func (d *Diff) layout() *layout {
	l := &layout{}
	var add func(nodes []*DiffNode, parent int)
	add = func(nodes []*DiffNode, parent int) {
		for _, n := range nodes {
			i := l.open(parent)
			l.nodes = append(l.nodes, n)
			l.differ = append(l.differ, n.Change != Common || n.Values != nil)
			add(n.Children, i)
			l.close(i)
			if parent >= 0 && l.differ[i] {
				l.differ[parent] = true
			}
		}
	}
	add(d.Roots, -1)
	return l
}

var diffSigns = [...]struct {
	sign  string
	color style
}{Common: {" ", plainText}, Changed: {"~", yellow}, Moved: {">", cyan}, Added: {"+", green}, Removed: {"-", red}}

// WriteText writes the diff as text: the counts, the first divergence with the
// path on both sides (a is the first tree, b the second), and the tree, in
// which only what differs and the way to it is written out:
//
//	2 added, 1 removed, 1 moved, 1 with another count, 14 unchanged
//	first divergence:
//	  a: main.main > main.run > csv.Read
//	  b: main.main > main.run > md.Render
//
//	  main.main
//	    [2 unchanged]
//	    main.run
//	-     csv.Read
//	+     md.Render
//	>     text.Wrap moved from main.main
//	~     text.Pad count 3 -> 5
//	=     text.Wrap width: 80 -> 72
//
// A node that is the same but for the values of its observed calls is marked "=".
// Of the view, Command is not used: a cut says only how many nodes it hides, unless
// Cut writes it.
// [Diff.WriteSummary] writes what stands before the tree.
func (d *Diff) WriteText(w io.Writer, v View) error {
	b := bufio.NewWriter(w)
	if err := d.WriteSummary(b); err != nil {
		return err
	}
	l := d.layout()
	if slices.Contains(l.differ, true) { // not so if only the order of calls differs
		b.WriteByte('\n')
		d.writeTree(b, &v, l)
	}
	return b.Flush()
}

// WriteSummary writes the counts and the first divergence.
func (d *Diff) WriteSummary(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, d)
	if d.FirstDivergence != nil {
		d.FirstDivergence.write(b)
	}
	if d.FirstValues != nil {
		d.writeFirstValues(b)
	}
	return b.Flush()
}

func (d *Diff) writeTree(b *bufio.Writer, v *View, l *layout) {
	shown := l.fill(v.Depth, v.MaxNodes, func(i int) bool { return !l.differ[i] })
	v.Command = ""
	fold := func(depth int, format string, n int) {
		if n > 0 {
			indent(b, depth+1)
			fmt.Fprintln(b, v.paint(dim, fmt.Sprintf(format, n)))
		}
	}
	var write func(i int)
	write = func(i int) {
		depth := 0
		if i >= 0 {
			depth = l.depth[i] + 1
			d.writeNode(b, v, l.nodes[i], depth-1)
		}
		same, hidden := 0, 0
		l.children(i, func(c int) {
			switch {
			case shown[c]:
				fold(depth, "[%d unchanged]", same)
				same = 0
				write(c)
			case l.differ[c]:
				hidden += l.size[c]
			default:
				same += l.size[c]
			}
		})
		fold(depth, "[%d unchanged]", same)
		if hidden > 0 {
			indent(b, depth+1)
			c := cut{nodes: hidden}
			if i >= 0 {
				c.name = ShortName(l.nodes[i].Node().Func.Name)
			}
			fmt.Fprintln(b, v.paint(dim, v.more(c)))
		}
	}
	write(-1)
}

// writeNode writes one line: sign, indent, node, what changed.
func (d *Diff) writeNode(b *bufio.Writer, v *View, n *DiffNode, depth int) {
	s := diffSigns[n.Change]
	if n.Change == Common && n.Values != nil {
		s.sign, s.color = "=", cyan
	}
	view := *v
	if n.Change != Added && n.Change != Removed {
		view.Counts = false // either the change says it, or it does not matter
	}
	tree := d.B
	if n.B == nil {
		tree = d.A
	}
	line := view.line(n.Node(), tree.Sampled)
	if n.Change == Moved {
		line += " moved from " + place(n.A.Parent)
	}
	if n.A != nil && n.B != nil && d.counts && countsDiffer(n.A, n.B) {
		line += fmt.Sprintf(" count %s -> %s", number(n.A.Calls, n.A.Flags), number(n.B.Calls, n.B.Flags))
	}
	if n.Values != nil {
		line += " " + n.Values.String()
	}
	b.WriteString(v.paint(s.color, s.sign))
	b.WriteByte(' ')
	indent(b, depth)
	b.WriteString(v.paint(s.color, line))
	b.WriteByte('\n')
}

// writeFirstValues says where the runs, which called the same functions so far, first
// did it with other values.
func (d *Diff) writeFirstValues(b *bufio.Writer) {
	n := d.FirstValues
	kind := "given to"
	if n.Values.Result {
		kind = "returned by"
	}
	fmt.Fprintf(b, "first other value, %s %s:\n  %s\n", kind, pathText(pathTo(n.Node(), nil)), n.Values)
}

func place(parent *Node) string {
	if parent == nil {
		return "the roots"
	}
	return ShortName(parent.Func.Name)
}

// write writes the paths of both sides.
func (d *Divergence) write(b *bufio.Writer) {
	fmt.Fprintln(b, "first divergence:")
	side := func(name string, n *Node, path []*Node) {
		line := pathText(path)
		switch {
		case n == nil && len(path) == 0:
			line = "calls nothing more"
		case n == nil:
			line += ", which calls nothing more"
		case d.Count:
			line += " count " + number(n.Calls, n.Flags)
		}
		fmt.Fprintf(b, "  %s: %s\n", name, line)
	}
	side("a", d.A, d.PathA())
	side("b", d.B, d.PathB())
}

// pathText writes a path from the root. A deep one keeps its ends: the start says
// which part of the program it is, the end what happened.
func pathText(path []*Node) string {
	var s []string
	for i, p := range path {
		if len(path) > 12 && i == 3 {
			s = append(s, fmt.Sprintf("[%d more]", len(path)-11))
		}
		if len(path) <= 12 || i < 3 || i >= len(path)-8 {
			s = append(s, ShortName(p.Func.Name))
		}
	}
	return strings.Join(s, " > ")
}
