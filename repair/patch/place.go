package patch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"tracerag/code"
)

// placer puts the declarations of a text in place in a file.
type placer struct {
	*change
	file, given *source
	eol         string
	deletes     map[string]bool // names as symbol has them
	out         splices
	last        *decl           // of file: what is added comes after it
	expected    []string        // texts that the file must have when all is done
	touched     map[*unit]bool  // of file
	merged      []string        // names whose own declarations go, since a group has them now
	pairs       map[*unit]*unit // of given to those of file: what has no name of its own
}

func (p *placer) place() {
	p.touched = map[*unit]bool{}
	if p.twice(); len(p.errs) > 0 {
		return
	}
	p.pairs = p.anonymous()
	for _, d := range p.given.decls {
		if len(p.errs) > 0 {
			return
		}
		switch {
		case len(d.units) == 0: // "var ()"
		case d.units[0].kind == code.Const || d.units[0].kind == code.Var:
			p.values(d)
		case d.group:
			p.types(d)
		default:
			p.single(d)
		}
	}
}

// twice refuses names that the text declares twice, or that another edit has changed already.
func (p *placer) twice() {
	here := map[string]bool{}
	for _, d := range p.given.decls {
		for _, u := range d.units {
			for _, n := range u.names {
				switch {
				case u.anonymous() || n == "_":
				case here[n]:
					p.refuse(Ambiguous, n, "the new text declares it twice")
				case p.seen[n]:
					p.refuse(Contradictory, n, "two edits change it")
				}
				here[n] = true
			}
		}
	}
	for n := range here {
		p.seen[n] = true
	}
}

// single puts a function, a method or a type in place.
func (p *placer) single(d *decl) {
	u := d.units[0]
	if u.anonymous() {
		if old := p.pairs[u]; old != nil {
			p.replaceUnit(old, u)
		} else {
			p.add(d)
		}
		return
	}
	old := p.existing(u)
	switch {
	case len(p.errs) > 0:
	case old == nil:
		p.add(d)
	case old.kind != u.kind:
		p.replaceDecl(old.in, d)
	default:
		p.replaceUnit(old, u)
	}
}

// existing returns the unit of the file that a unit of the text is to replace; nil if there is none.
func (p *placer) existing(u *unit) *unit {
	found := p.file.find(0, u.names...)
	found = slices.DeleteFunc(found, func(x *unit) bool { return x.kind != u.kind && p.deletes[x.names[0]] })
	if len(found) == 0 {
		return nil
	}
	if len(found) > 1 {
		p.refuse(Ambiguous, u.label(), "it is declared %d times in the file, in lines %s", len(found), p.lines(found))
		return nil
	}
	old := found[0]
	if old.kind != u.kind && (old.in.group || u.in.group || len(old.names) > 1 || len(u.names) > 1) {
		p.refuse(Ambiguous, u.label(), "it is a %s of a group in the file, and a %s in the new text: delete the %s, too", old.kind, u.kind, old.kind)
		return nil
	}
	return old
}

func (p *placer) lines(units []*unit) string {
	var lines []string
	for _, u := range units {
		lines = append(lines, fmt.Sprint(1+bytes.Count(p.file.text[:u.span.Start], []byte("\n"))))
	}
	return strings.Join(lines, " and ")
}

// types puts a group of types in place, each on its own if the file has one of them.
func (p *placer) types(d *decl) {
	if !slices.ContainsFunc(d.units, func(u *unit) bool { return len(p.file.find(0, u.names...)) > 0 }) {
		p.add(d)
		return
	}
	var above *unit
	for _, u := range d.units {
		old := p.existing(u)
		switch {
		case len(p.errs) > 0:
			return
		case old == nil:
			p.insert(above, u)
			continue
		case old.kind != u.kind:
			p.refuse(Ambiguous, u.label(), "it is a %s in the file, and a %s in the new text: delete the %s, too", old.kind, u.kind, old.kind)
			return
		}
		p.replaceUnit(old, u)
		above = old
	}
}

// replaceUnit puts a unit of the text in the place of one of the file. A doc comment replaces
// the one that is there; without one, that stays.
func (p *placer) replaceUnit(old, u *unit) {
	if p.touched[old] {
		p.refuse(Contradictory, u.label(), "two declarations of the new text are for it")
		return
	}
	p.touched[old] = true
	p.last = old.in
	p.replacePlace(&old.place, &u.place, func(from int) []byte { return p.shaped(old, u, from) })
}

// replaceDecl puts a whole declaration of the text in the place of one of the file.
func (p *placer) replaceDecl(old, d *decl) {
	for _, u := range old.units {
		if p.touched[u] {
			p.refuse(Contradictory, u.label(), "two declarations of the new text are for it")
			return
		}
		p.touched[u] = true
	}
	for _, n := range d.names() {
		if len(p.file.find(0, n)) == 0 {
			p.added = append(p.added, n)
		}
	}
	p.last = old
	p.replacePlace(&old.place, &d.place, func(from int) []byte { return p.given.text[from:d.span.End] })
}

