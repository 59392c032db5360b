// Package export writes a trace in the formats of other tools and for programs
// of one's own.
//
// A trace's own file is a pprof profile and is offered as one, unchanged. Other
// formats lose something of it, and the doc of each says what. No format tells when a call happened or how long it took, because a trace does
// not know: a flame graph of one is as wide as its calls are many.
//
// A format is one file of this package and one row of [Formats]. Its function
// takes a well-formed trace, writes it in the order of first calls, and gives
// equal bytes for equal traces.
package export

import (
	"io"

	"tracerag/trace"
)

// Format is one way of writing a trace.
type Format struct {
	Name  string // what one types for it
	Ext   string // what a file of it is usually called: ".folded"
	About string // what it is for, in a few words
	// Binary: not to be written to a terminal.
	Binary bool
	Write  func(io.Writer, *trace.Trace) error
}

// Formats returns all formats, in the order in which to offer them.
func Formats() []Format {
	return []Format{
		{"folded", ".folded", "a line a stack, for flamegraph.pl, inferno, speedscope", false, Folded},
		{"jsonl", ".jsonl", "everything in the trace, a JSON object a line, for jq and programs", false, JSONLines},
		{"pprof", ".pb.gz", "the trace's own file, for go tool pprof", true, func(w io.Writer, t *trace.Trace) error { return t.Write(w) }},
	}
}
