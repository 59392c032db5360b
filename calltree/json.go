package calltree

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"tracerag/trace"
)

// jsonNode is a node without its children.
type jsonNode struct {
	ID      int      `json:"id"`
	Func    string   `json:"func"`
	Package string   `json:"package,omitempty"`
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Calls   int64    `json:"calls"`
	Total   int64    `json:"total"`
	CallsAt []int    `json:"calls_at,omitempty"`
	Marks   []string `json:"marks,omitempty"`
	Root    string   `json:"root,omitempty"`
	Go      *jsonGo  `json:"go,omitempty"`

	Process *jsonProcess `json:"process,omitempty"`

	Values []jsonActivation `json:"values,omitempty"`
}

type jsonActivation struct {
	Args     []trace.Value `json:"args,omitempty"`
	Results  []trace.Value `json:"results,omitempty"`
	Returned bool          `json:"returned"`
}

type jsonProcess struct {
	Program string   `json:"program"`
	Command []string `json:"command,omitempty"`
	Trace   string   `json:"trace,omitempty"`
	Count   int      `json:"count"`
}

type jsonGo struct {
	Func string `json:"func,omitempty"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// WriteJSON writes the whole tree as JSON, a node a line:
//
//	{"schema":"tracerag.tree/1","nodes":2,"sampled":false,"roots":[
//	{"id":1,"func":"main.main","package":"example.com/app","file":"main.go","line":10,"calls":1,"total":4,"root":"main","children":[
//	{"id":2,"func":"main.run","package":"example.com/app","file":"main.go","line":20,"calls":3,"total":3,"calls_at":[12,14]}
//	]}
//	]}
//
// The fields of a node:
//
//	id        handle: position in call order, from 1; gaps where the tree was narrowed
//	func      linker name
//	package   import path
//	file      of the declaration, as the compiler recorded it
//	line      of the declaration
//	calls     calls made here, or samples if "sampled"; 0: seen on a stack only
//	total     calls, with those of all nodes below, before anything was pruned
//	calls_at  lines of the calls in the caller's file
//	marks     of inlined, recursive, via, floor, approximate
//	root      main, init, goroutine or callback; a goroutine may have a parent
//	go        the go statement of a goroutine: func, file, line
//	process   of a root of a program that the node above started: program, command and
//	          trace of the first, and count: how many of the program began here
//	values    calls that were observed, in order: args and results, each a list of
//	          name, type, text, cut and unread, and whether it returned (see
//	          [trace.Activation])
//	children  in the order of the first call
//
// A tree is nested as deeply as the run was; encoding/json reads 5,000 levels.
// Of these id, func, calls and total are always there. Fields may be added
// under the same schema name; what they mean does not change under it.
func (t *Tree) WriteJSON(w io.Writer) error {
	j := newJSONWriter(w)
	j.open(struct {
		Schema  string `json:"schema"`
		Nodes   int    `json:"nodes"`
		Sampled bool   `json:"sampled"`
	}{"tracerag.tree/1", t.Size, t.Sampled}, "roots", len(t.Roots) > 0)
	var write func(nodes []*Node)
	write = func(nodes []*Node) {
		for i, n := range nodes {
			j.next(i > 0)
			j.open(jsonOf(n), "children", len(n.Children) > 0)
			write(n.Children)
			j.close(len(n.Children) > 0)
		}
	}
	write(t.Roots)
	j.close(len(t.Roots) > 0)
	return j.flush()
}

func jsonOf(n *Node) jsonNode {
	out := jsonNode{
		ID:      n.ID,
		Func:    n.Func.Name,
		Package: n.Func.Package,
		File:    n.Func.File,
		Line:    n.Func.StartLine,
		Calls:   n.Calls,
		Total:   n.Total,
		CallsAt: n.Lines,
		Marks:   allFlags(n.Flags),
		Root:    string(n.Root),
	}
	if p := n.Process; p != nil {
		out.Process = &jsonProcess{p.Program, p.Command, p.Trace, n.Processes}
	}
	for _, a := range n.Values {
		out.Values = append(out.Values, jsonActivation{a.Args, a.Results, a.Returned})
	}
	if n.Go != nil && (n.Go.Func != "" || n.Go.File != "") {
		out.Go = &jsonGo{n.Go.Func, n.Go.File, n.Go.Line}
	}
	return out
}

// jsonWriter writes nested objects, each on a line of its own, as they come:
// the whole tree need not be encoded at once, and the encoder need not recurse
// through it. The first error sticks.
type jsonWriter struct {
	b   *bufio.Writer
	err error
}

func newJSONWriter(w io.Writer) *jsonWriter { return &jsonWriter{b: bufio.NewWriter(w)} }

// open writes the fields of an object and, if it has any, begins its list.
func (j *jsonWriter) open(fields any, list string, some bool) {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false) // values are full of "&{"
	if err := enc.Encode(fields); err != nil {
		if j.err == nil {
			j.err = err
		}
		return
	}
	j.b.Write(bytes.TrimSuffix(data.Bytes(), []byte("}\n")))
	if some {
		j.b.WriteString(`,"` + list + "\":[\n")
	}
}

// next ends the object before, if there is one.
func (j *jsonWriter) next(notFirst bool) {
	if notFirst {
		j.b.WriteString(",\n")
	}
}

// close ends an object, and its list if it has one.
func (j *jsonWriter) close(some bool) {
	if some {
		j.b.WriteString("\n]")
	}
	j.b.WriteByte('}')
}

func (j *jsonWriter) flush() error {
	j.b.WriteByte('\n')
	if err := j.b.Flush(); j.err == nil {
		j.err = err
	}
	return j.err
}