// replacePlace does so with the text that body returns from an offset of the given text on.
func (p *placer) replacePlace(old, new *place, body func(from int) []byte) {
	from := old.span.Start
	if new.doc.Len() > 0 {
		from = old.from()
	}
	text := body(new.from())
	p.expect(text)
	if new.tail.Len() > 0 {
		tail := new.tail.Of(p.given.text)
		if old.tail.Len() > 0 {
			p.out.replace(old.tail.Start, old.tail.End, tail)
		} else if restBlank(p.file.text, old.span.End) {
			text = slices.Concat(text, []byte(" "), tail)
		}
	}
	p.out.replace(from, old.span.End, text)
}

func (p *placer) expect(text []byte) { p.expected = append(p.expected, string(text)) }

// shaped returns a unit of the text as it is to be in the place of one of the file: with a
// keyword or without, and indented as that one.
func (p *placer) shaped(old, u *unit, from int) []byte {
	given := p.given.text
	if old.in.group == u.in.group {
		return given[from:u.span.End]
	}
	keyword := ""
	if !old.in.group {
		keyword = u.kind.String() + " "
	}
	return p.spec(u, from < u.span.Start, keyword, indentOf(p.file.text, old.span.Start))
}

// spec returns a specification with its doc comment, with a keyword or without one.
func (p *placer) spec(u *unit, doc bool, keyword, indent string) []byte {
	given := p.given
	was := indentOf(given.text, u.span.Start)
	part := func(s code.Span) []byte {
		return reindent(s.Of(given.text), was, indent, func(at int) bool { return given.inside(s.Start + at) })
	}
	var out []byte
	if doc {
		out = append(append(out, part(u.doc)...), p.eol+indent...)
	}
	return append(append(out, keyword...), part(code.Span{Start: u.spec, End: u.span.End})...)
}

// add adds a whole declaration of the text with the comments before it, after what was placed last.
func (p *placer) add(d *decl) {
	for _, u := range d.units {
		if !u.anonymous() {
			p.added = append(p.added, u.names...)
		}
	}
	p.put(p.given.text[p.given.lead(d):d.to()], d)
}

// insert adds one unit of a group: behind the one above it, or as a declaration of its own.
func (p *placer) insert(above, u *unit) {
	p.added = append(p.added, u.names...)
	tail := func(text []byte) []byte {
		if u.tail.Len() > 0 {
			return slices.Concat(text, []byte(" "), u.tail.Of(p.given.text))
		}
		return text
	}
	if above == nil || !above.in.group {
		text := p.spec(u, u.doc.Len() > 0, u.kind.String()+" ", "")
		p.put(tail(text), u.in)
		return
	}
	indent := indentOf(p.file.text, above.span.Start)
	at, more := p.behind(&above.place)
	text := p.spec(u, u.doc.Len() > 0, "", indent)
	p.expect(text)
	behind := ""
	if more {
		behind = p.eol + indent
	}
	p.out.insert(at, slices.Concat([]byte(p.eol+indent), tail(text)), behind)
}

// put adds a text at the top level.
func (p *placer) put(text []byte, like *decl) {
	p.expect(text)
	after := p.last
	if after == nil {
		after = p.fitting(like)
	}
	if after == nil {
		at := len(bytes.TrimRight(p.file.text, " \t\r\n"))
		p.out.insert(at, slices.Concat([]byte(p.eol+p.eol), text), "")
		return
	}
	at, more := p.behind(&after.place)
	behind := ""
	if next := nextLine(p.file.text, at); more {
		behind = p.eol + p.eol
	} else if next < len(p.file.text) && len(bytes.TrimSpace(p.file.text[next:nextLine(p.file.text, next)])) > 0 {
		behind = p.eol
	}
	p.out.insert(at, slices.Concat([]byte(p.eol+p.eol), text), behind)
}

// behind returns where something can be added behind a place, and whether more follows in that line.
func (p *placer) behind(x *place) (at int, more bool) {
	text := p.file.text
	at = x.to()
	if x.tail.Len() == 0 {
		i := at
		for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
			i++
		}
		if i < len(text) && text[i] == ';' {
			at = i + 1
			if tail := p.file.behind(at); tail.Len() > 0 {
				at = tail.End
			}
		}
	}
	return at, !restBlank(text, at)
}

// fitting returns the declaration behind which one is at home that follows no other: a method behind its
// type's, constants and variables behind those that the file has. nil is the end of the file.
func (p *placer) fitting(d *decl) *decl {
	var found *decl
	u := d.units[0]
	recv, _, _ := strings.Cut(u.names[0], ".")
	for _, x := range p.file.decls {
		if len(x.units) == 0 {
			continue
		}
		y := x.units[0]
		switch u.kind {
		case code.Method:
			if y.kind == code.Type && slices.Contains(x.names(), recv) || y.kind == code.Method && strings.HasPrefix(y.names[0], recv+".") {
				found = x
			}
		case code.Const, code.Var:
			if y.kind == u.kind {
				found = x
			}
		}
	}
	return found
}
