package export

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"tracerag/trace"
)

// Schema names the form of what JSONLines writes. A reader that knows it can
// read every later output with the same number: fields are added, none is taken
// away or changes its meaning. Otherwise the number is raised.
const Schema = "tracerag.trace/1"

// JSONLines writes all of t, one JSON object a line: a header, the functions,
// the nodes in the order of first call, the losses, the observed values, and the processes
// that were started, whose own traces are not part of it. Every line has a "type".
// The header tells how many lines of each type follow, so that a reader knows
// whether it has everything. docs/trace-format.md describes the fields.
//
// Text that is not UTF-8 has U+FFFD in place of what JSON cannot hold; nothing
// else is lost.
func JSONLines(w io.Writer, t *trace.Trace) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false) // these lines are not put into a script element
	if err := enc.Encode(header(t)); err != nil {
		return err
	}
	for i, f := range t.Functions {
		if err := enc.Encode(jsonFunctionOf(t, i, f)); err != nil {
			return err
		}
	}
	for i := range t.Nodes {
		if err := enc.Encode(jsonNodeOf(t, trace.NodeID(i))); err != nil {
			return err
		}
	}
	for _, l := range t.Losses {
		if err := enc.Encode(jsonLoss{"loss", l}); err != nil {
			return err
		}
	}
	for _, a := range t.Activations {
		if err := enc.Encode(jsonActivation{"activation", a.Node, a.Args, a.Results, a.Returned}); err != nil {
			return err
		}
	}
	for i := range t.Processes {
		if err := enc.Encode(jsonProcessOf(t, i)); err != nil {
			return err
		}
	}
	return out.Flush()
}

type jsonHeader struct {
	Schema     string        `json:"schema"`
	Type       string        `json:"type"`
	Name       string        `json:"name,omitempty"`
	Test       trace.Test    `json:"test,omitzero"`
	Recorder   string        `json:"recorder"`
	Sampled    bool          `json:"sampled"`
	Command    []string      `json:"command,omitempty"`
	Dir        string        `json:"dir,omitempty"`
	Start      time.Time     `json:"start,omitzero"`
	DurationNS int64         `json:"duration_ns"`
	Exit       trace.Exit    `json:"exit"`
	Program    trace.Program `json:"program"`
	Include    []string      `json:"include,omitempty"`
	Exclude    []string      `json:"exclude,omitempty"`
	Baseline   string        `json:"baseline,omitempty"`
	Goroutines int64         `json:"goroutines,omitempty"`
	Calls      int64         `json:"calls"`     // of all nodes together
	Functions  int           `json:"functions"` // lines of that type, and so on
	Nodes      int           `json:"nodes"`
	Losses     int           `json:"losses"`

	Activations int `json:"activations,omitempty"`
	Processes   int `json:"processes,omitempty"`
}

func header(t *trace.Trace) jsonHeader {
	return jsonHeader{
		Schema: Schema, Type: "trace", Name: t.Name, Test: t.Test, Recorder: t.Recorder, Sampled: t.Sampled, Command: t.Command, Dir: t.Dir,
		Start: t.Start, DurationNS: t.Duration.Nanoseconds(), Exit: t.Exit, Program: t.Program,
		Include: t.Include, Exclude: t.Exclude, Baseline: t.Baseline, Goroutines: t.Goroutines,
		Calls: t.Calls(), Functions: len(t.Functions), Nodes: len(t.Nodes), Losses: len(t.Losses),
		Activations: len(t.Activations), Processes: len(t.Processes),
	}
}

type jsonFunction struct {
	Type    string `json:"type"`
	ID      int    `json:"id"`
	Name    string `json:"name"`
	Package string `json:"package,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	// Of a function whose lines were watched.
	FirstLine int    `json:"first_line,omitempty"`
	Lines     string `json:"line_states,omitempty"`
}

func jsonFunctionOf(t *trace.Trace, i int, f trace.Function) jsonFunction {
	l := t.Lines[trace.FuncID(i)]
	return jsonFunction{"function", i, f.Name, f.Package, f.File, f.StartLine, l.First, l.States}
}

type jsonNode struct {
	Type     string         `json:"type"`
	ID       trace.NodeID   `json:"id"`
	Parent   *trace.NodeID  `json:"parent,omitempty"`
	Function trace.FuncID   `json:"function_id"`
	CallLine int            `json:"call_line,omitempty"`
	Calls    int64          `json:"calls"`
	Root     trace.RootKind `json:"root,omitempty"`
	Go       *jsonGo        `json:"go,omitempty"`
	Marks    []string       `json:"marks,omitempty"`
}

type jsonGo struct {
	Function string        `json:"function,omitempty"`
	File     string        `json:"file,omitempty"`
	Line     int           `json:"line,omitempty"`
	Creator  *trace.NodeID `json:"creator,omitempty"`
}

func jsonNodeOf(t *trace.Trace, id trace.NodeID) jsonNode {
	n := &t.Nodes[id]
	out := jsonNode{Type: "node", ID: id, Function: n.Func, CallLine: n.CallLine, Calls: n.Calls, Root: n.Root, Marks: markNames(n.Flags)}
	if n.Parent != trace.NoNode {
		out.Parent = &n.Parent
	}
	if n.Root == trace.RootGoroutine {
		out.Go = &jsonGo{Function: n.Go.Func, File: n.Go.File, Line: n.Go.Line}
		if c := n.Go.Creator.Node(); c != trace.NoNode {
			out.Go.Creator = &c
		}
	}
	return out
}

type jsonLoss struct {
	Type string `json:"type"`
	trace.Loss
}

type jsonActivation struct {
	Type     string        `json:"type"`
	Node     trace.NodeID  `json:"node"`
	Args     []trace.Value `json:"args,omitempty"`
	Results  []trace.Value `json:"results,omitempty"`
	Returned bool          `json:"returned"`
}

type jsonProcess struct {
	Type    string        `json:"type"`
	ID      int           `json:"id"`
	Parent  *int          `json:"parent,omitempty"`
	Program string        `json:"program"`
	Command []string      `json:"command,omitempty"`
	Caller  *trace.NodeID `json:"caller,omitempty"`
	Before  int           `json:"before"`
	Trace   string        `json:"trace,omitempty"`
	Calls   int64         `json:"calls,omitempty"`
	Why     string        `json:"why,omitempty"`
}

func jsonProcessOf(t *trace.Trace, i int) jsonProcess {
	p := &t.Processes[i]
	out := jsonProcess{Type: "process", ID: i, Program: p.Program, Command: p.Command, Before: p.Before, Trace: p.Trace, Calls: p.Calls, Why: p.Why}
	if parent := p.Parent - 1; parent >= 0 {
		out.Parent = &parent
	}
	if caller := p.Caller.Node(); caller != trace.NoNode {
		out.Caller = &caller
	}
	return out
}

// markNames lists marks in alphabetical order.
func markNames(m trace.Flags) (names []string) {
	for _, x := range []struct {
		mark trace.Flags
		name string
	}{
		{trace.Approximate, "approximate"}, {trace.Floor, "floor"}, {trace.Inlined, "inlined"},
		{trace.Recursive, "recursive"}, {trace.Via, "via"},
	} {
		if m.Has(x.mark) {
			names = append(names, x.name)
		}
	}
	return names
}
