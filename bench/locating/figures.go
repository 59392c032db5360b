package main

import (
	"math/rand/v2"
	"slices"
)

// result is what was found for one case.
type result struct {
	c     *loaded
	ranks []int // of the gold functions, from 1, in order
	file  int   // of the first gold file; 0 none
}

func (r result) reciprocal() float64 {
	if len(r.ranks) == 0 {
		return 0
	}
	return 1 / float64(r.ranks[0])
}

func (r result) any(n int) bool { return len(r.ranks) > 0 && r.ranks[0] <= n }
func (r result) all(n int) bool {
	return len(r.ranks) == len(r.c.Gold) && r.ranks[len(r.ranks)-1] <= n
}

// found is a function at a place of an order.
type found struct{ file, name string }

// judge returns what an order of functions, and one of files, are worth. Of a function
// that is declared once for each platform the first counts.
func judge(c *loaded, functions []found, files []string) result {
	r := result{c: c}
	seen := map[found]bool{}
	for i, f := range functions {
		if c.isGold(f.file, f.name) && !seen[f] {
			seen[f] = true
			r.ranks = append(r.ranks, i+1)
		}
	}
	if i := slices.IndexFunc(files, c.isGoldFile); i >= 0 {
		r.file = i + 1
	}
	return r
}

func withFunctions(all []*loaded) []*loaded {
	return slices.DeleteFunc(slices.Clone(all), func(c *loaded) bool { return len(c.Gold) == 0 })
}

// withFunctionsOf leaves out the cases whose fix changed no function: only files can
// be found of them.
func withFunctionsOf(rs []result) []result {
	return pick(rs, func(c *loaded) bool { return len(c.Gold) > 0 })
}

func pick(rs []result, has func(*loaded) bool) []result {
	return slices.DeleteFunc(slices.Clone(rs), func(r result) bool { return !has(r.c) })
}

func share(rs []result, is func(result) bool) float64 {
	n := 0
	for _, r := range rs {
		if is(r) {
			n++
		}
	}
	return float64(n) / float64(max(len(rs), 1))
}

func reciprocals(rs []result) []float64 {
	var out []float64
	for _, r := range rs {
		out = append(out, r.reciprocal())
	}
	return out
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(max(len(x), 1))
}

// interval returns the mean of a[i]-b[i] and its 95 % interval, by a bootstrap
// over the pairs that gives the same figures each time.
func interval(a, b []float64) (mean, low, high float64) {
	const rounds = 10_000
	diff := make([]float64, len(a))
	for i := range a {
		diff[i] = a[i] - b[i]
		mean += diff[i] / float64(len(a))
	}
	random := rand.New(rand.NewPCG(1, 2))
	means := make([]float64, rounds)
	for i := range means {
		for range diff {
			means[i] += diff[random.IntN(len(diff))] / float64(len(diff))
		}
	}
	slices.Sort(means)
	return mean, means[rounds*25/1000], means[rounds*975/1000]
}
