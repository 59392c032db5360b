package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tracerag/calltree"
	"tracerag/trace"
	"tracerag/trace/symbol"
)

// treeShare is how much of the room for tree and sources, in per cent, the tree
// may have while there are sources that do not fit. The tree of 100 functions
// takes about 3,000 tokens: all of it would take from a budget of 8,000 what the
// functions need that the question is about.
const treeShare = 15

// Fitted says how much of a function a prompt has that was made to fit a budget.
type Fitted struct {
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
		thousands(e.Budget), about, thousands(e.Least))
	for _, s := range e.Largest {
		fmt.Fprintf(&b, "\n  %s tokens  %s", thousands(s.Tokens), s.Name)
	}
	b.WriteString("\ngive a larger --budget, or ask a shorter question")
	return b.String()
}

// unit is an item that wants room, with what it costs.
type unit struct {
	Item
	it    *item
	why   string // Score
	times int    // how often it stands in the prompt
	forms [TierFull + 1]*item
	exact bool // Tokens are counted, and forms there
}

// fitter makes a material fit.
type fitter struct {
	m      *material
	o      Options
	scores map[trace.Function]scored
	units  []unit
	tree   *unfolder // nil: the variant has no tree
	ratio  float64   // tokens a byte of source, for guesses
}

// fit makes the prompt within the budget of the options.
//
// The fixed parts (instructions, question, the marks of what is left out) take
// what they take. Of the room that they leave, the tree has its share first, the
// sources what the tree leaves, and the tree again what the sources leave. Each
// step works with sums of parts or guesses, so the end is a count of the whole
// text: if that is over, less is given to the sources.
func (m *material) fit(in Input, o Options) (*Prompt, error) {
	f := &fitter{m: m, o: o, scores: m.scores(in.Score)}
	if whole, err := f.whole(); whole != nil || err != nil {
		return whole, err
	}
	m.cut = &cut{items: map[*item]*item{}, nodes: map[*calltree.Node]bool{}}
	least, err := f.build()
	if err != nil {
		return nil, err
	}
	if least.Total > o.Budget {
		return nil, overBudget(least, o.Budget)
	}
	f.tree = f.unfolder()
	room := o.Budget - least.Total
	share := room
	if len(f.units) > 0 {
		share = room * treeShare / 100
	}
	if err := f.fitTree(share); err != nil {
		return nil, err
	}
	p, err := f.fitSources()
	if err != nil {
		return nil, err
	}
	if f.tree != nil {
		if p, err = f.regrow(p); err != nil {
			return nil, err
		}
	}
	return f.report(p), nil
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
	all := map[*item]*item{}
	for _, it := range f.m.union() {
		all[it] = it
	}
	f.m.cut = &cut{items: all, nodes: map[*calltree.Node]bool{}}
	sources, err := f.m.render(f.o)
	f.m.cut = nil
	if err != nil {
		return nil, err
	}
	f.count(sources)
	bytes := 0
	for _, s := range sources {
		bytes += len(s.text)
	}
	if bytes > f.o.Budget*bytesPerToken || f.hasTree() && f.nodes() > f.o.Budget*nodesPerToken {
		return nil, nil
	}
	p, err := f.build()
	if err != nil || p.Total > f.o.Budget {
		return nil, err
	}
	for i := range f.units {
		f.measure(&f.units[i])
	}
	return f.report(p), nil
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
}

func overBudget(least *Prompt, budget int) *OverBudgetError {
	largest := slices.Clone(least.Sections)
	slices.SortStableFunc(largest, func(a, b Section) int { return b.Tokens - a.Tokens })
	return &OverBudgetError{budget, least.Total, least.Estimated, largest[:min(len(largest), 5)]}
}

// unfolder returns one for the trees, nil if the prompt has none.
func (f *fitter) unfolder() *unfolder {
	if !f.hasTree() {
		return nil
	}
	costs := map[*trace.Function]int{}
	cost := func(n *calltree.Node) int {
		c, ok := costs[n.Func]
		if !ok {
			// A line break with the indent is a token, and a count two or three.
			c = 3 + len(symbol.Short(n.Func.Name))/4
			costs[n.Func] = c
		}
		return c + n.ValuesLen()/3
	}
	return newUnfolder(f.m.runs, func(fn *trace.Function) float64 { return f.scores[*fn].score }, cost)
}

// treeTokens counts the trees as they are cut now.
func (f *fitter) treeTokens() int {
	n := 0
	for i := range f.m.runs {
		n += f.o.Counter.Count(f.m.treeText(&f.m.runs[i], f.o.treeVariant()))
	}
	return n
}

// treeVariant is the variant that the tree of a prompt is made for: a template
// is given that with positions.
func (o *Options) treeVariant() Variant {
	if o.Template != "" {
		return T
	}
	return o.Variant
}

// fitTree cuts the trees to about the share: they lose first the positions of
// functions without a source, then nodes.
func (f *fitter) fitTree(share int) error {
	if f.tree == nil {
		return nil
	}
	c := f.m.cut
	for _, positions := range []bool{true, false} {
		if c.positions = false; f.nodes() > share*nodesPerToken {
			break
		}
		c.nodes, c.positions = nil, positions
		bytes := 0
		for i := range f.m.runs {
			bytes += len(f.m.treeText(&f.m.runs[i], f.o.treeVariant()))
		}
		if bytes <= share*bytesPerToken && f.treeTokens() <= share {
			return nil
		}
	}
	// Guesses are off by a factor that is much the same for all of a tree.
	guess, fits := share, map[*calltree.Node]bool{}
	for range 5 {
		c.nodes = f.tree.choose(guess)
		n := f.treeTokens()
		if n <= share && len(c.nodes) > len(fits) {
			fits = c.nodes
		}
		if n <= share && n >= share*9/10 || n == 0 {
			break
		}
		guess = guess * share / n * 97 / 100
	}
	c.nodes = fits
	return nil
}

