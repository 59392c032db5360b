package main

import (
	"cmp"
	"slices"

	"tracerag/eval/retrieval"
)

// result is what a ranking made of one case.
type result struct {
	retrieval.Ranks // of the gold functions
	bug             *bug
	first           int // tokens of all functions down to the first gold one
}

// judge returns what an order of a case's executed functions is worth.
func (b *bug) judge(order []int) result {
	r := result{bug: b, Ranks: retrieval.Ranks{Wanted: len(b.Gold)}}
	tokens := 0
	for at, i := range order {
		tokens += b.Executed[i].Tokens
		if b.Executed[i].Gold {
			if r.At == nil {
				r.first = tokens
			}
			r.At = append(r.At, at+1)
		}
	}
	return r
}

// plain ranks executed functions by [retrieval.BM25], one text for each.
func (b *bug) plain() []int {
	scores := retrieval.BM25(b.Report, func(yield func(string) bool) {
		for _, x := range b.Executed {
			if !yield(x.Name + "\n" + x.Doc + "\n" + x.Text) {
				return
			}
		}
	})
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	return order
}

// medianFirst returns the median of the tokens down to the first gold function,
// over the cases in which one ran.
func medianFirst(rs []result) int {
	var ts []int
	for _, r := range rs {
		if len(r.At) > 0 {
			ts = append(ts, r.first)
		}
	}
	if len(ts) == 0 {
		return 0
	}
	slices.Sort(ts)
	return (ts[(len(ts)-1)/2] + ts[len(ts)/2]) / 2
}

func reciprocals(rs []result) []float64 {
	out := make([]float64, len(rs))
	for i, r := range rs {
		out[i] = r.Reciprocal()
	}
	return out
}

func meanReciprocal(rs []result) float64 { return retrieval.Mean(reciprocals(rs)) }
