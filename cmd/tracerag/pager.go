package main

import (
	"io"
	"slices"

	"tracerag/output"
	"tracerag/terminal"
)

// paged are the commands whose output is read, and may be longer than the screen.
var paged = []string{"tree", "prompt", "compare", "show", "list"}

func isPaged(c *command) bool { return slices.Contains(paged, c.name) }

// paginate leads standard output through a pager, where there is a terminal to read at.
func (a *app) paginate() {
	o, ok := a.stdout.(*output.Writer)
	if !ok || a.pager() != nil || a.noPager || !terminal.Is(o) || a.getenv("TERM") == "dumb" {
		return
	}
	if p := terminal.NewPager(o.To()); p != nil {
		o.Redirect(p)
	}
}

// pager is the pager that standard output is led through, nil for none.
func (a *app) pager() *terminal.Pager {
	if o, ok := a.stdout.(*output.Writer); ok {
		p, _ := o.To().(*terminal.Pager)
		return p
	}
	return nil
}

// closePager waits until the reader has left the pager.
func (a *app) closePager() {
	p := a.pager()
	if p == nil {
		return
	}
	o := a.stdout.(*output.Writer)
	_ = o.Flush() // to a reader who may have left
	o.Redirect(p.Out)
	p.Close()
	_, _ = a.stderr.Write(p.Held.Bytes())
}

// onTerminal reports whether standard output is read at a terminal.
func (a *app) onTerminal() bool {
	return a.pager() != nil || terminal.Is(a.stdout)
}

// messages is where messages go: standard error, or, while a pager has the screen,
// behind its text.
func (a *app) messages() io.Writer {
	if p := a.pager(); p.Running() {
		return &p.Held
	}
	a.waiting.Clear()
	return a.stderr
}

// wait says what is waited for until done is called, which may be called again.
func (a *app) wait(what string) (done func()) {
	if a.quiet || !terminal.Is(a.stderr) || a.getenv("TERM") == "dumb" || a.waiting != nil {
		return func() {}
	}
	line := terminal.Wait(output.File(a.stderr), what)
	a.waiting = line
	return func() {
		line.Done()
		if a.waiting == line {
			a.waiting = nil
		}
	}
}

// progress is a bar on a terminal, and nothing elsewhere.
func (a *app) progress(what string) *terminal.Bar {
	if a.quiet || !terminal.Is(a.stderr) {
		return nil
	}
	return terminal.NewBar(output.File(a.stderr), what)
}
