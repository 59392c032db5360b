package calltree

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"tracerag/trace"
	"tracerag/trace/symbol"
)

// sequenceNodes bounds a sequence diagram by default: a message takes a line of
// the picture, and a hundred are several screens.
const sequenceNodes = 100

// sequenceEscape is for messages, notes and names of participants: a semicolon
// ends a line, and a hash begins the name of a letter.
var sequenceEscape = strings.NewReplacer("#", "#35;", ";", "#59;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "\"", "#quot;", "`", "#96;", "\\", "#92;",
	"{", "#123;", "}", "#125;", "%%", "#37;#37;")

// WriteSequence writes the tree as a Mermaid sequence diagram. A participant is a
// receiver's type, or a package for its other functions; a message is a node, from
// the caller's participant to its own, in the order of first calls, and those that a
// participant sends while it is active are calls that it made. A go statement and the start
// of a process are arrows with open heads. A note says how many nodes are not drawn.
func (t *Tree) WriteSequence(w io.Writer, v View) error {
	v.Color, v.Compact = nil, false
	v.MaxNodes = cmp.Or(v.MaxNodes, sequenceNodes)
	b := bufio.NewWriter(w)
	b.WriteString("sequenceDiagram\n  actor p0 as run\n")
	f := flatten(t)
	shown := f.fill(v.Depth, v.MaxNodes, nil)

	// Participants in the order in which they come in. Equal short names are of
	// different packages, and keep apart.
	type participant struct{ pkg, name string }
	number := map[participant]int{}
	of := make([]int, len(f.nodes))
	for i, n := range f.nodes {
		if !shown[i] {
			continue
		}
		p := participant{n.Func.Package, owner(n.Func.Name)}
		if number[p] == 0 {
			number[p] = len(number) + 1
			fmt.Fprintf(b, "  participant p%d as %s\n", number[p], sequenceEscape.Replace(printable(p.name)))
		}
		of[i] = number[p]
	}

	note := func(at int, c cut) {
		fmt.Fprintf(b, "  Note right of p%d: %s\n", at, sequenceEscape.Replace(v.more(c)))
	}
	var active []int
	leave := func(i int) {
		for len(active) > 0 && active[len(active)-1]+f.size[active[len(active)-1]] <= i {
			last := active[len(active)-1]
			if c, ok := f.cuts(last, shown, nil); ok {
				note(of[last], c)
			}
			fmt.Fprintf(b, "  deactivate p%d\n", of[last])
			active = active[:len(active)-1]
		}
	}
	for i, n := range f.nodes {
		if !shown[i] {
			continue
		}
		leave(i)
		from, arrow := 0, "->>"
		if p := f.parent[i]; p >= 0 {
			from = of[p]
		}
		if n.Root == trace.RootGoroutine || n.Process != nil {
			arrow = "-)"
		}
		fmt.Fprintf(b, "  p%d%sp%d: %s\n", from, arrow, of[i], sequenceEscape.Replace(v.message(n, t.Sampled)))
		if f.size[i] > 1 {
			fmt.Fprintf(b, "  activate p%d\n", of[i])
			active = append(active, i)
		}
	}
	leave(len(f.nodes))
	if c, ok := f.cuts(-1, shown, nil); ok {
		note(0, c)
	}
	return b.Flush()
}

// message is a node's line of text, with the name as the participant knows it.
func (v *View) message(n *Node, sampled bool) string {
	line := v.line(n, sampled)
	own := owner(n.Func.Name)
	name := ShortName(n.Func.Name)
	short := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(name, own), pointer(own)), ".")
	return strings.Replace(line, name, cmp.Or(short, name), 1)
}

// owner is what a function belongs to: "table.Table" for a method, or else its
// package, "table".
func owner(linker string) string {
	name := ShortName(linker)
	pkg := symbol.Base(symbol.Package(linker))
	if pkg == "" {
		return name
	}
	local := strings.TrimPrefix(name, pkg+".")
	if rest, ok := strings.CutPrefix(local, "(*"); ok {
		if typ, _, ok := strings.Cut(rest, ")"); ok {
			return pkg + "." + generic(typ)
		}
		return pkg
	}
	typ, method, ok := strings.Cut(local, ".")
	// A closure of a function that was put into another one is F.(*T).M.func1.
	if !ok || anonymous(method) || strings.HasPrefix(method, "(") || typ == "init" || typ == "glob" {
		return pkg
	}
	return pkg + "." + generic(typ)
}

func generic(typ string) string {
	typ, _, _ = strings.Cut(typ, "[")
	return typ
}

// pointer is an owner as the name of a method with a pointer receiver begins.
func pointer(owner string) string {
	pkg, typ, ok := strings.Cut(owner, ".")
	if !ok {
		return owner
	}
	return pkg + ".(*" + typ + ")"
}

// anonymous reports whether the second part of a name is the compiler's, of a
// closure within a function, and not a method's.
func anonymous(part string) bool {
	for _, p := range []string{"func", "gowrap", "deferwrap"} {
		if rest, ok := strings.CutPrefix(part, p); ok && (rest == "" || rest[0] >= '0' && rest[0] <= '9') {
			return true
		}
	}
	return false
}

// isMethod reports whether a function has a receiver.
func isMethod(linker string) bool {
	return owner(linker) != symbol.Base(symbol.Package(linker))
}
