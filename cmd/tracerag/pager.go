package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"

	"tracerag/output"
	"tracerag/phrase"
)

// paged are the commands whose output is read, and may be longer than the screen.
var paged = []string{"tree", "prompt", "compare", "show", "list"}

// defaultPager ends by itself when the text fits the screen (-F), leaves the text there
// (-X), and shows colours (-R).
const defaultPager = "less -FRX"

// pager is standard output at a terminal, by way of another program. That is started
// with the first byte: a command that prints nothing shows nothing.
type pager struct {
	command string
	out     io.Writer // the terminal
	cmd     *exec.Cmd
	pipe    io.WriteCloser
	direct  bool         // it cannot be started
	held    bytes.Buffer // messages, which would stand in the midst of the text
	signals chan os.Signal
}

// errPagerLeft says that the reader has seen enough.
var errPagerLeft = errors.New("the pager was left")

// paginate leads standard output through a pager, where there is a terminal to read at.
func (a *app) paginate() {
	o, ok := a.stdout.(*output.Writer)
	if !ok || a.pager() != nil || a.noPager || !terminal(o) || a.getenv("TERM") == "dumb" {
		return
	}
	if command := a.pagerCommand(); command != "" && command != "cat" {
		o.Redirect(&pager{command: command, out: o.To()})
	}
}

// pager is the pager that standard output is led through, nil for none.
func (a *app) pager() *pager {
	if o, ok := a.stdout.(*output.Writer); ok {
		p, _ := o.To().(*pager)
		return p
	}
	return nil
}

// pagerCommand is a command line for the shell, "" for none.
func (a *app) pagerCommand() string {
	command := defaultPager
	for _, name := range []string{"PAGER", "TRACERAG_PAGER"} {
		if v, ok := os.LookupEnv(name); ok {
			command = v
		}
	}
	// A text without its pager is better than a pager that is not there.
	words := strings.Fields(command)
	if len(words) == 0 {
		return ""
	}
	if _, err := exec.LookPath(words[0]); err != nil && phrase.Quote(words[0]) == words[0] {
		return ""
	}
	return command
}

func (p *pager) Write(b []byte) (int, error) {
	if p.cmd == nil && !p.direct {
		p.direct = p.start() != nil
	}
	if p.direct {
		return p.out.Write(b)
	}
	n, err := p.pipe.Write(b)
	if err != nil {
		return n, errPagerLeft
	}
	return n, nil
}

func (p *pager) start() (err error) {
	cmd := exec.Command("sh", "-c", p.command)
	if runtime.GOOS == "windows" {
		cmd = exec.Command("cmd", "/c", p.command)
	}
	cmd.Stdout, cmd.Stderr = p.out, os.Stderr
	if _, ok := os.LookupEnv("LESS"); !ok { // for a PAGER=less
		cmd.Env = append(os.Environ(), "LESS=FRX")
	}
	if p.pipe, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	// Ctrl-C is for the pager, which goes on; the terminal sends it to us, too.
	p.signals = make(chan os.Signal, 1)
	signal.Notify(p.signals, os.Interrupt)
	p.cmd = cmd
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
	o.Redirect(p.out)
	if p.cmd == nil {
		return
	}
	p.pipe.Close()
	_ = p.cmd.Wait() // how it ended is between it and its reader
	signal.Stop(p.signals)
	_, _ = a.stderr.Write(p.held.Bytes())
}

// onTerminal reports whether standard output is read at a terminal.
func (a *app) onTerminal() bool {
	return a.pager() != nil || terminal(a.stdout)
}

// messages is where messages go: standard error, or, while a pager has the screen,
// behind its text.
func (a *app) messages() io.Writer {
	if p := a.pager(); p != nil && p.cmd != nil {
		return &p.held
	}
	a.waiting.clear()
	return a.stderr
}

func isPaged(c *command) bool { return slices.Contains(paged, c.name) }
