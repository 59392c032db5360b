package prompt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tracerag/calltree"
	"tracerag/phrase"
	"tracerag/trace"
)

// treeShare is how much of the room for tree and sources, in per cent, the tree
// may have while there are sources that do not fit: of the first tokens of it little, since
// there the best sources come first.
//
// The tree tells the way to the best functions. Where these are, what else there is, and what calls what, the
// names tell for less, and where there are names the tree has half as much: see docs/prompts.md for what its share
// (it was 30 %) and that of the names are worth in lines that true answers cite.
const (
	treeShareFirst = 10
	treeShareRest  = 15
	treeFirst      = 2_000 // tokens
)

// treeShare is what the tree may have of so much room.
func treeShare(room int, below bool) int {
	first := min(room, treeFirst)
	share := (first*treeShareFirst + (room-first)*treeShareRest) / 100
	if below {
		return share / 2
	}
	return share
}

// Shown says how much of a function, or of a declaration, a prompt has that was
// made to fit a budget.
type Shown struct {
	Name     string  `json:"name"`
	Position string  `json:"position,omitempty"`
	Tier     Tier    `json:"tier"`
	Elided   int     `json:"lines_left_out,omitempty"` // of its source
	Score    float64 `json:"score"`
	Why      string  `json:"why,omitempty"` // it has this score
	// Tokens are what it costs at each tier that it has, everywhere in the prompt
	// together. They are a guess where they were too many to be looked at closer.
	Tokens map[Tier]int `json:"tokens,omitempty"`
	Guess  bool         `json:"guess,omitempty"`

	Holds []trace.Function `json:"-"` // as in [FunctionTokens]
}

// OverBudgetError says that not even the least prompt fits into the budget.
type OverBudgetError struct {
	Budget    int
	Least     int // tokens of the prompt without sources and with the tree folded
	Estimated bool
	Largest   []Section // of that prompt, at most five
}

func (e *OverBudgetError) Error() string {
	var b strings.Builder
	about := ""
	if e.Estimated {
		about = "about "
	}
	fmt.Fprintf(&b, "the budget is %s tokens, but without any source and with the call tree folded the prompt still has %s%s\nlargest parts:",
		phrase.Number(e.Budget), about, phrase.Number(e.Least))
	for _, s := range e.Largest {
		fmt.Fprintf(&b, "\n  %s tokens  %s", phrase.Number(s.Tokens), s.Name)
	}
	return b.String()
}

// fitter makes a material fit.
type fitter struct {
	m      *material
	o      Options
	scores map[trace.Function]scored
	units  []unit
	tree   *unfolder // nil: the prompt has no tree

	receivers map[*item]float64 // the types of methods, with their scores; nil: not looked for

	ratio float64 // tokens a byte of source, for guesses
	asked bool    // scores tell what a question is about
	limit int     // of the budget, without what names may have
	names int     // what these may have
}

// fit makes the prompt within the budget of the options.
//
// The fixed parts (instructions, question, the marks of what is left out) take
// what they take. Of the room that they leave, the tree has its share first, the
// sources what the tree leaves, and the tree again what the sources leave. Each
// step works with sums of parts or guesses, so the end is a count of the whole
// text: if that is over, less is given to the sources.
func (m *material) fit(in Input, o Options) (*Prompt, error) {
	f := &fitter{m: m, o: o, scores: m.scores(in.Score), asked: in.Score != nil, limit: o.Budget}
	if whole, err := f.whole(); whole != nil || err != nil {
		return whole, err
	}
	if p, err := f.wholeSources(); p != nil || err != nil {
		return p, err
	}
	m.cut = &cut{items: map[*item]*item{}, nodes: map[*calltree.Node]bool{}}
	least, err := f.build()
	if err != nil {
		return nil, err
	}
	if least.Total > o.Budget {
		return nil, overBudget(least, o.Budget)
	}
	room := o.Budget - least.Total
	if f.keepsPositions() {
		f.names = max(room-namesFrom, 0) * namesShare / 100
		m.cut.below = f.names > 0
	}
	f.tree = f.unfolder()
	share := room
	if len(f.units) > 0 {
		share = treeShare(room, m.cut.below)
	}
	if err := f.fitTree(share); err != nil {
		return nil, err
	}
	f.limit -= f.names
	p, err := f.fitAll()
	if unused := o.Budget - f.limit; err == nil && o.Budget-p.Total > unused/2 && unused > 0 {
		// Everything has its name. What these did not need is for the sources.
		f.limit = min(o.Budget, f.limit+o.Budget-p.Total)
		p, err = f.fitAll()
	}
	if err != nil {
		return nil, err
	}
	if f.tree != nil {
		if p, err = f.regrow(p); err != nil {
			return nil, err
		}
		// What the tree has now needs no name.
		if p, err = f.fitNames(p, o.Budget); err != nil {
			return nil, err
		}
	}
	return f.report(p), nil
}

