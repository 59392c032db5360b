package calltree

import (
	"bufio"
	"io"

	"tracerag/trace"
)

// WriteChrome writes the tree in Chrome's trace event format, for Perfetto and
// chrome://tracing. A node is a slice of as many microseconds as there are nodes
// in it and below; that is its place in the order of first calls, and no time. Each
// goroutine has a track of its own, with an arrow from the slice that started it, and
// processes are processes.
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
	const run = 1
	out := &jsonList{b: bufio.NewWriter(w)}
	out.raw(`{"displayTimeUnit":"ns","otherData":{"writer":"tracerag","time":"a microsecond is a node in the order of first calls, not a time"},"traceEvents":[` + "\n")
	out.item(name{"process_name", "M", run, 0, map[string]string{"name": title}})
	f := flatten(t)
	thread, process := make([]int, len(f.nodes)), make([]int, len(f.nodes))
	threads := 0
	processes := map[*trace.Process]int{}
	for i, n := range f.nodes {
		p := f.parent[i]
		switch {
		case n.Process != nil:
			if processes[n.Process] == 0 {
				processes[n.Process] = run + 1 + len(processes)
				out.item(name{"process_name", "M", processes[n.Process], 0, map[string]string{"name": n.program()}})
			}
			process[i] = processes[n.Process]
		case p >= 0:
			process[i] = process[p]
		default:
			process[i] = run
		}
		if p < 0 || n.Root == trace.RootGoroutine || n.Process != nil {
			threads++
			thread[i] = threads
			out.item(name{"thread_name", "M", process[i], threads, map[string]string{"name": threadName(n)}})
		} else {
			thread[i] = thread[p]
		}
		out.item(slice{ShortName(n.Func.Name), "call", "X", i, f.size[i], process[i], thread[i], args{
			Calls: n.Calls, Func: n.Func.Name, File: n.Func.File, Line: n.Func.StartLine, Lines: n.Lines, Marks: allFlags(n.Flags), Handle: n.ID,
		}})
		if p >= 0 && thread[i] != thread[p] {
			what := "go"
			if n.Process != nil {
				what = "process"
			}
			out.item(arrow{what, what, "s", thread[i], i, process[p], thread[p], ""})
			out.item(arrow{what, what, "f", thread[i], i, process[i], thread[i], "e"})
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
