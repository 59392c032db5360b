package prompt

import (
	"fmt"
	"strconv"
	"strings"
)

// numberEvery is how many lines of a source have a number together. So an answer can
// cite a line without counting from the heading, and nobody has to read the file again
// to cite it. A number in front of each line makes the prompts of fixtures/tablecat longer
// by 13 % (37,000 tokens) and 13 % (106,000), one in front of every fifth by 3 %. A tab or
// a colon behind the number, or equal widths, take more.
const numberEvery = 5

// listing writes the lines of a source. If it is numbered, these have the number of the
// file's line in front: the first one, each after a gap, and every fifth.
type listing struct {
	b        strings.Builder
	numbered bool
	next     int // the line that would follow without a gap
}

// line writes a line of the file.
func (l *listing) line(n int, text string) {
	if l.numbered && n > 0 && (n != l.next || n%numberEvery == 0) {
		l.b.WriteString(strconv.Itoa(n))
		if text != "" {
			l.b.WriteByte(' ')
		}
	}
	l.next = n + 1
	l.b.WriteString(text)
	l.b.WriteByte('\n')
}

// lines writes some lines of the file, of which n is the first; 0 if that is not known.
func (l *listing) lines(n int, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		l.line(n, line)
		if n > 0 {
			n++
		}
	}
}

// mark writes what is in a gap: alone on its line and no Go, so that it is not taken
// for source.
func (l *listing) mark(format string, args ...any) {
	fmt.Fprintf(&l.b, "["+format+"]\n", args...)
}

func (l *listing) String() string { return strings.TrimSuffix(l.b.String(), "\n") }

// listing starts one of an item.
func (it *item) listing() *listing {
	return &listing{numbered: it.numbered && it.source.Start > 0}
}

// whole is all of an item's text.
func (it *item) whole() string {
	if it.source.Body == "" {
		return ""
	}
	l := it.listing()
	if it.source.Doc != "" {
		l.lines(it.source.DocStart, it.source.Doc)
	}
	l.lines(it.source.Start, it.source.Body)
	return l.String()
}

// number puts line numbers into the texts of all items, and of the declarations that
// follow.
func (m *material) number() {
	m.numbered = true
	for _, it := range m.items {
		if it.text != "" && !it.numbered {
			it.numbered = true
			it.text = it.whole()
			it.kept = kept{}
		}
	}
}
