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
		"a large one gives way":            {[]Item{full(3, 101), full(2, 60), full(1, 30)}, 100, "[folded full full]"},
		"a long one as it ran":             {[]Item{tiers(3, 10, 70, 4000), tiers(2, 10, 0, 20)}, 100, "[ran full]"},
		"one that would leave nothing":     {[]Item{tiers(3, 10, 400, 900), tiers(2, 10, 0, 300), tiers(1, 10, 0, 300)}, 1000, "[ran full full]"},
		"one that leaves nothing to want":  {[]Item{tiers(3, 10, 400, 900), tiers(2, 10, 0, 2000)}, 920, "[full signature]"},
		"signatures have their share":      {[]Item{full(9, 500), full(8, 390), tiers(2, 40, 0, 120), tiers(1, 40, 0, 100)}, 1000, "[full full signature signature]"},
		"without takers there is no share": {[]Item{full(9, 500), full(8, 495), full(1, 7)}, 1000, "[full full folded]"},
		"what is left of it goes back":     {[]Item{full(9, 500), tiers(8, 10, 0, 480), tiers(1, 10, 0, 600)}, 1000, "[full full signature]"},
		"what did not run makes room":      {[]Item{tiers(9, 0, 600, 2100), full(1, 1200)}, 2150, "[ran full]"},
		"and comes back":                   {[]Item{tiers(9, 0, 600, 2100), full(1, 1200), full(1, 5000)}, 3400, "[full full folded]"},
		"what does not cost is shown":      {[]Item{{Tokens: [TierFull + 1]int{TierLine: 0}}}, 0, "[folded]"},
	} {
		if got := fmt.Sprint(Fit(tt.items, tt.budget)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// randomItems are functions as programs have them: most are short, a few long.
func randomItems(r *rand.Rand) []Item {
	items := make([]Item, r.IntN(40))
	for i := range items {
		it := &items[i]
		it.Score = float64(r.IntN(20)) // some alike
		it.Tokens[TierFull] = 1 + r.IntN(1+r.IntN(1+r.IntN(8000)))
		least := it.Tokens[TierFull]
		if least > 2000 {
			it.Tokens[TierRan] = least/4 + r.IntN(least/2)
			it.Tokens[TierWindow] = it.Tokens[TierRan] / 2
			least = it.Tokens[TierWindow]
		}
		if r.IntN(8) > 0 {
			it.Tokens[TierSignature] = 1 + r.IntN(least)
		}
	}
	return items
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
		for i, tier := range tiers {
			for up := tier + 1; up <= TierFull; up++ {
				if n := items[i].Tokens[up]; n > 0 && n-items[i].cost(tier) <= left {
					t.Fatalf("seed %d: item %d is %s, and %d tokens are left for %s", seed, i, tier, left, up)
				}
			}
			// What is better scored and no larger at any tier has at least as much.
			for j := range items {
				better := items[j].Score > items[i].Score && items[j].Tokens == items[i].Tokens
				if better && tiers[j] < tier {
					t.Fatalf("seed %d: item %d is %s, and %d, which is better and costs the same, %s", seed, i, tier, j, tiers[j])
				}
			}
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
