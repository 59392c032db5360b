package calltree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tracerag/trace/symbol"
)

// Focus returns the part of t that concerns the functions that match any of the
// patterns: each of their nodes with all that is below it, and the way to it
// from the root. IDs and totals are those of t, which is left alone.
//
// A pattern is, and the first reading that finds anything is taken:
//
//   - a handle, "#12", a range of them, "#12-40", or several with commas between;
//   - a linker name: "example.com/app/table.(*Writer).Flush";
//   - a short name, with or without the receiver's parentheses and star:
//     "table.(*Writer).Flush", "table.Writer.Flush";
//   - a name without the package, or the last part of one: "(*Writer).Flush",
//     "Writer.Flush", "Flush";
//   - a package and a method of any of its types: "table.Flush";
//   - a type with its package, for all methods of it: "table.Writer";
//   - if it has a star, but for that of a receiver, any of these names with
//     the star standing for any text: "table.*", "*Border*".
//
// Type arguments may be left out. A plain part of a name matches nothing: it
// would hide a mistyped name, which the suggestions of [*NotFoundError] mend.
func (t *Tree) Focus(patterns ...string) (*Tree, error) {
	f := flatten(t)
	keep := make([]bool, len(f.nodes))
	for _, pattern := range patterns {
		match, err := t.matcher(pattern)
		if err != nil {
			return nil, err
		}
		for i, n := range f.nodes {
			keep[i] = keep[i] || match(n)
		}
	}
	for i, p := range f.parent {
		keep[i] = keep[i] || p >= 0 && keep[p]
	}
	found := slices.Clone(keep)
	for i := len(f.nodes) - 1; i >= 0; i-- {
		if p := f.parent[i]; p >= 0 && keep[i] {
			keep[p] = true
		}
	}
	c, copies := t.copyOf(f, keep)
	for i, n := range copies {
		if n != nil {
			n.way = !found[i]
		}
	}
	return c, nil
}

// Find returns the nodes of t that match pattern, as [Tree.Focus] reads it, in call
// order.
func (t *Tree) Find(pattern string) ([]*Node, error) {
	match, err := t.matcher(pattern)
	if err != nil {
		return nil, err
	}
	var found []*Node
	t.Walk(func(n *Node, _ int) bool {
		if match(n) {
			found = append(found, n)
		}
		return true
	})
	return found, nil
}

