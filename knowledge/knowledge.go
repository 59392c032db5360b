// Package knowledge is what tracerag knows of repositories without running them, and what
// their recorded runs add: units, their versions, words, calls, runs.
//
// Everything that is derived from a unit is kept under the hashes of what it was made of
// (see package code). Then what has no entry under today's hashes is to be made, nothing
// else is: to continue after an interruption, to bring a store up to date and to share the work
// are the same thing.
//
// A [Store] keeps it. Package knowledge/sqlite has the one for a developer's machine. Package
// knowledge/index finds out what changed and fills it, package locate reads it.
package knowledge

import (
	"context"
	"fmt"
	"time"

	"tracerag/code"
)

// Repository is a repository of a store.
type Repository struct {
	ID       int64
	Name     string // unique in a store; "esbuild"
	Root     string // absolute path of its working tree
	URL      string // of a git clone that tracerag keeps; "" otherwise
	Snapshot Snapshot
	Modules  []code.Module
}

// Snapshot says which state of a repository is in the store.
type Snapshot struct {
	Commit string // "" without git
	// Uncommitted is a hash of the files that differ from Commit; the zero Hash if
	// none do.
	Uncommitted code.Hash
	Time        time.Time // of the newest file
}

// String names the snapshot: "1f2e3d4c5b6a+90ab12cd".
func (s Snapshot) String() string {
	commit := s.Commit[:min(len(s.Commit), 12)]
	switch {
	case s.Uncommitted == (code.Hash{}):
		return commit
	case commit == "":
		return fmt.Sprintf("%x", s.Uncommitted[:4])
	}
	return fmt.Sprintf("%s+%x", commit, s.Uncommitted[:4])
}

// File is a Go file of a repository.
type File struct {
	ID         int64
	Repository int64
	code.Entry
	PackageName string // in the package clause
	Generated   bool
	Constraint  string
	Broken      int // syntax errors
	Imports     []string
	Hash        code.Hash // of the bytes
}

// Decl is a declaration of a repository.
type Decl struct {
	ID         int64
	Repository int64
	File       int64
	Module     string // path; "" outside of all
	Package    string // import path; that of "package x_test" ends in "_test"
	Path       string // of the file, below the repository's root
	code.Class        // of the file
	Generated  bool
	code.Decl
}

// Query asks for declarations by words.
type Query struct {
	Terms        []string // as package code/words makes them
	Repositories []int64  // empty is all
	Files        string   // a pattern of paths below the root, or of import paths; "" is all
	Kinds        []code.Kind
	Tests        bool // also those in tests, testdata, vendored and generated files
	Limit        int
}

// Hit is a declaration with words of a query.
type Hit struct {
	Decl
	Score float64 // BM25 with fields; comparable within one query
}

// Rarity says in how many functions terms are.
type Rarity struct {
	Functions int
	With      []int   // for each term asked for
	Length    float64 // mean, in terms
}

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
	Repository int64
	Package    string // import path of the test, "" of a program
	Test       string // "TestX/y"; "" of a program
	Command    string // what was run
	Snapshot   string // commit of the recorded program; "" unknown
	Passed     bool
}

// Commit is a change in a repository's history.
type Commit struct {
	ID      string
	Time    time.Time
	Subject string
	Files   []string // Go files that it changed, paths below the root
}

// Reader is what locating, the viewer and agents read.
type Reader interface {
	Repositories(ctx context.Context) ([]Repository, error)
	// Search returns the declarations with words of the query, the best first.
	Search(ctx context.Context, q Query) ([]Hit, error)
	Rarity(ctx context.Context, terms []string, repositories []int64) (Rarity, error)
	// Named returns the declarations with one of the names: "F", "M", "T.M", "(*T).M", "T",
	// as written, or in any case where none is as written.
	Named(ctx context.Context, names []string, repositories []int64) ([]Decl, error)
	// Quoting returns the functions that have a string literal with one of the texts.
	Quoting(ctx context.Context, texts []string, repositories []int64) ([]Decl, error)
	Decls(ctx context.Context, ids []int64) ([]Decl, error)
	// Files returns the files whose path is one of the given, or ends in "/" and it.
	Files(ctx context.Context, paths []string, repositories []int64) ([]File, error)
	// In returns the declarations of files.
	In(ctx context.Context, files []int64) ([]Decl, error)
	Callers(ctx context.Context, ids []int64) ([]Edge, error)
	Callees(ctx context.Context, ids []int64) ([]Edge, error)
	// Runs returns the saved runs that executed one of the declarations, those that executed
	// most of them first.
	Runs(ctx context.Context, ids []int64) ([]Run, error)
	// History returns the last commits, the newest first.
	History(ctx context.Context, repository int64, limit int) ([]Commit, error)
}
