package prompt

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tracerag/code/words"
	"tracerag/phrase"
	"tracerag/trace"
)

// excerpt is an item of which some lines are left out.
type excerpt struct {
	it    *item
	calls *callers
	lines []string // of the body
	keep  []bool
	idle  []bool // lines that did not run, or stand in what did not
	idles bool   // any did not
	doc   int    // bytes of the doc comment
}

func (m *material) excerpt(it *item) *excerpt {
	x := &excerpt{it: it, calls: m.callers, lines: strings.Split(it.source.Body, "\n"), doc: shortDoc}
	x.keep = make([]bool, len(x.lines))
	x.idle = make([]bool, len(x.lines))
	// The lines of a text that may not be what ran are not those that did.
	if m.lines == nil || it.note != "" {
		return x
	}
	var all []trace.Lines
	for _, fn := range it.holds {
		all = append(all, m.lines(fn)...)
	}
	for _, r := range it.source.Statements(func(first, last int) bool { return trace.DidNotRun(all, first, last) }) {
		for n := r.First; n <= r.Last; n++ {
			if i := n - it.source.Start; i >= 0 && i < len(x.idle) {
				x.idle[i], x.idles = true, true
			}
		}
	}
	return x
}

// ran is the item without the statements that did not run; nil where that is all
// of it, or not known.
func (m *material) ran(it *item) *item {
	x := m.excerpt(it)
	if !x.idles {
		return nil
	}
	for i := range x.keep {
		x.keep[i] = !x.idle[i]
	}
	return x.item(TierRan, math.MaxInt)
}

const (
	windowBytes  = 2400 // about 700 tokens: a third of the least that is long
	windowLine   = 240  // bytes of a line; those of tables can be very long
	bytesOfLines = 300  // of an excerpt for each line on either side
	nearLines    = 6    // at most, on either side of a line that the question's words are in
	nearEntries  = 1    // the same for a table's entries, which do not go together
)

// window is the part of an item that the question is most likely about: its first
// lines, and where its words are, those around which the most of the rarest stand
// first. What did not run is not in it.
func (m *material) window(it *item) *item {
	room := windowBytes
	if it.declaration {
		room /= 3
	}
	return m.around(it, room)
}

// around is such a part in so many bytes.
func (m *material) around(it *item, room int) *item {
	if it.source.Start <= 0 {
		return nil
	}
	x := m.excerpt(it)
	x.doc = min(shortDoc, room/4)
	room -= min(len(it.source.Doc), x.doc)
	near := min(max(room/bytesOfLines, 1), nearLines)
	if !strings.HasPrefix(it.source.Signature, "func") {
		near = nearEntries
	}
	// add keeps what is not kept of a range of lines, in their order, while there
	// is room.
	add := func(from, to int) {
		for i := max(from, 0); i < min(to, len(x.lines)) && room > 0; i++ {
			if !x.keep[i] && !x.idle[i] {
				x.keep[i] = true
				room -= min(len(x.lines[i]), windowLine) + 1
			}
		}
	}
	add(0, strings.Count(it.source.Signature, "\n")+1)
	add(len(x.lines)-1, len(x.lines)) // mostly a brace
	weights := m.weigh(x)
	order := make([]int, 0, len(weights))
	for i, w := range weights {
		if w > 0 {
			order = append(order, i)
		}
	}
	around := make([]float64, len(weights))
	for _, i := range order {
		for j := max(i-near, 0); j <= min(i+near, len(weights)-1); j++ {
			around[i] += weights[j]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(around[b], around[a]), cmp.Compare(weights[b], weights[a]))
	})
	for _, i := range order {
		add(i-near, i+near+1)
	}
	add(0, len(x.lines)) // whatever there is still room for, from the start
	return x.item(TierWindow, windowLine)
}

// weigh gives each line that ran, or may have, the sum of the weights of the
// question's words in it; a word that every line has weighs nothing.
func (m *material) weigh(x *excerpt) []float64 {
	weights := make([]float64, len(x.lines))
	calls := m.calls[x.it]
	if len(m.asked)+len(calls) == 0 {
		return weights
	}
	found := make([][]string, len(x.lines))
	lines := map[string]int{}
	for i, line := range x.lines {
		if x.idle[i] {
			continue
		}
		for w := range wordsIn(line) {
			if m.asked[w] || calls[w] {
				found[i] = append(found[i], w)
				lines[w]++
			}
		}
	}
	for i, list := range found {
		slices.Sort(list) // sums of floats depend on their order
		for _, w := range list {
			weights[i] += math.Log(float64(len(x.lines)+1) / float64(lines[w]+1))
		}
	}
	return weights
}

// wordsIn are the words of a text in lower case, those of identifiers one by one:
// "readAll" has read, all and readall. What has less than three letters or digits
// is no word, but a number that stands alone is.
func wordsIn(text string) map[string]bool {
	in := map[string]bool{}
	add := func(s string) {
		if utf8.RuneCountInString(s) >= 3 {
			in[strings.ToLower(s)] = true
		}
	}
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if strings.Trim(name, "0123456789") == "" {
			in[name] = true
			continue
		}
		add(name)
		for _, part := range words.Split(name) {
			add(part)
		}
	}
	return in
}

// worthAMark is the size in bytes up to which a gap is not made: its mark would
// take more tokens than it.
const worthAMark = 40

// item writes what is kept, with a mark in each gap. A line longer than most bytes
// is cut. It is nil if nothing is left out.
func (x *excerpt) item(tier Tier, most int) *item {
	s := x.it.copy()
	s.tier = tier
	l := x.it.listing()
	x.it.docStart(l, x.doc)
	start := x.it.source.Start
	cut := false
	for i := 0; i < len(x.lines); {
		line := x.lines[i]
		switch {
		case !x.keep[i]:
			from, idle, size := i, true, 0
			for ; i < len(x.lines) && !x.keep[i]; i++ {
				idle = idle && (x.idle[i] || strings.TrimSpace(x.lines[i]) == "")
				size += len(strings.TrimSpace(x.lines[i])) + 1
			}
			if size <= worthAMark {
				l.lines(start+from, strings.Join(x.lines[from:i], "\n"))
				continue
			}
			why := ": did not run"
			if !idle {
				why = x.calls.gap(x.it, start+from, start+i-1)
			}
			s.elided += i - from
			l.mark("%s left out%s", lineRange{from: start + from, to: start + i - 1}.words(), why)
			continue
		case len(line) > most:
			cut = true
			at := most
			for !utf8.RuneStart(line[at]) {
				at--
			}
			l.line(start+i, line[:at])
			l.mark("%s bytes of line %d left out", phrase.Number(len(line)-at), start+i)
		default:
			l.line(start+i, line)
		}
		i++
	}
	if s.elided == 0 && !cut {
		return nil
	}
	s.text = l.String()
	return &s
}
