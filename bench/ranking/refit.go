package main

import (
	"reflect"
	"strings"

	"tracerag/rank"
)

// choices are the values that refit tries for each weight: what plain BM25 has, and one
// other. With 64 cases more of them fit what is not there: three or four values a weight
// had a mean reciprocal rank of .67 on the repositories left out.
var choices = []struct {
	weight string
	values []float64
}{
	{"K1", []float64{1.2, 1.5}},
	{"B", []float64{.75, .3}},
	{"Title", []float64{1, 2}},
	{"Test", []float64{0, .5}},
	{"Related", []float64{0, .05}},
	{"Name", []float64{1, 4}},
	{"Window", []float64{1e6, 40}},
	{"Said", []float64{0, .1}},
	{"SamePackage", []float64{0, .15}},
	{"Titled", []float64{0, .3}},
	{"Constructor", []float64{0, -.3}},
	{"Startup", []float64{0, -.3}},
}

// plainWeights are where refit begins: BM25 over whole functions, of the report.
var plainWeights = rank.Weights{K1: 1.2, B: .75, Title: 1, Body: 1, Name: 1, Window: 1e6}

// fitter chooses weights, and remembers what each came to: most are asked for
// once for each repository left out.
type fitter struct {
	bugs  []*bug
	known map[rank.Weights][]result
}

func (f *fitter) results(w rank.Weights) []result {
	if f.known[w] == nil {
		f.known[w] = rankAll(f.bugs, w)
	}
	return f.known[w]
}

// leaveOut ranks each repository's cases by weights that were chosen on the other
// repositories alone.
func (f *fitter) leaveOut() []result {
	out := make([]result, len(f.bugs))
	done := map[string]bool{}
	for _, b := range f.bugs {
		if done[b.Repo] {
			continue
		}
		done[b.Repo] = true
		others := func(w rank.Weights) float64 {
			var rs []result
			for _, r := range f.results(w) {
				if r.bug.Repo != b.Repo {
					rs = append(rs, r)
				}
			}
			return meanReciprocal(rs)
		}
		w := choose(others)
		for i, r := range f.results(w) {
			if r.bug.Repo == b.Repo {
				out[i] = r
			}
		}
	}
	return out
}

// choose returns the weights of the best score, one weight chosen after the other, twice.
func choose(score func(rank.Weights) float64) rank.Weights {
	w := plainWeights
	best := score(w)
	for range 2 {
		for _, c := range choices {
			at := w
			for _, v := range c.values {
				try := at
				set(&try, c.weight, v)
				if m := score(try); m > best {
					best, w = m, try
				}
			}
		}
	}
	return w
}

func set(w *rank.Weights, name string, v float64) {
	f := reflect.ValueOf(w).Elem().FieldByName(name)
	if f.Kind() == reflect.Int {
		f.SetInt(int64(v))
	} else {
		f.SetFloat(v)
	}
}

// weightNames lists the weights that are chosen.
func weightNames() string {
	var names []string
	for _, c := range choices {
		names = append(names, c.weight)
	}
	return strings.Join(names, ", ")
}
