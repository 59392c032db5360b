package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"tracerag/calltree"
)

// IndexTokens is the most that the index of a run takes: names of some 1,500 functions.
const IndexTokens = 8_000

// plumbingScore is the relevance from which a function is listed wherever it is.
const plumbingScore = .5

// plumbing reports whether a package is of a dependency that nearly every program runs and
// few questions are about. Its functions are in an index only where words of the question
// match them.
func (p *entries) plumbing() bool { return p.module != "" && calltree.Noisy(p.path) }

// Index names the functions that ran, by package, in the order of first calls, within so
// many tokens. What does not fit is folded, the least relevant first, with a handle to
// ask for it. Short docs follow names that say less, while there is room.
func (r *Reader) Index(limit int) string {
	r.enter()
	ordered := byScore(r.all)
	slices.SortStableFunc(ordered, func(a, b *entry) int { return cmp.Compare(b.rank(), a.rank()) })
	shown := map[*entry]bool{}
	n := len(ordered)
	for n > 0 && ordered[n-1].rank() < 0 {
		n--
	}
	fits := func(n int) bool {
		clear(shown)
		for _, e := range ordered[:n] {
			shown[e] = true
		}
		return r.Count(r.index(shown, nil, limit)) <= limit
	}
	if !fits(n) {
		low, high := 0, n // low fits, or nothing does
		for low+1 < high {
			if mid := (low + high) / 2; fits(mid) {
				low = mid
			} else {
				high = mid
			}
		}
		fits(low)
		n = low
	}
	names := r.Count(r.index(shown, nil, limit))
	return r.index(shown, r.docs(ordered[:n], min(limit-names, names*docShare/100)), limit)
}

// rank is what decides which functions are folded: relevance, and before that what was
// read and what it calls, behind it plumbing.
func (e *entry) rank() float64 {
	switch {
	case e.near:
		return 2 + e.score
	case e.of.plumbing() && e.score < plumbingScore:
		return -1
	case e.of.module == "":
		return e.score + foreign
	}
	return e.score
}

// foldedShare is the part of an index, in per cent, that the packages may have of which
// no function is listed.
const foldedShare = 25

// index writes the functions that are shown, with docs, and how many others there are.
func (r *Reader) index(shown map[*entry]bool, docs map[*entry]string, limit int) string {
	var b strings.Builder
	var folded []*entries
	hidden := map[*entries]int{}
	for _, p := range r.packages {
		left := 0
		var names strings.Builder
		receiver := ""
		list := p.list
		if r.terse {
			list = grouped(list)
		}
		for _, e := range list {
			if r.terse && r.shown[e] {
				continue
			}
			if !shown[e] {
				left++
				continue
			}
			if names.Len() > 0 {
				names.WriteString(", ")
			}
			name := e.name
			if of := e.receiver(); of != "" && of == receiver {
				name = name[len(of):] // the methods of a type often follow one another
			} else {
				receiver = of
			}
			names.WriteString(name + e.times())
			if r.shown[e] {
				names.WriteString(" (read)")
			}
			names.WriteString(docs[e])
		}
		switch {
		case names.Len() == 0 && left == 0: // all of it was shown
			continue
		case names.Len() == 0:
			folded = append(folded, p)
			hidden[p] = left
			continue
		case left > 0:
			fmt.Fprintf(&names, ", [%d more: %s]", left, p.handle)
		}
		fmt.Fprintf(&b, "%s: %s\n", p.title(), &names)
	}
	if len(folded) > 0 {
		b.WriteString(r.folded(folded, hidden, limit*foldedShare/100))
	}
	return b.String()
}

// near has the index name what was read, and its neighbours, before all else.
func (r *Reader) near() {
	for _, e := range r.all {
		if !r.shown[e] {
			continue
		}
		e.near = true
		for _, n := range slices.Concat(e.callers, e.callees) {
			n.near = true
		}
	}
}

// title is a package as the index names it: by its name, and where it is if that says
// more.
func (p *entries) title() string {
	if p.module != "" && p.module != p.name {
		return p.module + "/" + p.name
	}
	return p.name
}

// docShare is the part of an index, in per cent, that docs may have.
const docShare = 20

// docs are the first words of doc comments, of functions whose names say less, the most
// relevant first, in so many tokens.
func (r *Reader) docs(of []*entry, room int) map[*entry]string {
	docs := map[*entry]string{}
	for _, e := range of {
		doc := e.shortDoc()
		if doc == "" {
			continue
		}
		doc = " " + doc
		if room -= r.Count(doc); room < 0 {
			break
		}
		docs[e] = doc
	}
	return docs
}

// docWords is how many words of a doc comment an index has.
const docWords = 12

// shortDoc is the beginning of a doc comment, in parentheses, if it has at least three
// words that the name has not.
func (e *entry) shortDoc() string {
	var text []string
	for line := range strings.Lines(e.it.source.Doc) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "/*"))
		if line == "" && len(text) > 0 {
			break
		}
		text = append(text, strings.Fields(line)...)
	}
	if len(text) == 0 {
		return ""
	}
	last := e.name[strings.LastIndexByte(e.name, '.')+1:]
	if strings.EqualFold(text[0], last) {
		text = text[1:]
	}
	if len(text) > docWords {
		text = text[:docWords]
	}
	for i, w := range text {
		if strings.HasSuffix(w, ".") {
			text = text[:i+1]
			break
		}
	}
	known := wordsIn(e.fullName())
	fresh := 0
	for w := range wordsIn(strings.Join(text, " ")) {
		if !known[w] && !stopWords[w] {
			fresh++
		}
	}
	if fresh < 3 {
		return ""
	}
	doc := strings.TrimRightFunc(strings.Join(text, " "), func(c rune) bool { return unicode.IsPunct(c) && c != ')' })
	return "(" + oneLine(doc) + ")"
}
