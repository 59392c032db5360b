package phrase

import (
	"strings"
	"unicode/utf8"
)

// Cut shortens a line to so many characters, the last of which then is "…"; 0 leaves it.
func Cut(line string, width int) string {
	if width <= 0 || utf8.RuneCountInString(line) <= width {
		return line
	}
	runes := []rune(line)
	return strings.TrimRight(string(runes[:width-1]), " ") + "…"
}

// Wrap writes words as lines of at most so many characters, each behind an indent; 0 is one
// line. A word that is longer is cut into several.
func Wrap(text string, width int, indent string) string {
	if width <= 0 {
		return indent + text + "\n"
	}
	room := max(1, width-utf8.RuneCountInString(indent))
	var out strings.Builder
	line, used := "", 0
	flush := func() {
		if used > 0 {
			out.WriteString(indent + line + "\n")
		}
		line, used = "", 0
	}
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		if used > 0 && used+1+n > room {
			flush()
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		for runes := []rune(word); len(runes) > 0; {
			k := min(len(runes), room-used)
			line, used, runes = line+string(runes[:k]), used+k, runes[k:]
			if len(runes) > 0 {
				flush()
			}
		}
	}
	flush()
	return out.String()
}
