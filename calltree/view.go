package calltree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tracerag/trace"
	"tracerag/trace/symbol"
	"tracerag/visible"
)

// View says how much of a tree is rendered, and how. The zero View is the
// whole tree with names and flags only.
type View struct {
	Depth    int // levels that are shown, 1 for the roots alone; 0: all
	MaxNodes int // nodes that are shown, upper levels first; 0: all in text, 240 in a drawing; negative: all

	Counts    bool // how often each was called
	Positions bool // file and line of each function, and of go statements
	IDs       bool // handles
	Values    bool // arguments and results of calls that were observed
	// Compact, in text, is for people and agents, who read some part of a tree: see
	// [Tree.WriteText]. Dependency, if not nil, reports which functions are of other
	// modules: nobody opens their files by a name in a text, and it is written once for
	// as long as it stays the same.
	Compact    bool
	Dependency func(*trace.Function) bool
	// Color is written before each ANSI colour of a text, so that a writer can tell
	// these from what others have put into names; nil is no colours.
	Color *string

	// Fold, in text, leaves out the nodes for which it returns true, with all that
	// is below them. Where they would stand a mark says how much is missing.
	Fold func(*Node) bool

	// File returns the file name to show for a function; nil means the last
	// element of the path that the compiler recorded.
	File func(*trace.Function) string

	// Command is the command line that shows this tree, such as
	// "tracerag tree 7f3a --tree=graph". Where nodes are cut, it is written
	// with the --focus that shows them: the whole line can be typed. Without
	// it only their number is, which is enough for a reader who cannot type.
	Command string

	// Cut, if not nil, writes the mark that stands where nodes are cut, in place of
	// one with Command: how many they are, and the pattern of [Tree.Focus] that shows
	// them, a handle in a tree and a function's name in a diff; "" if none does. A
	// tree's node that would be cut alone is shown beyond MaxNodes: such a mark is as
	// long as the node's line.
	Cut func(nodes int, focus string) string

	places *places // of a compact text
	inside bool    // of another module, where names and counts are enough
}

// count writes calls as "x3": "x200+" if that is a floor, "x~200" if it may be
// off either way, "x?" if the calls were not seen. One call is "", about one, too:
// most inlined calls are that, and "x~1" tells a reader nothing.
func (n *Node) count() string { return CountText(n.Calls, n.Flags) }

// CountText writes calls of a function as trees write those of a node.
func CountText(calls int64, marks trace.Flags) string {
	switch {
	case calls == 0:
		return "x?"
	case calls == 1 && !marks.Has(trace.Floor):
		return ""
	}
	return "x" + number(calls, marks)
}

func number(calls int64, marks trace.Flags) string {
	s := strconv.FormatInt(calls, 10)
	if marks.Has(trace.Approximate) {
		s = "~" + s
	}
	if marks.Has(trace.Floor) {
		s += "+"
	}
	return s
}

// samples writes the counts of a sampled tree: those here and below, and those
// here.
func (n *Node) samples() string {
	return fmt.Sprintf("samples %d self %d", n.Total, n.Calls)
}

// flags returns what is to be said of n, as words.
func (v *View) flags(n *Node) []string {
	var m []string
	switch n.Root {
	case trace.RootGoroutine:
		m = append(m, v.goStmt(n))
	case trace.RootInit, trace.RootCallback:
		m = append(m, string(n.Root))
	}
	if n.Process != nil {
		m = append(m, v.process(n))
	}
	marks := n.Flags
	if v.Compact {
		if v.inside {
			marks &^= trace.Via
		}
		marks &^= trace.Inlined // every third line: it says how the compiler did it, not what ran
	}
	return append(m, flagNames(marks)...)
}

// process writes "[process: helper ab12cd34 and 11 more]". A reader who can ask for more gets the
// id of the process's own trace, which differs between equal runs.
func (v *View) process(n *Node) string {
	s := "[process: " + n.program()
	if (v.Command != "" || v.IDs) && n.Process.Trace != "" {
		s += " " + printable(n.Process.Trace)
	}
	if n.Processes > 1 {
		s += fmt.Sprintf(" and %d more", n.Processes-1)
	}
	return s + "]"
}

// program is the name of the file of the process that begins at n.
func (n *Node) program() string { return printable(base(n.Process.Program)) }

// goStmt writes "go at server.go:12,20", and where the go statement is not in
// the function above it, in which one it is: it was not recorded.
func (v *View) goStmt(n *Node) string {
	s := "go"
	if n.Go == nil || n.Go.Func == "" && n.Go.File == "" {
		return s
	}
	if v.Positions && n.Go.File != "" {
		s += " at " + printable(base(n.Go.File))
		if n.Go.Line > 0 {
			s += ":" + strconv.Itoa(n.Go.Line)
		}
		for _, line := range n.Lines {
			if line != n.Go.Line {
				s += "," + strconv.Itoa(line)
			}
		}
	}
	if n.Go.Func != "" && (n.Parent == nil || n.Parent.Func.Name != n.Go.Func) {
		s += " in " + ShortName(n.Go.Func)
	}
	return s
}

