package guided

import (
	"context"
	"fmt"
	"strings"

	"tracerag/knowledge"
	"tracerag/locate"
	"tracerag/summary"
)

const (
	// shortList is how many files are read whole, and mostRounds in how many questions.
	shortList, mostRounds = 10, 3
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
	t, err := g.begin(ctx, q, Summaries)
	if err != nil {
		return nil, err
	}
	everything, err := t.everything()
	if err != nil {
		return t.end(locate.Order{}, err)
	}
	files, err := t.chooseFiles("summaries: files", everything, shortList, lineTokens, map[string]Step{})
	if err != nil || len(files) == 0 {
		return t.end(locate.Order{Files: files}, err)
	}
	if err := t.summarise(files); err != nil {
		return t.end(locate.Order{Files: files}, err)
	}
	read, err := t.Book.Files(ctx, files)
	if err != nil {
		return t.end(locate.Order{Files: files}, err)
	}
	l := &listing{task: t, places: t.byWords().function}
	for round := 1; len(read) > 0 && round <= mostRounds && err == nil; round++ {
		read, err = l.round(read)
	}
	if n := len(read); n > 0 && err == nil {
		t.note("summaries: %d files of the short list were not read: there are at most %d rounds", n, mostRounds)
	}
	a, err := t.end(l.order(files), err)
	if a != nil {
		a.Write, a.Read, a.New = l.write.list, l.read.list, l.add
	}
	return a, err
}

// listing is what rounds brought.
type listing struct {
	*task
	places      map[string]int // of functions, by words
	write, read places
	add         []Listed
}

// places are the choices of a list.
type places struct {
	list      []Listed
	files     []knowledge.File
	functions []knowledge.Decl
	why       []string // of functions
}

// unit is what an item of a round is: a file, or a declaration in it.
type unit struct {
	file *summary.File
	decl *summary.Decl
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

// choices takes a reply into the lists.
func (l *listing) choices(r *reply, units []unit) {
	for _, p := range r.picks {
		l.take(&units[p.at], p)
	}
	for _, text := range r.free {
		file, why, _ := strings.Cut(text, ": ")
		l.add = append(l.add, Listed{File: file, Why: why})
	}
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

// take takes a choice into its list.
func (l *listing) take(u *unit, p pick) {
	to, why := &l.write, p.why
	if p.section == "READ" {
		to, why = &l.read, strings.TrimSuffix("to read: "+p.why, ": ")
	}
	x := Listed{File: u.file.Path, Why: p.why}
	if len(l.repos) > 1 {
		x.Repository = l.repository(u.file.Repository).Name
	}
	to.files = append(to.files, u.file.File)
	if u.decl != nil {
		x.Name = u.decl.Name
		if l.found.Admits(&u.decl.Decl) {
			to.functions, to.why = append(to.functions, u.decl.Decl), append(to.why, why)
		}
	}
	to.list = append(to.list, x)
}

// order puts what is to be written first, then what is to be read, then the short list.
func (l *listing) order(files []knowledge.File) locate.Order {
	var o locate.Order
	for _, p := range []places{l.write, l.read} {
		for i, d := range p.functions {
			o.Functions = append(o.Functions, chosen(d, len(o.Functions)+1, p.why[i]))
		}
		o.Files = append(o.Files, p.files...)
	}
	o.Files = append(o.Files, files...)
	return o
}
