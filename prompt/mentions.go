package prompt

import (
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"tracerag/trace/symbol"
)

// Mention is what looks like a function's name or a position in a text, most of
// all in a model's answer.
type Mention struct {
	Kind CitationKind
	In   Place
	At   int    // where Text begins, in bytes
	Text string // as it is written

	// Names are the qualifiers and the name of a function, without import path,
	// type arguments and the numbers of closures: table, Table, Render.
	Names []string
	Call  bool // parentheses or a signature follow

	qualified bool // by a package, a type, or a function around a closure
	beside    bool // a position follows it, or is in the same span: it must be a name

	// A position's file and lines; To is From if there is one line only.
	File     string
	From, To int
}

// Place is where in a Markdown text something is mentioned.
type Place int

// The places of mentions.
const (
	InProse Place = iota
	InSpan        // `like this`
	InBlock       // in a fenced block of code
)

// Mentions finds functions and positions in a Markdown text, in its order:
//
//   - a code span that is a name with a qualifier, a call or a signature, and one
//     that is a single word, which may be anything;
//   - in prose a name with a qualifier, one with a parenthesis behind it, or a
//     mixedCaps word;
//   - in a code block what it declares: "func (t *Table) Render(";
//   - a position (file.go:12, file.go:12-20, file.go#L12-L20) outside of blocks.
//
// It says what is written, not whether there is such a thing.
func Mentions(text string) []Mention {
	prose, code := splitBlocks(text)
	var ms []Mention
	for _, m := range positionPattern().FindAllStringSubmatchIndex(prose, -1) {
		file, from, to := position(prose, m)
		ms = append(ms, Mention{Kind: CitesPosition, At: m[0], Text: prose[m[0]:m[1]], File: file, From: from, To: to})
	}
	rest := []byte(prose)
	for at, span := range codeSpans(prose) {
		for i := range span {
			rest[at+i] = '`' // for what follows, no part of the prose
		}
		text := strings.TrimSpace(span)
		if m, ok := parseName(text); ok {
			m.In, m.At = InSpan, at+strings.Index(span, text)
			ms = append(ms, m)
		}
	}
	for _, m := range prosePattern().FindAllIndex(rest, -1) {
		name, ok := parseName(prose[m[0]:m[1]])
		name.At, name.Call = m[0], strings.HasPrefix(prose[m[1]:], "(")
		isFile := ok && !name.Call && name.qualified && fileEndings[name.Names[len(name.Names)-1]]
		if ok && !isFile && (name.Call || name.qualified || mixedCaps(name.Text)) {
			ms = append(ms, name)
		}
	}
	for _, m := range declarationPattern().FindAllStringSubmatchIndex(code, -1) {
		if name, ok := parseName(code[m[2]:m[3]]); ok {
			name.In, name.At = InBlock, m[2]
			ms = append(ms, name)
		}
	}
	slices.SortStableFunc(ms, func(a, b Mention) int { return a.At - b.At })
	return ms
}

// lazy is a pattern that is compiled when it is first asked for: these have classes of
// Unicode, and all together would take each start of the program 2 ms.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// positionPattern finds "dir/file.go:12", "file.go:12-20" and the
// "file.go#L12-L20" of code hosts.
var positionPattern = lazy(`([\pL\pN_][\pL\pN_./@+~-]*\.(?:go|s))(?::|#)L?(\d{1,7})(?:[-–]L?(\d{1,7}))?`)

func position(s string, m []int) (file string, from, to int) {
	from, to = numbers(s, m[4:])
	return s[m[2]:m[3]], from, to
}

// numbers reads one number or two where a pattern found them.
func numbers(s string, m []int) (from, to int) {
	from, _ = strconv.Atoi(s[m[0]:m[1]]) // seven digits fit
	to = from
	if m[2] >= 0 {
		to, _ = strconv.Atoi(s[m[2]:m[3]])
	}
	return from, to
}

const (
	identifier = `[\pL_][\pL\pN_]*`
	// The last element of an import path, which call trees show, need not be the
	// package's name: go-yaml.
	qualifier = `[\pL_][\pL\pN_-]*`
)

var (
	// A name with its qualifiers, type arguments and parentheses. An import
	// path may come before it.
	namePattern = lazy(`^(?:[\pL\pN_.@~%+-]+/)*((?:` + qualifier + `\.)?(?:\(\\?\*?(?:` + identifier + `\.)?` + identifier + `(?:\[[^\]]*\])?\)\.)?` +
		identifier + `(?:\.` + identifier + `)*(?:\.\d+)*)(?:\[[^\]]*\])?(\(.*\))?$`)
	// The same in prose, where Markdown may want the star escaped.
	prosePattern = lazy(`(?:[\pL\pN_][\pL\pN_.@~%+-]*/)*(?:` + qualifier + `\.)?(?:\(\\?\*?(?:` + identifier + `\.)?` + identifier + `\)\.)?` +
		identifier + `(?:\.` + identifier + `)*`)
	// "func (t *Table) Render(w io.Writer)"
	signaturePattern   = lazy(`^func\s+(?:\(\s*(?:` + identifier + `\s+)?\*?(` + identifier + `)[^)]*\)\s*)?(` + identifier + `)\s*[(\[]`)
	declarationPattern = lazy(`(?m)^[ \t]*[+-]?[ \t]*(func\s+(?:\([^()\n]*\)\s*)?` + identifier + `\s*[(\[])`)
	qualifierPattern   = regexp.MustCompile(qualifier)
	closurePattern     = regexp.MustCompile(`^(func|gowrap|deferwrap)\d+$`)
	versionPattern     = regexp.MustCompile(`^v\d`)
	majorVersion       = regexp.MustCompile(`^v\d+$`)
)

