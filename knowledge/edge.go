package knowledge

import "time"

// EdgeKind says how an edge is known.
type EdgeKind byte

// The kinds of edges.
const (
	Static    EdgeKind = iota + 1 // the callee is named
	Interface                     // a possible callee of a call through an interface or a function value
	Ran                           // a recorded run executed it
)

// Edge is a call from one declaration to another.
type Edge struct {
	Kind           EdgeKind
	Caller, Callee int64 // of Decl
	// Site counts, from 0, the call expressions of the caller in source order;
	// -1 of Ran. Formatting does not change it.
	Site  int
	Count int64  // of Ran: calls
	Trace string // of Ran: the trace's ID
}

// Run is a saved trace as far as the store knows it.
type Run struct {
	Trace      string // ID
	Dir        string // that the trace is saved in
	Repository int64  // that the program or the test is of; 0 unknown
	Package    string // import path of the test, or of package main
	Test       string // "TestX/y"; "" of a program
	Command    string // what was run
	Snapshot   string // commit of the recorded program; "" unknown
	Passed     bool
}

// Title says what ran and how it ended: "example.com/m/table TestRow (passed)".
func (r *Run) Title() string {
	what, ended := r.Command, "passed"
	if r.Test != "" {
		what = r.Package + " " + r.Test
	}
	if !r.Passed {
		ended = "failed"
	}
	return what + " (" + ended + ")"
}

// Commit is a change in a repository's history.
type Commit struct {
	ID      string
	Time    time.Time
	Subject string
	Files   []string // Go files that it changed, paths below the root
}
