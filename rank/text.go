package rank

import (
	"math"
	"strings"
	"sync"

	"tracerag/code/words"
	"tracerag/trace/symbol"
)

// window is a part of a function with its fields: what BM25 calls a document.
type window struct {
	terms  []int32   // of the question, that it has
	freqs  []float64 // of each of them
	length float64   // in words, those of the name counted by their weight
}

// reader reads texts for the words of one question. It is for one goroutine.
type reader struct {
	asked *asked
	w     *Weights
	known map[string]found // words as they are written

	// frequencies of the question's terms in the fields and in two halves of
	// a window, made once
	fields, half, before []float64
}

// found is what a word has of a question.
type found struct {
	terms []int32
	words float64 // how many words it is
}

func newReader(a *asked, w *Weights) *reader {
	n := len(a.terms)
	return &reader{asked: a, w: w, known: map[string]found{},
		fields: make([]float64, n), half: make([]float64, n), before: make([]float64, n)}
}

func (r *reader) find(word string) found {
	if f, ok := r.known[word]; ok {
		return f
	}
	var f found
	add := func(term string) {
		f.words++
		if i, ok := r.asked.index[term]; ok {
			f.terms = append(f.terms, int32(i))
		}
	}
	ps := words.Split(word)
	for _, p := range ps {
		switch {
		case words.PassedOver(p):
		case r.asked.mayHave(p):
			s := words.Stem(p)
			add(s)
			if _, ok := r.asked.index[s]; !ok {
				for _, group := range words.Groups(s) {
					if i, ok := r.asked.index[group]; ok {
						f.terms = append(f.terms, int32(i))
					}
				}
			}
		default:
			f.words++
		}
	}
	if len(ps) > 1 {
		add(words.Whole(word))
	}
	r.known[word] = f
	return f
}

// read counts the words of text, each as often as weight, and returns the length.
func (r *reader) read(freq []float64, text string, weight float64) (length float64) {
	words.Each(text, func(word string) {
		f := r.find(word)
		length += f.words
		for _, t := range f.terms {
			freq[t] += weight
		}
	})
	words.Verbs(text, func(word string) {
		for _, t := range r.find(word).terms {
			freq[t] += weight
		}
	})
	return length * weight
}

// windows returns the windows of a function.
func (r *reader) windows(f *Function) []window {
	receiver, name := f.names()
	clear(r.fields)
	fixed := r.read(r.fields, name, r.w.Name) + r.read(r.fields, receiver, 1) +
		r.read(r.fields, f.Doc, 1) + r.read(r.fields, symbol.Base(f.Package), 1)

	// Windows overlap by a half, so a half is read once and counted twice.
	size := max(r.w.Window/2, 1)
	var out []window
	clear(r.before)
	beforeLength := 0.0
	for rest, first := f.Text, true; ; first = false {
		text := lines(rest, size)
		rest = rest[len(text):]
		clear(r.half)
		length := r.read(r.half, text, 1)
		if !first || rest == "" {
			w := window{length: fixed + beforeLength + length}
			for t := range r.half {
				if n := r.fields[t] + r.before[t] + r.half[t]; n > 0 {
					w.terms = append(w.terms, int32(t))
					w.freqs = append(w.freqs, n)
				}
			}
			out = append(out, w)
		}
		if rest == "" {
			return out
		}
		r.before, r.half = r.half, r.before
		beforeLength = length
	}
}

// count counts a function into a rarity as its windows would, without making
// them.
func (r *reader) count(f *Function, into *rarity) {
	receiver, name := f.names()
	clear(r.half)
	fixed := r.read(r.half, name, r.w.Name) + r.read(r.half, receiver, 1) +
		r.read(r.half, f.Doc, 1) + r.read(r.half, symbol.Base(f.Package), 1)
	size := max(r.w.Window/2, 1)
	before := 0.0
	for rest, first := f.Text, true; ; first = false {
		text := lines(rest, size)
		rest = rest[len(text):]
		length := r.read(r.half, text, 1)
		if !first || rest == "" {
			into.windows++
			into.length += fixed + before + length
		}
		if rest == "" {
			break
		}
		before = length
	}
	into.functions++
	for t, n := range r.half {
		if n > 0 {
			into.with[t]++
		}
	}
}

// lines returns the first n lines of text.
func lines(text string, n int) string {
	at := 0
	for range n {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return text
		}
		at += i + 1
	}
	return text[:at]
}

// rarity counts in how many functions terms are, to tell what they are worth.
type rarity struct {
	mu        sync.Mutex // for merge
	functions float64
	with      []float64 // functions with each term
	windows   float64
	length    float64 // of all windows
}

func newRarity(a *asked) *rarity { return &rarity{with: make([]float64, len(a.terms))} }

// count counts one function.
func (r *rarity) count(ws []window) {
	r.functions++
	seen := make([]bool, len(r.with))
	for _, w := range ws {
		r.windows++
		r.length += w.length
		for _, t := range w.terms {
			if !seen[t] {
				seen[t] = true
				r.with[t]++
			}
		}
	}
}

// rarity turns what an index knows into counts. A group of words is in at most as many
// functions as its words are together.
func (k *Known) rarity(a *asked) *rarity {
	r := newRarity(a)
	r.functions, r.windows, r.length = float64(k.Functions), 1, k.Length
	for i, term := range a.terms {
		n := k.With[term]
		for _, member := range words.Members(term) {
			n += k.With[member]
		}
		r.with[i] = float64(min(n, k.Functions))
	}
	return r
}

// merge adds what another goroutine counted. Counts are whole numbers, so that
// their order does not tell in the sum.
func (r *rarity) merge(o *rarity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.functions += o.functions
	r.windows += o.windows
	r.length += o.length
	for t, n := range o.with {
		r.with[t] += n
	}
}

// scorer is BM25 with what is known of all functions.
type scorer struct {
	w      *Weights
	worth  []float64 // of each term: its rarity and its weight in the question
	length float64   // of the mean window
}

func (r *rarity) scorer(a *asked, w *Weights) *scorer {
	s := &scorer{w: w, worth: make([]float64, len(a.terms)), length: r.length / max(r.windows, 1)}
	for t, with := range r.with {
		s.worth[t] = a.weight[t] * math.Log(1+(r.functions-with+.5)/(with+.5))
	}
	return s
}

// term returns what the i-th term of a window adds to its score.
func (s *scorer) term(w *window, i int) float64 {
	n := w.freqs[i]
	return s.worth[w.terms[i]] * n * (s.w.K1 + 1) / (n + s.w.K1*(1-s.w.B+s.w.B*w.length/s.length))
}

// best returns the score of the best window, and which it is.
func (s *scorer) best(ws []window) (score float64, at int) {
	for i := range ws {
		sum := 0.0
		for t := range ws[i].terms {
			sum += s.term(&ws[i], t)
		}
		if sum > score {
			score, at = sum, i
		}
	}
	return score, at
}
