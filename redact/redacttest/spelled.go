package redacttest

import (
	"encoding/base64"
	encodehex "encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// spelled are tokens with a form that everybody knows, spelled otherwise.
var spelled = []recipe{
	spelling("bytes", nil, func(s string) string { return `[]byte("` + s + `")` }),
	spelling("raw-string", nil, func(s string) string { return "`" + s + "`" }),
	spelling("two-parts", halves, func(s string) string { return `"` + s[:len(s)/2] + `" + "` + s[len(s)/2:] + `"` }),
	spelling("prefix-apart", func(s string) []string { return []string{s[4:]} }, func(s string) string { return `"` + s[:4] + `" + "` + s[4:] + `"` }),
	spelling("three-lines", nil, func(s string) string {
		return `"` + s[:10] + "\" +\n\t\t\"" + s[10:20] + "\" +\n\t\t\"" + s[20:] + `"`
	}).secret(func(s string) []string { return []string{s[4:10], s[10:20], s[20:]} }),
	spelling("joined", halves, func(s string) string {
		return `strings.Join([]string{"` + s[:len(s)/2] + `", "` + s[len(s)/2:] + `"}, "")`
	}),
	spelling("hex-escapes", escaped(`\x%02x`), func(s string) string { return `"` + escape(s, `\x%02x`) + `"` }),
	spelling("hex-escapes-upper", escaped(`\x%02X`), func(s string) string { return `"` + escape(s, `\x%02X`) + `"` }),
	spelling("unicode-escapes", escaped(`\u%04x`), func(s string) string { return `"` + escape(s, `\u%04x`) + `"` }),
	spelling("long-unicode-escapes", escaped(`\U%08x`), func(s string) string { return `"` + escape(s, `\U%08x`) + `"` }),
	spelling("octal-escapes", escaped(`\%03o`), func(s string) string { return `"` + escape(s, `\%03o`) + `"` }),
	spelling("one-escape", func(s string) []string { return []string{s[4:]} }, func(s string) string { return fmt.Sprintf(`"\x%02x%s"`, s[0], s[1:]) }),
	spelling("escape-in-the-middle", halves, func(s string) string {
		n := len(s) / 2
		return fmt.Sprintf(`"%s\x%02x%s"`, s[:n], s[n], s[n+1:])
	}).secret(func(s string) []string { return []string{s[4 : len(s)/2], s[len(s)/2+1:]} }),
	spelling("runes", list("', '", func(c int) string { return string(rune(c)) }), func(s string) string {
		return "[]byte{'" + byteList(s, "', '", func(c int) string { return string(rune(c)) }) + "'}"
	}),
	spelling("byte-list-hex", list(", ", func(c int) string { return fmt.Sprintf("0x%02x", c) }), func(s string) string {
		return "[]byte{" + byteList(s, ", ", func(c int) string { return fmt.Sprintf("0x%02x", c) }) + "}"
	}),
	spelling("byte-list", list(", ", strconv.Itoa), func(s string) string { return "[]byte{" + byteList(s, ", ", strconv.Itoa) + "}" }),
	encoded("base64", base64.StdEncoding.EncodeToString),
	encoded("base64-raw", base64.RawStdEncoding.EncodeToString),
	encoded("base64-url", base64.URLEncoding.EncodeToString),
	encoded("hex", func(b []byte) string { return encodehex.EncodeToString(b) }),
	encoded("percent", func(b []byte) string { return escape(string(b), "%%%02X") }),
	{name: "spelled-base64-of-connection", kind: Spelled, make: func(r *random) (string, []string) {
		s := base64.StdEncoding.EncodeToString([]byte("postgres://app:" + r.password() + "@db.internal/shop"))
		return s, []string{s[20:]}
	}},
	{name: "spelled-json-escapes", kind: Spelled, make: func(r *random) (string, []string) {
		s := escape(known(r), `\u%04x`)
		return s, []string{s}
	}, samples: func(text, ident string) []Sample {
		return []Sample{{Place: JSON, Text: `{"a": "` + text + `"}`}}
	}},
	{name: "spelled-bytes-value", kind: Spelled, make: func(r *random) (string, []string) {
		s := byteList(known(r), ", ", strconv.Itoa)
		return "[" + s + "]", []string{s}
	}, samples: func(text, ident string) []Sample {
		return []Sample{{Place: Value, Name: "b", Text: text}, {Place: Message, Text: "body " + text}}
	}},
}

// known is a token that everybody knows.
func known(r *random) string { return "ghp_" + r.of(mixed, 36) }

// spelling is an expression of Go with a known token.
func spelling(name string, secrets func(string) []string, expr func(string) string) recipe {
	return recipe{name: "spelled-" + name, kind: Spelled, make: func(r *random) (string, []string) {
		s := known(r)
		if secrets == nil {
			return s, []string{s[4:]}
		}
		return s, secrets(s)
	}, samples: func(text, ident string) []Sample { return inGo(expr(text), ident) }}
}

// secret has other parts of the token be the secret ones.
func (c recipe) secret(parts func(string) []string) recipe {
	c.make = func(r *random) (string, []string) {
		s := known(r)
		return s, parts(s)
	}
	return c
}

// encoded is a known token, encoded.
func encoded(name string, encode func([]byte) string) recipe {
	return recipe{name: "spelled-" + name, kind: Spelled, make: func(r *random) (string, []string) {
		s := encode([]byte(known(r)))
		return s, []string{strings.TrimRight(s[8:], "=")}
	}}
}

func halves(s string) []string { return []string{s[4 : len(s)/2], s[len(s)/2:]} }

func escape(s, format string) string {
	return byteList(s, "", func(c int) string { return fmt.Sprintf(format, c) })
}

func escaped(format string) func(string) []string {
	return func(s string) []string { return []string{escape(s, format)} }
}

func list(between string, write func(int) string) func(string) []string {
	return func(s string) []string { return []string{byteList(s, between, write)} }
}

// hidden are secrets that nothing shows: no form, no name. They are here to be seen in
// the table, and because one that is found one day is to move to where it belongs.
var hidden = []recipe{
	{name: "words-under-another-name", kind: Hidden, ident: "greeting", make: func(r *random) (string, []string) { return r.words(), nil }, places: []Place{Assign, Field, Value}},
	{name: "password-under-another-name", kind: Hidden, ident: "greeting", make: func(r *random) (string, []string) { return r.password(), nil }, places: []Place{Assign, Field, Map, Compare, Value, Env}},
	{name: "hex-under-another-name", kind: Hidden, ident: "checksum", make: func(r *random) (string, []string) { return r.of(hex, 32), nil }, places: []Place{Assign, Field, Map, Value, JSON}},
	{name: "aws-secret-under-another-name", kind: Hidden, ident: "column", make: func(r *random) (string, []string) { return r.of(base64of, 40), nil }, places: []Place{Assign, Field, Value}},
	{name: "password-in-prose", kind: Hidden, make: func(r *random) (string, []string) { return r.words(), nil }, samples: func(text, ident string) []Sample {
		return []Sample{{Place: Message, Text: "The door opens to " + text + "."}}
	}},
	{name: "reversed-token", kind: Hidden, make: func(r *random) (string, []string) {
		s := []byte(known(r))
		for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
			s[i], s[j] = s[j], s[i]
		}
		return string(s), nil
	}, places: []Place{Assign, Value}},
	{name: "token-over-statements", kind: Hidden, make: func(r *random) (string, []string) { s := known(r); return s, []string{s[24:]} }, samples: func(text, ident string) []Sample {
		return []Sample{{Place: Assign, Text: "a := \"" + text[:3] + "\"\n\tb := \"" + text[3:24] + "\"\n\tc := \"" + text[24:] + "\"\n\tuse(a + b + c)"}}
	}},
	{name: "argument-by-position", kind: Hidden, make: password("PW"), samples: func(text, ident string) []Sample {
		return []Sample{commandLine("htpasswd", "-b", "users", "ann", text)}
	}},
	{name: "pgpass", kind: Hidden, make: password("db.internal:5432:shop:app:PW"), samples: func(text, ident string) []Sample {
		return []Sample{{Place: Message, Text: text}, {Place: Assign, Text: "line := \"" + text + "\""}}
	}},
}

// words is a passphrase of made-up words.
func (r *random) words() string {
	var out []string
	for range 4 {
		var b strings.Builder
		for range 3 {
			b.WriteString(r.of("bdfgklmnprstvz", 1) + r.of("aeiou", 1))
		}
		out = append(out, b.String())
	}
	return strings.Join(out, " ")
}
