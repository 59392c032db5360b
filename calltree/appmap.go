package calltree

import (
	"bufio"
	"cmp"
	"io"
	"maps"
	"slices"
	"strconv"

	"tracerag/trace"
)

// AppMap is what a tree does not know of the run that it is of.
type AppMap struct {
	Title     string // the command line
	GoVersion string // "go1.26.0"
	Recorder  string // "probe"
}

// WriteAppMap writes the tree as an AppMap (version 1.9 of its format), for
// AppMap's viewers of code that others recorded. A package is an AppMap's package; a receiver's
// type is a class in it, and so is what a package has of other functions. A node is
// one call with its return, in the order of first calls, with the values of the first
// call that was observed; how often it was called is in the field "calls", which is
// no part of the format. There are no times.
//
// Each goroutine is a thread, and so is the main goroutine of a process. AppMap nests calls
// by thread, so that they are not below the call that started them.
func (t *Tree) WriteAppMap(w io.Writer, a AppMap) error {
	type named struct {
		Name    string `json:"name"`
		URL     string `json:"url,omitempty"`
		Type    string `json:"type,omitempty"`
		Version string `json:"version,omitempty"`
	}
	out := &jsonList{b: bufio.NewWriter(w)}
	out.raw(`{"version":"1.9.0","metadata":`)
	out.value(map[string]any{
		"name": a.Title, "language": named{Name: "go", Version: cmp.Or(a.GoVersion, "unknown")},
		"client": named{Name: "tracerag", URL: "tracerag"}, "recorder": named{Name: a.Recorder, Type: "process"},
	})
	out.raw(",\"classMap\":[\n")
	for _, p := range t.packages() {
		out.item(p)
	}
	out.raw("\n],\"events\":[\n")
	out.some = false
	out.events(flatten(t))
	out.raw("\n]}\n")
	return out.flush()
}

// codeObject is an entry of an AppMap's class map.
type codeObject struct {
	Type     string        `json:"type"`
	Name     string        `json:"name"`
	Location string        `json:"location,omitempty"`
	Static   *bool         `json:"static,omitempty"`
	Children []*codeObject `json:"children,omitempty"`
}

// packages returns the functions of the tree by package and class, by name.
func (t *Tree) packages() []*codeObject {
	type class map[string]*codeObject // functions
	all := map[string]map[string]class{}
	t.Walk(func(n *Node, _ int) bool {
		f := classPlace(n)
		if all[f.pkg] == nil {
			all[f.pkg] = map[string]class{}
		}
		if all[f.pkg][f.class] == nil {
			all[f.pkg][f.class] = class{}
		}
		all[f.pkg][f.class][f.location()+f.method] = &codeObject{Type: "function", Name: f.method, Location: f.location(), Static: &f.static}
		return true
	})
	var out []*codeObject
	for _, pkg := range slices.Sorted(maps.Keys(all)) {
		p := &codeObject{Type: "package", Name: pkg}
		for _, name := range slices.Sorted(maps.Keys(all[pkg])) {
			c := &codeObject{Type: "class", Name: name}
			for _, key := range slices.Sorted(maps.Keys(all[pkg][name])) {
				c.Children = append(c.Children, all[pkg][name][key])
			}
			p.Children = append(p.Children, c)
		}
		out = append(out, p)
	}
	return out
}

// placed is where a function is in the class map.
type placed struct {
	pkg, class, method, path string
	line                     int
	static                   bool
}

func (p placed) location() string { return p.path + ":" + strconv.Itoa(p.line) }

func classPlace(n *Node) placed {
	own := owner(n.Func.Name)
	pkg := cmp.Or(n.Func.Package, "(none)")
	v := View{}
	method := v.message(&Node{Func: n.Func, Calls: 1}, false)
	return placed{pkg, own, method, cmp.Or(n.Func.File, "?"), n.Func.StartLine, !isMethod(n.Func.Name)}
}

type appMapValue struct {
	Name  string `json:"name,omitempty"`
	Class string `json:"class"`
	Value string `json:"value"`
}

type appMapEvent struct {
	ID         int           `json:"id"`
	Event      string        `json:"event"`
	Thread     int           `json:"thread_id"`
	Class      string        `json:"defined_class,omitempty"`
	Method     string        `json:"method_id,omitempty"`
	Path       string        `json:"path,omitempty"`
	Line       int           `json:"lineno,omitempty"`
	Static     *bool         `json:"static,omitempty"`
	Parameters []appMapValue `json:"parameters,omitempty"`
	Calls      int64         `json:"calls,omitempty"`
	Marks      []string      `json:"marks,omitempty"`
	Parent     int           `json:"parent_id,omitempty"`
	Return     *appMapValue  `json:"return_value,omitempty"`
}

// events writes a call and a return for each node.
func (j *jsonList) events(f *flat) {
	id, threads := 0, 0
	thread, call := make([]int, len(f.nodes)), make([]int, len(f.nodes))
	var open []int
	leave := func(i int) {
		for len(open) > 0 && open[len(open)-1]+f.size[open[len(open)-1]] <= i {
			last := open[len(open)-1]
			open = open[:len(open)-1]
			id++
			e := appMapEvent{ID: id, Event: "return", Thread: thread[last], Parent: call[last]}
			if values := f.nodes[last].Values; len(values) > 0 {
				for _, v := range values[0].Results[:min(1, len(values[0].Results))] {
					e.Return = &appMapValue{Class: v.Type, Value: cmp.Or(v.Text, v.Unread)}
				}
			}
			j.item(e)
		}
	}
	for i, n := range f.nodes {
		leave(i)
		p := f.parent[i]
		if p < 0 || n.Root == trace.RootGoroutine || n.Process != nil {
			threads++
			thread[i] = threads
		} else {
			thread[i] = thread[p]
		}
		id++
		call[i] = id
		at := classPlace(n)
		e := appMapEvent{ID: id, Event: "call", Thread: thread[i], Class: at.class, Method: at.method, Path: at.path, Line: at.line, Static: &at.static,
			Calls: n.Calls, Marks: allFlags(n.Flags)}
		if len(n.Values) > 0 {
			for _, v := range n.Values[0].Args {
				e.Parameters = append(e.Parameters, appMapValue{v.Name, v.Type, cmp.Or(v.Text, v.Unread)})
			}
		}
		j.item(e)
		open = append(open, i)
	}
	leave(len(f.nodes))
}
