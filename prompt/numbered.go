package prompt

import (
	"strings"

	"tracerag/source"
	"tracerag/trace"
)

// Line is a line of a listing: one of the file with its number, if it is one that has it,
// or the mark of a gap.
type Line struct {
	From int // number of its line, or of the first one of the gap; 0 is unknown
	Text string
}

// Numbered lists a function's source from a line of its file on, as the sources of prompts
// are listed: with line numbers, and without the statements that did not run, as far as
// that is known of what is in it.
func Numbered(t source.Text, ran []trace.Lines, from int) (lines []Line) {
	it := &item{source: t, holds: []trace.Function{{}}, note: t.Warning, numbered: true}
	it.source.Doc, it.source.Body = strings.TrimRight(t.Doc, "\n"), strings.TrimRight(t.Body, "\n")
	m := &material{lines: func(trace.Function) []trace.Lines { return ran }}
	l := it.listing()
	written := 0
	add := func(n int) {
		lines = append(lines, Line{n, l.b.String()[written:]})
		written = l.b.Len()
	}
	if it.source.Doc != "" {
		for i, line := range strings.Split(it.source.Doc, "\n") {
			n := 0
			if t.DocStart > 0 {
				n = t.DocStart + i
			}
			if n == 0 || n >= from {
				l.line(n, line)
				add(n)
			}
		}
	}
	x := m.excerpt(it)
	for i := 0; i < len(x.lines); {
		n, end, size := t.Start+i, i, 0
		for ; end < len(x.lines) && x.idle[end]; end++ {
			size += len(strings.TrimSpace(x.lines[end])) + 1
		}
		switch {
		case t.Start > 0 && t.Start+max(end, i+1) <= from:
			i = max(end, i+1) // all before
			continue
		case size > worthAMark:
			l.mark("%s left out: did not run", lineRange{from: n, to: t.Start + end - 1}.words())
			add(n)
			i = end
			continue
		}
		for last := max(end, i+1); i < last; i++ {
			if n := t.Start + i; t.Start <= 0 || n >= from {
				if t.Start <= 0 {
					n = 0
				}
				l.line(n, x.lines[i])
				add(n)
			}
		}
	}
	return lines
}