// fitAll fits sources, declarations and names beside the tree.
func (f *fitter) fitAll() (*Prompt, error) {
	f.m.cut.names = nil
	p, err := f.fitSources(f.limit)
	if err == nil && f.m.named != nil {
		p, err = f.fitBoth(p)
	}
	if err != nil {
		return nil, err
	}
	return f.fitNames(p, p.Total+f.names)
}

// regrow gives the tree what the sources could not use.
func (f *fitter) regrow(p *Prompt) (*Prompt, error) {
	before := *f.m.cut
	if err := f.fitTree(f.treeTokens() + f.o.Budget - p.Total); err != nil {
		return nil, err
	}
	more, err := f.build()
	if err != nil {
		return nil, err
	}
	if more.Total > f.o.Budget || f.m.cut.nodes != nil && len(f.m.cut.nodes) <= len(before.nodes) {
		*f.m.cut = before
		return p, nil
	}
	return more, nil
}

// What a token may hold at most, on average over a text of some length: what is
// longer need not be counted, nor a tree of more nodes written, to know that it is
// over.
const (
	bytesPerToken = 8
	nodesPerToken = 1
)

// whole is the prompt with all that there is, nil if that does not fit. It also
// lists the items.
func (f *fitter) whole() (*Prompt, error) {
	functions := map[*item]*item{}
	for _, it := range f.m.union() {
		functions[it] = it
	}
	f.m.cut = &cut{items: functions, nodes: map[*calltree.Node]bool{}}
	sources, err := f.m.render(f.o)
	f.m.cut = nil
	if err != nil {
		return nil, err
	}
	f.count(sources)
	if size(sources) > f.o.Budget*bytesPerToken || f.hasTree() && f.nodes() > f.o.Budget*nodesPerToken {
		return nil, nil
	}
	all, err := f.m.render(f.o)
	if err != nil || size(all) > f.o.Budget*bytesPerToken {
		return nil, err
	}
	p := account(all, f.o)
	if p.Total > f.o.Budget || !f.o.Types && slices.ContainsFunc(p.Types, func(t FunctionTokens) bool { return t.Tokens > giantDeclaration }) {
		return nil, nil
	}
	for i := range f.units {
		f.measure(&f.units[i])
	}
	return f.report(p), nil
}

// giantDeclaration is the length in tokens from which a declaration is never whole that
// nobody asked for: tables of Unicode take 100,000.
const giantDeclaration = 1_500

// wholeSources is the prompt with all sources and the whole tree, and the declarations
// that then fit; nil if not even the sources do.
func (f *fitter) wholeSources() (*Prompt, error) {
	if f.m.named == nil || f.hasTree() && f.nodes() > f.o.Budget*nodesPerToken {
		return nil, nil
	}
	items := map[*item]*item{}
	for i := range f.units {
		items[f.units[i].it] = f.units[i].it
	}
	f.m.cut = &cut{items: items, positions: true}
	segments, err := f.m.render(f.o)
	if err != nil || size(segments) > f.o.Budget*bytesPerToken {
		f.m.cut = nil
		return nil, err
	}
	p := account(segments, f.o)
	if p.Total > f.o.Budget {
		f.m.cut = nil
		return nil, nil
	}
	for i := range f.units {
		f.measure(&f.units[i])
	}
	if p, _, err = f.fitDeclarations(p); err != nil {
		return nil, err
	}
	return f.report(p), nil
}

func size(segments []segment) int {
	n := 0
	for _, s := range segments {
		n += len(s.text)
	}
	return n
}

func (f *fitter) hasTree() bool { return f.o.Template != "" || f.o.Variant.hasTree() }

// nodes is the number of nodes in all trees.
func (f *fitter) nodes() int {
	n := 0
	for i := range f.m.runs {
		n += f.m.runs[i].tree.Size
	}
	return n
}

// build makes the prompt with what is cut now.
func (f *fitter) build() (*Prompt, error) {
	segments, err := f.m.render(f.o)
	if err != nil {
		return nil, err
	}
	return account(segments, f.o), nil
}

