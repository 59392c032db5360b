package postgres

import (
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"
)

// escape begins an escaped byte, two hexadecimal digits, in a text of the database.
const escape = '\x1a'

// encode makes a text one that PostgreSQL takes: paths and git's subjects may have any bytes. Nearly
// all texts are as they are.
func encode(s string) string {
	if utf8.ValidString(s) && !strings.ContainsAny(s, "\x00\x1a") {
		return s
	}
	var b strings.Builder
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || r == 0 || r == escape {
			b.WriteByte(escape)
			b.WriteString(hex.EncodeToString([]byte{s[0]}))
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// decode is the other way.
func decode(s string) string {
	before, rest, ok := strings.Cut(s, string(escape))
	if !ok {
		return s
	}
	var b strings.Builder
	for b.WriteString(before); ok; {
		c, err := hex.DecodeString(rest[:min(2, len(rest))])
		if err != nil || len(c) != 1 { // not written by encode
			b.WriteByte(escape)
			c = nil
		} else {
			rest = rest[2:]
		}
		b.Write(c)
		before, rest, ok = strings.Cut(rest, string(escape))
		b.WriteString(before)
	}
	return b.String()
}

// arguments are those of a query with their texts encoded.
func arguments(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case string:
			out[i] = encode(a)
		case []string:
			list := make([]string, len(a)) // never nil, which would be NULL
			for j, s := range a {
				list[j] = encode(s)
			}
			out[i] = list
		case []int64:
			if a == nil {
				a = []int64{}
			}
			out[i] = a
		default:
			out[i] = a
		}
	}
	return out
}

// into scans a text and decodes it.
type into struct{ to *string }

// ScanText is of [pgtype.TextScanner].
func (x into) ScanText(v pgtype.Text) error {
	*x.to = decode(v.String)
	return nil
}

// targets are those of a scan with texts decoded.
func targets(to []any) []any {
	for i, t := range to {
		if s, ok := t.(*string); ok {
			to[i] = into{s}
		}
	}
	return to
}

// fold is a name in small letters, as far as SQLite's NOCASE sees letters: those of ASCII.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
