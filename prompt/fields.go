package prompt

import (
	"math"
	"slices"
	"strings"
)

// largeDeclaration is the length in tokens from which a declaration is cut to its parts
// that the sources use.
const largeDeclaration = 150

// used is a declaration cut to what the given sources name of it: of a struct its
// fields, of an interface its methods, of constants those that count together. Embedded
// types stay, since what they bring in has no name here. It is nil if nothing is to be
// left out, or if there are no such parts, as in a table.
func (m *material) used(d *item, sources []*item) *item {
	if len(d.members) == 0 || d.source.Start <= 0 {
		return nil
	}
	named := func(name string) bool {
		return slices.ContainsFunc(sources, func(s *item) bool { return s.textWords()[name] })
	}
	x := &excerpt{it: d, lines: strings.Split(d.source.Body, "\n"), doc: shortDoc}
	x.idle = make([]bool, len(x.lines))
	x.keep = slices.Repeat([]bool{true}, len(x.lines))
	each := func(first, last int, do func(i int)) {
		for i := max(first-d.source.Start, 0); i <= min(last-d.source.Start, len(x.lines)-1); i++ {
			do(i)
		}
	}
	// What is between the first member and the last belongs to a member, or is blank.
	first, last := d.members[0].Lines.First, d.members[len(d.members)-1].Lines.Last
	head := max(first, d.source.Start+1) // the line with the name stays
	each(head, last, func(i int) { x.keep[i] = false })
	for _, member := range d.members {
		if member.Embedded || slices.ContainsFunc(member.Names, named) {
			each(member.Lines.First, member.Lines.Last, func(i int) { x.keep[i] = true })
		}
	}
	x.keep[len(x.lines)-1] = true
	return x.item(TierWindow, math.MaxInt)
}

// namedIn reports whether what is left of a source that names d as a whole does so, too.
func (d *item) namedIn(source *item) bool {
	if source.tier == TierFull {
		return true
	}
	words := source.textWords()
	return slices.ContainsFunc(d.declares, func(n string) bool { return words[n] })
}
