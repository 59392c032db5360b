package words

import (
	"strings"
	"unicode"
)

// Split returns the words that an identifier is made of, in lower case:
//
//	parseHTTPRequest   parse http request
//	max_line_width2    max line width 2
func Split(word string) []string {
	var out []string
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, strings.ToLower(word[start:end]))
		}
		start = end
	}
	last, lastAt := '_', 0 // the rune before, and where it begins
	for i, r := range word {
		switch {
		case r == '_':
			cut(i)
			start = i + 1
		case last == '_':
		case unicode.IsDigit(r) != unicode.IsDigit(last), unicode.IsUpper(r) && !unicode.IsUpper(last):
			cut(i)
		case !unicode.IsUpper(r) && unicode.IsUpper(last) && lastAt > start:
			cut(lastAt) // the last capital of several begins the next word
		}
		last, lastAt = r, i
	}
	cut(len(word))
	return out
}
