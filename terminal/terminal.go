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

// Width returns how many characters a line of the terminal has that w leads to, also by way
// of a pager; 0: it leads to none.
func Width(w any) int {
	if o, ok := w.(*output.Writer); ok {
		if p, ok := o.To().(*Pager); ok {
			w = p.Out
		}
	}
	f := output.File(w)
	if f == nil {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}
