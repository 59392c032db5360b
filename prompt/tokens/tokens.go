// Package tokens counts the tokens of a text as a model's tokenizer would.
//
// # Exact and estimated counts
//
// OpenAI publishes its vocabularies, so counts for its models are exact. Other
// vendors do not, or ship vocabularies that are too large to carry along; for
// them the count is that of o200k_base times a factor (see models.txt), and
// [Counter.Exact] says so. Kamiya 2024 (section 4.5) found one prompt to be
// 87,950 tokens for ChatGPT-4 and 106,875 for Gemini: about a fifth more.
//
// # Sums
//
// A tokenizer first splits a text by a regular expression and then merges
// bytes within each piece. No piece of the supported vocabularies crosses a
// line break that is followed by something other than white space or a slash,
// so the count of a text is the exact sum of the counts of the parts between
// such breaks. A [Counter] relies on that to count each part once and remember
// it, which makes the second variant of a prompt nearly free, and a caller that joins
// a text from parts that end in a line break and begin with, say, "#"
// may add their counts up.
//
// Nothing here touches the network: the vocabularies are part of the program.
package tokens

import (
	"hash/maphash"
	"math"
	"sync"
	"unicode/utf8"
)

// Counter counts tokens. It is safe for concurrent use.
type Counter interface {
	Count(text string) int
	// Encoding names the vocabulary, "o200k_base", or for an estimate how it
	// is made: "o200k_base x 1.30".
	Encoding() string
	// Exact reports whether the counts are those of the model's tokenizer.
	Exact() bool
}

// For returns the counter for a model's name in any of the forms that
// endpoints use: "gpt-4o", "openai/gpt-4o", "ft:gpt-4o:org::id". A name that
// models.txt does not list gets an estimate; no name at all means o200k_base.
func For(model string) Counter {
	if model == "" {
		return vocabularies[o200kBase]
	}
	m, _ := Lookup(model)
	return m.Counter()
}

// Counter returns the counter for the models that m describes: with a user's
// own table, it takes the place of [For].
func (m Model) Counter() Counter {
	v := vocabularies[m.Encoding]
	if m.Factor == 1 {
		return v
	}
	return estimate{v, m.Factor}
}

const (
	o200kBase  = "o200k_base"
	cl100kBase = "cl100k_base"
)

// vocabularies are shared by all counters: a table is read at the first count, and never
// again.
var vocabularies = map[string]*vocabulary{
	o200kBase:  newVocabulary(o200kBase, splitO200k),
	cl100kBase: newVocabulary(cl100kBase, splitCL100k),
}

// vocabulary is an exact counter.
type vocabulary struct {
	name  string
	split splitter
	load  func() *table

	mu     sync.Mutex
	counts map[uint64]int // by hash of a part
}

// maxCounts bounds the memory of a long-lived process to some 16 MB. A function
// of a prompt has about five parts. With so many hashes of 64 bits the odds that any
// two parts share one are 1 in 10^8.
const maxCounts = 1 << 19

func newVocabulary(name string, split splitter) *vocabulary {
	return &vocabulary{
		name:   name,
		split:  split,
		counts: map[uint64]int{},
		load: sync.OnceValue(func() *table {
			t, err := readTable(name)
			if err != nil {
				// The vocabulary is embedded in this very program.
				panic("tokens: " + err.Error())
			}
			return t
		}),
	}
}

func (v *vocabulary) Encoding() string { return v.name }
func (v *vocabulary) Exact() bool      { return true }

func (v *vocabulary) Count(text string) int {
	n := 0
	for part := range parts(text) {
		n += v.part(part)
	}
	return n
}

// part counts a text without a safe break inside.
func (v *vocabulary) part(s string) int {
	h := maphash.String(seed, s)
	v.mu.Lock()
	n, ok := v.counts[h]
	v.mu.Unlock()
	if ok {
		return n
	}
	for run := range shortRuns(s) {
		n += v.count(run)
	}
	v.mu.Lock()
	if len(v.counts) >= maxCounts {
		clear(v.counts)
	}
	v.counts[h] = n
	v.mu.Unlock()
	return n
}

// count counts the tokens of a text in one go. Bytes that are not UTF-8 are U+FFFD each.
func (v *vocabulary) count(s string) (n int) {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	t := v.load()
	var room [128]byte
	for s != "" {
		size := v.split(s)
		n += t.count(append(room[:0], s[:size]...))
		s = s[size:]
	}
	return n
}

// estimate scales another vocabulary's counts.
type estimate struct {
	v      *vocabulary
	factor float64
}

func (e estimate) Encoding() string { return e.v.name + " x " + formatFactor(e.factor) }
func (e estimate) Exact() bool      { return false }

func (e estimate) Count(text string) int {
	return int(math.Round(float64(e.v.Count(text)) * e.factor))
}
