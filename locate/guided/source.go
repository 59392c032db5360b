package guided

import (
	"fmt"
	"strings"

	"tracerag/knowledge"
	"tracerag/knowledge/lookup"
	"tracerag/visible"
)

// reader reads functions as they are now, and shortens them. It is for one goroutine.
type reader struct {
	*task
	tree *Tree
	look *lookup.Lookup
	said map[int64]map[int64]string // of files: what their declarations do, by numbers
}

func (t *task) reader() *reader {
	return &reader{task: t, look: &lookup.Lookup{Store: t.Store, Read: t.Options.Text}, said: map[int64]map[int64]string{}}
}

// unit returns a declaration as it is now.
func (r *reader) unit(d *knowledge.Decl) (*lookup.Unit, error) {
	units, err := r.look.Units(r.ctx, []knowledge.Decl{*d})
	if err != nil {
		return nil, err
	}
	return units[0], nil
}

// headline says what a declaration is and where, on one line.
func (r *reader) headline(u *lookup.Unit) string {
	line := fmt.Sprintf("%s in %s:%d", u.Decl.Name, r.place(u.Decl.Repository, u.Path), u.Line)
	return cut(visible.Line(line), longestLine)
}

// mostBytes is how many bytes a token of source may have. More are not counted.
const mostBytes = 8

// source returns a declaration with its comment in about so many tokens: of a long one the
// beginning and the lines around those that have most words of the report.
func (r *reader) source(u *lookup.Unit, tokens int) string {
	if u.Problem != "" {
		return "[" + visible.Line(u.Problem) + "]"
	}
	doc := r.shorten(u.Doc, max(tokens/4, 1))
	return doc + r.shorten(u.Text, tokens-r.Model.Count(doc))
}

// shorten cuts a text to lines that have about so many tokens. Each ends in a line feed.
func (r *reader) shorten(text string, tokens int) string {
	var lines []string
	for l := range strings.Lines(visible.Text(text[:min(len(text), largest)])) {
		lines = append(lines, cut(strings.TrimRight(l, "\n"), longestLine))
	}
	if whole := strings.Join(lines, "\n"); len(whole) <= mostBytes*tokens && r.Model.Count(whole) <= tokens {
		if whole == "" {
			return ""
		}
		return whole + "\n"
	}
	room := tokens * 3 // in bytes, as source has them at least
	head := 0
	for left := room / 3; head < len(lines) && left >= len(lines[head])+1; head++ {
		left -= len(lines[head]) + 1
	}
	from, to := r.window(lines, head, room*2/3)
	var b strings.Builder
	write := func(lines []string) {
		for _, l := range lines {
			b.WriteString(l)
			b.WriteByte('\n')
		}
	}
	gap := func(n int) {
		if n > 0 {
			fmt.Fprintf(&b, "[%d lines]\n", n)
		}
	}
	write(lines[:head])
	gap(from - head)
	write(lines[from:to])
	gap(len(lines) - to)
	return b.String()
}

// largest is how many bytes of a declaration are looked at. Longer ones are tables.
const largest = 1 << 20

// window returns the lines behind others that have most words of the report in so many bytes.
func (r *reader) window(lines []string, head, room int) (from, to int) {
	best, sum, size := -1, 0, 0
	from, to = head, head
	value := make([]int, len(lines))
	first := head
	for i := head; i < len(lines); i++ {
		value[i] = r.matches(lines[i])
		sum += value[i]
		size += len(lines[i]) + 1
		for size > room && first <= i {
			sum -= value[first]
			size -= len(lines[first]) + 1
			first++
		}
		if sum > best {
			best, from, to = sum, first, i+1
		}
	}
	// The lines behind belong to it as long as there is room.
	for size = 0; from < to; from++ { // and no line without words begins it
		if value[from] > 0 || best == 0 {
			break
		}
	}
	for _, l := range lines[from:to] {
		size += len(l) + 1
	}
	for to < len(lines) && size+len(lines[to])+1 <= room {
		size += len(lines[to]) + 1
		to++
	}
	return from, to
}

// does says what a declaration does, if a model, or its comment, said so before.
func (r *reader) does(d *knowledge.Decl) string {
	if r.Book == nil {
		return ""
	}
	said, ok := r.said[d.File]
	if !ok {
		said = map[int64]string{}
		r.said[d.File] = said
		files, err := r.Store.Files(r.ctx, []string{d.Path}, []int64{d.Repository})
		if err != nil {
			return ""
		}
		for _, f := range files {
			if f.ID != d.File || f.Size > largest {
				continue
			}
			if list, err := r.Book.Files(r.ctx, []knowledge.File{f}); err == nil && len(list) == 1 {
				for _, x := range list[0].Decls {
					said[x.ID] = x.Text
				}
			}
		}
	}
	return cut(visible.Line(said[d.ID]), longestLine)
}
