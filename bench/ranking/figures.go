package main

import (
	"math/rand/v2"
	"slices"
)

// result is what a ranking made of one case.
type result struct {
	bug   *bug
	ranks []int // of the gold functions that ran, from 1, in order
	first int   // tokens of all functions down to the first gold one
}

// judge returns what an order of a case's executed functions is worth.
func (b *bug) judge(order []int) result {
	r := result{bug: b}
	tokens := 0
	for at, i := range order {
		tokens += b.Executed[i].Tokens
		if b.Executed[i].Gold {
			if r.ranks == nil {
				r.first = tokens
			}
			r.ranks = append(r.ranks, at+1)
		}
	}
	return r
}

// reciprocal is 1 over the first gold function's rank; 0 if none ran.
func (r result) reciprocal() float64 {
	if len(r.ranks) == 0 {
		return 0
	}
	return 1 / float64(r.ranks[0])
}

// any reports whether a gold function is among the first n, all whether all are,
// those that did not run included.
func (r result) any(n int) bool { return len(r.ranks) > 0 && r.ranks[0] <= n }
func (r result) all(n int) bool {
	return len(r.ranks) == len(r.bug.Gold) && r.ranks[len(r.ranks)-1] <= n
}

// share returns the part of the results that are so.
func share(rs []result, is func(result) bool) float64 {
	n := 0
	for _, r := range rs {
		if is(r) {
			n++
		}
	}
	return float64(n) / float64(max(len(rs), 1))
}

func meanReciprocal(rs []result) float64 {
	sum := 0.0
	for _, r := range rs {
		sum += r.reciprocal()
	}
	return sum / float64(max(len(rs), 1))
}

// medianFirst returns the median of the tokens down to the first gold function,
// over the cases in which one ran.
func medianFirst(rs []result) int {
	var ts []int
	for _, r := range rs {
		if len(r.ranks) > 0 {
			ts = append(ts, r.first)
		}
	}
	if len(ts) == 0 {
		return 0
	}
	slices.Sort(ts)
	return (ts[(len(ts)-1)/2] + ts[len(ts)/2]) / 2
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
