package redact

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A text may spell a secret otherwise than it is: a literal of Go has escapes or is put
// together from two, bytes are listed one by one, what is sent is base64. Such parts of
// a text are read, what they say is searched, and what spells the secret is masked. One
// level of it: base64 of base64 is not read.

// spelled returns the secrets that a text spells otherwise.
func (s *ruleSet) spelled(text string) []span {
	out := s.literals(nil, text)
	out = s.lists(out, text)
	return s.encoded(out, text)
}

// reading is what a part of a text says, byte by byte.
type reading struct {
	text []byte
	from []int // by byte: what spells it in the original begins there
	to   []int // and ends there
	odd  []int // bytes that are spelled otherwise, or are the first after two literals meet
}

func (r *reading) add(text string, at, wide int) {
	for i := range len(text) {
		r.text = append(r.text, text[i])
		r.from = append(r.from, at+i*wide)
		r.to = append(r.to, at+i*wide+wide)
	}
}

// literals finds what has escapes in it, or is in two literals. Only the lines
// with such are read.
func (s *ruleSet) literals(out []span, text string) []span {
	for at := 0; at < len(text); {
		i := nextOdd(text, at)
		if i < 0 {
			break
		}
		from, to := strings.LastIndexByte(text[:i], '\n')+1, i
		for to < len(text) { // all lines that hang together
			end := strings.IndexByte(text[to:], '\n')
			if end < 0 {
				to = len(text)
				break
			}
			to += end + 1
			if next := nextOdd(text[:min(len(text), to+maxLine)], to); next < 0 || strings.IndexByte(text[to:next], '\n') >= 0 {
				// A literal may go on in the next line, after its plus.
				if rest := strings.TrimRight(text[from:to], " \t\r\n"); !strings.HasSuffix(rest, "+") {
					break
				}
			}
		}
		out = s.read(out, readLiterals(text[from:to], from))
		at = to
	}
	return out
}

// maxLine is how far a line is searched for another escape.
const maxLine = 4096

// nextOdd returns where an escape of a letter is, or two literals meet, from a place
// on; -1: nowhere.
func nextOdd(text string, at int) int {
	for i := at; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if n, _ := escapeAt(text, i); n > 0 {
				return i
			}
			i++ // what follows is no escape by itself
		case '+':
			if meets(text, i) {
				return i
			}
		case 'J':
			if strings.HasPrefix(text[i:], join) {
				return i
			}
		}
	}
	return -1
}

const join = "Join([]string{"

// meets reports whether the plus at a place is between two literals.
func meets(text string, at int) bool {
	before, after := strings.TrimRight(text[max(0, at-100):at], " \t\r\n"), strings.TrimLeft(text[at+1:min(len(text), at+100)], " \t\r\n")
	return before != "" && after != "" && quotes(before[len(before)-1]) && quotes(after[0])
}

func quotes(c byte) bool { return c == '"' || c == '`' }

// escapeAt returns how long the escape at a place is, and the letter that it is: one
// that would need none. The others, such as \n and \", are none for a reader.
func escapeAt(text string, at int) (wide int, letter byte) {
	if at+1 >= len(text) {
		return 0, 0
	}
	digits, base := 0, 16
	switch c := text[at+1]; {
	case c == 'x':
		digits = 2
	case c == 'u':
		digits = 4
	case c == 'U':
		digits = 8
	case c >= '0' && c <= '7':
		digits, base = 3, 8
	}
	begin := at + 2
	if base == 8 {
		begin = at + 1
	}
	if digits == 0 || begin+digits > len(text) {
		return 0, 0
	}
	n, err := strconv.ParseUint(text[begin:begin+digits], base, 32)
	if err != nil || n < ' ' || n > '~' {
		return 0, 0
	}
	return begin + digits - at, byte(n)
}

// readLiterals reads lines with escapes and literals that meet.
func readLiterals(text string, offset int) *reading {
	r := &reading{}
	joining := false // within strings.Join([]string{ ... }
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			if wide, letter := escapeAt(text, i); wide > 0 {
				r.odd = append(r.odd, len(r.text))
				r.add(string(letter), offset+i, wide)
				i += wide
				continue
			}
			r.add(text[i:i+2], offset+i, 1)
			i += 2
			continue
		case c == 'J' && strings.HasPrefix(text[i:], join):
			joining = true
		case c == '}':
			joining = false
		case quotes(c):
			if end, sep := between(text, i); end > 0 && (sep == '+' || sep == ',' && joining) {
				r.odd = append(r.odd, len(r.text))
				i = end
				continue
			}
		}
		r.add(text[i:i+1], offset+i, 1)
		i++
	}
	return r
}

// between returns where the literal after the one that ends at a place begins, and
// what is between the two.
func between(text string, at int) (end int, sep byte) {
	i := at + 1
	skip := func() {
		for i < len(text) && strings.IndexByte(" \t\r\n", text[i]) >= 0 {
			i++
		}
	}
	skip()
	if i >= len(text) || text[i] != '+' && text[i] != ',' {
		return 0, 0
	}
	sep = text[i]
	i++
	skip()
	if i >= len(text) || !quotes(text[i]) {
		return 0, 0
	}
	return i + 1, sep
}

