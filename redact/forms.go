package redact

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

// form is one spelling of a secret.
type form struct {
	id    int  // of the finding
	whole bool // it is none as a part of a word
}

// forms are the texts that are masked wherever they are. A trace or a source may have
// a hundred thousand of them: each step takes the same time then.
type forms struct {
	all     map[string]form
	starts  [1 << 16 / 64]uint64 // first two bytes
	lengths map[uint64][]int     // by the first eight bytes: how long forms with them are, longer ones first
	longest int
	sorted  []string // for begun; those of all, while it has as many
}

func newForms() *forms { return &forms{all: map[string]form{}, lengths: map[uint64][]int{}} }

func (x *forms) clone() *forms {
	// The lists of lengths are never changed, nor is sorted.
	out := &forms{all: maps.Clone(x.all), starts: x.starts, lengths: maps.Clone(x.lengths), longest: x.longest, sorted: x.sorted}
	return out
}

// add adds a form of [MinKnown] bytes or more, unless it is there.
func (x *forms) add(text string, f form) {
	if _, ok := x.all[text]; ok || len(text) < MinKnown {
		return
	}
	x.all[text] = f
	x.longest = max(x.longest, len(text))
	two := firstTwo(text, 0)
	x.starts[two/64] |= 1 << (two % 64)
	eight := firstEight(text, 0)
	lengths := x.lengths[eight]
	if i, found := slices.BinarySearchFunc(lengths, len(text), func(a, b int) int { return b - a }); !found {
		x.lengths[eight] = slices.Insert(slices.Clone(lengths), i, len(text))
	}
}

func firstTwo(text string, at int) uint16 { return uint16(text[at]) | uint16(text[at+1])<<8 }

func firstEight(text string, at int) uint64 {
	return binary.LittleEndian.Uint64([]byte(text[at : at+MinKnown]))
}

// may reports whether a form may be at a place of a text.
func (x *forms) may(text string, i int) bool {
	if i+MinKnown > len(text) {
		return false
	}
	two := firstTwo(text, i)
	return x.starts[two/64]&(1<<(two%64)) != 0
}

// at yields the forms that are at a place where one may, longer ones first, and where
// they end.
func (x *forms) at(text string, i int) func(yield func(f form, to int) bool) {
	return func(yield func(f form, to int) bool) {
		for _, n := range x.lengths[firstEight(text, i)] {
			if i+n > len(text) {
				continue
			}
			if f, ok := x.all[text[i:i+n]]; ok && !yield(f, i+n) {
				return
			}
		}
	}
}

// begun returns where the first form may begin that a text ends in the middle of; the
// length of the text if none does. A form that is none within a word is begun until the
// next letter is there.
func (x *forms) begun(text string, json JSONText) int {
	if len(x.all) == 0 {
		return len(text)
	}
	if len(x.sorted) != len(x.all) { // forms are added, and never taken away
		x.sorted = slices.Sorted(maps.Keys(x.all))
	}
	for i := max(0, len(text)-x.longest-1); i < len(text); i++ {
		rest := text[i:]
		if len(rest) > 1 {
			if two := firstTwo(rest, 0); x.starts[two/64]&(1<<(two%64)) == 0 {
				continue
			}
		}
		k, found := slices.BinarySearch(x.sorted, rest)
		if found {
			k++ // it is whole, and a longer one may be begun
		}
		if k < len(x.sorted) && strings.HasPrefix(x.sorted[k], rest) {
			return i
		}
		// What follows decides.
		for _, said := range []string{rest, rest[:len(rest)-1]} {
			if f, ok := x.all[said]; ok && (f.whole || bool(json)) {
				return i
			}
		}
	}
	return len(text)
}
