package main

import (
	"slices"

	"tracerag/bench/corpus"
	"tracerag/knowledge"
	"tracerag/locate"
	"tracerag/rank"
)

// traceAll locates with what the failing test executed, and ranks that alone as package rank
// does.
func traceAll(all []*loaded, ran map[string][]corpus.Executed) (located, ranked []result, err error) {
	for _, c := range all {
		q, order := c.traced(ran[c.ID])
		ranked = append(ranked, judge(c, order, filesOf(order)))
		a, err := c.locate(c.store, q, locate.Default)
		if err != nil {
			return nil, nil, err
		}
		located = append(located, judgeAnswer(c, a))
	}
	return located, ranked, nil
}

// traced returns the question of a case with what its failing test executed, and that in the
// order of package rank.
func (c *loaded) traced(ran []corpus.Executed) (q locate.Question, order []found) {
	type place struct {
		file string
		line int
	}
	texts := map[place][2]string{}
	var others []rank.Function
	in := map[place]bool{}
	for _, x := range ran {
		in[place{x.File, x.Line}] = true
	}
	c.repo.Functions(func(d *knowledge.Decl, doc, text string) {
		p := place{d.Path, d.Line}
		texts[p] = [2]string{doc, text}
		if !in[p] {
			others = append(others, rank.Function{Package: d.Package, Name: d.Name, Doc: doc, Text: text})
		}
	})
	var fs []rank.Function
	for _, x := range ran {
		t := texts[place{x.File, x.Line}]
		fs = append(fs, rank.Function{Package: x.Package, Name: x.Name, Doc: t[0], Text: t[1], Startup: x.Startup})
	}
	q = locate.Question{Text: c.Report, Test: c.Test, Package: c.TestPackage()}
	for _, r := range rank.Rank(rank.Question{Text: c.Report, Test: c.Test, Package: c.TestPackage()},
		rank.Corpus{Functions: fs, Background: slices.Values(others)}, rank.Default) {
		x := ran[r.Function]
		order = append(order, found{x.File, x.Name})
		q.Ran = append(q.Ran, locate.RanFunction{Package: x.Package, Name: x.Name, File: x.File, Score: r.Score, Reasons: r.Reasons})
	}
	return q, order
}
