package prompt

import (
	"regexp"
	"strings"
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
// file.go:12 or file.go:12-20, in code spans, too, or a file with its lines in
// words; it is known if the prompt has those lines of a file that ends so. A
// function is an identifier in a code span with a qualifier, parentheses or a
// position beside it, alone or among others (main.show → main.showFile), known if
// the prompt has the words anywhere; the standard library, predeclared functions and lower-case qualifiers, which may be
// variables, are not looked for.
func CheckCitations(answer, prompt string) []Citation {
	var cs []Citation
	seen := map[Citation]int{} // with Known unset
	add := func(text string, kind CitationKind, known bool) {
		c := Citation{Text: text, Kind: kind}
		i, ok := seen[c]
		if !ok {
			seen[c] = len(cs)
			cs = append(cs, Citation{text, kind, known})
			return
		}
		cs[i].Known = cs[i].Known && known // file.go:31,99 are two
	}
	lines := linesOf(prompt)
	words := wordsOf(prompt)
	for _, m := range citations(answer) {
		switch {
		case m.In == InBlock:
		case m.Kind == CitesPosition:
			add(m.Text, CitesPosition, lines.has(m.File, m.From, m.To))
		case m.In == InSpan:
			if names, ok := m.citedNames(); ok {
				add(m.Text, CitesFunction, words.hasAll(names))
			}
		}
	}
	return cs
}

// fileLines are the lines that a prompt has, by the last element of the file.
type fileLines map[string][]lineRange

type lineRange struct {
	file     string
	from, to int
}

// leftOutPattern finds the marks of lines that a source in a prompt has not: each begins its line, in JSON, too.
var leftOutPattern = regexp.MustCompile(`(?m)(?:^|\\n|")\[(?:signature only: )?lines? (\d{1,7})(?:-(\d{1,7}))? left out([^\]\n]*)`)

func linesOf(prompt string) fileLines {
	fl := fileLines{}
	places := positionPattern().FindAllStringSubmatchIndex(prompt, -1)
	ranges := make([]lineRange, len(places))
	for i, m := range places {
		ranges[i].file, ranges[i].from, ranges[i].to = position(prompt, m)
	}
	// The marks in the source below its heading take lines out of it.
	next := 0
	for _, mark := range leftOutPattern.FindAllStringSubmatchIndex(prompt, -1) {
		for next < len(places) && places[next][0] < mark[0] {
			next++
		}
		first, last := numbers(prompt, mark[2:])
		heading := headingOf(ranges[:next], first, last)
		if heading == nil {
			continue
		}
		fl.addLines(lineRange{heading.file, first, last}, prompt[mark[6]:mark[7]], calledAt())
		fl.add(lineRange{heading.file, heading.from, first - 1})
		heading.from = last + 1
	}
	for _, r := range ranges {
		fl.add(r)
	}
	fl.namedLines(prompt)
	return fl
}

// headingOf is the last place that has some lines: comments of the source may have places, too.
func headingOf(places []lineRange, first, last int) *lineRange {
	const far = 100 // places in one source
	for i := len(places) - 1; i >= max(0, len(places)-far); i-- {
		if places[i].from <= first && last <= places[i].to {
			return &places[i]
		}
	}
	return nil
}

// add adds lines, if there are any.
func (fl fileLines) add(r lineRange) {
	if r.from <= r.to {
		base := r.file[strings.LastIndexByte(r.file, '/')+1:]
		fl[base] = append(fl[base], r)
	}
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
		inWord := !escaped && inIdentifier(r)
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
