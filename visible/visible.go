// Package visible says which characters of a text may reach a terminal or a prompt,
// and writes the others so that they can be seen.
//
// Names, arguments, values, sources and a model's words come from others. Control
// characters among them move a cursor, set a title, ring or answer in the user's
// name. Format characters turn the order of letters around, or hide a text from people
// that a model reads. So these are escaped, as Go spells them:
//
//   - C0 controls and DEL: \x1b. Line feeds and tabs are text, but not in a [Line].
//   - C1 controls, format characters (bidirectional, zero width, tags), line and
//     paragraph separators, fillers without a shape, variation selectors but the two
//     that emoji have: \u202e, \U000e0041.
//   - Bytes that are no UTF-8: \xff.
//
// Nothing is left out. What is escaped stays so: to escape twice changes nothing.
package visible

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Hidden reports whether a character is escaped. Line feeds and tabs are, here.
func Hidden(r rune) bool {
	switch {
	case r < ' ' || r >= 0x7f && r < 0xa0:
		return true
	case r < 0xad:
		return false
	case r == 0xfe0e || r == 0xfe0f: // an emoji as text, or in colour
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// Text escapes what is hidden in a text of lines. A line that ends in CR LF ends in LF.
func Text(s string) string { return escape(s, false) }

// Line escapes what is hidden in a text that has to stay on one line, line breaks and
// tabs among it.
func Line(s string) string { return escape(s, true) }

func escape(s string, line bool) string {
	i := first(s, line)
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:i])
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !line && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case !line && r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		case Hidden(r):
			b.WriteString(spell(r))
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// first is where the first character is that may have to be escaped, -1 if none
// does: most texts are clean, and need no copy.
func first(s string, line bool) int {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if (c < ' ' || c == 0x7f) && (line || c != '\n' && c != '\t') {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || Hidden(r) {
			return i
		}
		i += size
	}
	return -1
}

// spell writes a character as Go does.
func spell(r rune) string {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		q := strconv.QuoteRune(r)
		return q[1 : len(q)-1]
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// JSON escapes what is hidden in a text that is JSON, as JSON does: anyone who decodes it
// gets what was there. Bytes that are no UTF-8 become the replacement character.
func JSON(s string) string {
	return eachHidden(s, func(b *strings.Builder, r rune) {
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		} else {
			fmt.Fprintf(b, `\u%04x`, r)
		}
	})
}

// InJSON escapes what is hidden in the strings of a text that is JSON: anyone who decodes
// it gets strings that [Text] has been applied to.
func InJSON(s string) string {
	s = eachHidden(s, func(b *strings.Builder, r rune) { b.WriteString(`\` + spell(r)) })
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			i++
			continue
		}
		r, size := unescape(s[i:])
		switch {
		case r == '\r' && strings.HasPrefix(s[i+size:], `\n`):
		case r >= 0 && r != '\n' && r != '\t' && Hidden(r):
			b.WriteString(`\` + spell(r))
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// eachHidden replaces hidden characters that are in JSON as they are; white space
// between its tokens is none.
func eachHidden(s string, write func(*strings.Builder, rune)) string {
	i := first(s, false)
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:i])
	for _, r := range s[i:] {
		if r == '\n' || r == '\t' || r == '\r' || !Hidden(r) {
			b.WriteRune(r) // a byte that is no UTF-8 is utf8.RuneError here
		} else {
			write(&b, r)
		}
	}
	return b.String()
}

// unescape reads the escape that s begins with: the character that it means, -1 if it
// is one of those that are always plain, and its length.
func unescape(s string) (rune, int) {
	switch s[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return -1, 2
	}
	r, ok := hex4(s[2:])
	if !ok {
		return -1, 2
	}
	if utf16.IsSurrogate(r) && strings.HasPrefix(s[6:], `\u`) {
		if low, ok := hex4(s[8:]); ok {
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				return both, 12
			}
		}
	}
	return r, 6
}

func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:4], 16, 32)
	return rune(n), err == nil
}
