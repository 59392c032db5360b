package main

import (
	"slices"

	"tracerag/eval/retrieval"
)

// result is what was found for one case.
type result struct {
	retrieval.Ranks // of the gold functions
	c               *loaded
	file            int // place of the first gold file; 0 none
}

// found is a function at a place of an order.
type found struct{ file, name string }

// judge returns what an order of functions, and one of files, are worth. Of a function
// that is declared once for each platform the first counts.
func judge(c *loaded, functions []found, files []string) result {
	r := result{c: c, Ranks: retrieval.Ranks{Wanted: len(c.Gold)}}
	seen := map[found]bool{}
	for i, f := range functions {
		if c.IsGold(f.file, f.name) && !seen[f] {
			seen[f] = true
			r.At = append(r.At, i+1)
		}
	}
	if i := slices.IndexFunc(files, c.IsGoldFile); i >= 0 {
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

func reciprocals(rs []result) []float64 {
	var out []float64
	for _, r := range rs {
		out = append(out, r.Reciprocal())
	}
	return out
}
