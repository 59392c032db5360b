package prompt

import (
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// CitationKind says what an answer cites.
type CitationKind string

// The kinds of citation.
const (
	CitesFunction CitationKind = "function" // "csvview.(*Table).Render"
	CitesPosition CitationKind = "position" // "csvview/table.go:120-158"
)

// Citation is a function or a position that an answer names.
type Citation struct {
	Text  string       `json:"text"` // as the answer has it
	Kind  CitationKind `json:"kind"`
	Known bool         `json:"known"` // the prompt has it
}

// CheckCitations returns what an answer cites, each once, in its order, and
// whether the prompt that it answers has it. What is not known came from
// elsewhere: out of the model's training, or out of nothing (Kamiya 2024,
// section 4.4, marks such answers by hand as suspected data leakage).
//
// It would rather miss an invention than doubt an honest answer. Code blocks
// are not looked at, since they propose new code. Elsewhere a position is
// file.go:12 or file.go:12-20, known if the prompt has those lines of a file
// that ends so. A function is an identifier in a code span with a qualifier or
// parentheses, known if the prompt has the words anywhere; the standard
// library, predeclared functions and lower-case qualifiers, which may be
// variables, are not looked for.
func CheckCitations(answer, prompt string) []Citation {
	var cs []Citation
	add := func(text string, kind CitationKind, known bool) {
		if !slices.ContainsFunc(cs, func(c Citation) bool { return c.Text == text && c.Kind == kind }) {
			cs = append(cs, Citation{text, kind, known})
		}
	}
	prose := withoutCodeBlocks(answer)
	lines := linesOf(prompt)
	words := wordsOf(prompt)
	type found struct {
		at  int
		add func()
	}
	var all []found
	for _, m := range positionPattern.FindAllStringSubmatchIndex(prose, -1) {
		file, from, to := position(prose, m)
		all = append(all, found{m[0], func() {
			add(strings.TrimRight(prose[m[0]:m[1]], " "), CitesPosition, lines.has(file, from, to))
		}})
	}
	for at, span := range codeSpans(prose) {
		if names, ok := functionNames(span); ok {
			all = append(all, found{at, func() { add(span, CitesFunction, words.hasAll(names)) }})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return a.at - b.at })
	for _, f := range all {
		f.add()
	}
	return cs
}

// positionPattern finds "dir/file.go:12", "file.go:12-20" and the
// "file.go#L12-L20" of code hosts.
var positionPattern = regexp.MustCompile(`([\pL\pN_][\pL\pN_./@+~-]*\.(?:go|s))(?::|#)L?(\d{1,7})(?:[-–]L?(\d{1,7}))?`)

func position(s string, m []int) (file string, from, to int) {
	from, to = numbers(s, m[4:])
	return s[m[2]:m[3]], from, to
}

// fileLines are the lines that a prompt has, by the last element of the file.
type fileLines map[string][]lineRange

type lineRange struct {
	file     string
	from, to int
}

// leftOutPattern finds the marks of lines that a source in a prompt has not.
var leftOutPattern = regexp.MustCompile(`\[(?:signature only: )?lines? (\d{1,7})(?:-(\d{1,7}))? left out`)

func linesOf(prompt string) fileLines {
	fl := fileLines{}
	marks := leftOutPattern.FindAllStringSubmatchIndex(prompt, -1)
	places := positionPattern.FindAllStringSubmatchIndex(prompt, -1)
	for i, m := range places {
		file, from, to := position(prompt, m)
		base := file[strings.LastIndexByte(file, '/')+1:]
		next := len(prompt)
		if i+1 < len(places) {
			next = places[i+1][0]
		}
		// The marks in the source below its heading take lines out of it.
		for ; len(marks) > 0 && marks[0][0] < next; marks = marks[1:] {
			first, last := numbers(prompt, marks[0][2:])
			if marks[0][0] > m[0] && first >= from && last <= to {
				if from < first {
					fl[base] = append(fl[base], lineRange{file, from, first - 1})
				}
				from = last + 1
			}
		}
		if from <= to {
			fl[base] = append(fl[base], lineRange{file, from, to})
		}
	}
	return fl
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

// has reports whether both ends of a range are lines of one file that the
// prompt has. The file may be named by the end of its path, or by more of it
// than the prompt does.
func (fl fileLines) has(file string, from, to int) bool {
	first, last := map[string]bool{}, map[string]bool{}
	for _, r := range fl[file[strings.LastIndexByte(file, '/')+1:]] {
		if !sameFile(r.file, file) {
			continue
		}
		if r.from <= from && from <= r.to {
			first[r.file] = true
		}
		if r.from <= to && to <= r.to {
			last[r.file] = true
		}
	}
	for f := range first {
		if last[f] {
			return true
		}
	}
	return false
}

// sameFile reports whether a prompt's file may be meant by a cited one.
func sameFile(prompt, cited string) bool {
	if moduleOf(cited) != "" {
		// The prompt has a short name for the module.
		_, prompt, _ = strings.Cut(prompt, "/")
	}
	return prompt != "" && (strings.HasSuffix("/"+prompt, "/"+cited) || strings.HasSuffix("/"+cited, "/"+prompt))
}

// wordSet is every identifier in a prompt.
type wordSet map[string]bool

func wordsOf(prompt string) wordSet {
	words := wordSet{}
	start := -1
	escaped := false
	for i, r := range prompt {
		// Of "\nBorder" in a string, or in JSON, the word is Border.
		inWord := !escaped && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r))
		escaped = !escaped && r == '\\'
		switch {
		case inWord && start < 0:
			start = i
		case !inWord && start >= 0:
			words[prompt[start:i]] = true
			start = -1
		}
	}
	if start >= 0 {
		words[prompt[start:]] = true
	}
	return words
}