// Functions returns the linker names of the functions that [Tree.Find] finds, in call
// order.
func (t *Tree) Functions(pattern string) ([]string, error) {
	nodes, err := t.Find(pattern)
	if err != nil {
		return nil, err
	}
	var names []string
	seen := map[string]bool{}
	for _, n := range nodes {
		if name := n.Func.Name; !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names, nil
}

// Without returns t less the nodes that drop returns true for, with all that is
// below them. IDs and totals are those of t, which is left alone.
func (t *Tree) Without(drop func(*Node) bool) *Tree {
	f := flatten(t)
	keep := make([]bool, len(f.nodes))
	for i, n := range f.nodes {
		p := f.parent[i]
		keep[i] = (p < 0 || keep[p]) && !drop(n)
	}
	c, _ := t.copyOf(f, keep)
	return c
}

// copyOf returns a copy of the nodes of t, of which f is the layout, to keep, and
// these by entry of f.
func (t *Tree) copyOf(f *flat, keep []bool) (c *Tree, copies []*Node) {
	c = &Tree{Sampled: t.Sampled}
	copies = make([]*Node, len(f.nodes))
	for i, n := range f.nodes {
		if !keep[i] {
			continue
		}
		c.Size++
		if p := f.parent[i]; p < 0 {
			copies[i] = n.alone(nil)
			c.Roots = append(c.Roots, copies[i])
		} else {
			copies[i] = n.alone(copies[p])
			copies[p].Children = append(copies[p].Children, copies[i])
		}
	}
	return c, copies
}

// matcher returns the test for the nodes that pattern names.
func (t *Tree) matcher(pattern string) (func(*Node) bool, error) {
	if ranges, ok := parseHandles(pattern); ok {
		return t.handleMatcher(pattern, ranges)
	}

	known := map[string]names{} // by linker name: there are fewer functions than nodes
	t.Walk(func(n *Node, _ int) bool {
		if _, ok := known[n.Func.Name]; !ok {
			known[n.Func.Name] = namesOf(n.Func.Name)
		}
		return true
	})
	hits, err := matchNames(pattern, known)
	if err != nil {
		return nil, err
	}
	return func(n *Node) bool { return hits[n.Func.Name] }, nil
}

// Match returns those of the functions with these linker names that a pattern of
// [Tree.Focus] means, but for handles, which are a tree's. The error may be a
// [*NotFoundError].
func Match(pattern string, linkerNames []string) (found []string, err error) {
	known := map[string]names{}
	for _, name := range linkerNames {
		known[name] = namesOf(name)
	}
	hits, err := matchNames(pattern, known)
	if err != nil {
		return nil, err
	}
	for _, name := range linkerNames {
		if hits[name] {
			found = append(found, name)
		}
	}
	return found, nil
}

// matchNames returns the names that the strictest reading of pattern finds.
func matchNames(pattern string, known map[string]names) (hits map[string]bool, err error) {
	for _, reading := range readings(pattern) {
		hits = map[string]bool{}
		for name, n := range known {
			if reading(n) {
				hits[name] = true
			}
		}
		if len(hits) > 0 {
			return hits, nil
		}
	}
	return nil, &NotFoundError{Pattern: pattern, Suggestions: suggest(pattern, known)}
}

// names are what a function may be called by.
type names struct {
	linker, full, short, local, last string
	method, fullMethod               string // package and last part, if that is a method's; ""
	fullType                         string // package and type of a method; ""
}

func namesOf(linker string) names {
	n := names{linker: linker, short: plain(symbol.Short(linker)), local: plain(symbol.Local(linker))}
	n.full = n.local
	if pkg := symbol.Package(linker); pkg != "" {
		n.full = pkg + "." + n.local
	}
	n.last = n.local[strings.LastIndexByte(n.local, '.')+1:]
	if pkg := symbol.Package(linker); pkg != "" && n.last != n.local && !anonymous(n.last) {
		n.method, n.fullMethod = symbol.Base(pkg)+"."+n.last, pkg+"."+n.last
		n.fullType, _, _ = strings.Cut(n.local, ".")
		n.fullType = pkg + "." + n.fullType
	}
	return n
}

// plain drops type arguments and the dress of a pointer receiver:
// "b.(*T[go.shape.int]).M" is "b.T.M".
func plain(name string) string { return undress.Replace(symbol.WithoutArguments(name)) }

var undress = strings.NewReplacer("(*", "", "(", "", ")", "")

// readings are the meanings of a pattern, the strictest first.
func readings(pattern string) []func(names) bool {
	p := plain(pattern)
	if p == "" {
		return nil
	}
	return []func(names) bool{
		func(n names) bool { return n.linker == pattern },
		// The import path, or its end: "v2.F" and "chroma/v2.F" are chroma.F.
		func(n names) bool {
			return n.short == p || strings.HasSuffix("/"+n.full, "/"+p) || plain(n.linker) == p
		},
		func(n names) bool { return n.local == p || n.last == p },
		func(n names) bool {
			return n.method != "" && (n.method == p || strings.HasSuffix("/"+n.fullMethod, "/"+p))
		},
		func(n names) bool {
			return strings.Contains(p, ".") && n.fullType != "" && strings.HasSuffix("/"+n.fullType, "/"+p)
		},
		func(n names) bool {
			return strings.Contains(p, "*") &&
				(glob(p, n.short) || glob(p, n.local) || glob(p, n.full))
		},
		func(n names) bool { return strings.Contains(p, "*") && n.method != "" && glob(p, n.method) },
	}
}

// glob reports whether s is pattern with its stars replaced by any text.
// Taking each piece at its first occurrence is enough: a later one would only
// leave less for the pieces after it.
func glob(pattern, s string) bool {
	pieces := strings.Split(pattern, "*")
	first, last := pieces[0], pieces[len(pieces)-1]
	if len(pieces) == 1 {
		return s == pattern
	}
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	for _, piece := range pieces[1 : len(pieces)-1] {
		i := strings.Index(s, piece)
		if i < 0 {
			return false
		}
		s = s[i+len(piece):]
	}
	return strings.HasSuffix(s, last)
}

// NotFoundError says that nothing in a tree matches a pattern.
type NotFoundError struct {
	Pattern     string
	Suggestions []string // short names that the pattern may have meant, the nearest first
	Within      string   // where it was looked for, "" for the tree

	lastID int  // of the tree, when the pattern was a handle
	inGap  bool // and an earlier one than that
}

func (e *NotFoundError) Error() string {
	switch {
	case e.inGap:
		return fmt.Sprintf("no node %s in the tree: it was pruned, or lies outside the focus", e.Pattern)
	case e.lastID > 0:
		return fmt.Sprintf("no node %s in the tree: its handles end at #%d", e.Pattern, e.lastID)
	}
	text := fmt.Sprintf("no function of %s matches %q", cmp.Or(e.Within, "the tree"), e.Pattern)
	switch {
	case len(e.Suggestions) > 0:
		return text + "; did you mean " + strings.Join(e.Suggestions, " or ") + "?"
	case strings.Contains(e.Pattern, "*"):
		return text
	}
	return fmt.Sprintf("%s; part of a name is written with stars, as in \"*%s*\"", text, e.Pattern)
}