// count lists the items of the whole prompt and how often each stands in it, as
// its own uses say: of a template nothing else is known.
func (f *fitter) count(whole []segment) {
	at := map[*item]int{}
	for _, s := range whole {
		for _, u := range s.uses {
			i, ok := at[u.item]
			if !ok {
				i = len(f.units)
				at[u.item] = i
				f.units = append(f.units, unit{it: u.item})
			}
			f.units[i].times++
		}
	}
	// A text has the score of the best of the functions in it.
	has := make([]bool, len(f.units))
	for _, fn := range f.m.order {
		i, ok := at[f.m.items[fn]]
		if s := f.scores[fn]; ok && (!has[i] || s.score > f.units[i].Score) {
			has[i] = true
			f.units[i].Score, f.units[i].why = s.score, s.why
		}
	}
	f.part()
	f.lead(at)
	if f.keepsPositions() {
		score := map[*item]float64{}
		for i := range f.units {
			u := &f.units[i]
			if score[u.it] = u.Score; moduleOf(u.it.source.Display) == "" {
				score[u.it] += foreign
			}
		}
		f.m.callers = f.m.callSites(score)
	}
	f.rooms()
}

func overBudget(least *Prompt, budget int) *OverBudgetError {
	largest := slices.Clone(least.Sections)
	slices.SortStableFunc(largest, func(a, b Section) int { return b.Tokens - a.Tokens })
	return &OverBudgetError{budget, least.Total, least.Estimated, largest[:min(len(largest), 5)]}
}

// fitSources gives the sources what a limit of tokens leaves beside the tree.
func (f *fitter) fitSources(limit int) (*Prompt, error) {
	f.m.cut.items = map[*item]*item{}
	p, err := f.build()
	if err == nil && p.Total > limit && f.tree != nil {
		// The places in the tree name modules that are to be explained.
		f.m.cut.nodes, f.m.cut.positions = map[*calltree.Node]bool{}, false
		p, err = f.build()
	}
	if err != nil || len(f.units) == 0 {
		return p, err
	}
	return f.within(limit, limit-p.Total, p, func(room int) map[*item]*item { return f.choose(room) })
}

// within makes the prompt with what choose makes stand for some items, given the
// room that the limit leaves beside the prompt p, which has none of them. What is
// chosen may turn out to be too much when the whole is counted; then there is so
// much less room.
func (f *fitter) within(limit, room int, p *Prompt, choose func(room int) map[*item]*item) (*Prompt, error) {
	before := f.m.cut.items
	for room > 0 {
		f.m.cut.items = maps.Clone(before)
		maps.Copy(f.m.cut.items, choose(room))
		q, err := f.build()
		if err != nil {
			return nil, err
		}
		if q.Total <= limit {
			return q, nil
		}
		room -= q.Total - limit
	}
	f.m.cut.items = before
	return p, nil
}

// report adds to a prompt what was fitted, the most relevant first.
func (f *fitter) report(p *Prompt) *Prompt {
	p.Budget = f.o.Budget
	c := f.m.cut
	listed := map[*item]bool{}
	if c != nil && c.nodes != nil {
		for i := range f.m.runs {
			for n := range nodes(f.m.runs[i].tree) {
				if c.nodes[n] {
					listed[f.m.items[*n.Func]] = true
				}
			}
		}
	}
	for i := range f.units {
		u := &f.units[i]
		fit := shown(u.it, &u.Item, c)
		fit.Why, fit.Guess = f.m.mask(u.why), c != nil && !u.exact
		if fit.Tier == TierFolded && f.tree != nil && (c.nodes == nil || listed[u.it]) {
			fit.Tier = TierLine
		}
		p.Shown = append(p.Shown, fit)
	}
	if f.m.named != nil {
		decls, items, _ := f.declarations()
		for i, d := range decls {
			fit := shown(d, &items[i], c)
			fit.Why = "named by a function"
			p.Shown = append(p.Shown, fit)
		}
	}
	slices.SortStableFunc(p.Shown, func(a, b Shown) int { return cmp.Compare(b.Score, a.Score) })
	return p
}

// shown says how much of an item is left by a cut.
func shown(it *item, costs *Item, c *cut) Shown {
	fit := Shown{Holds: it.holds, Name: it.name, Position: it.position, Tier: TierFull, Score: costs.Score, Tokens: map[Tier]int{}}
	for t, n := range costs.Tokens {
		if n > 0 {
			fit.Tokens[Tier(t)] = n
		}
	}
	if s := c.stands(it); s != nil {
		fit.Tier, fit.Elided = s.tier, s.elided
		return fit
	}
	fit.Tier = TierFolded
	if it.text != "" {
		fit.Elided = strings.Count(it.text, "\n") + 1
	}
	return fit
}
