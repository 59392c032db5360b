package prompt

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of what one reading shows, in tokens.
const (
	// longFunction is the length from which a function is shown in part: those of 100 kB
	// are read for a few of their lines.
	longFunction = 1_800
	// readTypes is the part of a reading, in per cent, that declarations of types may have.
	readTypes = 20
	// listTokens is what an answer about callers, callees or a folded package may have.
	listTokens = 1_000
	// namedNeighbours is how many callers, and callees, are named beside a source.
	namedNeighbours = 16
)

// Pieces is what requests were answered with.
type Pieces struct {
	Sources []Reading
	Types   []Reading
	Lists   []string // callers, callees, names of packages
	Notes   []string // what was not found, or did not fit, and what to ask for instead
}

// Tokens is the size of all.
func (g *Pieces) Tokens(count func(string) int) (n int) {
	for _, p := range slices.Concat(g.Sources, g.Types) {
		n += p.Tokens
	}
	for _, l := range slices.Concat(g.Lists, g.Notes) {
		n += count(l)
	}
	return n
}

// Read shows what is asked for, within so many tokens. Sources have the lines that ran,
// numbered, below them come the declarations of types that they name. Where not all fits,
// what was asked for first is whole, and the rest has its signatures. A text is shown once
// only.
func (r *Reader) Read(requests []Request, limit int) *Pieces {
	r.enter()
	g := &Pieces{}
	var wanted []*wantedSource
	lists := limit / 2
	list := func(name, text string) {
		if lists -= r.count(text); lists < 0 {
			text = name + ": did not fit, ask for it again"
			g.Notes = append(g.Notes, text)
			return
		}
		g.Lists = append(g.Lists, text)
	}
	for _, q := range requests {
		if p := r.packageOf(q.Name); p != nil {
			list(q.Name, r.list(p))
			continue
		}
		found := r.find(q.Name)
		switch {
		case len(found) == 0 && q.Kind == WantSource && r.readType(g, q.Name):
			continue
		case len(found) == 0:
			g.Notes = append(g.Notes, r.notFound(q.Name))
			continue
		case len(found) > mostAlike:
			g.Notes = append(g.Notes, fmt.Sprintf("%s: %s have that name: %s", q.Name, functionsText(len(found)), neighbours(found, nil)))
			continue
		}
		for _, e := range found {
			switch {
			case q.Kind == WantCallers:
				list(q.String(), r.around(e, "called by", func(e *entry) []*entry { return e.callers }))
			case q.Kind == WantCallees:
				list(q.String(), r.around(e, "calls", func(e *entry) []*entry { return e.callees }))
			case q.From == 0 && r.shown[e] || slices.ContainsFunc(wanted, func(w *wantedSource) bool { return w.entry == e && w.lines == q.From }):
				g.Notes = append(g.Notes, e.fullName()+": shown already")
			default:
				form := r.form(e, q)
				w := &wantedSource{entry: e, lines: q.From, form: form, whole: r.piece(e, form)}
				if s := r.m.at(e.it, TierSignature); s != nil {
					w.short, w.begins = s, r.piece(e, s)
				}
				wanted = append(wanted, w)
			}
		}
	}
	r.share(g, wanted, limit-limit*readTypes/100-(limit/2-max(lists, 0)))
	var whole, shown []*item
	for _, w := range wanted {
		if w.shown != nil {
			whole, shown = append(whole, w.entry.it), append(shown, w.shown)
		}
	}
	r.readTypes(g, whole, shown, limit-g.Tokens(r.count))
	return g
}

// mostAlike is how many functions of one name are shown for it; of more it takes a package.
const mostAlike = 4

// wantedSource is a function that is asked for.
type wantedSource struct {
	*entry
	lines         int   // the first of some, 0: all
	form, short   *item // as it is read, and its signature
	whole, begins Reading
	shown         *item // one of them, nil neither
}

// share gives the room to what is wanted: the first ones are whole, as long as there is
// room for the signatures of those behind them.
func (r *Reader) share(g *Pieces, wanted []*wantedSource, room int) {
	least := func(w *wantedSource) int {
		if w.short != nil {
			return min(w.begins.Tokens, w.whole.Tokens)
		}
		return 0
	}
	behind := 0
	for _, w := range wanted {
		behind += least(w)
	}
	for _, w := range wanted {
		behind -= least(w)
		switch {
		case w.whole.Tokens <= room-behind || w.whole.Tokens <= room && w.short == nil:
			w.shown = w.form
			r.shown[w.entry] = true
			g.Sources = append(g.Sources, w.whole)
			room -= w.whole.Tokens
		case w.short != nil && w.begins.Tokens <= room:
			w.shown = w.short
			g.Sources = append(g.Sources, w.begins)
			room -= w.begins.Tokens
		default:
			g.Notes = append(g.Notes, w.fullName()+" did not fit: ask for it again")
		}
	}
}

// packageOf is the package that a handle of the index means, nil if none.
func (r *Reader) packageOf(name string) *entries {
	for _, p := range r.packages {
		if p.handle == name {
			return p
		}
	}
	return nil
}

