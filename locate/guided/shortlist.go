package guided

import (
	"context"
	"strings"

	"tracerag/knowledge"
	"tracerag/locate"
	"tracerag/summary"
)

// listing is what a model chose in the files of a short list.
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

// shortList has the model choose at most so many files of the program by one line each. look then asks
// about what their declarations do.
func (g *Guide) shortList(ctx context.Context, q locate.Question, how How, most int, look func(*listing, []summary.File) error) (*Answer, error) {
	t, err := g.begin(ctx, q, how)
	if err != nil {
		return nil, err
	}
	everything, err := t.everything()
	if err != nil {
		return t.end(locate.Order{}, err)
	}
	files, err := t.chooseFiles(string(how)+": files", everything, most, lineTokens, map[string]Step{})
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
	err = look(l, read)
	a, err := t.end(l.order(files), err)
	if a != nil {
		a.Write, a.Read, a.New = l.write.list, l.read.list, l.add
	}
	return a, err
}

// everything is the program of the repositories that are looked into.
func (t *task) everything() (all []summary.Package, err error) {
	for i := range t.scope {
		files, err := t.Store.Product(t.ctx, t.scope[i].ID)
		if err != nil {
			return nil, err
		}
		all = append(all, summary.Package{Files: files})
	}
	return all, nil
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
