package guided

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"tracerag/knowledge"
	"tracerag/summary"
)

// byWords is the order in which words put things: what has a candidate comes in the order of
// the best one, the rest in its own order behind.
type byWords struct{ function, file, pkg map[string]int }

func (t *task) byWords() byWords {
	o := byWords{map[string]int{}, map[string]int{}, map[string]int{}}
	add := func(m map[string]int, key string) {
		if _, ok := m[key]; !ok {
			m[key] = len(m) + 1
		}
	}
	for _, d := range t.found.Candidates() {
		add(o.function, fmt.Sprint(d.ID))
		add(o.file, fileKey(d.Repository, d.Path))
		add(o.pkg, fileKey(d.Repository, d.Package))
	}
	return o
}

func fileKey(repository int64, path string) string { return fmt.Sprint(repository, ":", path) }

// sortBy sorts by places, of which 0 is none and comes last.
func sortBy[T any](list []T, places map[string]int, key func(*T) string) {
	slices.SortStableFunc(list, func(a, b T) int {
		return cmp.Compare(uint(places[key(&a)]-1), uint(places[key(&b)]-1))
	})
}

// filesOf returns the files that declarations are in, in the order of the first of each.
func (t *task) filesOf(decls []knowledge.Decl) ([]knowledge.File, error) {
	at := map[int64]int{}
	var paths []string
	var repositories []int64
	for _, d := range decls {
		if _, ok := at[d.File]; !ok {
			at[d.File] = len(at)
			paths = append(paths, d.Path)
			if !slices.Contains(repositories, d.Repository) {
				repositories = append(repositories, d.Repository)
			}
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	files, err := t.Store.Files(t.ctx, paths, repositories) // also those that end so
	if err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(files, func(f knowledge.File) bool {
		_, ok := at[f.ID]
		return !ok
	})
	slices.SortFunc(out, func(a, b knowledge.File) int { return cmp.Compare(at[a.ID], at[b.ID]) })
	return slices.CompactFunc(out, func(a, b knowledge.File) bool { return a.ID == b.ID }), nil
}

// details returns what the book says of declarations.
func (t *task) details(decls []knowledge.Decl) (map[int64]summary.Decl, error) {
	files, err := t.filesOf(decls)
	if err != nil {
		return nil, err
	}
	read, err := t.Book.Files(t.ctx, files)
	if err != nil {
		return nil, err
	}
	out := map[int64]summary.Decl{}
	for _, f := range read {
		for _, d := range f.Decls {
			out[d.ID] = d
		}
	}
	return out, nil
}

// functionItem is a function in a list: with its signature, what it does, and its lines with
// words of the report, if there are details.
func (t *task) functionItem(d *knowledge.Decl, details *summary.Decl, texts map[string][]byte) item {
	place := t.place(d.Repository, d.Path)
	i := item{names: []string{d.Name, fmt.Sprintf("%s:%d", place, d.Line), path.Base(d.Package) + "." + d.Name}, heading: place}
	if details == nil {
		return i
	}
	i.rest = fmt.Sprintf("  %s:%d", place, d.Line)
	i.lines = append(i.lines, details.Signature)
	if details.Text != "" {
		i.lines = append(i.lines, details.Text)
	}
	for _, l := range t.matching(&details.Decl, texts) {
		i.lines = append(i.lines, "> "+l)
	}
	return i
}

const (
	matchingLines = 2    // of a function that are shown
	mostLines     = 2000 // of a function that are looked at
	longLine      = 1000 // bytes; longer ones are data
)

// matching returns the lines of a function that have most different words of the report.
func (t *task) matching(d *knowledge.Decl, texts map[string][]byte) []string {
	key := fileKey(d.Repository, d.Path)
	text, ok := texts[key]
	if !ok {
		text, _ = t.Options.Text(t.repository(d.Repository), d.Path) // what can't be read has no lines
		texts[key] = text
	}
	if d.End > len(text) || d.Start > d.End {
		return nil // it changed since
	}
	type line struct {
		n, has int
		text   string
	}
	var lines []line
	n := 0
	whole := string(d.Of(text))
	if t.Book.Mask != nil {
		whole = t.Book.Mask(whole) // of a part of a secret nobody can tell that it is one
	}
	for l := range strings.Lines(whole) {
		if n++; n > mostLines {
			break
		}
		if n == 1 || len(l) > longLine {
			continue
		}
		if has := t.matches(l); has > 0 {
			lines = append(lines, line{n, has, strings.TrimSpace(l)})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(b.has, a.has) })
	lines = lines[:min(len(lines), matchingLines)]
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(a.n, b.n) })
	var out []string
	for _, l := range lines {
		out = append(out, cut(l.text, 120))
	}
	return out
}
