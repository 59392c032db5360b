package calltree

import (
	"bufio"
	"io"

	"tracerag/trace"
)

// WriteChrome writes the tree in Chrome's trace event format, for Perfetto and
// chrome://tracing. A node is a slice of as many microseconds as there are nodes
// in it and below; that is its place in the order of first calls, and no time. Each
// goroutine has a track of its own, with an arrow from the slice that started it.
// Calls, position and flags are among a slice's arguments.
func (t *Tree) WriteChrome(w io.Writer, title string) error {
	type args struct {
		Calls  int64    `json:"calls"`
		Func   string   `json:"func"`
		File   string   `json:"file,omitempty"`
		Line   int      `json:"line,omitempty"`
		Lines  []int    `json:"calls_at,omitempty"`
		Marks  []string `json:"marks,omitempty"`
		Handle int      `json:"handle"`
	}
	type slice struct {
		Name     string `json:"name"`
		Category string `json:"cat"`
		Phase    string `json:"ph"`
		Start    int    `json:"ts"`
		Duration int    `json:"dur"`
		Process  int    `json:"pid"`
		Thread   int    `json:"tid"`
		Args     args   `json:"args"`
	}
	type arrow struct {
		Name     string `json:"name"`
		Category string `json:"cat"`
		Phase    string `json:"ph"`
		ID       int    `json:"id"`
		Start    int    `json:"ts"`
		Process  int    `json:"pid"`
		Thread   int    `json:"tid"`
		Bind     string `json:"bp,omitempty"` // to the slice around it
	}
	type name struct {
		Name    string            `json:"name"`
		Phase   string            `json:"ph"`
		Process int               `json:"pid"`
		Thread  int               `json:"tid"`
		Args    map[string]string `json:"args"`
	}
	const process = 1
	out := &jsonList{b: bufio.NewWriter(w)}
	out.raw(`{"displayTimeUnit":"ns","otherData":{"writer":"tracerag","time":"a microsecond is a node in the order of first calls, not a time"},"traceEvents":[` + "\n")
	out.item(name{"process_name", "M", process, 0, map[string]string{"name": title}})
	f := flatten(t)
	thread := make([]int, len(f.nodes))
	threads := 0
	for i, n := range f.nodes {
		p := f.parent[i]
		if p < 0 || n.Root == trace.RootGoroutine {
			threads++
			thread[i] = threads
			out.item(name{"thread_name", "M", process, threads, map[string]string{"name": threadName(n)}})
		} else {
			thread[i] = thread[p]
		}
		out.item(slice{ShortName(n.Func.Name), "call", "X", i, f.size[i], process, thread[i], args{
			Calls: n.Calls, Func: n.Func.Name, File: n.Func.File, Line: n.Func.StartLine, Lines: n.Lines, Marks: allFlags(n.Flags), Handle: n.ID,
		}})
		if p >= 0 && thread[i] != thread[p] {
			out.item(arrow{"go", "go", "s", thread[i], i, process, thread[p], ""})
			out.item(arrow{"go", "go", "f", thread[i], i, process, thread[i], "e"})
		}
	}
	out.raw("\n]}\n")
	return out.flush()
}

// threadName names a track by what began it.
func threadName(n *Node) string {
	if n.Root == trace.RootGoroutine {
		v := View{Positions: true}
		return v.goStmt(n) + ": " + ShortName(n.Func.Name)
	}
	return string(n.Root) + ": " + ShortName(n.Func.Name)
}