// fitSources gives the sources what the budget leaves beside the tree.
func (f *fitter) fitSources() (*Prompt, error) {
	f.m.cut.items = map[*item]*item{}
	p, err := f.build()
	if err != nil || len(f.units) == 0 {
		return p, err
	}
	room := f.o.Budget - p.Total
	for room > 0 {
		f.choose(room)
		q, err := f.build()
		if err != nil {
			return nil, err
		}
		if q.Total <= f.o.Budget {
			return q, nil
		}
		room -= q.Total - f.o.Budget
	}
	f.m.cut.items = map[*item]*item{}
	return f.build()
}

// rounds bounds how often items are chosen anew because what was chosen turned
// out to cost more than was guessed.
const rounds = 40

// choose fills in what stands for each item, in about so many tokens.
//
// Counting all sources of a large trace takes seconds. So an item that nobody
// looked at has a cost that is a fair guess, a little low; the items that are
// chosen on such terms are counted, and all are chosen again, until only counted
// ones are. What is left out for good was so at a price that it would hardly have
// had in truth.
func (f *fitter) choose(room int) {
	f.guess()
	items := make([]Item, len(f.units))
	var tiers []Tier
	for range rounds {
		for i := range f.units {
			items[i] = f.units[i].Item
		}
		tiers = Fit(items, room)
		again := false
		for i, t := range tiers {
			if t > TierFolded && !f.units[i].exact {
				f.measure(&f.units[i])
				again = true
			}
		}
		if !again {
			break
		}
	}
	shown := map[*item]*item{}
	for i, t := range tiers {
		if u := &f.units[i]; t > TierFolded && u.exact {
			shown[u.it] = u.forms[t]
		}
	}
	f.m.cut.items = shown
}

// sample is how many items are counted to tell how many tokens a byte is.
const sample = 16

// guess gives all units a cost that is not counted yet, from the length of
// their text.
func (f *fitter) guess() {
	if f.ratio > 0 {
		return
	}
	order := make([]int, len(f.units))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.units[b].Score, f.units[a].Score) })
	count, bytes := 0, 0
	for _, i := range order[:min(sample, len(order))] {
		u := &f.units[i]
		f.measure(u)
		count += u.Tokens[TierFull] / u.times
		bytes += len(f.o.item(u.it))
	}
	f.ratio = float64(count) / float64(max(bytes, 1))
	for i := range f.units {
		u := &f.units[i]
		if u.exact {
			continue
		}
		g := func(n int) int { return max(1, int(float64(n)*f.ratio*3/4)*u.times) }
		full := len(u.it.text) + len(u.it.name) + len(u.it.position) + len(u.it.note)
		u.Tokens[TierFull] = g(full)
		if u.it.source.Signature == "" {
			continue
		}
		if g(full) > longFrom*u.times {
			f.measure(u) // what it is cut down to cannot be guessed
			continue
		}
		if sign := full - len(u.it.text) + min(len(u.it.source.Doc), shortDoc) + len(u.it.source.Signature) + 30; sign < full*worth/100 {
			u.Tokens[TierSignature] = g(sign)
		}
	}
}

// worth is the part of the next tier's tokens, in per cent, from which on a tier
// is not: it would say less at nearly the same price.
const worth = 80

// longFrom is the length in tokens from which a function has the tiers between
// its signature and its whole source.
const longFrom = 2_000

// measure counts what a unit costs at each tier.
func (f *fitter) measure(u *unit) {
	u.exact = true
	u.Tokens = [TierFull + 1]int{}
	above := 0
	for t := TierFull; t > TierLine; t-- {
		if (t == TierRan || t == TierWindow) && u.Tokens[TierFull]/u.times <= longFrom {
			continue
		}
		form := f.m.at(u.it, t)
		if form == nil {
			continue
		}
		n := f.o.Counter.Count(f.o.item(form)) * u.times
		if above == 0 || n < above*worth/100 {
			u.forms[t], u.Tokens[t], above = form, n, n
		}
	}
}

// item is an item as the prompt will have it; a template may have it otherwise.
func (o *Options) item(it *item) string {
	switch {
	case o.Template != "":
	case o.Format == XML:
		return xmlItem(it)
	case o.Format == JSON:
		return jsonItem(it) + ",\n"
	}
	return markdownItem(it)
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
		fit := Fitted{Holds: u.it.holds, Name: u.it.name, Position: u.it.position, Tier: TierFull, Score: u.Score, Why: u.why}
		for t, n := range u.Tokens {
			if n > 0 {
				if fit.Tokens == nil {
					fit.Tokens = map[Tier]int{}
				}
				fit.Tokens[Tier(t)] = n
			}
		}
		if c != nil {
			fit.Guess = !u.exact
			switch s := c.items[u.it]; {
			case s != nil:
				fit.Tier, fit.Elided = s.tier, s.elided
			case f.tree != nil && (c.nodes == nil || listed[u.it]):
				fit.Tier = TierLine
			default:
				fit.Tier = TierFolded
			}
			if fit.Tier <= TierLine && u.it.text != "" {
				fit.Elided = strings.Count(u.it.text, "\n") + 1
			}
		}
		p.Fitted = append(p.Fitted, fit)
	}
	slices.SortStableFunc(p.Fitted, func(a, b Fitted) int { return cmp.Compare(b.Score, a.Score) })
	return p
}
