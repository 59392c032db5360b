package rank

import (
	"strings"

	"tracerag/code/words"
)

// Question is what functions are ranked for. Without any text and test nothing
// is relevant, and the order is that of the functions given.
type Question struct {
	// Text is the question, or a report: its first line is taken for a title.
	Text string
	// Test is the name of the test that ran, "TestParse/empty_input", if one
	// did, and Package the import path of its package.
	Test, Package string
}

// asked is a question as the formula needs it.
type asked struct {
	terms  []string        // stems, and identifiers as a whole
	words  []string        // of each term as it was first written
	weight []float64       // of each term
	index  map[string]int  // of each term
	begin  map[string]bool // the first letters, at most two, of terms

	text     string          // in lower case
	mentions map[string]bool // words as they are in the text
	titled   map[string]bool // words, in lower case, before a title's colon
}

// titlePrefix is the longest beginning of a title that is taken for the name of
// what it concerns, as in "net/http: close idle connections".
const titlePrefix = 50

func ask(q Question, w *Weights) *asked {
	a := &asked{
		index:    map[string]int{},
		begin:    map[string]bool{},
		text:     strings.ToLower(q.Text),
		mentions: map[string]bool{},
		titled:   map[string]bool{},
	}
	words.Each(q.Text, func(word string) { a.mentions[word] = true })
	title, rest, _ := strings.Cut(strings.TrimSpace(q.Text), "\n")
	if prefix, _, ok := strings.Cut(title, ":"); ok && len(prefix) < titlePrefix {
		words.Each(prefix, func(word string) { a.titled[strings.ToLower(word)] = true })
	}
	a.add(words.WithoutReferences(title), w.Title, w)
	a.add(words.WithoutReferences(rest), w.Body, w)
	test, subtest, _ := strings.Cut(q.Test, "/")
	a.add(strings.TrimPrefix(test, "Test"), w.Test, w)
	a.add(subtest, w.Test/2, w)
	return a
}

// Terms returns what a question looks for, as an index has it: stems, and identifiers as a
// whole. The related ones mean nearly the same as one of them.
func Terms(q Question, w Weights) (terms, related []string) {
	a := ask(q, &w)
	for _, term := range a.terms {
		if members := words.Members(term); members != nil {
			related = append(related, members...)
		} else {
			terms = append(terms, term)
		}
	}
	return terms, related
}

// add counts the words of text into the question.
func (a *asked) add(text string, weight float64, w *Weights) {
	if weight == 0 {
		return
	}
	put := func(term, word string, weight float64) {
		if weight == 0 {
			return
		}
		i, ok := a.index[term]
		if !ok {
			i = len(a.terms)
			a.index[term] = i
			a.begin[term[:min(2, len(term))]] = true
			a.terms = append(a.terms, term)
			a.words = append(a.words, word)
			a.weight = append(a.weight, 0)
		}
		a.weight[i] += weight
	}
	words.Asked(text, func(t words.Term) {
		weight := weight
		if t.Group {
			weight *= w.Related
			for _, member := range words.Members(t.Text) {
				a.begin[member[:min(2, len(member))]] = true
			}
		}
		put(t.Text, t.Word, weight)
	})
}

// mayHave reports whether the stem of a part may be a term, by its first letters. Stemming costs more
// than all else that is done with a word.
func (a *asked) mayHave(part string) bool {
	lead := words.Lead(part)
	return a.begin[lead] || a.begin[lead[:1]]
}
