package patch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"tracerag/code"
)

// remove deletes declarations from the text into which the new ones were put. p.file is what
// the file was before that: it says which ones are meant.
func (c *change) remove(p *placer, deletes []string) {
	if len(deletes) == 0 {
		return
	}
	file, problems := parse(c.text, false)
	if problems != nil {
		c.refuse(BadSyntax, "", "the file does not parse with the new text").Problems = problems
		return
	}
	gone := map[*unit]bool{} // of file
	for _, d := range deletes {
		name := symbol(d)
		old := p.named(name)
		if old == nil {
			if len(c.errs) == 0 {
				c.gone(name)
			}
			return
		}
		if p.touched[old] {
			continue // replaced by what no longer has the name, or by the same
		}
		if again := file.like(old, p.file); again != nil {
			gone[again] = true
			c.seen[name] = true
		}
	}
	var cut []code.Span
	for _, d := range file.decls {
		var units []*unit
		for _, u := range d.units {
			if gone[u] {
				units = append(units, u)
			}
		}
		if len(units) == 0 {
			continue
		}
		var left []string
		for _, u := range d.units {
			for _, n := range u.names {
				if (n != "_" || d.implicit) && !p.deletes[n] && (gone[u] || d.implicit) {
					left = append(left, n)
				}
			}
		}
		if left = slices.DeleteFunc(left, func(n string) bool { return n == "init" || strings.HasPrefix(n, "_") && !d.implicit }); len(left) > 0 {
			c.refuse(Partial, units[0].label(), "it can't be deleted without %s, which the file declares together with it", strings.Join(left, ", ")).Others = left
			return
		}
		if len(units) == len(d.units) {
			cut = append(cut, d.whole())
			continue
		}
		for _, u := range units {
			cut = append(cut, u.whole())
		}
	}
	// From the end: what is before stays where it is, and each sees the blank lines that are left.
	for _, s := range slices.Backward(cut) {
		s = removal(c.text, s)
		c.text = slices.Concat(c.text[:s.Start], c.text[s.End:])
	}
}

// whole is a place with its comments.
func (p *place) whole() code.Span { return code.Span{Start: p.from(), End: p.to()} }

// named returns the unit of the file that a name to be deleted means.
func (p *placer) named(name string) *unit {
	base, n, ok := strings.Cut(name, "#")
	var found []*unit
	for _, d := range p.file.decls {
		for _, u := range d.units {
			if slices.Contains(u.names, base) {
				found = append(found, u)
			}
		}
	}
	if ok {
		for i := range found {
			if n == fmt.Sprint(i+1) {
				return found[i]
			}
		}
		return nil
	}
	if len(found) > 1 {
		p.refuse(Ambiguous, name, "it is declared %d times in the file, in lines %s: say which one as %s#1 or %s#2", len(found), p.lines(found), base, base)
		return nil
	}
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

// like returns the unit that one of an earlier state of the file became, which was not changed.
func (s *source) like(old *unit, of *source) *unit {
	text := old.span.Of(of.text)
	for _, d := range s.decls {
		for _, u := range d.units {
			if u.kind == old.kind && slices.Equal(u.names, old.names) && bytes.Equal(u.span.Of(s.text), text) {
				return u
			}
		}
	}
	return nil
}

// gone refuses the deletion of what is not there.
func (c *change) gone(name string) {
	e := c.refuse(Gone, name, "it is to be deleted, and the file does not declare it")
	if other := c.tree.declares(c.name, name); len(other) > 0 {
		e.Others = other
		e.What += ": " + strings.Join(other, ", ") + " does"
	}
}

// verify holds the result against what was asked for: the file parses, has each new text, and every
// declaration that was not changed is as it was and where it was among the others.
func (c *change) verify(p *placer) {
	file, problems := parse(c.text, false)
	if problems != nil {
		c.refuse(BadSyntax, "", "the file does not parse with the new text").Problems = problems
		return
	}
	for _, x := range p.expected {
		if !bytes.Contains(c.text, []byte(x)) {
			c.refuse(Contradictory, "", "a declaration of the new text was deleted again")
			return
		}
	}
	var was, is []string
	changed := map[string]bool{}
	for u := range p.touched {
		changed[u.text(p.file.text)] = true
	}
	for _, d := range p.file.decls {
		for _, u := range d.units {
			if !p.touched[u] && !p.deleted(u) {
				was = append(was, u.text(p.file.text))
			}
		}
	}
	for _, d := range file.decls {
		for _, u := range d.units {
			is = append(is, u.text(file.text))
		}
	}
	for _, x := range is {
		if len(was) > 0 && was[0] == x {
			was = was[1:]
		}
	}
	if len(was) > 0 {
		name, _, _ := strings.Cut(was[0], "\n")
		c.refuse(Contradictory, "", "the change would reach beyond its declarations, to %q", name)
	}
}

func (p *placer) deleted(u *unit) bool {
	for i := range 100 {
		for _, n := range u.names {
			if p.deletes[nth(n, i+1)] {
				return true
			}
		}
	}
	return false
}
