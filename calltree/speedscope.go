package calltree

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strconv"

	"tracerag/trace"
)

// WriteSpeedscope writes the tree for speedscope, which draws it as flame graphs,
// a left-to-right one in the order of first calls among them. The file holds two
// profiles of the same tree: in "calls" a frame is as wide as the calls made in
// it and below, its own first; in "functions" as there are nodes, which shows what
// was called once beside what was called a million times. Of a sampled tree the first
// one is called "samples". Neither width is a time.
//
// Goroutines are frames below the function that started them, named "go F", processes
// likewise "process helper: F".
// Call lines and flags are lost.
func (t *Tree) WriteSpeedscope(w io.Writer, title string) error {
	f := flatten(t)
	out := &jsonList{b: bufio.NewWriter(w)}
	out.raw(`{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"tracerag","name":`)
	out.value(title)
	out.raw(",\"activeProfileIndex\":0,\"shared\":{\"frames\":[\n")

	type frame struct {
		Name string `json:"name"`
		File string `json:"file,omitempty"`
		Line int    `json:"line,omitempty"`
	}
	frames := map[frame]int{}
	of := make([]int, len(f.nodes))
	for i, n := range f.nodes {
		x := frame{spanName(n), n.Func.File, n.Func.StartLine}
		k, ok := frames[x]
		if !ok {
			k = len(frames)
			frames[x] = k
			out.item(x)
		}
		of[i] = k
	}
	out.raw("\n]},\"profiles\":[")
	calls := "calls"
	if t.Sampled {
		calls = "samples"
	}
	out.profile(f, of, calls, func(n *Node) int64 { return n.Calls })
	out.raw(",")
	out.profile(f, of, "functions", func(*Node) int64 { return 1 })
	out.raw("]}\n")
	return out.flush()
}

// profile writes an "evented" profile: where each frame begins and ends.
func (j *jsonList) profile(f *flat, frame []int, name string, width func(*Node) int64) {
	end := int64(0)
	for _, n := range f.nodes {
		end += width(n)
	}
	j.raw(`{"type":"evented","unit":"none","startValue":0,"endValue":` + strconv.FormatInt(end, 10) + `,"name":"` + name + "\",\"events\":[\n")
	j.some = false
	type event struct {
		Type  string `json:"type"`
		Frame int    `json:"frame"`
		At    int64  `json:"at"`
	}
	at := int64(0)
	var open []int
	closeUpTo := func(i int) {
		for len(open) > 0 && open[len(open)-1]+f.size[open[len(open)-1]] <= i {
			j.item(event{"C", frame[open[len(open)-1]], at})
			open = open[:len(open)-1]
		}
	}
	for i, n := range f.nodes {
		closeUpTo(i)
		j.item(event{"O", frame[i], at})
		open = append(open, i)
		at += width(n)
	}
	closeUpTo(len(f.nodes))
	j.raw("\n]}")
}

// spanName is a node's name where there is no room for flags.
func spanName(n *Node) string {
	name := ShortName(n.Func.Name)
	if n.Root == trace.RootGoroutine {
		name = "go " + name
	}
	if n.Process != nil {
		name = "process " + n.program() + ": " + name
	}
	return name
}

// jsonList writes JSON piece by piece, lists with an item a line. The first error
// sticks.
type jsonList struct {
	b    *bufio.Writer
	some bool // the list has an item
	err  error
}

func (j *jsonList) raw(s string) { j.b.WriteString(s) }

func (j *jsonList) value(v any) {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false) // "<" and "&" stay readable: no page is made of this
	if err := enc.Encode(v); err != nil && j.err == nil {
		j.err = err
	}
	j.b.Write(bytes.TrimSuffix(data.Bytes(), []byte("\n")))
}

func (j *jsonList) item(v any) {
	if j.some {
		j.b.WriteString(",\n")
	}
	j.some = true
	j.value(v)
}

func (j *jsonList) flush() error {
	if err := j.b.Flush(); j.err == nil {
		j.err = err
	}
	return j.err
}
