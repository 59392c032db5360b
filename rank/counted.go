package rank

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"tracerag/code/words"
)

// How rare a word is in a program is counted in the sources of all its modules. That takes
// longer than all else that ranking does, and differs from question to question only in
// which of the words count. So what all words of a module count is kept.

// Texts are the texts of a module's functions.
type Texts struct {
	// ID tells these texts from all others; "" if what is counted of them must not be kept.
	ID        string
	Functions iter.Seq[string]
}

// A Keeper keeps what was counted. It may lose it.
type Keeper interface {
	Load(name string) []byte // nil: it has none
	Save(name string, data []byte)
}

// countedMagic begins what is kept. The SHA-256 of the rest follows.
const countedMagic = "tracerag words 1\n"

// counted is how many functions of a module have each word, as it is kept: numbers of 32
// bits, and the words.
type counted struct {
	functions, windows, length float64

	starts []byte // of each word in text, sorted, and the end of the last one
	with   []byte // functions with each word
	text   string
	lists  map[string][]byte // of the words of groups: the functions that have them
}

// name is what is counted of some texts is kept by.
func (t Texts) name(w *Weights) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %s", countedMagic, w.Window, t.ID))
	return hex.EncodeToString(sum[:16]) + ".words"
}

// background counts what the program's modules have of the question's terms.
func background(a *asked, modules []Texts, kept Keeper, w *Weights, into *rarity) {
	for _, m := range modules {
		if m.ID == "" || kept == nil {
			read(a, w, seqOf(m.Functions), into)
			continue
		}
		c, err := decodeCounted(kept.Load(m.name(w)))
		if err != nil {
			b := count(m.Functions, w).encode()
			kept.Save(m.name(w), b)
			if c, err = decodeCounted(b); err != nil {
				read(a, w, seqOf(m.Functions), into)
				continue
			}
		}
		c.add(a, into)
	}
}

func seqOf(texts iter.Seq[string]) iter.Seq[Function] {
	return func(yield func(Function) bool) {
		for text := range texts {
			if !yield(Function{Text: text}) {
				return
			}
		}
	}
}

// read counts functions for one question, on all processors.
func read(a *asked, w *Weights, fs iter.Seq[Function], into *rarity) {
	inParallel(blocks(fs), func(jobs <-chan block) {
		r, seen := newReader(a, w), newRarity(a)
		for b := range jobs {
			for i := range b.functions {
				r.count(&b.functions[i], seen)
			}
		}
		into.merge(seen)
	})
}

// counter counts all words of functions. It is for one goroutine.
type counter struct {
	half  int // lines of half a window
	known map[string]wordTerms
	terms map[string]*term

	functions, windows, length float64
}

// wordTerms is what a word has, of any question.
type wordTerms struct {
	terms []*term
	words float64
}

// term is what a question may have: a stem, or an identifier as a whole.
type term struct {
	last  int32 // number of the function that has it and was counted last, from 1 on
	with  uint32
	group bool     // of groups.of
	list  []uint32 // functions that have it, if it is of a group
}

// find returns a word's terms: those that reader.find would find of a question that has
// them all.
func (c *counter) find(word string) wordTerms {
	if f, ok := c.known[word]; ok {
		return f
	}
	var f wordTerms
	add := func(name string) {
		f.words++
		t := c.terms[name]
		if t == nil {
			t = &term{group: len(words.Groups(name)) > 0}
			c.terms[strings.Clone(name)] = t
		}
		f.terms = append(f.terms, t)
	}
	ps := words.Split(word)
	for _, p := range ps {
		if !words.PassedOver(p) {
			add(words.Stem(p))
		}
	}
	if len(ps) > 1 {
		add(words.Whole(word))
	}
	c.known[word] = f
	return f
}

// count counts a function, as reader.count does.
func (c *counter) count(text string, number int32) {
	seen := func(f wordTerms) {
		for _, t := range f.terms {
			if t.last == number {
				continue
			}
			t.last = number
			t.with++
			if t.group {
				t.list = append(t.list, uint32(number))
			}
		}
	}
	before := 0.0
	for rest, first := text, true; ; first = false {
		part := lines(rest, c.half)
		rest = rest[len(part):]
		length := 0.0
		words.Each(part, func(word string) {
			f := c.find(word)
			length += f.words
			seen(f)
		})
		words.Verbs(part, func(word string) { seen(c.find(word)) })
		if !first || rest == "" {
			c.windows++
			c.length += before + length
		}
		if rest == "" {
			break
		}
		before = length
	}
	c.functions++
}

