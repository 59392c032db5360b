package prompt

import (
	"cmp"
	"fmt"
	"go/token"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tracerag/source"
	"tracerag/trace/symbol"
)

// namesShare is how much of the room beyond the first tokens of it, in per cent, the names
// may have of what a prompt has no source of. A name with its line takes six tokens, a call with its line
// as many, a source a hundred and more. See docs/prompts.md for what they are worth in lines that true
// answers cite: with 30 % fewer are there, with 40 % hardly more.
const (
	namesShare = 35
	namesFrom  = 1_000 // tokens
)

// leftOut is the section with the names of what the prompt has no source of: functions, those
// of the call trees first, declarations that the sources name, and the types of methods.
// It has a line for each file, in the order of first calls.
func (m *material) leftOut(parts []part) part {
	p := part{kind: partNames}
	if m.cut == nil || len(m.cut.names) == 0 {
		return p
	}
	var files []string
	names := map[string][]string{}
	receiver := map[string]string{}
	seen := map[*item]bool{}
	for _, list := range append(slices.Clone(parts), part{items: m.receivers}) {
		for _, it := range list.items {
			if seen[it] || m.cut.names[it] == noName || m.cut.shows(it) {
				continue
			}
			seen[it] = true
			file, _, _ := strings.Cut(it.position, ":")
			if names[file] == nil {
				files = append(files, file)
			}
			name := symbol.WithoutArguments(it.bareName())
			if of := receiverOf(name); of != "" && of == receiver[file] {
				name = name[len(of):] // as in an index
			} else {
				receiver[file] = of
			}
			name += " " + strconv.Itoa(it.source.Start)
			if m.cut.names[it] == nameAndCalls {
				name += " (" + m.callers.text(it, it.source.Start, it.source.End) + ")"
			}
			if list.only {
				name += " " + list.run
			}
			names[file] = append(names[file], name)
		}
	}
	var b strings.Builder
	for _, file := range files {
		fmt.Fprintf(&b, "%s: %s\n", file, strings.Join(names[file], ", "))
	}
	p.text = b.String()
	return p
}

// listed are the items that have a line of their own in a call tree that is cut.
func (m *material) listed() map[*item]bool {
	listed := map[*item]bool{}
	for i := range m.runs {
		for n := range nodes(m.runs[i].tree) {
			if it := m.items[*n.Func]; it != nil && (m.cut.nodes == nil || m.cut.nodes[n]) && m.owns(it, *n.Func) {
				listed[it] = true
			}
		}
	}
	return listed
}

// bareName is an item's name without its package: "(*Table).Render", "type Table".
func (it *item) bareName() string {
	if !it.declaration {
		return oneLine(symbol.Local(it.key))
	}
	keyword, name, _ := strings.Cut(it.name, " ")
	if _, local, ok := strings.Cut(name, "."); ok {
		name = local
	}
	name, _, _ = strings.Cut(name, ",")
	return keyword + " " + name
}

// receiverOf is the type of a method: "(*Table)".
func receiverOf(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i]
	}
	return ""
}

// fitNames gives the names what a prompt leaves of a limit, which is within the budget.
func (f *fitter) fitNames(p *Prompt, limit int) (*Prompt, error) {
	limit = min(limit, f.o.Budget)
	if !f.m.cut.below || limit <= p.Total || len(f.units) == 0 {
		return p, nil
	}
	before := f.m.cut.names
	bare := p
	if before != nil {
		f.m.cut.names = nil
		var err error
		if bare, err = f.build(); err != nil {
			return nil, err
		}
	}
	wishes := f.wishes()
	const least, most = 3, 40 // tokens that a wish takes
	n := min(len(wishes), (limit-bare.Total)/least)
	for n > 0 {
		f.m.cut.names = map[*item]naming{}
		for _, w := range wishes[:n] {
			f.m.cut.names[w.it] = max(f.m.cut.names[w.it], w.as)
		}
		q, err := f.build()
		if err != nil {
			return nil, err
		}
		if q.Total <= limit {
			return q, nil
		}
		over := q.Total - limit
		// As many fewer as are over at the average price of a wish, and at least one.
		n -= max(1, over*n/max(q.Total-bare.Total, 1), over/most)
	}
	f.m.cut.names = before
	return p, nil
}

// wish is an item that is to be named.
type wish struct {
	it    *item
	as    naming
	score float64
}

const (
	// ownName is what a name of the main module counts more: in its files nobody has to be told
	// where to look for them. That is less than [foreign], since a name takes little.
	ownName = .2
	// callsLater is what the calls of a function count less than its name.
	callsLater = .3
)

