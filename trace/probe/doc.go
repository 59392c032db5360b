// Package probe is the fast recorder: it sees every call of a compiled Go
// program for a few nanoseconds each, without a rebuild, without symbols and
// without privileges. It works on linux/amd64.
//
// The program is started and held before its first instruction (package
// ptrace). The prologue of every recorded function is changed to a jump to a
// stub (package patch), which calls the recorder (package payload). Then ptrace
// ends: the program runs by itself, with nobody attached, at its own speed, and keeps
// the calling context tree in memory that it shares with us. However it ends,
// the tree is still there.
//
// The tree that the target keeps is one of machine code: its nodes are calls of
// functions that have code of their own. This package turns it into one of
// source code: calls from an inlined body hang below the inlined call, methods'
// wrappers disappear, goroutines know the go statement that made them. Of long
// functions it also tells which lines ran; for that the target's code is made
// writable where the system allows it, so that what has told that a block ran can
// take itself away.
//
// On any doubt a program is not recorded at all but left to another recorder:
// see [Unsuitable].
package probe

// Unsuitable says why this recorder does not record a program. The program has
// not run; another recorder may take it.
type Unsuitable struct {
	Why string
	Err error // may be nil
}

func (u *Unsuitable) Error() string {
	if u.Err != nil {
		return u.Why + ": " + u.Err.Error()
	}
	return u.Why
}

func (u *Unsuitable) Unwrap() error { return u.Err }
