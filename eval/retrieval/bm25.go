package retrieval

import (
	"iter"
	"math"
	"strings"
	"unicode"
)

// BM25 returns the score of each text for a question, by BM25 as it is usually written: words
// of identifiers in lower case, k1 1.2, b .75, rarity over the texts. It is what ranking and
// locating are measured against, and shares no code with them.
func BM25(question string, texts iter.Seq[string]) []float64 {
	const k1, damp = 1.2, .75
	asked := plainWords(question)
	freq := map[string][]float64{} // of each word that is asked for, in each text
	for _, w := range asked {
		freq[w] = nil
	}
	var lengths []float64
	for text := range texts {
		for w := range freq {
			freq[w] = append(freq[w], 0)
		}
		words := plainWords(text)
		for _, w := range words {
			if n := freq[w]; n != nil {
				n[len(lengths)]++
			}
		}
		lengths = append(lengths, float64(len(words)))
	}
	mean := Mean(lengths)
	scores := make([]float64, len(lengths))
	for _, w := range asked {
		with := 0.0
		for _, n := range freq[w] {
			if n > 0 {
				with++
			}
		}
		idf := math.Log(1 + (float64(len(lengths))-with+.5)/(with+.5))
		for i, n := range freq[w] {
			if n > 0 {
				scores[i] += idf * n * (k1 + 1) / (n + k1*(1-damp+damp*lengths[i]/mean))
			}
		}
	}
	return scores
}

// plainWords splits at what is no letter and no digit, and where a small letter meets a
// capital.
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
