package knowledge

import (
	"context"
	"fmt"
	"time"
)

// Traces keeps traces whole, for those who did not record them. A store that several machines share does.
type Traces interface {
	// PushTrace takes in a trace's file and what it says of functions, with the files of the processes that its program
	// started. It reports whether the trace is new.
	PushTrace(ctx context.Context, t KeptTrace, file []byte, x Executed, processes ...ProcessFile) (added bool, err error)
	// KeptTraces returns those that a filter lets through, the newest first.
	KeptTraces(ctx context.Context, f TraceFilter) ([]KeptTrace, error)
	// TraceFile returns a trace's file by its ID or the beginning of it.
	TraceFile(ctx context.Context, id string) ([]byte, error)
	// ProcessFile returns the file of a process by the whole ID of the trace that it came with.
	ProcessFile(ctx context.Context, trace, id string) ([]byte, error)
	// DropTraces removes all but the newest n of each test, and of each program that was run otherwise. It returns how many
	// are gone.
	DropTraces(ctx context.Context, n int) (int, error)
}

// Executions says what executed functions.
type Executions interface {
	// Executions returns which tests and programs executed a function, each with its newest run, in the order of
	// their names; limit of them at most.
	Executions(ctx context.Context, f FunctionName, limit int) ([]Execution, error)
}

// KeptTrace is a trace of [Traces].
type KeptTrace struct {
	ID       string    `json:"trace"`  // TraceIDLength hexadecimal digits of the file's SHA-256
	Module   string    `json:"module"` // that the program is of
	Commit   string    `json:"commit"` // of the module; "" unknown
	Package  string    `json:"package"`
	Test     string    `json:"test,omitempty"` // "" of a program
	Command  string    `json:"command"`
	Name     string    `json:"name,omitempty"`
	Passed   bool      `json:"passed"`
	Recorded time.Time `json:"recorded,omitzero"` // not of what was only indexed
	Size     int64     `json:"size"`              // of the file, in bytes
}

// ProcessFile is the trace of a process that a trace's program started. It comes and goes with that.
type ProcessFile struct {
	ID   string // by which the trace lists it
	File []byte
}

// TraceIDLength is how long IDs of a team's traces are: the 8 of a directory's are soon those of two, where there are many. What
// they begin with is the directory's ID.
const TraceIDLength = 16

// TraceFilter lets traces through; what is "" lets all.
type TraceFilter struct {
	Module, Commit string // Commit is the beginning of one
	Package, Test  string
	Limit          int // 0: all
}

// FunctionName is how people name functions: the last element of an import path, or all of it; a type; a name.
type FunctionName struct{ Package, Type, Name string }

// Execution is how a test or program executed a function.
type Execution struct {
	Function string `json:"function"` // "example.com/m/pkg.(*T).M"
	Calls    int64  `json:"calls"`
	KeptTrace
}

// NoTraceError says that a store has no trace of an ID, or several.
type NoTraceError struct {
	ID      string
	Several bool
}

func (e *NoTraceError) Error() string {
	if e.Several {
		return fmt.Sprintf("several traces begin with %s: give more of the ID", e.ID)
	}
	return fmt.Sprintf("no trace %s was pushed, or it was dropped since", e.ID)
}