// read appends the secrets of a reading that has them because it is one: each part of
// the original that goes without a gap is a span.
func (s *ruleSet) read(out []span, r *reading) []span {
	text := string(r.text)
	for _, x := range s.plain(text) {
		i, found := slices.BinarySearch(r.odd, x.from)
		if !found && (i == len(r.odd) || r.odd[i] >= x.to) {
			continue
		}
		from, to := r.from[x.from], r.to[x.from]
		for k := x.from + 1; k <= x.to; k++ {
			if k < x.to && r.from[k] == to {
				to = r.to[k]
				continue
			}
			out = append(out, span{from: from, to: to, kind: x.kind, generic: x.generic, secret: text[x.from:x.to]})
			if k < x.to {
				from, to = r.from[k], r.to[k]
			}
		}
	}
	return out
}

// leastList is how many bytes are a list that may be a secret.
const leastList = 12

// lists finds bytes that are listed: {'g', 'h'}, {0x67, 0x68}, [103, 104].
func (s *ruleSet) lists(out []span, text string) []span {
	for i := 0; i < len(text); i++ {
		if text[i] != '{' && text[i] != '[' {
			continue
		}
		said, end := readList(text, i+1)
		if len(said) < leastList {
			continue
		}
		for _, x := range s.plain(said) {
			out = append(out, span{from: i + 1, to: end, kind: x.kind, secret: said[x.from:x.to]})
		}
		i = end - 1
	}
	return out
}

// readList reads bytes that are listed from a place on, as long as they are letters.
func readList(text string, at int) (said string, end int) {
	var out []byte
	for i := at; i < len(text); {
		for i < len(text) && strings.IndexByte(" \t\r\n,", text[i]) >= 0 {
			i++
		}
		c, wide := item(text[i:])
		if wide == 0 {
			break
		}
		out = append(out, c)
		i += wide
		end = i
	}
	return string(out), end
}

// item reads one byte that a list begins with.
func item(text string) (c byte, wide int) {
	if len(text) >= 3 && text[0] == '\'' && text[2] == '\'' && text[1] != '\\' {
		return text[1], 3
	}
	n := 0
	for n < len(text) && n < 5 && (text[n] >= '0' && text[n] <= '9' || text[n] >= 'a' && text[n] <= 'f' || text[n] >= 'A' && text[n] <= 'F' || text[n] == 'x') {
		n++
	}
	if n < 2 {
		return 0, 0
	}
	v, err := strconv.ParseUint(text[:n], 0, 8)
	if err != nil || v < ' ' || v > '~' {
		return 0, 0
	}
	return byte(v), n
}

// leastRun is how long a run of letters is at least that may be encoded.
const leastRun = 20

// inRun are the letters of base64, of tokens, and of what URLs encode.
var inRun = func() (in [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/-_=.:%") {
		in[c] = true
	}
	return in
}()

// encoded finds what is base64, hexadecimal or encoded as URLs are, and tokens that go by
// the shape of the whole.
func (s *ruleSet) encoded(out []span, text string) []span {
	for i := 0; i < len(text); i++ {
		if !inRun[text[i]] {
			continue
		}
		from := i
		for i < len(text) && inRun[text[i]] {
			i++
		}
		if i-from >= leastRun {
			out = s.run(out, text, from, i)
		}
	}
	return out
}

// mostDecoded is how much of a run is read: a page of a book may be one.
const mostDecoded = 1 << 16

func (s *ruleSet) run(out []span, text string, from, to int) []span {
	run := text[from:to]
	if len(run) <= 120 && strings.ContainsAny(run, "0123456789") && strings.ContainsAny(run, ".:") {
		// Behind x= and before the end of a sentence, too.
		word := strings.TrimRight(run[strings.LastIndexByte(run, '=')+1:], ".:")
		if shaped.MatchString(word) {
			at := from + strings.LastIndex(run, word)
			return append(out, span{from: at, to: at + len(word), kind: shapedKind(word)})
		}
	}
	if strings.Count(run, "%") >= 8 {
		if said, err := url.PathUnescape(run); err == nil && printable(said) {
			if x := s.plain(said); len(x) > 0 {
				return append(out, span{from: from, to: to, kind: x[0].kind, secret: said[x[0].from:x[0].to]})
			}
		}
	}
	for i := 0; i < len(run); {
		if c := run[i]; c == '%' || c == '.' || c == ':' || c == '=' {
			i++
			continue
		}
		end := i
		for end < len(run) && strings.IndexByte("%.:=", run[end]) < 0 {
			end++
		}
		if end-i >= leastRun && end-i <= mostDecoded {
			if said := decoded(run[i:end]); said != "" {
				if x := s.plain(said); len(x) > 0 {
					pad := end
					for pad < len(run) && run[pad] == '=' {
						pad++
					}
					out = append(out, span{from: from + i, to: from + pad, kind: x[0].kind, secret: said[x[0].from:x[0].to]})
				}
			}
		}
		i = end
	}
	return out
}

// decoded returns what base64 or hexadecimal digits say, if they say a text.
func decoded(run string) string {
	if len(run)%2 == 0 && strings.Trim(run[:16], "0123456789abcdefABCDEF") == "" {
		data, err := hex.DecodeString(run)
		if err == nil && printable(string(data)) {
			return string(data)
		}
	}
	enc := base64.RawStdEncoding
	if strings.ContainsAny(run, "-_") {
		enc = base64.RawURLEncoding
	}
	var first [12]byte // most names say no text in their first letters
	if n, err := enc.Decode(first[:], []byte(run[:16])); err != nil || !printable(string(first[:n])) {
		return ""
	}
	if len(run)%4 == 1 {
		return ""
	}
	data, err := enc.DecodeString(run)
	if err != nil || !printable(string(data)) {
		return ""
	}
	return string(data)
}
