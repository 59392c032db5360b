package terminal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"

	"tracerag/phrase"
)

// defaultPager ends by itself when the text fits the screen (-F), leaves the text there
// (-X), and shows colours (-R).
const defaultPager = "less -FRX"

// Pager is standard output at a terminal, by way of another program. That is started
// with the first byte: a command that prints nothing shows nothing.
type Pager struct {
	Out io.Writer // the terminal
	// Held takes messages while the pager has the screen, where they would be in the middle
	// of the text.
	Held bytes.Buffer

	command string
	cmd     *exec.Cmd
	pipe    io.WriteCloser
	direct  bool // it cannot be started
	signals chan os.Signal
}

// ErrLeft says that the reader has seen enough.
var ErrLeft = errors.New("the pager was left")

// NewPager returns the user's pager before a terminal; nil: they want none.
func NewPager(out io.Writer) *Pager {
	if command := pagerCommand(); command != "" && command != "cat" {
		return &Pager{Out: out, command: command}
	}
	return nil
}

// pagerCommand is a command line for the shell, "" for none.
func pagerCommand() string {
	command := defaultPager
	for _, name := range []string{"PAGER", "TRACERAG_PAGER"} {
		if v, ok := os.LookupEnv(name); ok {
			command = v
		}
	}
	// A text without its pager is better than a pager that is missing.
	words := strings.Fields(command)
	if len(words) == 0 {
		return ""
	}
	if _, err := exec.LookPath(words[0]); err != nil && phrase.Quote(words[0]) == words[0] {
		return ""
	}
	return command
}

// Write starts the pager, if need be. After the reader has left it returns [ErrLeft].
func (p *Pager) Write(b []byte) (int, error) {
	if p.cmd == nil && !p.direct {
		p.direct = p.start() != nil
	}
	if p.direct {
		return p.Out.Write(b)
	}
	n, err := p.pipe.Write(b)
	if err != nil {
		return n, ErrLeft
	}
	return n, nil
}

func (p *Pager) start() (err error) {
	cmd := exec.Command("sh", "-c", p.command)
	if runtime.GOOS == "windows" {
		cmd = exec.Command("cmd", "/c", p.command)
	}
	cmd.Stdout, cmd.Stderr = p.Out, os.Stderr
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

// Running reports whether the pager has the screen.
func (p *Pager) Running() bool { return p != nil && p.cmd != nil }

// Close waits until the reader has left the pager.
func (p *Pager) Close() {
	if p.cmd == nil {
		return
	}
	p.pipe.Close()
	_ = p.cmd.Wait() // how it ended is between it and its reader
	signal.Stop(p.signals)
}