// parseName takes a function's name or signature apart, if it is one.
func parseName(text string) (Mention, bool) {
	m := Mention{Kind: CitesFunction, Text: text}
	if sig := signaturePattern().FindStringSubmatch(text); sig != nil {
		m.Names, m.Call, m.qualified = sig[2:], true, sig[1] != ""
		if m.qualified {
			m.Names = sig[1:]
		}
		return m, true
	}
	at := namePattern().FindStringSubmatchIndex(text)
	if at == nil {
		return m, false
	}
	names := qualifierPattern.FindAllString(text[at[2]:at[3]], -1)
	// As trees have them: chroma for .../chroma/v2, yaml for yaml.v3.
	if len(names) > 2 && majorVersion.MatchString(names[1]) {
		names = slices.Delete(names, 1, 2)
	}
	if len(names) > 1 {
		names[0] = symbol.Base(text[:at[2]] + names[0])
	}
	m.qualified = len(names) > 1
	for len(names) > 1 && closurePattern.MatchString(names[len(names)-1]) {
		names = names[:len(names)-1] // closures are not in the sources by name
	}
	m.Names, m.Call = names, at[4] >= 0
	return m, true
}

// citedNames returns the words that must be in the prompt if a mention names a
// function, and whether it does.
func (m *Mention) citedNames() ([]string, bool) {
	if !m.Call && !m.qualified && !m.beside {
		return nil, false // any word can be in a code span
	}
	names := m.Names
	last := names[len(names)-1]
	switch {
	case slices.ContainsFunc(names[:len(names)-1], IsStd),
		!m.Call && (fileEndings[last] || versionPattern.MatchString(last)),
		len(names) == 1 && (token.IsKeyword(last) || predeclared[last]):
		return nil, false
	}
	// What begins in lower case and is not the name itself may be a variable.
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n != last && !startsUpper(n) }), true
}

func startsUpper(s string) bool {
	for _, r := range s {
		return unicode.IsUpper(r)
	}
	return false
}

// mixedCaps reports whether a word has a capital behind a small letter, or "_":
// no word of a language has.
func mixedCaps(s string) bool {
	small := false
	for _, r := range s {
		if r == '_' || small && unicode.IsUpper(r) {
			return true
		}
		small = unicode.IsLower(r)
	}
	return false
}

// splitBlocks returns a Markdown text without its fenced code blocks, and the
// blocks without the text. In both, line breaks replace what is left out: every
// byte keeps its place, and no paragraph goes on behind a block.
func splitBlocks(s string) (prose, code string) {
	p, c := []byte(s), []byte(s)
	blank := func(b []byte) {
		for i := range b {
			b[i] = '\n'
		}
	}
	fence, at := "", 0
	for line := range strings.Lines(s) {
		text := strings.TrimLeft(line, " ")
		mark := leadingFence(text)
		end := at + len(line)
		switch {
		case fence == "" && mark != "":
			fence = mark
			blank(p[at:end])
			blank(c[at:end])
		case fence == "":
			blank(c[at:end])
		default:
			blank(p[at:end])
			if strings.HasPrefix(mark, fence) && strings.TrimSpace(text[len(mark):]) == "" {
				fence = ""
				blank(c[at:end])
			}
		}
		at = end
	}
	return string(p), string(c)
}

// leadingFence returns the three or more backticks or tildes that s begins
// with, or "".
func leadingFence(s string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(s) - len(strings.TrimLeft(s, c)); n >= 3 {
			return s[:n]
		}
	}
	return ""
}

// codeSpans yields the code spans of a Markdown text and where they begin. A
// span ends at as many backticks as it began with.
func codeSpans(s string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		for i := 0; i < len(s); {
			if s[i] != '`' {
				i++
				continue
			}
			n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
			end := closingTicks(s[i+n:], n)
			if end < 0 {
				i += n
				continue
			}
			if !yield(i+n, s[i+n:i+n+end]) {
				return
			}
			i += n + end + n
		}
	}
}

// closingTicks returns where in s the next run of exactly n backticks begins,
// -1 if none does within the paragraph.
func closingTicks(s string, n int) int {
	if p := strings.Index(s, "\n\n"); p >= 0 {
		s = s[:p]
	}
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if run == n {
			return i
		}
		i += run
	}
	return -1
}
