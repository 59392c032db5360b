// Package output is the way by which text leaves: each byte that a command prints or
// writes for others goes through a [Writer].
//
// There what is known to be secret is masked, even if its writer forgot to, and
// characters that control a terminal are escaped (package visible).
// Only what the recorded program and the go command print does not pass here.
//
// Masking before remains the writer's task: a trace and its sources have to be
// shown to the masker as a whole (session.Masker), before the first byte goes out.
package output

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

// Kind says what a writer's text is.
type Kind int

const (
	Text     Kind = iota
	JSON          // escaped as JSON escapes: anyone who decodes it gets what was there
	Page          // a page of our own with JSON in it, whose strings are masked and escaped already
	Messages      // JSON, a line each, whose strings are shown by anyone who decodes it: escaped in the strings
	Bytes         // no text: what it is made of was masked before
)

// Writer is a writer for text from outside and from ourselves.
type Writer struct {
	to     io.Writer
	kind   Kind
	masker func() *redact.Redactor // nil: nothing is masked

	mu      sync.Mutex
	stream  redact.Stream
	pending string // masked, and in the middle of a character
}

// New returns a writer of a kind. It asks for the masker whenever something is written;
// that may be nil, or return nil: nothing is masked then.
func New(to io.Writer, kind Kind, masker func() *redact.Redactor) *Writer {
	return &Writer{to: to, kind: kind, masker: masker, stream: redact.Stream{JSON: kind == JSON || kind == Messages}}
}

// Write implements io.Writer. It holds back what may be the beginning of a secret or of a
// character: see [Writer.Flush].
func (o *Writer) Write(p []byte) (int, error) {
	if o.kind == Bytes {
		return o.to.Write(p)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.pending + o.stream.Next(o.known(), string(p))
	n := whole(text)
	if o.kind == Messages {
		n = strings.LastIndexByte(text, '\n') + 1
	}
	o.pending = text[n:]
	if err := o.print(text[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what was held back: nothing follows it.
func (o *Writer) Flush() error {
	// Nothing else writes now, but a write that its caller gave up, where nobody reads.
	if !o.mu.TryLock() {
		return nil
	}
	defer o.mu.Unlock()
	text := o.pending
	if !o.stream.Empty() { // what is known is asked for only then: it may take its time
		text += o.stream.Rest(o.known())
	}
	o.pending = ""
	return o.print(text)
}

func (o *Writer) known() *redact.Redactor {
	if o.kind == Page || o.masker == nil {
		return nil
	}
	return o.masker()
}

func (o *Writer) print(text string) error {
	if text == "" {
		return nil
	}
	switch o.kind {
	case JSON:
		text = visible.JSON(text)
	case Messages:
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
	if i := strings.LastIndexByte(text[:n], ColorMark[0]); i >= 0 {
		tail := text[i:]
		if strings.HasPrefix(ColorMark, tail) || strings.HasPrefix(tail, ColorMark) && len(tail) < len(ColorMark)+maxColor && !strings.Contains(tail[len(ColorMark):], "m") {
			n = i
		}
	}
	return n
}

// ColorMark precedes each of our own colours on its way to an output. Nobody
// outside of this process can know it: a colour that is not ours is escaped.
var ColorMark = "\x00" + rand.Text()

// maxColor is how long an escape sequence for a colour may be.
const maxColor = len("\x1b[38;5;255m")

// withColors applies escape to all of a text but our own colours.
func withColors(text string, escape func(string) string) string {
	if !strings.Contains(text, ColorMark) {
		return escape(text)
	}
	var b strings.Builder
	for i, part := range strings.Split(text, ColorMark) {
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

// To returns what the writer leads to.
func (o *Writer) To() io.Writer { return o.to }

// Redirect leads the writer elsewhere: to a pager, perhaps. Nothing may be held back, or
// it goes there, too.
func (o *Writer) Redirect(to io.Writer) { o.to = to }

// File is where a writer leads to if that is a file: a terminal, or what a program can
// be given as its own. Nil: it is none.
func File(w any) *os.File {
	if o, ok := w.(*Writer); ok {
		w = o.to
	}
	f, _ := w.(*os.File)
	return f
}
