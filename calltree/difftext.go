package calltree

import (
	"bufio"
	"fmt"
	"io"
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
}{Common: {" ", plainText}, Changed: {"~", yellow}, Moved: {">", cyan}, Added: {"+", green}, Removed: {"-", red}, Unrecorded: {"?", dim}}

// WriteText writes the diff as text: the counts, the first divergence with the
// path on both sides (a is the first tree, b the second), and the places where the runs
// differ, the one that most likely matters first. A place is the way to a caller, and
// what it calls in one run only, or in another way:
//
//	2 added, 1 removed, 1 moved, 1 with another count, 14 unchanged
//	first divergence that matters:
//	  a: main.main > main.run > csv.Read
//	  b: main.main > main.run > md.Render
//	the very first one:
//	  a: main.main > main.flags > pflag.Set count 3
//	  b: main.main > main.flags > pflag.Set count 4
//
//	main.main > main.run main.go:20
//	- csv.Read csv.go:40
//	+ md.Render md.go:12
//	> text.Wrap moved from main.main
//	~ text.Pad x3 -> x5
//	~   text.fill
//	= text.Wrap width: 80 -> 72
//
//	main.main > main.flags main.go:12 (and 2 more ways)
//	~ pflag.Set x3 -> x4
//
// A node that is the same but for the values of its observed calls is marked "=", one
// that the other run could not have recorded "?". Without counts "~" is for those of
// the line above. Places of one function where the same is different are one.
//
// Compact, as for [Tree.WriteText], a function of another module that another module
// calls has its name and counts only.
//
// Of the view, Depth counts from a place, MaxNodes is of all places together, and
// Command is not used: a cut says only how many nodes it hides, unless Cut writes it.
// [Diff.WriteSummary] writes what is before the places.
func (d *Diff) WriteText(w io.Writer, v View) error {
	b := bufio.NewWriter(w)
	if err := d.WriteSummary(b); err != nil {
		return err
	}
	if len(d.Places) > 0 { // not so if only the order of calls differs
		d.writePlaces(b, &v)
	}
	return b.Flush()
}

// WriteSummary writes the counts and the first divergence.
func (d *Diff) WriteSummary(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, d)
	d.writeDivergences(b)
	if d.FirstValues != nil {
		d.writeFirstValues(b)
	}
	return b.Flush()
}

// writeNode writes one line: sign, indent, node, what changed.
func (d *Diff) writeNode(b *bufio.Writer, v *View, n *DiffNode, depth int) {
	d.writeBelow(b, v, nil, n, func() { indent(b, depth) })
}

// writeBelow writes a line below that of another node, which may be nil.
func (d *Diff) writeBelow(b *bufio.Writer, v *View, above, n *DiffNode, indent func()) {
	s := diffSigns[n.Change]
	if n.Change == Common && n.Values != nil {
		s.sign, s.color = "=", cyan
	}
	view := *v
	if n.A != nil && n.B != nil {
		view.Counts = false // either the change says it, or it does not matter
	}
	tree := d.B
	if n.B == nil {
		tree = d.A
	}
	line := view.line(n.Node(), tree.Sampled)
	if n.Change == Moved {
		line += " moved from " + origin(n.A, n.B)
	}
	if n.A != nil && n.B != nil && d.counts && countsDiffer(n.A, n.B) && !sameCounts(above, n) {
		line += fmt.Sprintf(" x%s -> x%s", number(n.A.Calls, n.A.Flags), number(n.B.Calls, n.B.Flags))
	}
	if n.Values != nil {
		line += " " + n.Values.String()
	}
	b.WriteString(v.paint(s.color, s.sign))
	b.WriteByte(' ')
	indent()
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

// origin names where a node was that has moved: the caller or, if that is the same
// function in both runs, the next one above that is not.
func origin(a, b *Node) string {
	a, b = a.Parent, b.Parent
	below := ""
	for a != nil && b != nil && a.Func.Name == b.Func.Name {
		a, b, below = a.Parent, b.Parent, "below "
	}
	if a == nil {
		return "the roots"
	}
	return below + ShortName(a.Func.Name)
}

// write writes the paths of both sides.
func (d *Divergence) write(b *bufio.Writer, heading string) {
	fmt.Fprintln(b, heading)
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
	const whole, last = 12, 5
	var s []string
	for i, p := range path {
		if len(path) > whole && i == 1 {
			s = append(s, fmt.Sprintf("... %d more ...", len(path)-1-last))
		}
		if len(path) <= whole || i == 0 || i >= len(path)-last {
			s = append(s, ShortName(p.Func.Name))
		}
	}
	return strings.Join(s, " > ")
}
