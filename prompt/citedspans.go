package prompt

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Answers name code in more forms than [Mentions] counts for grades: a span with several
// names, a name beside its position in one span, a file in a span and its lines in words.

// citations are all that an answer cites, in its order.
func citations(answer string) []Mention {
	ms := Mentions(answer)
	prose, _ := splitBlocks(answer)
	for at, span := range codeSpans(prose) {
		for _, part := range spanParts(span) {
			if m, ok := parseName(part.text); ok && part.text != strings.TrimSpace(span) {
				m.In, m.At = InSpan, at+part.at
				m.beside = part.alone
				ms = append(ms, m)
			}
		}
	}
	for _, m := range spokenPattern().FindAllStringSubmatchIndex(prose, -1) {
		ms = append(ms, spoken(prose, m, m[2:4], m[4:8]))
	}
	for _, m := range spokenFirstPattern().FindAllStringSubmatchIndex(prose, -1) {
		ms = append(ms, spoken(prose, m, m[6:8], m[2:6]))
	}
	for _, m := range lineListPattern().FindAllStringSubmatchIndex(prose, -1) {
		for n := range strings.SplitSeq(prose[m[4]:m[5]], ",") {
			from, to, isRange := strings.Cut(n, "-")
			first, _ := strconv.Atoi(from)
			last := first
			if isRange {
				last, _ = strconv.Atoi(to)
			}
			ms = append(ms, Mention{Kind: CitesPosition, At: m[0], Text: prose[m[0]:m[1]], File: prose[m[2]:m[3]], From: first, To: last})
		}
	}
	slices.SortStableFunc(ms, func(a, b Mention) int { return a.At - b.At })
	for i := range ms {
		// `setBorders` (glamour/ansi/table.go:100)
		m := &ms[i]
		if end := m.At + len(m.Text); m.In == InSpan && m.Kind == CitesFunction && i+1 < len(ms) && ms[i+1].Kind == CitesPosition && end < ms[i+1].At {
			m.beside = m.beside || besidePattern.MatchString(prose[end:ms[i+1].At])
		}
	}
	return ms
}

const (
	spokenFile  = "([\\pL\\pN_][\\pL\\pN_./@+~-]*\\.(?:go|s))"
	spokenLines = `lines? (\d{1,7})(?:(?:[-–]| to | and )(\d{1,7}))?`
)

var (
	// "`csvview/table.go`, lines 31-36", "csvview/table.go (line 31)"
	spokenPattern = lazy(spokenFile + "[`*]*,? \\(?(?:(?:at|on|in) )?" + spokenLines)
	// "line 31 of `csvview/table.go`"
	spokenFirstPattern = lazy(spokenLines + " (?:of|in) [`*]*" + spokenFile)
	// "csvview/table.go:31,36-40"
	lineListPattern = lazy(spokenFile + `:(\d{1,7}(?:-\d{1,7})?(?:,\d{1,7}(?:-\d{1,7})?)+)`)
	// what is between a name in a span and its position
	besidePattern = regexp.MustCompile("^`+(?:,? \\(|, | at | in )`*$")
)

func spoken(text string, all, file, lines []int) Mention {
	m := Mention{Kind: CitesPosition, At: all[0], Text: text[all[0]:all[1]], File: text[file[0]:file[1]]}
	m.From, m.To = numbers(text, lines)
	return m
}

// spanPart is a name in a span that has more than one, or a position beside it.
type spanPart struct {
	at    int
	text  string
	alone bool // with a position, and no other name
}

// besidePosition is a position with what joins it to a name in the same span.
var besidePosition = lazy(`(?:,| at| in|:)? ?\(?` + spokenFile + `(?::|#)L?\d{1,7}(?:[-–]L?\d{1,7})?\)?`)

// spanParts takes a span apart at arrows and commas that are in no parentheses, and
// leaves out positions: "main.show → main.showFile", "showFile (show.go:42)".
func spanParts(span string) (parts []spanPart) {
	rest := []byte(span)
	places := besidePosition().FindAllStringIndex(span, -1)
	for _, p := range places {
		for i := p[0]; i < p[1]; i++ {
			rest[i] = ','
		}
	}
	depth, start := 0, 0
	add := func(end int) {
		text := strings.TrimRight(string(rest[start:end]), " -=")
		if trimmed := strings.TrimLeft(text, " "); trimmed != "" {
			parts = append(parts, spanPart{at: start + len(text) - len(trimmed), text: trimmed})
		}
	}
	for i, c := range string(rest) {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',', ';', '→', '>':
			if depth <= 0 {
				add(i)
				start = i + utf8.RuneLen(c)
			}
		}
	}
	add(len(rest))
	if len(parts) == 1 && len(places) == 1 {
		parts[0].alone = true
	}
	return parts
}