// flagNames returns the flags that are words; the others belong to the count.
func flagNames(m trace.Flags) []string {
	var s []string
	for _, w := range []struct {
		mark trace.Flags
		name string
	}{{trace.Inlined, "inlined"}, {trace.Recursive, "recursive"}, {trace.Via, "via"}} {
		if m.Has(w.mark) {
			s = append(s, w.name)
		}
	}
	return s
}

// allFlags returns all flags as words, those of the count among them.
func allFlags(m trace.Flags) []string {
	s := flagNames(m)
	if m.Has(trace.Floor) {
		s = append(s, "floor")
	}
	if m.Has(trace.Approximate) {
		s = append(s, "approximate")
	}
	return s
}

// position writes "table.go:12", or "" if it is not known.
func (v *View) position(fn *trace.Function) string {
	if v.inside || v.places != nil && !v.places.first(fn) {
		return ""
	}
	file := base(fn.File)
	if v.File != nil {
		file = v.File(fn)
	}
	if file == "" {
		return ""
	}
	file = v.places.brief(printable(file), fn)
	if fn.StartLine > 0 {
		file += ":" + strconv.Itoa(fn.StartLine)
	}
	return file
}

// base is the last element of a path of any system: a trace may be read on
// another one than it was recorded on.
func base(file string) string {
	return file[strings.LastIndexAny(file, `/\`)+1:]
}

// ShortName returns the name of a function as trees have it, from the linker's:
// the last element of the package, and no control characters. Type arguments
// lose their "go.shape." and, when they are long, all else: a shape may be a
// whole struct type.
func ShortName(linker string) string {
	s := symbol.Short(linker)
	open, end := strings.IndexByte(s, '['), strings.LastIndexByte(s, ']')
	if open >= 0 && end > open {
		args := strings.ReplaceAll(s[open+1:end], "go.shape.", "")
		if len(args) > 24 {
			args = "..."
		}
		s = s[:open+1] + args + s[end:]
	}
	return printable(s)
}

// printable escapes what could make a terminal do more than print: names come
// out of the traced binary, or out of a file that somebody sent.
func printable(s string) string {
	return visible.Line(s)
}

// cut is a run of nodes that are not shown.
type cut struct {
	nodes   int
	handles string // a pattern
	under   *Node  // whose children all are cut, if so

	// name is, in a diff, the function that they are below: handles are those of one
	// of its trees. There may be none.
	name string
}

// cuts returns the nodes below entry i (-1: the roots) that are not shown, but
// for those that skip, if not nil, took out of the choice. They are the last of
// the children: see [shape.fill].
func (f *flat) cuts(i int, shown []bool, skip func(i int) bool) (c cut, ok bool) {
	all := true
	var hidden []int
	f.children(i, func(child int) {
		if shown[child] || skip != nil && skip(child) {
			all = false
			return
		}
		hidden = append(hidden, child)
		c.nodes += f.size[child]
	})
	switch {
	case c.nodes == 0:
		return c, false
	case all && i >= 0:
		c.under = f.nodes[i]
	default:
		c.handles = f.handles(hidden)
	}
	return c, true
}

// more writes the mark that stands where nodes are cut.
func (v *View) more(c cut) string {
	if v.Cut != nil {
		return v.Cut(c.nodes, c.focus())
	}
	s := fmt.Sprintf("[%d more node", c.nodes)
	if c.nodes != 1 {
		s += "s"
	}
	if v.Command != "" {
		// The shell takes a # at the start of a word for a comment.
		s += ": " + v.Command + " --focus=" + c.focus()
	}
	return s + "]"
}

// focus is the pattern that shows the nodes.
func (c *cut) focus() string {
	switch {
	case c.under != nil:
		return fmt.Sprintf("#%d", c.under.ID)
	case c.handles != "":
		return c.handles
	}
	return c.name // a diff's
}

// style is an ANSI colour.
type style string

const (
	plainText style = ""
	dim       style = "\x1b[2m"
	yellow    style = "\x1b[33m"
	cyan      style = "\x1b[36m"
	green     style = "\x1b[32m"
	red       style = "\x1b[31m"
)

// paint colours s if the view has colours.
func (v *View) paint(c style, s string) string {
	if v.Color == nil || c == plainText || s == "" {
		return s
	}
	return *v.Color + string(c) + s + *v.Color + "\x1b[0m"
}

// line writes one node: name, count, position, flags, values.
func (v *View) line(n *Node, sampled bool) string {
	var parts []string
	if v.IDs {
		parts = append(parts, v.paint(dim, "#"+strconv.Itoa(n.ID)))
	}
	parts = append(parts, ShortName(n.Func.Name))
	if v.Counts {
		count := n.count()
		if sampled {
			count = n.samples()
		}
		parts = append(parts, v.paint(yellow, count))
	}
	if v.Positions {
		parts = append(parts, v.paint(dim, v.position(n.Func)))
	}
	parts = append(parts, v.paint(cyan, strings.Join(v.flags(n), " ")))
	if v.Values {
		parts = append(parts, v.paint(green, n.values()))
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, " ")
}
