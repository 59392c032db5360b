package calltree

import (
	"fmt"
	"slices"
	"strings"

	"tracerag/trace"
)

// tops returns what the tree is about, in call order: the roots, or of a focused tree
// the uppermost nodes that the focus is on.
func (t *Tree) tops() []*Node {
	var tops []*Node
	t.Walk(func(n *Node, _ int) bool {
		if !n.way {
			tops = append(tops, n)
		}
		return n.way
	})
	return tops
}

// Way returns the line that leads from the root to n, up to the caller: "main.main >
// ... 12 more ... > render.(*Page).Code"; "" for a root. The start says which part of
// the program it is, the end what led there.
//
// Where the way passes a function that also called itself, and n may have been called
// from in there, the line says so: "walk (again through visit)". What the inner calls
// called is counted at the outer one, so that the way without a word would leave
// visit out, which may be the reason for it all.
func (n *Node) Way() string { return wayTo(n, &View{}, wayCallers) }

// WayBy is the same with so many callers of the node by name.
func (n *Node) WayBy(callers int) string { return wayTo(n, &View{}, callers) }

// A way names so many callers of its node, and in a text that has shown some ways only
// the one.
const (
	wayCallers = 3
	longWays   = 8
)

func wayTo(n *Node, v *View, callers int) string {
	if n.Parent == nil {
		return ""
	}
	path := slices.Collect(n.Up())
	slices.Reverse(path)
	keep := make([]bool, len(path)-1)
	names := make([]string, len(keep))
	for i, p := range path[:len(path)-1] {
		names[i] = v.wayName(p)
		keep[i] = i == 0 || i >= len(keep)-callers
		if through := recursion(p, path[i+1]); through != "" {
			names[i] += " (again through " + through + ")"
			keep[i] = true
		}
	}
	var out []string
	for i := 0; i < len(keep); i++ {
		from := i
		for i < len(keep) && !keep[i] {
			i++
		}
		switch {
		case i-from > 1:
			out = append(out, fmt.Sprintf("... %d more ...", i-from))
		case i > from:
			out = append(out, names[from])
		}
		if i < len(keep) {
			out = append(out, names[i])
		}
	}
	return strings.Join(out, " > ")
}

func (v *View) wayName(n *Node) string {
	name := ShortName(n.Func.Name)
	if n.Root == trace.RootGoroutine {
		name = "go " + name
	}
	if n.Process != nil {
		name += " [process: " + n.program() + "]"
	}
	if v.IDs {
		name = fmt.Sprintf("#%d %s", n.ID, name)
	}
	return name
}

// recursion names the functions through which n had called itself when next, a child
// of it, was first called: the first one of the latest such round, and the last. A
// function that calls itself directly turns no way round.
func recursion(n, next *Node) string {
	var latest *Node
	for _, again := range n.again {
		direct := again.Parent == nil || again.Parent.ID == n.ID
		if !direct && again.first < next.first && (latest == nil || again.first > latest.first) {
			latest = again
		}
	}
	if latest == nil {
		return ""
	}
	last := latest.Parent
	first := last
	for first.Parent != nil && first.Parent.ID != n.ID {
		first = first.Parent
	}
	if first == last {
		return ShortName(first.Func.Name)
	}
	return ShortName(first.Func.Name) + " > " + ShortName(last.Func.Name)
}

// ways writes the way to each node of a text.
type ways struct {
	v     *View
	last  *Node // the parent of the node before
	shown int
}

func newWays(v *View) *ways { return &ways{v: v} }

// to is what precedes the name of a node.
func (w *ways) to(n *Node) string {
	switch {
	case n.Parent == nil:
		w.last = nil
		return ""
	case n.Parent == w.last:
		return w.v.paint(dim, "... > ")
	}
	w.last = n.Parent
	callers := wayCallers
	if w.shown++; w.shown > longWays {
		callers = 1
	}
	return w.v.paint(dim, wayTo(n, w.v, callers)+" > ")
}
