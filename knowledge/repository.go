package knowledge

import (
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
	// Incomplete says that an update of it is going on, or was interrupted: some
	// files are of the snapshot, others of the state before.
	Incomplete bool
	Calls      CallState
	// Elsewhere says that its files are on another machine, which shares the store: Root names the
	// machine, too, or where this one would clone it to.
	Elsewhere bool
	// Text returns the text of a file as it was indexed, where the files are elsewhere; nil if the store
	// keeps none.
	Text func(path string) ([]byte, error)
}

// Snapshot says which state of a repository is in the store.
type Snapshot struct {
	Commit string // "" without git
	// Uncommitted is a hash of the files that differ from Commit; the zero Hash if
	// none do.
	Uncommitted code.Hash
	Time        time.Time // of the newest file
	// Listing is a hash of all files' names, sizes and times: a directory that has the same is
	// as it was. The zero Hash if that can't be told without looking at each.
	Listing code.Hash
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

// CallState says of which state of a repository its static and interface calls are.
type CallState byte

// The states of calls.
const (
	NoCalls    CallState = iota // none were made
	OldCalls                    // code that they depend on changed since
	FreshCalls                  // they are those of the snapshot
)
