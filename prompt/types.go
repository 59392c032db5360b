package prompt

import (
	"fmt"
	"slices"
	"strings"

	"tracerag/parallel"
	"tracerag/source"
)

// declared lists the declarations that functions name, each once, in the order in
// which the functions do.
//
// Those of modules of which nothing was recorded are left out, and so is what
// is among the sources: the variable of a function literal. With shows, which says
// what a prompt has of a function, what only the rest of it names is left out too.
func (m *material) declared(functions []*item, shows func(*item) *item) []*item {
	if m.named == nil {
		return nil
	}
	m.nameAhead(functions)
	var out []*item
	seen := map[*item]bool{}
	for _, it := range functions {
		for _, d := range m.declarations(it) {
			if !seen[d] && !slices.ContainsFunc(functions, d.within) && d.namedIn(shows(it)) {
				seen[d] = true
				out = append(out, d)
			}
		}
	}
	return out
}

// within reports whether a declaration is a part of what other shows.
func (it *item) within(other *item) bool {
	return it.path == other.path && other.source.Start <= it.source.Start && it.source.End <= other.source.End
}

// nameAhead asks what functions name, all at once.
func (m *material) nameAhead(functions []*item) {
	functions = slices.DeleteFunc(slices.Clone(functions), func(it *item) bool {
		_, known := m.names[it]
		return known || len(it.holds) == 0
	})
	texts := make([]source.Text, len(functions))
	for i, it := range functions {
		texts[i] = it.source
	}
	for i, list := range m.namedIn(functions, texts) {
		m.names[functions[i]] = list
	}
}

// namedIn returns what texts of functions name, but for what modules declare of which nothing was
// recorded. It asks on all processors, since each text is parsed for it, and learns what the
// declarations tell of secrets.
func (m *material) namedIn(functions []*item, in []source.Text) [][]*item {
	named := make([][]source.Decl, len(functions))
	parallel.Do(len(functions), func(i int) { named[i] = m.named(functions[i].holds[0], in[i]) })
	var texts []string
	seen := map[declPlace]bool{}
	for _, list := range named {
		for _, d := range list {
			if at := placeOf(d); m.recorded(d) && m.decls[at] == nil && !seen[at] {
				seen[at] = true
				texts = append(texts, d.Doc, d.Body)
			}
		}
	}
	m.learn(texts)
	out := make([][]*item, len(named))
	for i, list := range named {
		for _, d := range list {
			if !m.recorded(d) {
				continue
			}
			at := placeOf(d)
			if m.decls[at] == nil {
				m.decls[at] = m.newDeclaration(d)
			}
			out[i] = append(out[i], m.decls[at])
		}
	}
	return out
}

// declarations are those that a function names, but for those of modules of which nothing
// was recorded.
func (m *material) declarations(it *item) []*item {
	m.nameAhead([]*item{it})
	return m.names[it]
}

// declPlace tells declarations apart.
type declPlace struct {
	path string
	line int
}

func placeOf(d source.Decl) declPlace { return declPlace{d.Path, d.Start} }

// recorded reports whether something was recorded of a declaration's module.
func (m *material) recorded(d source.Decl) bool {
	mod := moduleOf(d.Display)
	return mod == "" || m.modules.short[mod] != ""
}

func (m *material) newDeclaration(d source.Decl) *item {
	names := d.Names
	more := ""
	const most = 3
	if len(names) > most {
		names, more = names[:most], ", ..."
	}
	doc, body := clean(strings.TrimRight(m.mask(d.Doc), "\n")), clean(strings.TrimRight(m.mask(d.Body), "\n"))
	it := &item{
		name: oneLine(d.Keyword + " " + d.Package + "." + strings.Join(names, ", ") + more),
		key:  d.Path,
		lang: "go",
		path: d.Path,
		tier: TierFull,

		declaration: true,
		declares:    d.Names,
		members:     d.Members(),
		numbered:    m.numbered,
		source:      source.Text{Display: d.Display, Doc: doc, Body: body, Start: d.Start, End: d.End, DocStart: d.DocStart},
	}
	it.text = it.whole()
	start := d.Start
	if doc != "" {
		start = d.DocStart
	}
	it.position = oneLine(fmt.Sprintf("%s:%d-%d", m.modules.file(d.Display), start, d.End))
	return it
}

