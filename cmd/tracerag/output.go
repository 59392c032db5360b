package main

import (
	"crypto/rand"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"tracerag/redact"
	"tracerag/visible"
)

// Every byte that a command prints or writes for others goes through an output, which
// is what a.stdout and a.stderr are. There what is known to be secret is masked, even
// if the command forgot to, and characters that do more to a terminal than to be shown
// are escaped (package visible). Only what the recorded program and the go command
// print goes past it, by way of a.programOut and a.programErr.
//
// Masking before is the command's matter all the same: a trace and its sources have to
// be shown to the masker as a whole (learn), before the first byte goes out.

// outputKind says what an output's text is.
type outputKind int

const (
	textOutput    outputKind = iota
	jsonOutput               // escaped as JSON escapes: whoever decodes it gets what was there
	pageOutput               // a page of our own with JSON in it, whose strings are masked and escaped already
	messageOutput            // JSON, a line each, whose strings are shown by whoever decodes it: escaped in the strings
	bytesOutput              // no text: what it is made of was masked before
)

// output is a writer for text from outside and from ourselves.
type output struct {
	to     io.Writer
	kind   outputKind
	masker func() *redact.Redactor // nil: nothing is masked

	mu      sync.Mutex
	stream  redact.Stream
	pending string // masked, and in the midst of a character
}

func newOutput(to io.Writer, kind outputKind, masker func() *redact.Redactor) *output {
	return &output{to: to, kind: kind, masker: masker, stream: redact.Stream{JSON: kind == jsonOutput || kind == messageOutput}}
}

func (o *output) Write(p []byte) (int, error) {
	if o.kind == bytesOutput {
		return o.to.Write(p)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.pending + o.stream.Next(o.known(), string(p))
	n := whole(text)
	if o.kind == messageOutput {
		n = strings.LastIndexByte(text, '\n') + 1
	}
	o.pending = text[n:]
	if err := o.print(text[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush writes what was held back: nothing follows it.
func (o *output) flush() error {
	// Nothing else writes now, but what untilDone has left behind: nobody reads there.
	if !o.mu.TryLock() {
		return nil
	}
	defer o.mu.Unlock()
	text := o.pending
	if !o.stream.Empty() { // what is known is asked for only then: see knownSecrets
		text += o.stream.Rest(o.known())
	}
	o.pending = ""
	return o.print(text)
}

func (o *output) known() *redact.Redactor {
	if o.kind == pageOutput {
		return nil
	}
	return o.masker()
}

func (o *output) print(text string) error {
	if text == "" {
		return nil
	}
	switch o.kind {
	case jsonOutput:
		text = visible.JSON(text)
	case messageOutput:
		text = visible.InJSON(text)
	default:
		text = withColors(text, visible.Text)
	}
	_, err := io.WriteString(o.to, text)
	return err
}

// whole is how much of a text can be escaped before the rest is known: not the
// beginning of a character, of a line end or of one of our colours.
func whole(text string) int {
	n := len(text)
	for i := 1; i <= min(utf8.UTFMax-1, n); i++ {
		if c := text[n-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRuneInString(text[n-i:]) {
				n -= i
			}
			break
		}
	}
	if strings.HasSuffix(text[:n], "\r") {
		n--
	}
	if i := strings.LastIndexByte(text[:n], colorMark[0]); i >= 0 {
		tail := text[i:]
		if strings.HasPrefix(colorMark, tail) || strings.HasPrefix(tail, colorMark) && len(tail) < len(colorMark)+maxColor && !strings.Contains(tail[len(colorMark):], "m") {
			n = i
		}
	}
	return n
}

// colorMark stands before each of our own colours on its way to an output. Nobody
// outside of this process can know it: a colour that is not ours is escaped.
var colorMark = "\x00" + rand.Text()

// maxColor is how long an escape sequence for a colour may be.
const maxColor = len("\x1b[38;5;255m")

// withColors applies escape to all of a text but our own colours.
func withColors(text string, escape func(string) string) string {
	if !strings.Contains(text, colorMark) {
		return escape(text)
	}
	var b strings.Builder
	for i, part := range strings.Split(text, colorMark) {
		if i > 0 {
			if end := strings.IndexByte(part, 'm') + 1; end > 0 && end <= maxColor {
				b.WriteString(part[:end])
				part = part[end:]
			}
		}
		b.WriteString(escape(part))
	}
	return b.String()
}

// setOutputs leads the app's messages and results through outputs.
func (a *app) setOutputs(stdout, stderr io.Writer) {
	a.programOut, a.programErr = stdout, stderr
	a.stdout, a.stderr = newOutput(stdout, textOutput, a.knownSecrets), newOutput(stderr, textOutput, a.knownSecrets)
}

// knownSecrets is the masker of what goes out now, nil for none.
func (a *app) knownSecrets() *redact.Redactor {
	if a.noRedact {
		return nil
	}
	// Not before something is said: it takes 20 ms to understand the rules.
	if a.said != nil {
		a.said.Do(func() { a.learnArgs(a.args) })
	}
	return a.masker()
}

// flush writes what outputs held back.
func (a *app) flush() {
	for _, w := range []io.Writer{a.stdout, a.stderr} {
		if o, ok := w.(*output); ok {
			_ = o.flush() // as for any message: there is nobody to tell
		}
	}
}

// printed returns standard output for what is not plain text, and what ends it.
func (a *app) printed(kind outputKind) (w io.Writer, end func() error) {
	o := newOutput(a.rawStdout(), kind, a.knownSecrets)
	return o, o.flush
}

// rawStdout is what standard output leads to, a pager perhaps.
func (a *app) rawStdout() io.Writer {
	if o, ok := a.stdout.(*output); ok {
		return o.to
	}
	return a.stdout
}

// file is where a writer leads to if that is a file: a terminal, or what a program can
// be given as its own.
func file(w any) *os.File {
	if o, ok := w.(*output); ok {
		w = o.to
	}
	f, _ := w.(*os.File)
	return f
}
