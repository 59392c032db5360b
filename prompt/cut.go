package prompt

import (
	"fmt"
	"strings"

	"tracerag/calltree"
	"tracerag/phrase"
)

// cut is what a prompt leaves out to fit a budget. A nil cut leaves out nothing.
type cut struct {
	// items has what replaces each item, itself or less of it. One that is not
	// in it has no source in the prompt.
	items map[*item]*item
	// nodes are those that the call trees list; nil lists all.
	nodes map[*calltree.Node]bool
	// positions says that the trees have them.
	positions bool
	// below says that the places of functions are among the names, and in the trees only
	// those of functions that these can't have.
	below bool
	// names has the items that are named where the prompt has no source of them.
	names map[*item]naming
}

// naming is how an item is named.
type naming int

const (
	noName naming = iota
	nameAlone
	nameAndCalls // with the calls that it makes
)

// apply puts into a list of items what replaces them, and says how many
// functions are left out of it.
func (c *cut) apply(items []*item) (shown []*item, left int) {
	if c == nil {
		return items, 0
	}
	seen := map[*item]bool{}
	for _, it := range items {
		if s := c.items[it]; s != nil {
			shown = append(shown, s)
		} else if !seen[it] {
			seen[it] = true
			left++
		}
	}
	return shown, left
}

// stands returns what replaces an item, nil if it is left out.
func (c *cut) stands(it *item) *item {
	if c == nil {
		return it
	}
	return c.items[it]
}

// shows reports whether an item has a place among the sources.
func (c *cut) shows(it *item) bool { return c.stands(it) != nil }

// fold is what a [calltree.View] leaves out.
func (c *cut) fold() func(*calltree.Node) bool {
	if c == nil || c.nodes == nil {
		return nil
	}
	return func(n *calltree.Node) bool { return !c.nodes[n] }
}

// leftOut is at the end of sources, or of declarations, of which some are left
// out.
func (p *part) leftOut() string {
	switch {
	case p.kind == partTypes:
		return fmt.Sprintf("[%s left out]", plural(p.left, "more declaration"))
	case p.left == 1:
		return "[the source of 1 more function is left out]"
	}
	return fmt.Sprintf("[the sources of %s more functions are left out]", phrase.Number(p.left))
}

// at returns what replaces an item at a tier, nil if none exists.
func (m *material) at(it *item, t Tier) *item {
	switch {
	case t == TierFull:
		return it
	case it.source.Start <= 0: // which lines are left out is unknown
		return nil
	case it.declaration && t != TierWindow:
		return nil
	case t == TierRan:
		return m.ran(it)
	case t == TierWindow:
		return m.window(it)
	case t == TierSignature && it.source.Signature != "":
		return m.signature(it)
	}
	return nil
}

// shortDoc is the length in bytes of a doc comment that a signature keeps whole;
// of a longer one it has the first paragraph.
const shortDoc = 600

// signature is the item without its body.
func (m *material) signature(it *item) *item {
	t := &it.source
	first, last := t.Start+strings.Count(t.Signature, "\n"), t.Start+strings.Count(t.Body, "\n")
	if first < last {
		first++ // the line with the opening brace is there
	}
	s := it.copy()
	s.tier = TierSignature
	s.elided = last - first + 1
	l := it.listing()
	it.docStart(l, shortDoc)
	l.lines(t.Start, t.Signature)
	l.mark("signature only: %s left out%s", lineRange{from: first, to: last}.words(), m.callers.gap(it, first, last))
	s.text = l.String()
	return &s
}

// docStart writes the doc comment, or the first paragraph of one of more bytes.
func (it *item) docStart(l *listing, most int) {
	doc := it.source.Doc
	switch {
	case doc == "":
		return
	case len(doc) <= most:
		l.lines(it.source.DocStart, doc)
		return
	}
	size := 0
	lines := strings.Split(doc, "\n")
	for i, line := range lines {
		if size > 0 && strings.TrimSpace(strings.TrimLeft(line, "/*")) == "" || size > most {
			l.mark("%s of the comment left out", plural(len(lines)-i, "more line"))
			return
		}
		n := 0
		if it.source.DocStart > 0 {
			n = it.source.DocStart + i
		}
		l.line(n, line)
		size += len(line) + 1
	}
}

// words are "line 3" or "lines 3-12".
func (r lineRange) words() string {
	if r.from == r.to {
		return fmt.Sprintf("line %d", r.from)
	}
	return fmt.Sprintf("lines %d-%d", r.from, r.to)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return phrase.Number(n) + " " + what + "s"
}
