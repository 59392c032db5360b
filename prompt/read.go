package prompt

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of what one reading shows, in tokens.
const (
	// longFunction is the length from which a function is shown in part: those of 100 kB
	// are read for a few of their lines.
	longFunction = 1_800
	// leastFunction is the same where an agent asks for many at once.
	leastFunction = 350
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
	most := longFunction
	if r.terse {
		// Who asks for much at once sees a part of each, and then asks for what is missing.
		most = min(max(2*limit/max(len(requests), 1), leastFunction), longFunction)
	}
	lists, longest := limit/2, listTokens
	if r.terse {
		lists = limit / 3
		if !slices.ContainsFunc(requests, func(q Request) bool { return q.Kind == WantSource && r.packageOf(q.Name) == nil }) {
			lists = limit * 9 / 10 // nothing else is asked for
		}
		longest = lists
	}
	forLists := lists
	list := func(name, text string) {
		if lists -= r.Count(text); lists < 0 {
			text = name + ": did not fit, ask for it again"
			g.Notes = append(g.Notes, text)
			return
		}
		g.Lists = append(g.Lists, text)
	}
	for _, q := range requests {
		if p := r.packageOf(q.Name); p != nil {
			list(q.String(), r.list(p, q.From, min(lists, longest)))
			continue
		}
		found := r.find(q.Name)
		switch {
		case len(found) == 0 && q.Kind == WantSource && r.readType(g, q):
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
			case q.From == 0 && r.shown[e] && !r.partly[e] || slices.ContainsFunc(wanted, func(w *wantedSource) bool { return w.entry == e && w.lines == q.From && w.to == q.To }):
				g.Notes = append(g.Notes, e.fullName()+": shown already")
			default:
				form := r.form(e, q, most, limit/2)
				w := &wantedSource{entry: e, lines: q.From, to: q.To, form: form}
				if r.terse && q.From > 0 { // its neighbours are known
					w.whole = r.reading(form)
				} else {
					w.whole = r.piece(e, form)
				}
				if s := r.m.at(e.it, TierSignature); s != nil && !(r.terse && q.From > 0) {
					w.short, w.begins = s, r.piece(e, s)
				}
				wanted = append(wanted, w)
			}
		}
	}
	r.share(g, wanted, limit-limit*readTypes/100-(forLists-max(lists, 0)))
	var whole, shown []*item
	for _, w := range wanted {
		if w.shown != nil {
			whole, shown = append(whole, w.entry.it), append(shown, w.shown)
		}
	}
	r.readTypes(g, whole, shown, limit-g.Tokens(r.Count))
	return g
}

// mostAlike is how many functions of one name are shown for it; of more it takes a package.
const mostAlike = 4

