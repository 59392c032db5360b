package patch

import (
	"slices"
	"strings"

	"tracerag/code"
)

// values puts constants or variables in place. A group that has all names of one of the file
// replaces that as a whole. Otherwise each specification is put in place on its own, and names
// that the text leaves out stay: but not where the place of a constant decides its value.
func (p *placer) values(d *decl) {
	kind := d.units[0].kind
	named := slices.DeleteFunc(d.names(), func(n string) bool { return n == "_" })
	if len(named) == 0 {
		p.blanks(d)
		return
	}
	if len(d.units) == 1 && len(named) == 1 && !d.group {
		if old := p.existing(d.units[0]); len(p.errs) > 0 {
			return
		} else if old != nil && old.kind != kind {
			p.replaceDecl(old.in, d)
			return
		}
	}
	var olds []*decl
	for _, n := range named {
		found := p.file.find(0, n)
		found = slices.DeleteFunc(found, func(x *unit) bool { return x.kind != kind && p.deletes[n] })
		if len(found) > 1 {
			p.refuse(Ambiguous, n, "it is declared %d times in the file, in lines %s", len(found), p.lines(found))
			return
		}
		if len(found) == 1 && found[0].kind != kind {
			p.refuse(Ambiguous, n, "it is a %s in the file, and a %s in the new text: delete the %s, too", found[0].kind, kind, found[0].kind)
			return
		}
		if len(found) == 1 && !slices.Contains(olds, found[0].in) {
			olds = append(olds, found[0].in)
		}
	}
	if len(olds) == 0 {
		p.add(d)
		return
	}
	if missing := p.missing(olds, d); len(olds) == 1 && len(missing) == 0 && (d.group || !olds[0].group) {
		p.replaceDecl(olds[0], d)
		return
	}
	if len(p.missing(olds, d)) == 0 && d.group {
		// Several become one group.
		p.replaceDecl(olds[0], d)
		for _, old := range olds[1:] {
			p.merged = append(p.merged, old.names()...)
		}
		return
	}
	p.each(d, olds)
}

// missing returns the names of declarations of the file that the text neither has nor deletes.
func (p *placer) missing(olds []*decl, d *decl) []string {
	var out []string
	have := d.names()
	for _, old := range olds {
		for _, n := range old.names() {
			if n != "_" && !slices.Contains(have, n) && !p.deletes[n] {
				out = append(out, n)
			}
		}
	}
	return out
}

// each puts each specification in place on its own.
func (p *placer) each(d *decl, olds []*decl) {
	for _, old := range olds {
		whole := len(old.units) == 1 && len(d.units) == 1
		if (old.implicit || d.implicit) && !whole {
			e := p.refuse(Partial, strings.Join(old.names(), ", "), "these constants count by their place in the group, so the group has to be given whole")
			if e.Others = p.missing([]*decl{old}, d); len(e.Others) > 0 {
				e.What += " (missing: " + strings.Join(e.Others, ", ") + ")"
			}
			return
		}
	}
	var above *unit
	for _, u := range d.units {
		if u.anonymous() {
			if p.same(u) == nil {
				p.refuse(Ambiguous, "_", "a blank %s in a part of a group may be new or replace another one: give the whole group, or a declaration of its own", u.kind)
				return
			}
			continue
		}
		names := slices.DeleteFunc(slices.Clone(u.names), func(n string) bool { return n == "_" })
		found := p.file.find(u.kind, names...)
		if len(found) == 0 {
			p.insert(above, u)
			continue
		}
		if len(found) > 1 {
			p.refuse(Ambiguous, u.label(), "the file declares these names in %d places, in lines %s", len(found), p.lines(found))
			return
		}
		old := found[0]
		var missing []string
		for _, n := range old.names {
			if n != "_" && !slices.Contains(u.names, n) && !p.deletes[n] {
				missing = append(missing, n)
			}
		}
		if len(missing) > 0 {
			p.refuse(Partial, u.label(), "the file declares it together with %s: give or delete all of them", strings.Join(missing, ", ")).Others = missing
			return
		}
		for _, n := range u.names {
			if n != "_" && !slices.Contains(old.names, n) {
				p.added = append(p.added, n)
			}
		}
		p.replaceUnit(old, u)
		above = old
	}
}

// blanks puts declarations of nothing but blank names in place.
func (p *placer) blanks(d *decl) {
	var olds []*unit
	for _, u := range d.units {
		if old := p.pairs[u]; old != nil {
			olds = append(olds, old)
		}
	}
	switch len(olds) {
	case 0:
		p.add(d)
	case len(d.units):
		for i, u := range d.units {
			p.replaceUnit(olds[i], u)
		}
	default:
		p.refuse(Ambiguous, "_", "some of these blank declarations are in the file and some are not: give the new ones on their own")
	}
}

// anonymous finds what each unit without a name of its own is to replace: functions init, blank
// functions, types and variables. Those with equal tokens are the same. Of the others a text must
// have as many as the file, or the file none: all else is a guess.
func (p *placer) anonymous() map[*unit]*unit {
	type key struct {
		kind        code.Kind
		name, typed string
	}
	group := func(s *source) (map[key][]*unit, []key) {
		m := map[key][]*unit{}
		var order []key
		for _, d := range s.decls {
			named := slices.ContainsFunc(d.units, func(u *unit) bool { return !u.anonymous() })
			for _, u := range d.units {
				if !u.anonymous() || named && s == p.given {
					continue
				}
				k := key{u.kind, u.names[0], u.typed}
				if m[k] == nil {
					order = append(order, k)
				}
				m[k] = append(m[k], u)
			}
		}
		return m, order
	}
	pairs := map[*unit]*unit{}
	given, order := group(p.given)
	file, _ := group(p.file)
	for _, k := range order {
		// What an edit deletes is no candidate.
		var olds, news []*unit
		for i, u := range file[k] {
			if !p.deletes[nth(k.name, i+1)] {
				olds = append(olds, u)
			}
		}
		for _, u := range given[k] {
			i := slices.IndexFunc(olds, func(x *unit) bool { return p.file.tokens(x) == p.given.tokens(u) })
			if i >= 0 {
				pairs[u] = olds[i]
				olds = slices.Delete(olds, i, i+1)
			} else {
				news = append(news, u)
			}
		}
		switch {
		case len(olds) == 0 || len(news) == 0:
		case len(olds) == len(news):
			for i, u := range news {
				pairs[u] = olds[i]
			}
		default:
			p.refuse(Ambiguous, k.name, "the file declares it %d times, in lines %s: give all of them", len(file[k]), p.lines(file[k]))
			return nil
		}
	}
	return pairs
}

// same returns a unit of the file with the tokens of one of the text.
func (p *placer) same(u *unit) *unit {
	for _, d := range p.file.decls {
		for _, x := range d.units {
			if x.kind == u.kind && slices.Equal(x.names, u.names) && p.file.tokens(x) == p.given.tokens(u) {
				return x
			}
		}
	}
	return nil
}
