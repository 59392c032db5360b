package guided

import (
	"context"
	"fmt"
	"strings"

	"tracerag/locate"
	"tracerag/summary"
)

const (
	// mappedFiles are chosen from the file map, and readWhole declarations from their schematic map.
	mappedFiles, readWhole = 6, 12
	// mostPlaces is how many places a plan may name.
	mostPlaces = 8
	// mapTokens are for the schematic map, readTokens for the declarations that are read whole.
	mapTokens, readTokens = 8000, 20000
)

// placesForm is how a model answers about declarations that it has read whole.
const placesForm = `Answer with three lists. A choice is a line: its number in brackets, then the plan for it, in at most 60 words.
WRITE:
[7] count runes in place of bytes, and keep the result in the column
READ:
[3] calls it, so the change has to fit
NEW:
table/width.go: a function that counts the cells of a rune
WRITE is what the change replaces, the likeliest first, at most %d. READ is what has to be known for it. NEW is a file, and what is to be added to it.
Write NONE below a list that is empty.`

// schematic goes from the files of the program to the declarations in some of them by signature, and
// reads the best of those whole to say where a change goes, with a plan for each place (Gautam et al.
// 2024, "SuperCoder 2.0").
func (g *Guide) schematic(ctx context.Context, q locate.Question) (*Answer, error) {
	return g.shortList(ctx, q, Schematic, mappedFiles, func(l *listing, files []summary.File) error {
		units, err := l.mapped(files)
		if err != nil {
			return err
		}
		return l.plan(units)
	})
}

// mapped has the model choose what is read whole, by the signatures of files. What words found in
// these files is read, too.
func (l *listing) mapped(files []summary.File) ([]unit, error) {
	var items []item
	var units []unit
	for i := range files {
		more, of := l.items(&files[i])
		items, units = append(items, more[1:]...), append(units, of[1:]...) // without the file
	}
	if len(items) == 0 {
		return nil, nil
	}
	picks, err := l.choose(query{kind: "schematic: declarations", ask: "Which of these declarations have to be read whole to fix what the report is about?",
		items: items, most: readWhole, tokens: mapTokens, named: true})
	if err != nil {
		return nil, err
	}
	var chosen []unit
	taken := map[int64]bool{}
	take := func(u unit) {
		if !taken[u.decl.ID] {
			taken[u.decl.ID] = true
			chosen = append(chosen, u)
		}
	}
	for _, p := range picks {
		take(units[p.at])
	}
	most := len(chosen) + carried
	if len(chosen) == 0 {
		most = readWhole
	}
	for _, d := range l.found.Candidates() {
		for i := range units {
			if units[i].decl.ID == d.ID && len(chosen) < most {
				take(units[i])
			}
		}
	}
	return chosen, nil
}

// plan shows declarations whole, as far as there is room, and asks where the change goes.
func (l *listing) plan(units []unit) error {
	if len(units) == 0 {
		return nil
	}
	r := l.reader()
	each := readTokens / len(units)
	items := make([]item, len(units))
	for i, u := range units {
		now, err := r.unit(&u.decl.Decl)
		if err != nil {
			return err
		}
		place := l.place(u.file.Repository, u.file.Path)
		items[i] = item{names: []string{u.decl.Name, fmt.Sprintf("%s:%d", place, u.decl.Line)}, heading: place, rest: fmt.Sprintf("  %s:%d", place, u.decl.Line), prefer: i,
			lines: strings.Split(strings.TrimSuffix(r.source(now, max(each, 400)), "\n"), "\n")}
	}
	answer := &reply{most: 3 * mostPlaces, sections: []string{"WRITE", "READ", "NEW"}}
	err := l.ask(query{kind: "schematic: places", ask: "What has to be changed to fix what the report is about? Say where, with a plan for each place.",
		items: items, most: mostPlaces, tokens: readTokens + readTokens/4}, fmt.Sprintf(placesForm, mostPlaces), answer)
	if err != nil {
		return err
	}
	l.choices(answer, units)
	return nil
}
