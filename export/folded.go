package export

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"tracerag/trace"
)

// Folded writes t as folded stacks, the format of Brendan Gregg's flame graph
// scripts: a line for each node that has calls of its own, with the names on
// its path, outermost first, between semicolons, then a blank and the calls.
//
//	[main];main.main;main.work 2
//	[go main.main:15];main.worker 3
//
// The first name is not a function's. It says in brackets where the control
// came from: [main], [init], [callback], or [go FUNC:LINE] with the function and
// line of the go statement, [go] when that is unknown. A flame graph is so
// divided into the program's parts, and grep can choose among them; two
// goroutines that begin with the same function stay apart.
//
// A semicolon in a name, which type arguments can hold, becomes a comma, and a
// character that would end the line a blank. Other blanks stay: readers take
// the last one for the separator. Lost are call lines (nodes that differ in
// nothing else have equal lines, whose counts readers add), positions, marks
// and the facts of the run.
func Folded(w io.Writer, t *trace.Trace) error {
	out := bufio.NewWriter(w)
	names := make([]string, len(t.Functions))
	for i, f := range t.Functions {
		names[i] = foldedName(f.Name)
	}
	var path []trace.NodeID // innermost first
	for i := range t.Nodes {
		if t.Nodes[i].Calls == 0 {
			continue // seen on the stacks of others alone
		}
		path = path[:0]
		for id := trace.NodeID(i); id != trace.NoNode; id = t.Nodes[id].Parent {
			path = append(path, id)
		}
		out.WriteString(foldedRoot(&t.Nodes[path[len(path)-1]]))
		for j := len(path) - 1; j >= 0; j-- {
			out.WriteByte(';')
			out.WriteString(names[t.Nodes[path[j]].Func])
		}
		out.WriteByte(' ')
		out.WriteString(strconv.FormatInt(t.Nodes[i].Calls, 10))
		out.WriteByte('\n')
	}
	return out.Flush() // with the first error of all writes
}

func foldedRoot(n *trace.Node) string {
	switch {
	case n.Root != trace.RootGoroutine:
		return "[" + string(n.Root) + "]"
	case n.Go.Func == "":
		return "[go]"
	}
	return "[go " + foldedName(n.Go.Func) + ":" + strconv.Itoa(n.Go.Line) + "]"
}

func foldedName(name string) string {
	if name == "" {
		return "?" // or the stack would have an empty place
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ','
		case r < ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return ' '
		}
		return r
	}, name)
}
