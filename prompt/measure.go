package prompt

import (
	"cmp"
	"math"
	"slices"
)

// unit is an item that wants room, with what it costs.
type unit struct {
	Item
	it    *item
	why   string // Score
	times int    // how often it is in the prompt
	room  int    // bytes of its excerpt
	forms [TierFull + 1]*item
	exact bool // Tokens are counted, and forms there
}

// rounds bounds how often items are chosen anew because what was chosen turned
// out to cost more than was guessed. The first few find nearly all; what follows is
// one short function after the other for the last tokens that are left.
const rounds = 10

// choose returns what replaces each function, in about so many tokens.
//
// Counting all sources of a large trace takes seconds. So an item that nobody
// looked at has a cost that is a fair guess, a little low; the items that are
// chosen on such terms are counted, and all are chosen again, until only counted
// ones are. What is left out for good was so at a price that it would hardly have
// had in truth.
func (f *fitter) choose(room int) map[*item]*item {
	f.guess()
	floor := f.floor()
	items := make([]Item, len(f.units))
	var tiers []Tier
	for round := range rounds {
		for i := range f.units {
			items[i] = f.units[i].Item
			if round == rounds-1 && !f.units[i].exact || items[i].Score < floor {
				items[i] = Item{} // nothing is chosen unseen, or that hardly matters
			}
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
		if u := &f.units[i]; t > TierFolded {
			shown[u.it] = u.forms[t]
		}
	}
	return shown
}

// leastShare is the part of the best score from which on a function has room. Of the 81
// functions in the development corpus of make eval 77 have a quarter of it or more, and
// the others none.
const leastShare = .03

// floor is the score from which on a function has room beside its line in the tree. What
// is below it matches nothing, or stands near what does: its source would tell nothing, and make
// the prompt longer.
func (f *fitter) floor() float64 {
	best := 0.0
	for i := range f.units {
		best = max(best, f.units[i].Score)
	}
	if !f.asked {
		return math.Inf(-1)
	}
	return best * leastShare
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
		if g(full) > middleFrom*u.times {
			// How much of it ran is seen once its window comes into question.
			u.Tokens[TierWindow] = min(g(u.room), g(full)/2)
		}
		sign := full - len(u.it.text) + min(len(u.it.source.Doc), shortDoc) + len(u.it.source.Signature) + 30
		u.Tokens[TierSignature] = g(min(sign, full))
	}
}

// worth is the part of the next tier's tokens, in per cent, from which on a tier
// is not: it would say less at nearly the same price.
const worth = 80

// measure counts what a unit costs at each tier.
func (f *fitter) measure(u *unit) {
	u.exact = true
	u.Tokens = [TierFull + 1]int{}
	above := 0
	for t := TierFull; t > TierLine; t-- {
		var form *item
		switch {
		case t == TierFull || t == TierSignature:
			form = f.m.at(u.it, t)
		case u.Tokens[TierFull]/u.times <= middleFrom:
		case t == TierWindow:
			form = f.m.around(u.it, u.room)
		default:
			form = f.m.at(u.it, t)
		}
		if form == nil {
			continue
		}
		n := f.o.Counter.Count(f.o.item(form)) * u.times
		if above == 0 || n < above*worth/100 {
			u.forms[t], u.Tokens[t], above = form, n, n
		}
	}
	// What is hardly longer than its signature has no less than all.
	if n := u.Tokens[TierFull]; u.Tokens[TierSignature] == 0 && n/u.times <= middleFrom {
		u.forms[TierSignature], u.Tokens[TierSignature] = u.forms[TierFull], n
	}
}

// bytesOfToken are those of source, about.
const bytesOfToken = 3.4

// rooms says how many bytes the excerpt of each unit may have. The best one's has a
// tenth of the budget, the second one's a twentieth, and so on: many of them would leave
// nothing for the sources that they lead to.
func (f *fitter) rooms() {
	const least, most = 80, 700 // tokens
	items := make([]Item, len(f.units))
	for i := range f.units {
		items[i] = f.units[i].Item
	}
	for n, i := range ranked(items) {
		tokens := min(max(f.o.Budget/(10+10*n), least), most)
		f.units[i].room = int(float64(tokens) * bytesOfToken)
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