// wishes are all names that the prompt may have, the most wanted first. A function of the call
// trees counts one more, since these don't say where it is.
func (f *fitter) wishes() (wishes []wish) {
	listed := f.m.listed()
	for i := range f.units {
		u := &f.units[i]
		if u.it.source.Start <= 0 || f.m.cut.shows(u.it) {
			continue
		}
		score := u.Score + ownNameOf(u.it)
		if listed[u.it] {
			score++
		}
		wishes = append(wishes, wish{u.it, nameAlone, score})
		if f.m.callers.text(u.it, u.it.source.Start, u.it.source.End) != "" {
			wishes = append(wishes, wish{u.it, nameAndCalls, score - callsLater})
		}
	}
	if f.m.named != nil {
		if f.receivers == nil {
			f.findReceivers()
		}
		decls, items, _ := f.declarations()
		named := map[*item]bool{}
		for i, d := range decls {
			named[d] = true
			if !f.m.cut.shows(d) {
				wishes = append(wishes, wish{d, nameAlone, items[i].Score + ownNameOf(d)})
			}
		}
		for _, d := range f.m.receivers {
			if !f.m.cut.shows(d) && !named[d] {
				wishes = append(wishes, wish{d, nameAlone, f.receivers[d] + ownNameOf(d)})
			}
		}
	}
	slices.SortStableFunc(wishes, func(a, b wish) int { return cmp.Compare(b.score, a.score) })
	return wishes
}

func ownNameOf(it *item) float64 {
	if moduleOf(it.source.Display) == "" {
		return ownName
	}
	return 0
}

// mostReceivers is how many types are looked for: that of the best method is more often named
// in a true answer than the hundredth function.
const mostReceivers = 40

// findReceivers looks for the types of the best methods, and gives each the score of its best one.
func (f *fitter) findReceivers() {
	f.receivers = map[*item]float64{}
	items := make([]Item, len(f.units))
	for i := range f.units {
		items[i] = f.units[i].Item
	}
	type place struct{ dir, name string }
	seen := map[place]bool{}
	var methods []*unit
	var names []string
	for _, i := range ranked(items) {
		u := &f.units[i]
		of := typeName(receiverOf(u.it.bareName()))
		at := place{filepath.Dir(u.it.path), of}
		if of == "" || seen[at] || u.it.source.Start <= 0 || len(u.it.holds) == 0 {
			continue
		}
		seen[at] = true
		methods, names = append(methods, u), append(names, of)
		if len(methods) == mostReceivers {
			break
		}
	}
	functions, texts := make([]*item, len(methods)), make([]source.Text, len(methods))
	for i, u := range methods {
		functions[i], texts[i] = u.it, u.it.source
		texts[i].Body = "func (r " + names[i] + ") f() {}"
	}
	for i, list := range f.m.namedIn(functions, texts) {
		for _, d := range list {
			if _, known := f.receivers[d]; !known {
				f.m.receivers = append(f.m.receivers, d)
				f.receivers[d] = methods[i].Score
			}
		}
	}
}

// typeName is the name of the type in a receiver: of "(*List[go.shape.int])" List. It is empty for one
// within a function.
func typeName(receiver string) string {
	name, _, _ := strings.Cut(strings.Trim(receiver, "(*)"), "[")
	if !token.IsIdentifier(name) {
		return ""
	}
	return name
}

var (
	// leftOutJSON finds the names in a prompt in JSON: what a source has is escaped there.
	leftOutJSON = lazy(`\{"section":"left out",[^\n]*`)
	// leftOutLine finds a line of names in a prompt, in JSON, too. Of a file name with spaces it is the last word, as where
	// an answer cites it.
	leftOutLine = lazy(`(?m)(?:^|\\n|"text":")(?:[^:"\\\n]* )?([\pL\pN_][\pL\pN_./@+~-]*\.(?:go|s)): ([^"\\\n]*)`)
	// leftOutName finds where one of its names begins.
	leftOutName = lazy(` (\d{1,7})(?: \([^()]*\))?(?: [^ ,()]+)?(?:,|$)`)
	// calledAt finds a call behind a name or in the mark of a gap.
	calledAt = lazy(`[(;:] ?[^ ;:()]+ (\d{1,7})`)
)

// namedLines adds the lines that names in a prompt stand for.
func (fl fileLines) namedLines(prompt string) {
	for _, m := range leftOutLine().FindAllStringSubmatch(namesIn(prompt), -1) {
		anywhere := lineRange{m[1], 1, math.MaxInt}
		fl.addLines(anywhere, m[2], leftOutName())
		fl.addLines(anywhere, m[2], calledAt())
	}
}

// namesIn are the lines of a prompt that have its names. What a source has that looks like them is none.
func namesIn(prompt string) string {
	var b strings.Builder
	fence, in := "", false // fence: what the code ends with that a line is in
	for line := range strings.Lines(prompt) {
		line = strings.TrimRight(line, "\n")
		switch ticks := len(line) - len(strings.TrimLeft(line, "`")); {
		case line == "<![CDATA[" && fence == "" && !in:
			fence = "]]>"
		case fence != "":
			if line == fence {
				fence = ""
			}
		case ticks >= 3:
			fence = line[:ticks]
		case strings.HasPrefix(line, "## "):
			in = line == "## Left out"
		case line == "<left_out>":
			in = true
		case line == "</left_out>":
			in = false
		case in:
			b.WriteString(line + "\n")
		default:
			b.WriteString(leftOutJSON().FindString(line) + "\n")
		}
	}
	return b.String()
}

// addLines adds the lines within a range that a text has at a pattern.
func (fl fileLines) addLines(within lineRange, text string, at *regexp.Regexp) {
	for _, n := range at.FindAllStringSubmatch(text, -1) {
		if line, _ := strconv.Atoi(n[1]); line >= within.from && line <= within.to { // seven digits fit
			fl.add(lineRange{within.file, line, line})
		}
	}
}
