package main

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"

	"tracerag/knowledge"
	"tracerag/locate"
)

// deep is how far down an order is judged.
const deep = 1000

// locateAll asks package locate about every case.
func locateAll(all []*loaded, w locate.Weights) ([]result, error) {
	out := make([]result, len(all))
	err := inParallel(len(all), func(i int) error {
		c := all[i]
		a, err := c.locate(c.store, locate.Question{Text: c.Report}, w)
		if err == nil {
			out[i] = judgeAnswer(c, a)
		}
		return err
	})
	return out, err
}

func (c *loaded) locate(store knowledge.Reader, q locate.Question, w locate.Weights) (*locate.Answer, error) {
	return locate.Locate(context.Background(), store, q, locate.Options{Weights: &w, Limit: deep, Text: c.store.Text})
}

func judgeAnswer(c *loaded, a *locate.Answer) result {
	var fs []found
	var files []string
	for _, f := range a.Functions {
		fs = append(fs, found{f.File, f.Name})
	}
	for _, f := range a.Files {
		files = append(files, f.File)
	}
	return judge(c, fs, files)
}

// plainAll ranks by BM25 as it is usually written: one text for each function, words of
// identifiers in lower case, k1 1.2, b .75; a file is its best function. It is what locating
// is measured against, and shares no code with it.
func plainAll(all []*loaded) []result {
	out := make([]result, len(all))
	for i, c := range all {
		functions := plain(c)
		var files []string
		for _, f := range functions {
			if !slices.Contains(files, f.file) {
				files = append(files, f.file)
			}
		}
		out[i] = judge(c, functions, files)
	}
	return out
}

func plain(c *loaded) []found {
	const k1, damp = 1.2, .75
	type document struct {
		found
		freq          map[string]float64
		length, score float64
	}
	words := plainWords(c.Report)
	asked := map[string]bool{}
	for _, w := range words {
		asked[w] = true
	}
	var docs []document
	with := map[string]float64{}
	mean := 0.0
	c.repo.Functions(func(d *knowledge.Decl, doc, text string) {
		x := document{found: found{d.Path, d.Name}, freq: map[string]float64{}}
		for _, w := range plainWords(d.Name + "\n" + doc + "\n" + text) {
			x.length++
			if asked[w] {
				x.freq[w]++
			}
		}
		for w := range x.freq {
			with[w]++
		}
		mean += x.length
		docs = append(docs, x)
	})
	mean /= float64(len(docs))
	for _, w := range words {
		idf := math.Log(1 + (float64(len(docs))-with[w]+.5)/(with[w]+.5))
		for i := range docs {
			if n := docs[i].freq[w]; n > 0 {
				docs[i].score += idf * n * (k1 + 1) / (n + k1*(1-damp+damp*docs[i].length/mean))
			}
		}
	}
	slices.SortStableFunc(docs, func(a, b document) int { return cmp.Compare(b.score, a.score) })
	var out []found
	for _, d := range docs {
		if d.score > 0 {
			out = append(out, d.found)
		}
	}
	return out
}

func plainWords(text string) []string {
	var out []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		start := 0
		rs := []rune(word)
		for i := range rs {
			if i > start && unicode.IsUpper(rs[i]) && !unicode.IsUpper(rs[i-1]) {
				out = append(out, strings.ToLower(string(rs[start:i])))
				start = i
			}
		}
		out = append(out, strings.ToLower(string(rs[start:])))
	}
	return out
}
