package calltree

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteText writes the tree as indented text, a node a line, two spaces a
// level:
//
//	main.main main.go:10
//	  csv.(*Reader).ReadAll x3 csv.go:40
//	    csv.parse x200+ csv.go:88 inlined
//	    [12 more nodes: tracerag tree 7f3a --focus=#9-20]
//	  main.worker main.go:70 go at main.go:31
//
// A name is followed by its count (one call is left out; "x200+" is at
// least so many, "x~200" about so many, "x?" seen on a stack but not when it
// was called), its position and its flags, and the values of calls that were
// observed: "(s string = "a", n int = 3) -> error = nil; ("b", 3) -> nil". From the 101st level on,
// "(level 101)" stands for a deeper indent.
//
// Box drawing would tell a language model nothing more and cost four times as
// much: 29 tokens a line instead of 7, on 500 bare lines up to 13 levels deep,
// in o200k_base as in cl100k_base. Handles cost 2 a line, counts with
// positions 6.
//
// A Compact view leaves out what its reader knows or does not want. The way to what a
// focus is on takes one line with it, and depth counts from there; what has the same
// way as the line above has only "... > " before its name:
//
//	main.main > ... 34 more ... > render.(*Page).Code > highlight.highlight highlight/highlight.go:165
//	  chroma.Coalesce chroma/coalesce.go:4
//	  chroma.(*coalescer).Tokenise :8
//	... > highlight.options highlight/highlight.go:90
//
// A position is at the first node of its function, and ":8" is in the file above. No
// indent is wider than 40 columns: it is one column a level in a text of more than ten,
// and "36|" is the first 36 of them. Inlined calls have no flag.
func (t *Tree) WriteText(w io.Writer, v View) error {
	b := bufio.NewWriter(w)
	f := flatten(t)
	var ways *ways
	indent := indent
	if v.Compact {
		tops := t.tops()
		f = flattenBelow(tops, t.Size)
		ways = newWays(&v)
		v.places = newPlaces(v.Dependency)
	}
	folds := f.folds(v.Fold)
	shown := f.fill(v.Depth, v.MaxNodes, folds)
	if v.Cut != nil {
		f.spare(shown, v.Depth, folds)
	}
	if v.Compact {
		indent = f.bands(shown)
	}
	var write func(i int)
	write = func(i int) {
		depth := 0
		if i >= 0 {
			depth = f.depth[i] + 1
			indent(b, depth-1)
			if ways != nil && depth == 1 {
				b.WriteString(ways.to(f.nodes[i]))
			}
			b.WriteString(v.line(f.nodes[i], t.Sampled))
			b.WriteByte('\n')
		}
		var run folded
		mark := func() {
			if run.nodes > 0 {
				indent(b, depth)
				b.WriteString(v.paint(dim, run.mark(t.Sampled)))
				b.WriteByte('\n')
				run = folded{}
			}
		}
		f.children(i, func(c int) {
			switch {
			case folds != nil && folds(c):
				run.add(f.nodes[c : c+f.size[c]])
			case shown[c]:
				mark()
				write(c)
			}
		})
		mark()
		if c, ok := f.cuts(i, shown, folds); ok {
			indent(b, depth)
			b.WriteString(v.paint(dim, v.more(c)))
			b.WriteByte('\n')
		}
	}
	write(-1)
	return b.Flush()
}

// spare shows the nodes that are cut alone, unless they are too deep.
func (f *flat) spare(shown []bool, depth int, skip func(i int) bool) {
	alone := func(i int) {
		hidden, last := 0, 0
		f.children(i, func(c int) {
			if !shown[c] && (skip == nil || !skip(c)) {
				hidden += f.size[c]
				last = c
			}
		})
		if hidden == 1 && (depth == 0 || f.depth[last] < depth) {
			shown[last] = true
		}
	}
	alone(-1)
	for i := range f.nodes {
		if shown[i] {
			alone(i)
		}
	}
}

// maxIndent is the depth from which on the level is a number instead: an
// indent for each level would make the text of a deep tree quadratic.
const maxIndent = 100

func indent(b *bufio.Writer, depth int) {
	b.WriteString(strings.Repeat("  ", min(depth, maxIndent)))
	if depth > maxIndent {
		fmt.Fprintf(b, "(level %d) ", depth+1)
	}
}

// A Compact text indents by two columns a level if it has few levels, or else by one,
// up to bandLevels. Then it begins anew at the margin, behind a mark that says how deep
// that is.
const (
	fewLevels  = 10
	bandLevels = 36
)

// bands returns the indent of a Compact text of the shown entries.
func (f *shape) bands(shown []bool) func(b *bufio.Writer, depth int) {
	step := "  "
	for i, depth := range f.depth {
		if shown[i] && depth > fewLevels {
			step = " "
		}
	}
	return func(b *bufio.Writer, depth int) {
		if depth >= bandLevels {
			fmt.Fprintf(b, "%d| ", depth/bandLevels*bandLevels)
		}
		b.WriteString(strings.Repeat(step, depth%bandLevels))
	}
}
