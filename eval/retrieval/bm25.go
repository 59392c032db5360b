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
	const k1 = 1.2
	return scores(question, texts, k1, func(n, with float64) float64 { return math.Log(1 + (n-with+.5)/(with+.5)) }, 0)
}

// BM25Plus returns the scores by BM25+ (Lv and Zhai, "Lower-Bounding Term Frequency Normalization",
// CIKM 2011), the baseline of Meta-RAG, with the parameters there: k1 1.5, b .75, delta 1. A word
// that is asked for and is in a text adds
//
//	log((N+1)/df) * (delta + (k1+1)*tf / (k1*(1-b+b*length/mean) + tf))
//
// N is the number of texts, df that of those with the word, tf how often the text has it.
// Delta is what the word adds at least, however long the text is.
func BM25Plus(question string, texts iter.Seq[string]) []float64 {
	const k1, delta = 1.5, 1
	return scores(question, texts, k1, func(n, with float64) float64 { return math.Log((n + 1) / with) }, delta)
}

// scores has what is common to both. rarity is called with the number of texts, and that of those
// with a word.
func scores(question string, texts iter.Seq[string], k1 float64, rarity func(n, with float64) float64, delta float64) []float64 {
	const damp = .75
	asked := plainWords(question)
	type posting struct {
		text int
		freq float64
	}
	postings := map[string][]posting{} // of each word that is asked for
	for _, w := range asked {
		postings[w] = nil
	}
	var lengths []float64
	for text := range texts {
		words := plainWords(text)
		for _, w := range words {
			list, ok := postings[w]
			if !ok {
				continue
			}
			if n := len(list); n > 0 && list[n-1].text == len(lengths) {
				list[n-1].freq++
			} else {
				postings[w] = append(list, posting{len(lengths), 1})
			}
		}
		lengths = append(lengths, float64(len(words)))
	}
	mean := Mean(lengths)
	scores := make([]float64, len(lengths))
	for _, w := range asked {
		idf := rarity(float64(len(lengths)), float64(len(postings[w])))
		for _, p := range postings[w] {
			scores[p.text] += idf * (delta + p.freq*(k1+1)/(p.freq+k1*(1-damp+damp*lengths[p.text]/mean)))
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
