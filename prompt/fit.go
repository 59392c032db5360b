package prompt

import (
	"fmt"
	"math"
	"slices"
)

// Tier says how much of a function a prompt has: the higher, the more.
type Tier int

// The tiers.
const (
	// TierFolded is nothing of its own: where the function would stand in the call
	// tree, a mark counts it.
	TierFolded Tier = iota
	// TierLine is a line in the call tree.
	TierLine
	// TierSignature is the declaration without its body, with the doc comment.
	TierSignature
	// TierWindow is of a long function the part that the question is most likely about.
	TierWindow
	// TierRan is of a long function the statements that ran.
	TierRan
	// TierFull is the whole declaration.
	TierFull
)

var tierNames = [TierFull + 1]string{"folded", "line", "signature", "window", "ran", "full"}

func (t Tier) String() string {
	if t < 0 || t > TierFull {
		return fmt.Sprintf("Tier(%d)", int(t))
	}
	return tierNames[t]
}

// MarshalText writes the tier's name.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Item is a function that wants room in a prompt.
type Item struct {
	Score float64 // the higher, the more relevant
	// Tokens are what the function costs at each tier, a higher one no less than a
	// lower: 0 where there is no such tier. TierFolded is free and always there.
	Tokens [TierFull + 1]int
}

// lowerShare is the part of a budget, one in so many, that functions may have
// whose full source did not fit. Without it they would have what is left by
// chance, and a model would know the best functions and nothing of those that
// they call; of a budget of 8,000 tokens it gives about ten of them a
// signature.
const lowerShare = 16

// Fit chooses a tier for each item, so that together they cost at most the
// budget, in tokens:
//
//  1. If all fit at their highest tier, they have it.
//  2. Else the items come in the order of their worth, which is their score by what
//     they cost, equal ones in their own, and have [TierRan], if there is that tier,
//     and else [TierFull]; or the next tier above [TierSignature] that fits into what
//     is left of the budget less a sixteenth (or what all signatures cost, if that is
//     less). One that is too large at each of them is passed over, and smaller ones
//     after it go on.
//  3. In the same order those that have nothing get their [TierSignature] while it
//     fits into what is left of all.
//  4. In the same order each rises to the highest tier that then still fits.
//
// So of a long function what did not run makes room for others first, and comes
// back in step 4. One of which that is not known, and which as a whole would take
// more than three quarters of the budget, has no more than its [TierWindow] before
// step 4: it would leave nothing for the rest.
//
// In the end no item could rise without another falling. More budget may all the
// same take an item away: with 100 tokens a function of 100 is whole that with
// 150 has to give way to a better one of 150. Keeping it would be no better rule,
// since it fills the budget with what is small and keeps out what is relevant.
//
// It takes time in proportion to the number of items and its logarithm.
func Fit(items []Item, budget int) []Tier {
	tiers := make([]Tier, len(items))
	total, lower := 0, 0
	for i := range items {
		tiers[i] = items[i].top()
		total += items[i].cost(tiers[i])
		lower += items[i].cost(TierSignature)
	}
	if total <= budget {
		return tiers
	}
	clear(tiers)
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	values := make([]float64, len(items))
	for i := range items {
		values[i] = items[i].worth(budget)
	}
	// As a stable sort does, in a tenth of the time.
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] > values[b]:
			return -1
		case values[a] < values[b]:
			return 1
		}
		return a - b
	})

	left := max(budget, 0)
	reserved := min(left/lowerShare, lower)
	raise := func(i int, least, most Tier, room int) {
		it := &items[i]
		for t := most; t >= least && t > tiers[i]; t-- {
			if it.Tokens[t] <= 0 {
				continue
			}
			if more := it.cost(t) - it.cost(tiers[i]); more <= room {
				tiers[i] = t
				left -= more
				return
			}
		}
	}
	for _, i := range order {
		raise(i, TierWindow, items[i].aim(budget), left-reserved)
	}
	for _, i := range order {
		raise(i, TierSignature, TierSignature, left)
	}
	for _, i := range order {
		raise(i, TierLine, TierFull, left)
	}
	return tiers
}

// worth is an item's score by what it costs. A budget is spent best on what has
// most relevance a token; but a long function is of more use than a short one that
// scores the same, so cost counts by its fourth root: one of 5,000 tokens has to
// score twice as much as one of 200 to come before it. Of the 81 functions in the
// development corpus of make eval, 68, 72, 76 and 77 are whole in 4,000, 8,000,
// 16,000 and 32,000 tokens of source; by score alone 67, 71, 74 and 73. Roots from the
// third to the fifth do as well, a score by each token does worse.
func (it *Item) worth(budget int) float64 {
	const small = 100 // differences between functions of fewer tokens are none
	return it.Score / math.Sqrt(math.Sqrt(small+float64(it.cost(it.aim(budget)))))
}

// aim is the tier that an item is to have while others want room.
func (it *Item) aim(budget int) Tier {
	switch {
	case it.Tokens[TierRan] > 0:
		return TierRan
	case it.Tokens[TierWindow] > 0 && it.Tokens[TierFull] > budget*3/4:
		return TierWindow
	}
	return it.top()
}

// top is the item's highest tier.
func (it *Item) top() Tier {
	for t := TierFull; t > TierFolded; t-- {
		if it.Tokens[t] > 0 {
			return t
		}
	}
	return TierFolded
}

func (it *Item) cost(t Tier) int {
	if t == TierFolded {
		return 0
	}
	return max(it.Tokens[t], 0)
}