func (w wordSet) hasAll(names []string) bool {
	for _, n := range names {
		if !w[n] {
			return false
		}
	}
	return true
}

const identifier = `[\pL_][\pL\pN_]*`

var (
	// A name with its qualifiers, type arguments and parentheses. An import
	// path may stand in front.
	namePattern = regexp.MustCompile(`^(?:[\pL\pN_.@~%+-]+/)*((?:` + identifier + `\.)?(?:\(\*?(?:` + identifier + `\.)?` + identifier + `(?:\[[^\]]*\])?\)\.)?` +
		identifier + `(?:\.` + identifier + `)*(?:\.\d+)*)(?:\[[^\]]*\])?(\(.*\))?$`)
	// "func (t *Table) Render(w io.Writer)"
	signaturePattern  = regexp.MustCompile(`^func\s+(?:\(\s*(?:` + identifier + `\s+)?\*?(` + identifier + `)[^)]*\)\s*)?(` + identifier + `)\s*[(\[]`)
	identifierPattern = regexp.MustCompile(identifier)
	closurePattern    = regexp.MustCompile(`^(func|gowrap|deferwrap)\d+$`)
	versionPattern    = regexp.MustCompile(`^v\d`)
)

// functionNames returns the words that must be in the prompt if a code span
// names a function, and whether it does.
func functionNames(span string) ([]string, bool) {
	if m := signaturePattern.FindStringSubmatch(span); m != nil {
		if m[1] == "" {
			return m[2:], true
		}
		return m[1:], true
	}
	m := namePattern.FindStringSubmatch(span)
	if m == nil {
		return nil, false
	}
	name, call := m[1], m[2] != ""
	names := identifierPattern.FindAllString(name, -1)
	if !call && len(names) < 2 {
		return nil, false // any word can stand in a code span
	}
	for len(names) > 1 && closurePattern.MatchString(names[len(names)-1]) {
		names = names[:len(names)-1] // closures are not in the sources by name
	}
	last := names[len(names)-1]
	switch {
	case slices.ContainsFunc(names[:len(names)-1], isStd),
		!call && (fileEndings[last] || versionPattern.MatchString(last)),
		len(names) == 1 && (token.IsKeyword(last) || predeclared[last]):
		return nil, false
	}
	// What begins in lower case and is not the name itself may be a variable.
	return slices.DeleteFunc(names, func(n string) bool { return n != last && !startsUpper(n) }), true
}

func startsUpper(s string) bool {
	for _, r := range s {
		return unicode.IsUpper(r)
	}
	return false
}

// withoutCodeBlocks blanks fenced code blocks of a Markdown text.
func withoutCodeBlocks(s string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(s) {
		text := strings.TrimLeft(line, " ")
		mark := leadingFence(text)
		switch {
		case fence == "" && mark != "":
			fence = mark
		case fence == "":
			b.WriteString(line)
		case strings.HasPrefix(mark, fence) && strings.TrimSpace(text[len(mark):]) == "":
			fence = ""
		}
	}
	return b.String()
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
			if !yield(i+n, strings.TrimSpace(s[i+n:i+n+end])) {
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
