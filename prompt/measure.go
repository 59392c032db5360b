package prompt

import (
	"cmp"
	"slices"
)

// unit is an item that wants room, with what it costs.
type unit struct {
	Item
	it    *item
	why   string // Score
	times int    // how often it is in the prompt
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
	items := make([]Item, len(f.units))
	var tiers []Tier
	for round := range rounds {
		for i := range f.units {
			items[i] = f.units[i].Item
			if round == rounds-1 && !f.units[i].exact {
				items[i] = Item{} // nothing is chosen unseen
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
			// How much of it ran is seen once its window comes into question.
			u.Tokens[TierWindow] = g(windowBytes)
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
