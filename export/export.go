// Package export writes a recorded run in the formats of other tools and for programs
// of one's own.
//
// A format has one of two things of a run: all that is in its trace, or its call tree,
// which may be pruned and focused. A trace's own file is a pprof profile and is offered
// as one, unchanged. Other formats lose something of it, and the doc of each says what.
// No format tells when a call happened or how long it took, because a trace does not
// know: a flame graph of one is as wide as its calls are many.
//
// # A new format
//
// A format is one row of [Formats]. Of the trace, its function is a file of this package:
// it takes a well-formed trace, writes it in the order of first calls, and gives equal
// bytes for equal traces. Of the tree, it is a Write method of [calltree.Tree]. The command,
// its help, completion and tests take it from there; docs/exports.md says what opens it.
package export

import (
	"fmt"
	"io"
	"strings"

	"tracerag/calltree"
	"tracerag/phrase"
	"tracerag/trace"
)

// Format is one way of writing a run.
type Format struct {
	Name  string // what one types for it
	Ext   string // what a file of it is usually called: ".folded"
	About string // what it is for, in a few words
	Of    Part   // of the run
	// Binary: not to be written to a terminal.
	Binary bool

	write func(io.Writer, Run) error
}

// Part is what a format has of a run.
type Part int

// The parts.
const (
	Trace   Part = iota // all that is in the trace
	Tree                // the whole call tree
	Drawing             // the call tree, bounded by [Run.View], since people look at it as it is
)

// Run is what is written. A format of the [Trace] needs that alone.
type Run struct {
	Trace *trace.Trace
	Tree  *calltree.Tree
	Title string        // command line
	View  calltree.View // how drawings show the tree
}

// Write writes a run.
func (f Format) Write(w io.Writer, r Run) error { return f.write(w, r) }

// JSON reports whether what is written is JSON.
func (f Format) JSON() bool {
	return strings.HasSuffix(f.Ext, "json") || strings.HasSuffix(f.Ext, "jsonl")
}

// Formats returns all formats, in the order in which to offer them.
func Formats() []Format {
	return []Format{
		{"folded", ".folded", "a line a stack, for flamegraph.pl, inferno, speedscope", Trace, false, whole(Folded)},
		{"jsonl", ".jsonl", "everything in the trace, a JSON object a line, for jq and programs", Trace, false, whole(JSONLines)},
		{"pprof", ".pb.gz", "the trace's own file, for go tool pprof", Trace, true, whole(func(w io.Writer, t *trace.Trace) error { return t.Write(w) })},

		{"speedscope", ".speedscope.json", "flame graphs in speedscope, one in the order of first calls", Tree, false,
			func(w io.Writer, r Run) error { return r.Tree.WriteSpeedscope(w, r.Title) }},
		{"chrome", ".trace.json", "trace events for Perfetto and chrome://tracing, a track for each goroutine", Tree, false,
			func(w io.Writer, r Run) error { return r.Tree.WriteChrome(w, r.Title) }},
		{"appmap", ".appmap.json", "calls and returns with observed values, for the viewers of AppMap", Tree, false,
			func(w io.Writer, r Run) error {
				return r.Tree.WriteAppMap(w, calltree.AppMap{Title: r.Title, GoVersion: r.Trace.Program.GoVersion, Recorder: r.Trace.Recorder})
			}},

		{"dot", ".dot", "the tree, drawn by Graphviz", Drawing, false, drawing((*calltree.Tree).WriteDOT)},
		{"mermaid", ".mmd", "the tree as a flowchart, drawn by Mermaid", Drawing, false, drawing((*calltree.Tree).WriteMermaid)},
		{"sequence", ".sequence.mmd", "types and packages, and who calls whom when, drawn by Mermaid", Drawing, false, func(w io.Writer, r Run) error {
			r.View.Positions = false
			return r.Tree.WriteSequence(w, r.View)
		}},
	}
}

func whole(write func(io.Writer, *trace.Trace) error) func(io.Writer, Run) error {
	return func(w io.Writer, r Run) error { return write(w, r.Trace) }
}

func drawing(write func(*calltree.Tree, io.Writer, calltree.View) error) func(io.Writer, Run) error {
	return func(w io.Writer, r Run) error { return write(r.Tree, w, r.View) }
}

// Ceiling is the size of the largest export without an option. Some formats write
// the path of every node: a chain of functions becomes its square.
const Ceiling = 1 << 30

// Limit returns a writer that takes so many bytes, and then fails with a [*SizeError].
func Limit(w io.Writer, most int64) io.Writer { return &limited{w, most, most} }

type limited struct {
	w          io.Writer
	left, most int64
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, &SizeError{Most: l.most}
	}
	return l.w.Write(p)
}

// SizeError says that an export is larger than it may be.
type SizeError struct{ Most int64 }

func (e *SizeError) Error() string {
	return fmt.Sprintf("the export is larger than %s bytes", phrase.Number(e.Most))
}
