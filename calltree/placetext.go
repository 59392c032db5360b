package calltree

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
)

// writeDivergences writes where the runs part: where it matters first, and where they
// did so at all, if that is elsewhere.
func (d *Diff) writeDivergences(b *bufio.Writer) {
	first := d.FirstDivergence
	place, n := d.Matters()
	switch {
	case first == nil && (n == nil || n.Values != nil && n.Change == Common): // writeFirstValues says it
		return
	case n == nil, first != nil && first.IsAt(place):
		first.write(b, "first divergence:")
		return
	}
	fmt.Fprintln(b, "first divergence that matters:")
	for i, side := range []*Node{n.A, n.B} {
		fmt.Fprintf(b, "  %c: ", 'a'+i)
		switch {
		case side != nil:
			b.WriteString(pathText(pathTo(side, nil)))
			if n.Change == Changed {
				fmt.Fprintf(b, " count %s", number(side.Calls, side.Flags))
			}
		case place.Under == nil:
			b.WriteString("does not call it")
		default:
			under := place.Under.B
			if i == 0 {
				under = place.Under.A
			}
			b.WriteString(pathText(pathTo(under, nil)) + ", which does not call it")
		}
		b.WriteByte('\n')
	}
	if n.Change == Common {
		fmt.Fprintf(b, "  %s\n", n.Values)
	}
	if first != nil {
		first.write(b, "the very first one:")
	}
}

// IsAt reports whether a divergence is among the nodes of a place.
func (d *Divergence) IsAt(p *Place) bool {
	return slices.ContainsFunc(p.Nodes, func(n *DiffNode) bool {
		return d.A != nil && n.A == d.A || d.B != nil && n.B == d.B
	})
}

// Of a text with a limit a place takes so many nodes at least, and else a share of what
// is left: one that is large does not hide the others.
const (
	placeNodes = 12
	placeShare = 3
)

// writePlaces writes the places in the order of their rank.
func (d *Diff) writePlaces(b *bufio.Writer, v *View) {
	if v.Compact {
		v.places = newPlaces(v.Dependency)
	}
	v.Command = ""
	places := d.joined()
	left, hidden := v.MaxNodes, 0
	for rank, p := range places {
		l := p.layout()
		limit := 0
		if v.MaxNodes > 0 {
			if limit = min(left, max(placeNodes, left/placeShare)); limit == 0 {
				hidden += len(l.nodes)
				continue
			}
		}
		shown := l.fill(v.Depth, limit, nil)
		for _, s := range shown {
			if s {
				left--
			}
		}
		b.WriteByte('\n')
		callers := wayCallers
		if rank >= longWays {
			callers = 1
		}
		p.writeWay(b, v, callers)
		d.writePlace(b, v, l, shown)
	}
	if hidden > 0 {
		fmt.Fprintf(b, "\n%s\n", v.paint(dim, v.more(cut{nodes: hidden})))
	}
}

// writeWay writes the line above a place.
func (p *joinedPlace) writeWay(b *bufio.Writer, v *View, callers int) {
	if p.Under == nil {
		b.WriteString("the roots")
	} else {
		n := p.Under.Node()
		if n.Parent != nil {
			b.WriteString(v.paint(dim, wayTo(n, v, callers)+" > "))
		}
		b.WriteString(v.wayName(n))
		if at := v.position(n.Func); v.Positions && at != "" {
			b.WriteString(" " + v.paint(dim, at))
		}
	}
	switch {
	case p.ways == 1:
		b.WriteString(v.paint(dim, " (and 1 more way)"))
	case p.ways > 1:
		b.WriteString(v.paint(dim, fmt.Sprintf(" (and %d more ways)", p.ways)))
	}
	b.WriteByte('\n')
}

func (d *Diff) writePlace(b *bufio.Writer, v *View, l *layout, shown []bool) {
	indent := l.bands(shown)
	if !v.Compact {
		indent = func(b *bufio.Writer, depth int) { b.WriteString(strings.Repeat("  ", depth)) }
	}
	var write func(i int)
	write = func(i int) {
		hidden, depth := 0, 0
		if i >= 0 {
			depth = l.depth[i] + 1
			var above *DiffNode
			if p := l.parent[i]; p >= 0 {
				above = l.nodes[p]
			}
			v := *v
			if above != nil && v.Compact && v.Dependency != nil && v.Dependency(above.Node().Func) && v.Dependency(l.nodes[i].Node().Func) {
				v.inside = true
			}
			d.writeBelow(b, &v, above, l.nodes[i], func() { indent(b, depth-1) })
		}
		l.children(i, func(c int) {
			if shown[c] {
				write(c)
			} else {
				hidden += l.size[c]
			}
		})
		if hidden > 0 {
			c := cut{nodes: hidden}
			if i >= 0 {
				c.name = ShortName(l.nodes[i].Node().Func.Name)
			}
			b.WriteString("  ")
			indent(b, depth)
			fmt.Fprintln(b, v.paint(dim, v.more(c)))
		}
	}
	write(-1)
}

// joinedPlace is a place, and how many others of the same function differ in the same.
type joinedPlace struct {
	*Place
	ways int
}

// joined returns the places, those that say the same as one.
func (d *Diff) joined() []*joinedPlace {
	var out []*joinedPlace
	by := map[string]*joinedPlace{}
	for _, p := range d.Places {
		key := p.text()
		if j := by[key]; j != nil {
			j.ways++
			continue
		}
		j := &joinedPlace{Place: p}
		by[key] = j
		out = append(out, j)
	}
	return out
}

// text is what a place says, without handles.
func (p *Place) text() string {
	var b strings.Builder
	if p.Under != nil {
		b.WriteString(p.Under.Node().Func.Name)
	}
	l := p.layout()
	for i, n := range l.nodes {
		fmt.Fprintf(&b, "\n%d %d %s", l.depth[i], n.Change, n.Node().Func.Name)
		for _, side := range []*Node{n.A, n.B} {
			if side != nil {
				b.WriteString(" " + side.count())
			}
		}
		if n.Change == Moved {
			b.WriteString(" from " + origin(n.A, n.B))
		}
		if n.Values != nil {
			b.WriteString(" " + n.Values.String())
		}
	}
	return b.String()
}

// layout is what differs at the place, in preorder.
func (p *Place) layout() *layout {
	l := &layout{}
	var add func(n *DiffNode, parent int)
	add = func(n *DiffNode, parent int) {
		i := l.open(parent)
		l.nodes = append(l.nodes, n)
		for c := range n.Differing {
			add(c, i)
		}
		l.close(i)
	}
	for _, n := range p.Nodes {
		add(n, -1)
	}
	return l
}