// count counts all words of functions, on all processors.
func count(texts iter.Seq[string], w *Weights) *counter {
	all := &counter{terms: map[string]*term{}}
	var mu sync.Mutex
	inParallel(blocks(seqOf(texts)), func(jobs <-chan block) {
		c := &counter{half: max(w.Window/2, 1), known: map[string]wordTerms{}, terms: map[string]*term{}}
		for b := range jobs {
			for i := range b.functions {
				c.count(b.functions[i].Text, int32(b.from+i+1))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		all.functions += c.functions
		all.windows += c.windows
		all.length += c.length
		for name, t := range c.terms {
			if old := all.terms[name]; old != nil {
				old.with += t.with
				old.list = append(old.list, t.list...)
			} else {
				all.terms[name] = t
			}
		}
	})
	return all
}

// encode writes what was counted.
func (c *counter) encode() []byte {
	le := binary.LittleEndian
	names := slices.Sorted(maps.Keys(c.terms))
	b := append([]byte(countedMagic), make([]byte, sha256.Size)...)
	for _, n := range []float64{c.functions, c.windows, c.length} {
		b = le.AppendUint64(b, uint64(n))
	}
	b = le.AppendUint32(b, uint32(len(names)))
	at := uint32(0)
	for _, name := range names {
		b = le.AppendUint32(b, at)
		at += uint32(len(name))
	}
	b = le.AppendUint32(b, at)
	for _, name := range names {
		b = le.AppendUint32(b, c.terms[name].with)
	}
	for _, name := range names {
		b = append(b, name...)
	}
	for _, name := range names {
		t := c.terms[name]
		if !t.group {
			continue
		}
		slices.Sort(t.list)
		b = le.AppendUint32(b, uint32(len(name)))
		b = append(b, name...)
		b = le.AppendUint32(b, uint32(len(t.list)))
		for _, n := range t.list {
			b = le.AppendUint32(b, n)
		}
	}
	sum := sha256.Sum256(b[len(countedMagic)+sha256.Size:])
	copy(b[len(countedMagic):], sum[:])
	return b
}

var errCounted = fmt.Errorf("what was counted is damaged, or of another version")

// decodeCounted reads what encode wrote. It refers to b.
func decodeCounted(b []byte) (*counted, error) {
	rest, ok := bytes.CutPrefix(b, []byte(countedMagic))
	if !ok || len(rest) < sha256.Size {
		return nil, errCounted
	}
	sum := rest[:sha256.Size]
	if rest = rest[sha256.Size:]; sha256.Sum256(rest) != [sha256.Size]byte(sum) {
		return nil, errCounted
	}
	take := func(n uint64) []byte {
		if n > uint64(len(rest)) {
			ok, rest = false, nil
			return nil
		}
		part := rest[:n]
		rest = rest[n:]
		return part
	}
	number := func() uint64 {
		if part := take(4); part != nil {
			return uint64(binary.LittleEndian.Uint32(part))
		}
		return 0
	}
	c := &counted{lists: map[string][]byte{}}
	for _, n := range []*float64{&c.functions, &c.windows, &c.length} {
		if part := take(8); part != nil {
			*n = float64(binary.LittleEndian.Uint64(part))
		}
	}
	n := number()
	c.starts = take(4 * (n + 1))
	c.with = take(4 * n)
	if !ok {
		return nil, errCounted
	}
	c.text = string(take(uint64(c.start(int(n)))))
	for i := range int(n) {
		if c.start(i) > c.start(i+1) {
			return nil, errCounted
		}
	}
	for len(rest) > 0 {
		name := string(take(number()))
		c.lists[name] = take(4 * number())
	}
	if !ok {
		return nil, errCounted
	}
	return c, nil
}

func (c *counted) start(i int) uint32 { return binary.LittleEndian.Uint32(c.starts[4*i:]) }

// functionsWith is how many functions have a word.
func (c *counted) functionsWith(name string) float64 {
	n := len(c.with) / 4
	word := func(i int) string { return c.text[c.start(i):c.start(i+1)] }
	i := sort.Search(n, func(i int) bool { return word(i) >= name })
	if i == n || word(i) != name {
		return 0
	}
	return float64(binary.LittleEndian.Uint32(c.with[4*i:]))
}

// add adds what was counted of the question's terms.
func (c *counted) add(a *asked, into *rarity) {
	into.functions += c.functions
	into.windows += c.windows
	into.length += c.length
	for i, name := range a.terms {
		if members := words.Members(name); members == nil {
			into.with[i] += c.functionsWith(name)
		} else {
			into.with[i] += c.functionsOfGroup(a, members)
		}
	}
}

// functionsOfGroup is how many functions have a word of a group that the question has not:
// such a word stands for itself.
func (c *counted) functionsOfGroup(a *asked, members []string) float64 {
	var all []uint32
	for _, s := range members {
		if _, ok := a.index[s]; ok {
			continue
		}
		for l := c.lists[s]; len(l) >= 4; l = l[4:] {
			all = append(all, binary.LittleEndian.Uint32(l))
		}
	}
	slices.Sort(all)
	return float64(len(slices.Compact(all)))
}