// wantedSource is a function that is asked for.
type wantedSource struct {
	*entry
	lines, to     int   // of some, 0: all
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
	var unfit []string
	for _, w := range wanted {
		behind -= least(w)
		switch {
		case w.whole.Tokens <= room-behind || w.whole.Tokens <= room && w.short == nil:
			w.shown = w.form
			r.partly[w.entry] = w.lines > 0 && (r.partly[w.entry] || !r.shown[w.entry])
			r.shown[w.entry] = true
			g.Sources = append(g.Sources, w.whole)
			room -= w.whole.Tokens
		case w.short != nil && w.begins.Tokens <= room:
			w.shown = w.short
			g.Sources = append(g.Sources, w.begins)
			room -= w.begins.Tokens
		default:
			unfit = append(unfit, w.fullName())
		}
	}
	if len(unfit) > 0 {
		g.Notes = append(g.Notes, "did not fit, ask again: "+strings.Join(unfit, ", "))
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

// list names the functions of a package, from one of them on, in so many tokens: the
// methods of a type together. Where not all fit, it says how the others are asked for.
func (r *Reader) list(p *entries, from, room int) string {
	for names := room; ; names = names * 9 / 10 {
		if text := r.listNames(p, from, names); r.Count(text) <= room || names < 10 {
			return text
		}
	}
}

// listNames is such a list, of names that one by one have so many tokens.
func (r *Reader) listNames(p *entries, from, room int) string {
	var names []string
	from = min(max(from, 1), len(p.list))
	head := fmt.Sprintf("functions of %s: ", p.path)
	room -= r.Count(head) + 20 // for what is said of the others
	before := ""
	for i, e := range grouped(p.list)[from-1:] {
		name := e.name
		receiver := e.receiver()
		if receiver != "" && receiver == before {
			name = name[len(receiver):]
		}
		before = receiver
		name += e.times()
		if room -= r.Count(name) + 1; room < 0 {
			n := from + i
			return fmt.Sprintf("%s%s, [%d more: %s:%d-%d]", head, strings.Join(names, ", "), len(p.list)-n+1, p.handle, n, len(p.list))
		}
		names = append(names, name)
	}
	return head + strings.Join(names, ", ")
}

// receiver is the type that a function is a method of, as its name has it, or "".
func (e *entry) receiver() string {
	if i := strings.LastIndexByte(e.name, '.'); i > 0 && !strings.Contains(e.name, ".func") {
		return e.name[:i]
	}
	return ""
}

// grouped puts the methods of a type together, at the place of the first: each then has
// its own name only.
func grouped(list []*entry) []*entry {
	at := map[string]int{}
	for _, e := range list {
		if _, ok := at[e.receiver()]; !ok {
			at[e.receiver()] = len(at)
		}
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *entry) int { return cmp.Compare(at[a.receiver()], at[b.receiver()]) })
	return list
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
		if room -= r.Count(part) + 1; room < 0 {
			parts = append(parts, fmt.Sprintf("[%d more]", len(next(e))-i))
			break
		}
		parts = append(parts, part)
	}
	if e.root && how == "called by" {
		parts = append(parts, r.m.words().begins)
	}
	if len(parts) == 0 {
		parts = []string{r.m.words().none}
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
	switch {
	case strings.HasPrefix(name, "#") && len(r.m.runs) > 1:
		return name + ": handles are those of one run, and here are two: ask for the function's name"
	case strings.HasPrefix(name, "#"):
		return name + ": no node of the call tree has that handle"
	}
	text := oneLine(name) + ": " + r.m.words().missing
	if near := r.nearest(name); len(near) > 0 {
		text += ", but " + strings.Join(near, ", ") + r.m.words().nearby
	}
	return text
}

// form is a function's source as it is read: whole if it is short, without what did not
// run, else what the question's words are in; or the lines that are asked for.
func (r *Reader) form(e *entry, q Request, most, room int) *item {
	if q.From > 0 && e.it.text != "" && e.it.source.Start > 0 {
		from, to := max(q.From, e.it.source.Start), min(q.To, e.it.source.Start+strings.Count(e.it.text, "\n")+1)
		part := r.m.linesOf(e.it, from, to)
		for part != nil && from < to && r.reading(part).Tokens > room { // the first of them
			to = from + (to-from)*3/4
			part = r.m.linesOf(e.it, from, to)
		}
		if part != nil {
			return part
		}
	}
	return r.m.atMost(e.it, &r.o, most)
}

// piece writes a function's source, with what is around it.
func (r *Reader) piece(e *entry, form *item) Reading {
	p := r.reading(form)
	if r.terse && form.tier == TierSignature {
		p.Text = r.m.brief(form)
		p.Tokens = r.Count(p.Text)
		return p
	}
	head, rest, _ := strings.Cut(p.Text, "\n")
	if len(e.callers) > 0 {
		head += "\ncalled by " + neighbours(e.callers, e.of)
	}
	callees := e.callees
	if r.terse {
		callees = unnamed(callees, rest)
	}
	if len(callees) > 0 {
		head += "\ncalls " + neighbours(callees, e.of)
	}
	p.Text = head + "\n" + rest
	p.Tokens = r.Count(p.Text)
	return p
}

// brief is a function by its signature alone, under a heading with the lines of that, so
// that it can be cited.
func (m *material) brief(it *item) string {
	t := &it.source
	first := lineRange{from: t.Start, to: t.Start + strings.Count(t.Signature, "\n")}
	at := fmt.Sprintf("%s:%d", m.modules.file(t.Display), first.from)
	if first.to > first.from {
		at += fmt.Sprintf("-%d", first.to)
	}
	return fmt.Sprintf("### %s  %s\n%s [%s more]\n", it.name, oneLine(at), t.Signature, plural(t.End-first.to, "line"))
}

// unnamed are the functions that a source does not call by name: those that it reaches
// through interfaces and function values, and those that its gaps call.
func unnamed(list []*entry, text string) []*entry {
	words := wordsOf(text)
	return slices.DeleteFunc(slices.Clone(list), func(e *entry) bool { return words[lastName(e.name)] })
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
func (r *Reader) readType(g *Pieces, q Request) bool {
	if r.m.named == nil {
		return false
	}
	want := bareName(q.Name)
	of := ""
	if i := strings.LastIndexByte(want, '.'); i >= 0 {
		of, want = want[:i], want[i+1:]
	}
	var found []*item
	for _, e := range r.all {
		for _, d := range r.m.declarations(e.it) {
			_, names, _ := strings.Cut(d.name, " ")
			pkg, _, _ := strings.Cut(names, ".")
			qualified := of == "" || of == pkg || strings.HasSuffix(of, "/"+pkg) ||
				of == e.of.name && filepath.Dir(d.path) == filepath.Dir(e.it.path) // go-yaml.encoder of package yaml
			if len(found) == mostAlike || slices.Contains(found, d) || !slices.Contains(d.declares, want) || !qualified {
				continue
			}
			found = append(found, d)
			form := d
			switch {
			case q.From > 0:
				if part := r.m.linesOf(d, q.From, q.To); part != nil {
					form = part
				}
			case r.declared[d]:
				g.Notes = append(g.Notes, d.name+": shown already")
				continue
			case r.reading(d).Tokens > listTokens/2:
				form = r.declaration(d, []*item{e.it})
			}
			r.addType(g, d, form, listTokens)
		}
	}
	return len(found) > 0
}
