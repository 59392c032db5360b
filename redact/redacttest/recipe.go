package redacttest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// recipe says how the secret of a form is made and where it appears.
type recipe struct {
	name string
	kind Kind
	// ident names the variable, field or key that holds the secret, in Go's way. One
	// that is found by its own form has a name that says nothing.
	ident string
	// make returns the literal's text and the parts of it that are secret; none: all.
	make func(*random) (text string, secrets []string)
	// places, if there are any, are all where the form is plausible. Otherwise it is
	// everywhere.
	places []Place
	// samples, if it is set, returns samples that are not those of a literal.
	samples func(text, ident string) []Sample
}

// random makes letters. Each form has its own, so that a new one changes no other.
type random struct{ *rand.Rand }

func newRandom(seed uint64, name string) *random {
	h := fnv.New64a()
	h.Write([]byte(name))
	return &random{rand.New(rand.NewPCG(seed, h.Sum64()))}
}

const (
	digits   = "0123456789"
	lower    = "abcdefghijklmnopqrstuvwxyz"
	upper    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	hex      = digits + "abcdef"
	alnum    = digits + lower
	mixed    = digits + lower + upper
	word     = mixed + "_-"
	base64of = mixed + "+/"
	base32up = upper + "234567"
	base32lo = lower + "234567"
	bech32   = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
)

func (r *random) of(letters string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

// in is of letters that neither begin nor end with a mark.
func (r *random) in(letters string, n int) string {
	return r.of(mixed, 1) + r.of(letters, n-2) + r.of(mixed, 1)
}

func (r *random) uuid() string {
	return r.of(hex, 8) + "-" + r.of(hex, 4) + "-4" + r.of(hex, 3) + "-a" + r.of(hex, 3) + "-" + r.of(hex, 12)
}

// password is what people choose: two made-up words, digits and a mark.
func (r *random) password() string {
	syllables := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(r.of("bdfgklmnprstvz", 1) + r.of("aeiou", 1))
		}
		return b.String()
	}
	first := syllables(3)
	return strings.ToUpper(first[:1]) + first[1:] + r.of("!_.-", 1) + syllables(2) + r.of(digits, 2)
}

// prefixed is a prefix that everybody knows, and letters.
func prefixed(name, prefix, letters string, n int) recipe {
	return recipe{name: name, kind: Token, make: func(r *random) (string, []string) {
		s := r.in(letters, n)
		return prefix + s, []string{s}
	}}
}

// plain is a token of certain letters alone, also where it begins and ends.
func plain(name, prefix, letters string, n int) recipe {
	return recipe{name: name, kind: Token, make: func(r *random) (string, []string) {
		s := r.of(letters, n)
		return prefix + s, []string{s}
	}}
}

// form is a token of several parts.
func form(name string, make func(*random) (string, []string)) recipe {
	return recipe{name: name, kind: Token, make: make}
}

func (c recipe) fill(f *Form, r *random) {
	text, secrets := c.make(r)
	if secrets == nil {
		secrets = []string{text}
	}
	f.Secrets = secrets
	ident := c.ident
	if ident == "" {
		ident = "value"
	}
	samples := c.samples
	if samples == nil {
		samples = literal
	}
	for _, s := range samples(text, ident) {
		if len(c.places) == 0 || slices.Contains(c.places, s.Place) {
			f.Samples = append(f.Samples, s)
		}
	}
}

// literal returns the samples of a string.
func literal(text, ident string) []Sample {
	return quotedAs(text, quote(text), ident)
}

// quotedAs returns the samples of a string whose literal in Go is quoted.
func quotedAs(text, quoted, ident string) []Sample {
	out := inGo(quoted, ident)
	return append(out, inRuns(text, ident)...)
}

// quote quotes as people do: what has lines in it in backquotes.
func quote(text string) string {
	if strings.Contains(text, "\n") && !strings.Contains(text, "`") {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}

// inGo returns statements with an expression.
func inGo(expr, ident string) []Sample {
	exported := strings.ToUpper(ident[:1]) + ident[1:]
	return []Sample{
		{Place: Assign, Text: ident + " := " + expr},
		{Place: Field, Text: "c := config{Region: \"eu\", " + exported + ": " + expr + "}"},
		{Place: Map, Text: fmt.Sprintf("m := map[string]string{\"region\": \"eu\", %q: %s}", snake(ident), expr)},
		{Place: Compare, Text: "if " + ident + " == " + expr + " {\n\t\treturn\n\t}"},
		{Place: Call, Text: "set" + exported + "(" + expr + ")"},
	}
}

// inRuns returns what a run shows of a string, and texts with it.
func inRuns(text, ident string) []Sample {
	kebab, env := strings.ReplaceAll(snake(ident), "_", "-"), strings.ToUpper(snake(ident))
	out := []Sample{
		{Place: Value, Name: ident, Text: strconv.Quote(text)},
		commandLine("app", "--verbose", "--"+kebab, text),
	}
	if strings.Contains(text, "\n") {
		return append(out,
			Sample{Place: JSON, Text: "{\"region\": \"eu\", \"" + snake(ident) + "\": " + strconv.Quote(text) + "}"},
			Sample{Place: YAML, Text: "region: eu\n" + snake(ident) + ": |\n  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"},
			Sample{Place: Message, Text: "loaded:\n" + text + "\nfrom a file"})
	}
	return append(out,
		Sample{Place: Env, Text: env + "=" + text},
		Sample{Place: JSON, Text: "{\"region\": \"eu\", \"" + snake(ident) + "\": " + strconv.Quote(text) + "}"},
		Sample{Place: YAML, Text: "region: eu\n" + snake(ident) + ": " + text + "\nretries: 3\n"},
		Sample{Place: HTTP, Text: "GET /v1 HTTP/1.1\r\nX-" + headerName(ident) + ": " + text + "\r\nAccept: */*\r\n"},
		Sample{Place: URL, Text: "https://api.example.com/v1/items?" + snake(ident) + "=" + text + "&page=2"},
		Sample{Place: Message, Text: "level=info msg=login " + snake(ident) + "=" + text + " took=3ms"})
}

func commandLine(args ...string) Sample {
	return Sample{Place: Args, Text: strings.Join(args, " "), Args: args}
}

// snake is db_password of dbPassword.
func snake(ident string) string {
	var b strings.Builder
	for i, c := range ident {
		if c >= 'A' && c <= 'Z' {
			if i > 0 && !(ident[i-1] >= 'A' && ident[i-1] <= 'Z') {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// headerName is Db-Password of dbPassword.
func headerName(ident string) string {
	parts := strings.Split(snake(ident), "_")
	for i, p := range parts {
		parts[i] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, "-")
}
