package affected

import (
	"iter"
	"math/bits"
)

// set is a set of tests, by number.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) add(i int) { s[i/64] |= 1 << (i % 64) }

// join adds all of o, and reports whether s has grown.
func (s set) join(o set) (grown bool) {
	for i, w := range o {
		if w&^s[i] != 0 {
			s[i] |= w
			grown = true
		}
	}
	return grown
}

func (s set) len() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

func (s set) each() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(i*64 + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}
