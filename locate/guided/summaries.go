package guided

import (
	"context"
	"fmt"
	"strings"

	"tracerag/locate"
	"tracerag/summary"
)

const (
	// listedFiles are read whole, in at most mostRounds questions.
	listedFiles, mostRounds = 10, 3
	// lineTokens are for one line of each file, roundTokens for one round of whole summaries.
	lineTokens, roundTokens = 6000, 8000
)

// lists is how a model answers about whole summaries.
const lists = `Answer with three lists. A choice is a line: its number in brackets, then why, in at most 20 words.
WRITE:
[7] computes the width that the report says is wrong
READ:
[3] calls it, so the change has to fit
NEW:
table/width.go: what a file has that is to be added
WRITE is what a fix changes, the likeliest first, at most %d. READ is what has to be known for it. NEW is what is missing.
Write NONE below a list that is empty.`

// summaries asks for a short list of files by one line about each, then for what to read and to
// write by all that their declarations do, in as many rounds as the window needs.
func (g *Guide) summaries(ctx context.Context, q locate.Question) (*Answer, error) {
	return g.shortList(ctx, q, Summaries, listedFiles, func(l *listing, files []summary.File) (err error) {
		for round := 1; len(files) > 0 && round <= mostRounds && err == nil; round++ {
			files, err = l.round(files)
		}
		if n := len(files); n > 0 && err == nil {
			l.note("summaries: %d files of the short list were not read: there are at most %d rounds", n, mostRounds)
		}
		return err
	})
}

// round asks about as many of the files as there is room for, and returns the others.
func (l *listing) round(files []summary.File) (rest []summary.File, err error) {
	form := fmt.Sprintf(lists, chosenFunctions)
	ask := "Which of these declarations is the report about? Below each file is what its declarations do."
	room := 3 * min(roundTokens, l.Model.Room(form, system, ask, l.report(l.Model.Room()/3))) / 4 // the rest is for what they do
	var items []item
	var units []unit
	taken := 0
	for ; taken < len(files); taken++ {
		more, of := l.items(&files[taken])
		size := 0
		for i := range more {
			if size += l.Model.Count(more[i].text(len(items)+i+1, true)); size > room {
				break
			}
		}
		if room -= size; room < 0 && taken > 0 {
			break
		}
		items, units = append(items, more...), append(units, of...)
	}
	r := &reply{most: 3 * chosenFunctions, sections: []string{"WRITE", "READ", "NEW"}}
	err = l.ask(query{kind: "summaries: lists", ask: ask, items: items, most: chosenFunctions, tokens: roundTokens, named: true}, form, r)
	if err != nil {
		return files[taken:], err
	}
	l.choices(r, units)
	return files[taken:], nil
}

// items are a file and its declarations.
func (l *listing) items(f *summary.File) ([]item, []unit) {
	place := l.place(f.Repository, f.Path)
	items := []item{{names: []string{place, f.Path}, rest: "  " + f.Line, prefer: 0}}
	units := []unit{{file: f}}
	for i := range f.Decls {
		d := &f.Decls[i]
		x := item{names: []string{d.Name, fmt.Sprintf("%s:%d", place, d.Line)}, heading: place, under: true, prefer: 1 << 20}
		if n := l.places[fmt.Sprint(d.ID)]; n > 0 {
			x.prefer = n // what words found is shown whole first
		}
		x.rest = "  " + afterName(d)
		if d.Text != "" {
			x.rest += ": " + d.Text
		}
		items, units = append(items, x), append(units, unit{f, d})
	}
	return items, units
}

// afterName is a signature without what the name says already.
func afterName(d *summary.Decl) string {
	if !d.Kind.Callable() {
		return d.Signature
	}
	name := d.Name[strings.LastIndexByte(d.Name, '.')+1:]
	if _, rest, ok := strings.Cut(d.Signature, name+"("); ok {
		return "(" + rest
	}
	return d.Signature
}
