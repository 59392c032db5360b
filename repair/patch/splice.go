package patch

import (
	"bytes"
	"cmp"
	"slices"

	"tracerag/code"
)

// splice replaces a part of a text.
type splice struct {
	code.Span
	by     []byte
	behind string // what follows an insertion, if no other one does at its place
}

// splices are changes of one text. Those of the same place keep the order in which they were added.
type splices []splice

func (s *splices) replace(from, to int, by []byte) {
	*s = append(*s, splice{Span: code.Span{Start: from, End: to}, by: by})
}

func (s *splices) insert(at int, by []byte, behind string) {
	*s = append(*s, splice{Span: code.Span{Start: at, End: at}, by: by, behind: behind})
}

// apply returns the text with all changes, or false if two of them overlap.
func (s splices) apply(text []byte) ([]byte, bool) {
	slices.SortStableFunc(s, func(a, b splice) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	out := make([]byte, 0, len(text)+256)
	at := 0
	for i, x := range s {
		if x.Start < at {
			return nil, false
		}
		out = append(append(out, text[at:x.Start]...), x.by...)
		if i+1 == len(s) || s[i+1].Start != x.Start {
			out = append(out, x.behind...)
		}
		at = x.End
	}
	return append(out, text[at:]...), true
}

// ending returns how most lines of a text end.
func ending(text []byte) string {
	crlf := bytes.Count(text, []byte("\r\n"))
	if 2*crlf > bytes.Count(text, []byte("\n")) {
		return "\r\n"
	}
	return "\n"
}

// endings gives new text the line endings of a file, unless the file has those of the text,
// too: where it has both, each part keeps its own.
func endings(text, file []byte) []byte {
	crlf := []byte("\r\n")
	switch has := bytes.Contains(text, crlf); {
	case has && !bytes.Contains(file, crlf):
		return bytes.ReplaceAll(text, crlf, []byte("\n"))
	case !has && ending(file) == "\r\n":
		return bytes.ReplaceAll(text, []byte("\n"), crlf)
	}
	return text
}

// indentOf returns the blanks before an offset, if there is nothing else in its line.
func indentOf(text []byte, at int) string {
	from := lineStart(text, at)
	if line := text[from:at]; len(bytes.Trim(line, " \t")) == 0 {
		return string(line)
	}
	return ""
}

func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// lineEnd returns the offset of the line ending behind an offset.
func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		if at+i > at && text[at+i-1] == '\r' {
			return at + i - 1
		}
		return at + i
	}
	return len(text)
}

// alone reports whether there is nothing but blanks around a part of a text in its lines.
func alone(text []byte, s code.Span) bool {
	return len(bytes.Trim(text[lineStart(text, s.Start):s.Start], " \t\ufeff")) == 0 && restBlank(text, s.End)
}

func restBlank(text []byte, at int) bool {
	return len(bytes.Trim(text[at:lineEnd(text, at)], " \t")) == 0
}

// nextLine returns the offset behind the line ending at or behind an offset.
func nextLine(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// reindent gives the lines of a text, but for the first one, another indentation. Lines that
// begin inside of a raw string or a comment over several lines stay: inside says so of an offset.
func reindent(text []byte, from, to string, inside func(offset int) bool) []byte {
	if from == to {
		return text
	}
	var out []byte
	at := 0
	for at < len(text) {
		end := nextLine(text, at)
		line := text[at:end]
		switch {
		case at == 0 || inside(at) || len(bytes.TrimSpace(line)) == 0:
		case bytes.HasPrefix(line, []byte(from)):
			out = append(out, to...)
			line = line[len(from):]
		}
		out = append(out, line...)
		at = end
	}
	return out
}

// removal returns what is to be cut out so that nothing is left of lines that had only
// that, and no second blank line.
func removal(text []byte, s code.Span) code.Span {
	if !alone(text, s) {
		// Others are in the line: a semicolon that separated them goes, too.
		end := s.End
		for end < len(text) && (text[end] == ' ' || text[end] == '\t') {
			end++
		}
		if end < len(text) && text[end] == ';' {
			end++
			for end < len(text) && (text[end] == ' ' || text[end] == '\t') {
				end++
			}
			return code.Span{Start: s.Start, End: end}
		}
		start := s.Start
		for start > 0 && (text[start-1] == ' ' || text[start-1] == '\t') {
			start--
		}
		if start > 0 && text[start-1] == ';' {
			return code.Span{Start: start - 1, End: s.End}
		}
		return s
	}
	from, to := lineStart(text, s.Start), nextLine(text, s.End)
	before, after := blankBefore(text, from), blankAfter(text, to)
	if to == len(text) || after == len(text) { // the last thing of the file
		if before < from {
			from = before
		}
	} else if before < from && after > to {
		to = nextLine(text, to)
	}
	return code.Span{Start: from, End: to}
}

// blankBefore returns where the blank lines before a line begin.
func blankBefore(text []byte, line int) int {
	for line > 0 {
		above := lineStart(text, line-1)
		if len(bytes.TrimSpace(text[above:line])) > 0 {
			break
		}
		line = above
	}
	return line
}

// blankAfter returns where the blank lines from a line on end.
func blankAfter(text []byte, line int) int {
	for line < len(text) {
		next := nextLine(text, line)
		if len(bytes.TrimSpace(text[line:next])) > 0 {
			break
		}
		line = next
	}
	return line
}
