package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tracerag/trace/symbol"
)

// namesShare is how much of the room beyond the first tokens of it, in per cent, the names
// may have of what a prompt leaves out otherwise. A name with its line takes six tokens, a line of the call tree
// fifteen and those of its callers, a source a hundred and more. Of the places that
// the true answers of fixtures/experiments cite and prompts of 8,000 tokens did not have,
// half were the beginnings of functions and types that these did not even name.
const (
	namesShare = 25
	namesFrom  = 1_000 // tokens
)

// leftOut is the section with the names of what the prompt has nothing else of: functions
// with neither source nor line in the call tree, and declarations that the sources name.
// It has a line for each file, in the order of first calls.
func (m *material) leftOut(parts []part) part {
	p := part{kind: partNames}
	if m.cut == nil || len(m.cut.names) == 0 {
		return p
	}
	listed := m.listed()
	var files []string
	names := map[string][]string{}
	receiver := map[string]string{}
	seen := map[*item]bool{}
	for _, list := range parts {
		for _, it := range list.items {
			if seen[it] || !m.cut.names[it] || listed[it] || m.cut.shows(it) {
				continue
			}
			seen[it] = true
			file, _, _ := strings.Cut(it.position, ":")
			if names[file] == nil {
				files = append(files, file)
			}
			name := it.bareName()
			if of := receiverOf(name); of != "" && of == receiver[file] {
				name = name[len(of):] // as in an index
			} else {
				receiver[file] = of
			}
			name += " " + strconv.Itoa(it.source.Start)
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

// listed are the items that have a line with a place in a call tree that is cut.
func (m *material) listed() map[*item]bool {
	listed := map[*item]bool{}
	if !m.cut.positions {
		return listed
	}
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
	if !f.keepsPositions() || limit <= p.Total || len(f.units) == 0 {
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
	listed := f.m.listed()
	type wish struct {
		it    *item
		score float64
	}
	var wishes []wish
	for i := range f.units {
		u := &f.units[i]
		if u.it.source.Start <= 0 || f.m.cut.shows(u.it) || listed[u.it] {
			continue
		}
		score := u.Score
		if moduleOf(u.it.source.Display) == "" {
			score += foreign
		}
		wishes = append(wishes, wish{u.it, score})
	}
	if f.m.named != nil {
		decls, items, _ := f.declarations()
		for i, d := range decls {
			if !f.m.cut.shows(d) {
				wishes = append(wishes, wish{d, items[i].Score + foreign})
			}
		}
	}
	slices.SortStableFunc(wishes, func(a, b wish) int { return cmp.Compare(b.score, a.score) })
	const least, most = 3, 30 // tokens that a name takes
	n := min(len(wishes), (limit-bare.Total)/least)
	for n > 0 {
		f.m.cut.names = map[*item]bool{}
		for _, w := range wishes[:n] {
			f.m.cut.names[w.it] = true
		}
		q, err := f.build()
		if err != nil {
			return nil, err
		}
		if q.Total <= limit {
			return q, nil
		}
		over := q.Total - limit
		// As many fewer as are over at the average price of a name, and at least one.
		n -= max(1, over*n/max(q.Total-bare.Total, 1), over/most)
	}
	f.m.cut.names = before
	return p, nil
}

var (
	// leftOutLine finds a line of names in a prompt, in JSON, too.
	leftOutLine = lazy(`(?m)(?:^|\\n|"text":")([\pL\pN_][\pL\pN_./@+~-]*\.(?:go|s)): ([^"\\\n]*)`)
	// leftOutName finds where one of its names begins.
	leftOutName = lazy(` (\d{1,7})(?: [^ ,]+)?(?:,|$)`)
)

// namedLines adds the lines that names in a prompt stand for.
func (fl fileLines) namedLines(prompt string) {
	for _, m := range leftOutLine().FindAllStringSubmatch(prompt, -1) {
		base := m[1][strings.LastIndexByte(m[1], '/')+1:]
		for _, n := range leftOutName().FindAllStringSubmatch(m[2], -1) {
			at, _ := strconv.Atoi(n[1]) // seven digits fit
			fl[base] = append(fl[base], lineRange{m[1], at, at})
		}
	}
}
