package main

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// plain ranks executed functions by BM25 as it is usually written: one text for
// each function, words of identifiers in lower case, k1 1.2, b .75, rarity over
// what ran. It is what the ranking is measured against, and shares no code
// with it.
func (b *bug) plain() []int {
	const k1, damp = 1.2, .75
	docs := make([]map[string]float64, len(b.Executed))
	with := map[string]float64{}
	var lengths []float64
	mean := 0.0
	for i, x := range b.Executed {
		docs[i] = map[string]float64{}
		n := 0.0
		for _, w := range plainWords(x.Name + "\n" + x.Doc + "\n" + x.Text) {
			docs[i][w]++
			n++
		}
		lengths = append(lengths, n)
		mean += n / float64(len(b.Executed))
		for w := range docs[i] {
			with[w]++
		}
	}
	scores := make([]float64, len(docs))
	for _, w := range plainWords(b.Report) {
		idf := math.Log(1 + (float64(len(docs))-with[w]+.5)/(with[w]+.5))
		for i, d := range docs {
			if n := d[w]; n > 0 {
				scores[i] += idf * n * (k1 + 1) / (n + k1*(1-damp+damp*lengths[i]/mean))
			}
		}
	}
	order := make([]int, len(docs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	return order
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