// types is the section of the declarations that the sources in the parts name. A
// function of which the prompt has the signature only names nothing.
func (m *material) types(parts []part) part {
	p := part{kind: partTypes}
	if m.named == nil {
		return p
	}
	var functions []*item
	seen := map[*item]bool{}
	for _, p := range parts {
		for _, it := range p.items {
			if s := m.cut.stands(it); s != nil && s.tier >= TierWindow && !seen[it] {
				seen[it] = true
				functions = append(functions, it)
			}
		}
	}
	p.items = m.declared(functions, m.cut.stands)
	return p
}

// typesShare is how much of the room, in per cent, the declarations may keep from
// the sources.
const typesShare = 15

// fitBoth makes room for the declarations that the sources name, given the prompt
// in which the sources have all that there was. Where the declarations do not need
// their share, the sources have the rest of it.
func (f *fitter) fitBoth(p *Prompt) (*Prompt, error) {
	share := 0
	for _, s := range p.Sections {
		if strings.HasPrefix(s.Name, string(partSources)) {
			share += s.Tokens * typesShare / 100
		}
	}
	p, need, err := f.fitBeside(share)
	if err != nil || need >= share {
		return p, err
	}
	// More sources name more.
	p, _, err = f.fitBeside(min(share, need*5/4))
	return p, err
}

// fitBeside gives the sources all but a share, and the declarations that they name
// what is then left, the share and some more. It returns what those need.
func (f *fitter) fitBeside(share int) (p *Prompt, need int, err error) {
	if p, err = f.fitSources(f.limit - share); err != nil {
		return nil, 0, err
	}
	return f.fitDeclarations(p)
}

// fitDeclarations gives the declarations what a prompt without any leaves.
func (f *fitter) fitDeclarations(p *Prompt) (q *Prompt, need int, err error) {
	decls, items, forms := f.declarations()
	for i := range items {
		need += items[i].cost(items[i].top())
	}
	q, err = f.within(f.limit, f.limit-p.Total, p, func(room int) map[*item]*item {
		shown := map[*item]*item{}
		for i, t := range Fit(items, room) {
			if t > TierFolded {
				shown[decls[i]] = forms[i]
			}
		}
		return shown
	})
	return q, need, err
}

// declarations are those that the sources name which the prompt has now, with what
// they cost, and what stands for them. A declaration has the score of the best function
// that names it. A large one is cut to what these functions use of it; a table, to the
// part that the question is most likely about.
func (f *fitter) declarations() (decls []*item, items []Item, forms []*item) {
	var parts []part
	users := map[*item][]*item{}
	score := map[*item]float64{}
	for i := range f.units {
		u := &f.units[i]
		if s := f.m.cut.stands(u.it); s == nil || s.tier < TierWindow {
			continue
		}
		parts = append(parts, part{items: []*item{u.it}})
		for _, d := range f.m.declarations(u.it) {
			users[d] = append(users[d], f.m.cut.stands(u.it))
			if old, ok := score[d]; !ok || u.Score > old {
				score[d] = u.Score
			}
		}
	}
	decls = f.m.types(parts).items
	items, forms = make([]Item, len(decls)), slices.Clone(decls)
	for i, d := range decls {
		tier, n := TierFull, len(d.text)/bytesPerToken
		if n <= f.o.Budget { // else it is one of those tables that take seconds to count
			n = f.o.Counter.Count(f.o.item(d))
		}
		if n > largeDeclaration {
			cut := f.m.used(d, users[d])
			if cut == nil && len(d.members) == 0 {
				cut = f.m.window(d)
			}
			if cut != nil {
				tier, forms[i] = TierWindow, cut
				n = f.o.Counter.Count(f.o.item(cut))
			}
		}
		items[i].Score = score[d]
		items[i].Tokens[tier] = n
	}
	return decls, items, forms
}
