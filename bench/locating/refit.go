package main

import (
	"tracerag/eval/retrieval"
	"tracerag/locate"
)

// choices are the two values that refit tries for each weight: what plain BM25 has, and
// what package locate has.
var choices = func() (out []func(*locate.Weights, bool)) {
	d := locate.Default
	number := func(of func(*locate.Weights) *float64, plain float64) {
		out = append(out, func(w *locate.Weights, use bool) {
			*of(w) = plain
			if use {
				*of(w) = *of(&d)
			}
		})
	}
	number(func(w *locate.Weights) *float64 { return &w.Text.K1 }, 1.2)
	number(func(w *locate.Weights) *float64 { return &w.Text.B }, .75)
	number(func(w *locate.Weights) *float64 { return &w.Text.Title }, 1)
	number(func(w *locate.Weights) *float64 { return &w.Text.Related }, 0)
	number(func(w *locate.Weights) *float64 { return &w.Text.Name }, 1)
	number(func(w *locate.Weights) *float64 { return &w.Text.Said }, 0)
	number(func(w *locate.Weights) *float64 { return &w.Text.Titled }, 0)
	number(func(w *locate.Weights) *float64 { return &w.Text.Constructor }, 0)
	number(func(w *locate.Weights) *float64 { return &w.Place }, 0)
	number(func(w *locate.Weights) *float64 { return &w.History }, 0)
	out = append(out, func(w *locate.Weights, use bool) {
		w.Text.Window = 1e6
		if use {
			w.Text.Window = d.Text.Window
		}
	})
	return out
}()

// leaveOut locates each repository's cases by weights that were chosen on the other
// repositories alone, one after the other, twice, from plain BM25.
func leaveOut(all []*loaded) ([]result, error) {
	known := map[locate.Weights][]result{}
	results := func(w locate.Weights) ([]result, error) {
		if known[w] == nil {
			rs, err := locateAll(all, w)
			if err != nil {
				return nil, err
			}
			known[w] = rs
		}
		return known[w], nil
	}
	out := make([]result, len(all))
	done := map[string]bool{}
	for _, c := range all {
		if done[c.Repo] {
			continue
		}
		done[c.Repo] = true
		score := func(w locate.Weights) (float64, error) {
			rs, err := results(w)
			return retrieval.Mean(reciprocals(withFunctionsOf(pick(rs, func(o *loaded) bool { return o.Repo != c.Repo })))), err
		}
		w := locate.Default
		for _, set := range choices {
			set(&w, false)
		}
		best, err := score(w)
		if err != nil {
			return nil, err
		}
		for range 2 {
			for _, set := range choices {
				for _, use := range []bool{false, true} {
					try := w
					set(&try, use)
					m, err := score(try)
					if err != nil {
						return nil, err
					}
					if m > best {
						best, w = m, try
					}
				}
			}
		}
		rs, err := results(w)
		if err != nil {
			return nil, err
		}
		for i, r := range rs {
			if r.c.Repo == c.Repo {
				out[i] = r
			}
		}
	}
	return out, nil
}
