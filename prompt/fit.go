package prompt

import (
	"cmp"
	"fmt"
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
	// TierWindow is of all but a short function the part that the question is most likely about.
	TierWindow
	// TierRan is of all but a short function the statements that ran.
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

// lowerShare is the part of a budget, one in so many, that is kept for the signatures
// of functions of which nothing more fits. Without it they would have what is left by
// chance, and a model would know the best functions and nothing of those that they call.
const lowerShare = 32

// middleFrom is the size in tokens from which a function has the tiers between its
// signature and its whole source.
const middleFrom = 200

// Fit chooses a tier for each item, so that together they cost at most the
// budget, in tokens:
//
//  1. If all fit at their highest tier, they have it.
//  2. Else the items come in the order of their scores, of those that score alike the
//     cheaper one first, and have [TierRan], if there is that tier, and else [TierFull];
//     but no more than a share of what is left of the budget less a thirty-second (or
//     what all signatures cost, if that is less): nine tenths for the first, and less
//     from item to item. One that is larger has its [TierWindow]. The first item that
//     does not fit ends this step.
//  3. In the same order the others get their [TierSignature], until one does not fit.
//  4. In the same order each rises to the highest tier that then still fits, if all
//     before it have as much.
//
// So no item is worse off than one with a lower score, where [TierWindow] and more
// count as alike: a better item has no more than its [TierWindow] only if the next tier
// is too large. One that is too large and has no [TierWindow] is passed over.
//
// Of a long function what did not run makes room for others first, and comes
// back in step 4.
//
// More budget may take an item away: with 100 tokens a function of 100 is whole that
// with 150 has to give way to a better one of 150. Keeping it would be no better rule,
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
	left := max(budget, 0)
	reserved := min(left/lowerShare, lower)
	order := ranked(items)
	raise := func(i int, t Tier, room int) bool {
		it := &items[i]
		more := it.cost(t) - it.cost(tiers[i])
		if it.Tokens[t] <= 0 || more > room {
			return false
		}
		tiers[i] = t
		left -= more
		return true
	}
	for n, i := range order {
		it := &items[i]
		aim := it.aim()
		if aim == TierFolded {
			continue
		}
		if it.cost(aim) > shareOf(n, left) && it.cost(aim) > middleFrom {
			if it.Tokens[TierWindow] <= 0 {
				continue
			}
			aim = TierWindow
		}
		if !raise(i, aim, left-reserved) && !raise(i, TierWindow, left-reserved) {
			break
		}
	}
	for _, i := range order {
		if tiers[i] == TierFolded && items[i].Tokens[TierSignature] > 0 && !raise(i, TierSignature, left) {
			break
		}
	}
	ceiling := TierFull
	for _, i := range order {
		for t := items[i].top(); t > tiers[i]; t-- {
			if level(t) <= level(ceiling) && raise(i, t, left) {
				break
			}
		}
		if !items[i].passedOver() {
			ceiling = min(ceiling, level(tiers[i]))
		}
	}
	return tiers
}

// ranked is the order of items: by score, and of those that score alike the cheaper one
// first.
func ranked(items []Item) []int {
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	// As a stable sort does, in a tenth of the time.
	slices.SortFunc(order, func(a, b int) int {
		x, y := &items[a], &items[b]
		switch {
		case x.Score > y.Score:
			return -1
		case x.Score < y.Score:
			return 1
		}
		return cmp.Or(cmp.Compare(x.cost(x.aim()), y.cost(y.aim())), a-b)
	})
	return order
}

// shareOf is how much the n-th item, from 0, may have of what is left: nine tenths, and
// half of that for the sixth, so that one giant does not keep out all below it. How fast it
// falls matters little: of the 81 functions in the development corpus of make eval, 67, 71, 73 and
// 75 are whole in 4,000, 8,000, 16,000 and 32,000 tokens of source, and 66, 70, 73 and 73 if any item
// may have all that is left. An order by score for each token's tenth root has 66, 72, 73 and 78,
// but leaves out the best functions for the sake of many small ones below them.
func shareOf(n, left int) int { return left * 9 / (10 + 2*n) }

// level is what counts as alike: a function of which there are more than the signature.
func level(t Tier) Tier { return min(t, TierWindow) }

// passedOver reports whether an item has nothing to give way with: it is large, and has
// no [TierWindow]. One without any tier is none, either.
func (it *Item) passedOver() bool {
	aim := it.aim()
	return aim == TierFolded || it.cost(aim) > middleFrom && it.Tokens[TierWindow] <= 0
}

// aim is the tier that an item is to have while others want room.
func (it *Item) aim() Tier {
	if it.Tokens[TierRan] > 0 {
		return TierRan
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
