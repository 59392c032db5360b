package calltree

import (
	"bufio"
	"fmt"
	"io"
	"slices"
)

// WriteContext writes the counts and the first divergence, and around it the calls
// that stand beside it: the way down to it, and of the same caller's calls as many as
// around before and after. It is short whatever the runs did:
//
//	1 added, 1 removed, 40 unchanged
//	first divergence:
//	  a: main.main > main.run > csv.Read
//	  b: main.main > main.run > md.Render
//
//	  main.main main.go:10
//	    main.run main.go:20
//	      main.open main.go:31
//	-     csv.Read csv.go:40
//	+     md.Render md.go:12
//	      [12 more]
//
// If the runs do not part, only the counts are written. Of the view, Depth, MaxNodes
// and Command are not used.
func (d *Diff) WriteContext(w io.Writer, v View, around int) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, d)
	if d.FirstDivergence != nil {
		d.FirstDivergence.write(b, "first divergence:")
	}
	if d.FirstValues != nil {
		d.writeFirstValues(b)
	}
	if d.FirstDivergence != nil {
		b.WriteByte('\n')
		d.writeContext(b, &v, around)
	}
	return b.Flush()
}

func (d *Diff) writeContext(b *bufio.Writer, v *View, around int) {
	first := d.FirstDivergence
	under := first.UnderB // what both runs called there is one node of the diff
	if under == nil {
		under = first.UnderA
	}
	siblings, depth := d.Roots, 0
	if under != nil {
		for n := range pathOf(d.Roots, under) {
			d.writeNode(b, v, n, depth)
			siblings = n.Children
			depth++
		}
	}
	at := slices.IndexFunc(siblings, func(n *DiffNode) bool {
		return first.A != nil && n.A == first.A || first.B != nil && n.B == first.B
	})
	last := at // of those that show it: what one calls stands beside what the other does
	for i := at; i < len(siblings); i++ {
		if n := siblings[i]; first.A != nil && n.A == first.A || first.B != nil && n.B == first.B {
			last = i
		}
	}
	if last > at+2*around {
		last = at + 2*around
	}
	from, to := max(0, at-around), min(len(siblings), last+around+1)
	more := func(n int) {
		if n > 0 {
			indent(b, depth+1)
			fmt.Fprintln(b, v.paint(dim, fmt.Sprintf("[%d more]", n)))
		}
	}
	more(from)
	for _, n := range siblings[from:to] {
		d.writeNode(b, v, n, depth)
	}
	more(len(siblings) - to)
}

// pathOf yields the nodes from the root to the one that stands for n.
func pathOf(roots []*DiffNode, n *Node) func(yield func(*DiffNode) bool) {
	var path []*DiffNode
	var find func(nodes []*DiffNode) bool
	find = func(nodes []*DiffNode) bool {
		for _, d := range nodes {
			path = append(path, d)
			if d.A == n || d.B == n || find(d.Children) {
				return true
			}
			path = path[:len(path)-1]
		}
		return false
	}
	find(roots)
	return slices.Values(path)
}
