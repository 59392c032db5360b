package llm

import (
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// keyMask finds the API key in what a server or a model sends, as it is and in the
// forms in which it is passed on: with any of its bytes escaped as in URLs, JSON, HTML or
// literals, in hex, in base32, and in base64 once or twice, also as a part of a longer
// text such as user:key. It works on text that comes in pieces.
//
// It is asked for a key of 8 characters or more. A shorter one is a placeholder
// ("ollama", "none"), which an answer may well speak of.
type keyMask struct {
	forms []keyForm
	first [256]bool // bytes that a form begins with
}

// keyForm is one way of writing the key: for each step the texts that may be there,
// the longer ones first.
type keyForm [][]string

func newKeyMask(key string) *keyMask {
	if len(key) < 8 {
		return nil
	}
	m := &keyMask{}
	var spelled, hexed keyForm
	for i := range len(key) {
		c := key[i]
		step := []string{fmt.Sprintf(`\u%04x`, c), fmt.Sprintf(`\u%04X`, c), fmt.Sprintf("%%%02x", c), fmt.Sprintf("%%%02X", c),
			fmt.Sprintf(`\x%02x`, c), fmt.Sprintf(`\x%02X`, c), fmt.Sprintf(`\%03o`, c),
			fmt.Sprintf("&#%d;", c), fmt.Sprintf("&#x%x;", c), fmt.Sprintf("&#x%X;", c), fmt.Sprintf("&#X%X;", c), string(c)}
		if strings.IndexByte(`/\"`, c) >= 0 {
			step = append([]string{`\` + string(c)}, step...)
		}
		spelled = append(spelled, step)
		hexed = append(hexed, []string{fmt.Sprintf("%02x", c), fmt.Sprintf("%02X", c)})
	}
	m.forms = []keyForm{spelled, hexed}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		for _, once := range within(enc.EncodeToString, 6, 3, key) {
			m.addText(once)
			for _, twice := range within(enc.EncodeToString, 6, 3, once) {
				m.addText(twice)
			}
		}
	}
	for _, enc := range []*base32.Encoding{base32.StdEncoding, base32.HexEncoding} {
		for _, text := range within(enc.EncodeToString, 5, 5, key) {
			m.addText(text)
			m.addText(strings.ToLower(text))
		}
	}
	for _, f := range m.forms {
		for _, alternative := range f[0] {
			m.first[alternative[0]] = true
		}
	}
	return m
}

// addText adds a form with one way to write it.
func (m *keyMask) addText(text string) {
	var f keyForm
	for _, c := range text {
		f = append(f, []string{string(c)})
	}
	m.forms = append(m.forms, f)
}

// within returns what an encoding makes of a text in the middle of another one. A character
// has so many bits, and a group so many bytes: for each number of bytes before the text
// in its group, those characters that hold no bits of its neighbours.
func within(encode func([]byte) string, bits, group int, text string) []string {
	var out []string
	for before := range group {
		padded := append(make([]byte, before), text...)
		from, to := (before*8+bits-1)/bits, len(padded)*8/bits
		out = append(out, encode(padded)[from:to])
	}
	return out
}

// match looks for the form at the start of s: it returns its length there, or how many
// of its steps were met when s ends amid it.
func (f keyForm) match(s string) (n, steps int) {
	rest := s
next:
	for i, step := range f {
		cut := false
		for _, alternative := range step {
			if strings.HasPrefix(rest, alternative) {
				rest = rest[len(alternative):]
				continue next
			}
			cut = cut || strings.HasPrefix(alternative, rest)
		}
		if cut {
			return 0, i + 1
		}
		return 0, 0
	}
	return len(s) - len(rest), len(f)
}

// mask returns s without the key, and how much of its end to keep back because it may
// be the beginning of the key. With whole, nothing will follow: an end that is most
// of the key goes, too.
func (m *keyMask) mask(s string, whole bool) (masked, rest string) {
	var b strings.Builder
	start := 0
	for i := 0; i < len(s); i++ {
		if !m.first[s[i]] {
			continue
		}
		begun := false
		for _, f := range m.forms {
			n, steps := f.match(s[i:])
			if n == 0 && whole && 2*steps > len(f)+2 {
				n = len(s) - i
			}
			if n > 0 {
				b.WriteString(s[start:i])
				b.WriteString(redacted)
				start, i, begun = i+n, i+n-1, false
				break
			}
			begun = begun || steps > 0
		}
		if begun && !whole {
			b.WriteString(s[start:i])
			return b.String(), s[i:]
		}
	}
	if start == 0 {
		return s, ""
	}
	b.WriteString(s[start:])
	return b.String(), ""
}

// all masks a text that is complete. A nil mask knows no key.
func (m *keyMask) all(s string) string {
	if m == nil {
		return s
	}
	s, _ = m.mask(s, true)
	return s
}

// answerWriter takes an answer in pieces: it masks the key, keeps what has come, up to
// a limit, and passes it on.
type answerWriter struct {
	mask   *keyMask
	most   int // bytes
	stream io.Writer
	text   strings.Builder
	held   string // may be the beginning of the key
	full   bool   // there was more than most bytes
}

// add takes the next piece.
func (w *answerWriter) add(piece string) error {
	if w.mask == nil {
		return w.pass(piece)
	}
	piece, w.held = w.mask.mask(w.held+piece, false)
	return w.pass(piece)
}

// end passes on what was kept back.
func (w *answerWriter) end() error {
	held := w.held
	w.held = ""
	return w.pass(w.mask.all(held))
}

func (w *answerWriter) pass(piece string) error {
	if left := w.most - w.text.Len(); len(piece) > left {
		w.full = true
		piece = strings.ToValidUTF8(piece[:left], "")
	}
	if piece == "" {
		return nil
	}
	w.text.WriteString(piece)
	if w.stream == nil {
		return nil
	}
	_, err := io.WriteString(w.stream, piece)
	return err
}
