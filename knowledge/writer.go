package knowledge

import (
	"context"
	"time"

	"tracerag/code"
)

// Writer is what package knowledge/index fills a store through. What one call of a method
// writes is written whole or not at all, whatever ends the process.
type Writer interface {
	// Begin says that a repository is being brought up to date. It is known by its root; a
	// new one gets a name that no other has. Until [Writer.Finish] with the update that is
	// returned its snapshot is incomplete.
	Begin(ctx context.Context, r Repository) (id, update int64, err error)
	// Stored returns the files of a repository, by path.
	Stored(ctx context.Context, repository int64) ([]Stored, error)
	// Write takes a change of files into the store.
	Write(ctx context.Context, repository int64, c Change) error
	// Finish says which snapshot the files are, and under which key calls of it are
	// kept. It has no effect when another update has begun since.
	Finish(ctx context.Context, repository, update int64, s Snapshot, calls code.Hash) error
	// Counts says how much of a repository is in the store.
	Counts(ctx context.Context, repository int64) (Counts, error)
	// Forget removes a repository and all that is of it.
	Forget(ctx context.Context, repository int64) error

	// CallKey returns what the calls of a repository were kept under; the zero Hash
	// if none were made.
	CallKey(ctx context.Context, repository int64) (code.Hash, error)
	// SetCalls replaces the calls of a repository.
	SetCalls(ctx context.Context, repository int64, key code.Hash, calls []Call) error

	// Commits returns the IDs of the commits of a repository's history.
	Commits(ctx context.Context, repository int64) ([]string, error)
	// SetCommits adds commits and removes others.
	SetCommits(ctx context.Context, repository int64, add []Commit, remove []string) error

	// Traces returns the IDs of the traces that were taken in from a directory.
	Traces(ctx context.Context, dir string) ([]string, error)
	// AddRun takes in a run. One that is there already stays as it is.
	AddRun(ctx context.Context, r Run, x Executed) error
	RemoveRuns(ctx context.Context, traces []string) error
}

// Stored is what tells whether a file changed.
type Stored struct {
	Path, Package string // the package by directory
	Module        int
	code.Class
	Size int64
	// Time is the file's when it was read; the zero Time if it may have been written
	// in the same instant, so that it has to be read to know.
	Time    time.Time
	Hash    code.Hash // of the bytes
	Blob    GitHash   // of the bytes
	Calls   code.Hash // of all in the file that calls depend on; zero if they do not
	Problem string
}

// Counts are those of a repository; Runs and RanCalls are those of the store.
type Counts struct {
	Modules, Packages, Files, Unread, Declarations, Functions int
	Static, Interface, Runs, RanCalls, Commits                int
}

// GitHash is git's name for a file's content.
type GitHash [20]byte

// Change is a change of a repository's files. It is one transaction.
type Change struct {
	Put    []Parsed
	Seen   []Stored // only Size and Time changed
	Remove []string // paths
}

// Parsed is a file as the store will have it. IDs are the store's to give.
type Parsed struct {
	File
	Stored Stored
	Decls  []Facts
	// Text is the file's. A store that machines share keeps it for those that have no such file; others do
	// not. It is nil if it is not known.
	Text []byte
}

// Facts is a declaration with what is derived from it. Of two declarations with equal
// hashes in one package, all but the position is equal.
type Facts struct {
	code.Decl
	Terms    Terms
	Literals []string // texts, each once
}

// Terms are the terms of a declaration in their fields, in order, as package code/words
// makes them.
type Terms struct{ Name, Receiver, Doc, Package, Body, Literals []string }

// Place names a declaration by its file's path and its symbol in it.
type Place struct{ Path, Symbol string }

// Call is a static or an interface edge.
type Call struct {
	Kind           EdgeKind
	Caller, Callee Place
	Site           int
}

// Executed is what a run executed.
type Executed struct {
	Functions []Function
	Calls     []Counted
}

// Function is a function of a run, as linkers name it. It is matched to declarations when
// it is read, so that a change of the code does not change what a run did.
type Function struct {
	Package string // import path
	Name    string // of the declaration, as Decl.Name has it
	Nth     int    // as Decl.Nth has it
	Base    string // last element of the file's name
	Calls   int64
}

// Counted is a call between functions of a run.
type Counted struct {
	Caller, Callee int // indexes of Executed.Functions
	Count          int64
}
