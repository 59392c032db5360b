// Package terminal is what a command is to a person at a terminal: a pager for long
// results, a line that says what takes its time, a bar. Without a terminal none
// of it shows anything.
package terminal

import (
	"golang.org/x/term"

	"tracerag/output"
)

// Is reports whether w leads to a terminal.
func Is(w any) bool {
	f := output.File(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}
