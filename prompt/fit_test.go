package prompt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestFit(t *testing.T) {
	full := func(score float64, n int) Item { return Item{Score: score, Tokens: [TierFull + 1]int{TierFull: n}} }
	tiers := func(score float64, sign, ran, full int) Item {
		return Item{score, [TierFull + 1]int{TierSignature: sign, TierRan: ran, TierFull: full}}
	}
	window := func(score float64, sign, window, full int) Item {
		return Item{score, [TierFull + 1]int{TierSignature: sign, TierWindow: window, TierFull: full}}
	}
	for name, tt := range map[string]struct {
		items  []Item
		budget int
		want   string
	}{
		"none":                             {nil, 10, "[]"},
		"all fit":                          {[]Item{full(1, 50), full(2, 50)}, 100, "[full full]"},
		"no budget":                        {[]Item{full(1, 1)}, 0, "[folded]"},
		"below nothing":                    {[]Item{full(1, 1)}, -5, "[folded]"},
		"the better one":                   {[]Item{full(1, 60), full(2, 60)}, 100, "[folded full]"},
		"of equals the first":              {[]Item{full(1, 60), full(1, 60)}, 100, "[full folded]"},
		"of equals the cheaper one":        {[]Item{full(1, 60), full(1, 50)}, 100, "[folded full]"},
		"what does not fit ends it":        {[]Item{full(3, 101), full(2, 60), full(1, 30)}, 100, "[folded folded folded]"},
		"the best is first":                {[]Item{tiers(9, 40, 0, 190), tiers(8, 10, 0, 20), tiers(7, 10, 0, 20)}, 200, "[full signature folded]"},
		"a large one has its excerpt":      {[]Item{window(9, 40, 120, 1370), window(8, 20, 100, 400), full(7, 60)}, 600, "[window full full]"},
		"which grows with what is left":    {[]Item{window(9, 40, 120, 700), window(8, 20, 100, 400), full(7, 60)}, 1100, "[full window full]"},
		"a giant without one is left out":  {[]Item{full(3, 1010), full(2, 60), full(1, 30)}, 1000, "[folded full full]"},
		"a long one as it ran":             {[]Item{tiers(3, 10, 70, 4000), tiers(2, 10, 0, 20)}, 100, "[ran full]"},
		"one that would leave nothing":     {[]Item{tiers(3, 10, 400, 900), tiers(2, 10, 0, 300), tiers(1, 10, 0, 300)}, 1000, "[ran full full]"},
		"one that leaves nothing to want":  {[]Item{tiers(3, 10, 400, 900), tiers(2, 10, 0, 2000)}, 920, "[full signature]"},
		"signatures have their share":      {[]Item{full(9, 150), full(8, 150), tiers(2, 10, 0, 120), tiers(1, 10, 0, 100)}, 320, "[full full signature signature]"},
		"without takers there is no share": {[]Item{full(9, 150), full(8, 165), full(1, 3)}, 317, "[full full folded]"},
		"what is left of it goes back":     {[]Item{full(9, 500), tiers(8, 10, 0, 480), tiers(1, 10, 0, 600)}, 1000, "[full full signature]"},
		"what did not run makes room":      {[]Item{tiers(9, 0, 600, 2100), full(1, 1100)}, 2150, "[ran full]"},
		"and comes back":                   {[]Item{tiers(9, 0, 600, 2100), full(1, 1200), full(1, 5000)}, 3400, "[full full folded]"},
		"what does not cost is shown":      {[]Item{{Tokens: [TierFull + 1]int{TierLine: 0}}}, 0, "[folded]"},
	} {
		if got := fmt.Sprint(Fit(tt.items, tt.budget)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// randomItems are functions as programs have them: most are short, a few long, and all
// but the short ones have tiers between their signature and the whole.
func randomItems(r *rand.Rand) []Item {
	items := make([]Item, r.IntN(40))
	for i := range items {
		it := &items[i]
		it.Score = float64(r.IntN(20)) // some alike
		it.Tokens[TierFull] = 1 + r.IntN(1+r.IntN(1+r.IntN(8000)))
		least := it.Tokens[TierFull]
		if least > middleFrom {
			if r.IntN(2) > 0 {
				least = least/4 + r.IntN(least/2)
				it.Tokens[TierRan] = least
			}
			least = least/4 + r.IntN(least/2)
			it.Tokens[TierWindow] = least
		}
		it.Tokens[TierSignature] = 1 + r.IntN(least)
	}
	return items
}

// The best first: no item has less than one that scores lower. Of a better item that has
// no more than its window the next tier is too large.
func TestFitIsMonotone(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		items := randomItems(r)
		budget := r.IntN(12_000)
		tiers := Fit(items, budget)
		left := budget
		for i, tier := range tiers {
			left -= items[i].cost(tier)
		}
		for i := range items {
			for j := range items {
				if items[i].Score <= items[j].Score {
					continue
				}
				window := tiers[i] == TierWindow && tiers[j] > TierWindow && items[i].cost(items[i].aim())-items[i].cost(TierWindow) > left
				if tiers[i] < tiers[j] && !window && !(tiers[i] == TierRan && tiers[j] == TierFull) {
					t.Fatalf("seed %d, budget %d: item %d, scored %.0f, is %s, and item %d, scored %.0f, %s: %v, %v, %d left",
						seed, budget, i, items[i].Score, tiers[i], j, items[j].Score, tiers[j], items[i].Tokens, items[j].Tokens, left)
				}
			}
		}
	}
}

func TestFitInvariants(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		items := randomItems(r)
		budget := r.IntN(12_000)
		tiers := Fit(items, budget)
		left, all := budget, 0
		for i, tier := range tiers {
			left -= items[i].cost(tier)
			all += items[i].Tokens[TierFull]
			if tier != TierFolded && items[i].Tokens[tier] == 0 {
				t.Fatalf("seed %d: item %d has the tier %s, which it has not", seed, i, tier)
			}
		}
		if left < 0 {
			t.Fatalf("seed %d: %d tokens over the budget of %d", seed, -left, budget)
		}
		if all <= budget && slices.ContainsFunc(tiers, func(t Tier) bool { return t != TierFull }) {
			t.Fatalf("seed %d: %d tokens fit into %d, and not all are full: %v", seed, all, budget, tiers)
		}
		// None could rise without another falling, or getting ahead of a better one.
		ceiling := TierFull
		for _, i := range ranked(items) {
			for up := tiers[i] + 1; up <= TierFull; up++ {
				if n := items[i].Tokens[up]; n > 0 && level(up) <= level(ceiling) && n-items[i].cost(tiers[i]) <= left {
					t.Fatalf("seed %d: item %d is %s, and %d tokens are left for %s", seed, i, tiers[i], left, up)
				}
			}
			ceiling = min(ceiling, level(tiers[i]))
		}
	}
}

// The order of items decides between equals only.
func TestFitGoesByScore(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		items := randomItems(r)
		for i := range items {
			items[i].Score = float64(i)
		}
		budget := r.IntN(12_000)
		want := Fit(items, budget)
		shuffled := r.Perm(len(items))
		other := make([]Item, len(items))
		for at, i := range shuffled {
			other[at] = items[i]
		}
		for at, tier := range Fit(other, budget) {
			if tier != want[shuffled[at]] {
				t.Fatalf("seed %d: the item scored %d is %s in one order and %s in another", seed, shuffled[at], want[shuffled[at]], tier)
			}
		}
	}
}

func BenchmarkFit(b *testing.B) {
	for _, n := range []int{1_000, 20_000} {
		r := rand.New(rand.NewPCG(1, 1))
		var items []Item
		for len(items) < n {
			items = append(items, randomItems(r)...)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				Fit(items[:n], 8_000)
			}
		})
	}
}