// list names all functions of a package.
func (r *Reader) list(p *entries) string {
	var names []string
	room := listTokens
	for i, e := range p.list {
		name := e.name + e.times()
		if room -= r.count(name) + 1; room < 0 {
			names = append(names, fmt.Sprintf("[%d more]", len(p.list)-i))
			break
		}
		names = append(names, name)
	}
	return fmt.Sprintf("functions of %s: %s", p.path, strings.Join(names, ", "))
}

// around names a function's neighbours in one direction, and theirs.
func (r *Reader) around(e *entry, how string, next func(*entry) []*entry) string {
	var parts []string
	room := listTokens
	for i, n := range next(e) {
		part := n.fullName() + n.times()
		if second := next(n); len(second) > 0 {
			part += fmt.Sprintf(" (%s %s)", how, neighbours(second, n.of))
		}
		if room -= r.count(part) + 1; room < 0 {
			parts = append(parts, fmt.Sprintf("[%d more]", len(next(e))-i))
			break
		}
		parts = append(parts, part)
	}
	if e.root && how == "called by" {
		parts = append(parts, "nothing that was recorded: it begins the program or a goroutine, or the runtime calls it")
	}
	if len(parts) == 0 {
		parts = []string{"nothing that was recorded"}
	}
	return fmt.Sprintf("%s %s: %s", e.fullName(), how, strings.Join(parts, ", "))
}

// neighbours names functions, those of the same package without it.
func neighbours(list []*entry, of *entries) string {
	var names []string
	for i, e := range list {
		if i == namedNeighbours {
			names = append(names, fmt.Sprintf("[%d more]", len(list)-i))
			break
		}
		if e.of == of {
			names = append(names, e.name)
		} else {
			names = append(names, e.fullName())
		}
	}
	return strings.Join(names, ", ")
}

func (r *Reader) notFound(name string) string {
	text := oneLine(name) + ": no function of that name ran"
	if near := r.nearest(name); len(near) > 0 {
		text += ", but " + strings.Join(near, ", ") + " did"
	}
	return text
}

// form is a function's source as it is read: whole if it is short, without what did not
// run, else what the question's words are in; or the lines that are asked for.
func (r *Reader) form(e *entry, q Request) *item {
	if q.From > 0 && e.it.text != "" && e.it.source.Start > 0 {
		if part := r.m.linesOf(e.it, q.From, q.To); part != nil {
			return part
		}
	}
	return r.m.atMost(e.it, &r.o, longFunction)
}

// piece writes a function's source, with what is around it.
func (r *Reader) piece(e *entry, form *item) Reading {
	p := r.reading(form)
	head, rest, _ := strings.Cut(p.Text, "\n")
	if len(e.callers) > 0 {
		head += "\ncalled by " + neighbours(e.callers, e.of)
	}
	if len(e.callees) > 0 {
		head += "\ncalls " + neighbours(e.callees, e.of)
	}
	p.Text = head + "\n" + rest
	p.Tokens = r.count(p.Text)
	return p
}

// linesOf is an item with some of its lines only; nil if those are none of it, or all.
func (m *material) linesOf(it *item, from, to int) *item {
	x := m.excerpt(it)
	any := false
	for i := range x.lines {
		n := it.source.Start + i
		x.keep[i] = n >= from && n <= to
		any = any || x.keep[i]
	}
	if !any {
		return nil
	}
	return x.item(TierWindow, windowLine)
}

// readTypes adds the declarations that sources name, those of the first first.
func (r *Reader) readTypes(g *Pieces, whole, shown []*item, room int) {
	forms := map[*item]*item{}
	for i, it := range whole {
		forms[it] = shown[i]
	}
	for _, d := range r.m.declared(whole, func(it *item) *item { return forms[it] }) {
		if !r.declared[d] {
			room -= r.addType(g, d, r.declaration(d, shown), room)
		}
	}
}

// addType adds a declaration in some form, if there is room. It returns what it took.
func (r *Reader) addType(g *Pieces, d, form *item, room int) int {
	p := r.reading(form)
	if p.Tokens > room {
		return 0
	}
	r.declared[d] = true
	g.Types = append(g.Types, p)
	return p.Tokens
}

// readType shows a type, constant or variable that some function names; false if none
// does.
func (r *Reader) readType(g *Pieces, name string) bool {
	if r.m.named == nil {
		return false
	}
	want := bareName(name)
	of := ""
	if i := strings.LastIndexByte(want, '.'); i >= 0 {
		of, want = want[:i], want[i+1:]
	}
	for _, e := range r.all {
		for _, d := range r.m.declarations(e.it) {
			_, names, _ := strings.Cut(d.name, " ")
			pkg, names, _ := strings.Cut(names, ".")
			if !slices.Contains(strings.Split(names, ", "), want) || of != "" && of != pkg && !strings.HasSuffix(of, "/"+pkg) {
				continue
			}
			if r.declared[d] {
				g.Notes = append(g.Notes, d.name+": shown already")
			} else {
				r.addType(g, d, r.declaration(d, []*item{e.it}), listTokens)
			}
			return true
		}
	}
	return false
}
