package redact

import "unicode/utf8"

// keywords finds many words at once, whatever their case: the automaton of Aho
// and Corasick with a row of transitions for each state.
type keywords struct {
	class [256]uint8 // letters by class; 0 is all that no word holds
	wide  int        // classes
	next  []int32    // by state and class
	found [][]int32  // by state: the words that end there
	words []string
}

func newKeywords(words []string) *keywords {
	k := &keywords{wide: 1, words: words, found: [][]int32{nil}}
	for _, w := range words {
		for _, c := range []byte(w) {
			if c >= utf8.RuneSelf {
				panic("redact: the keyword " + w + " is not ASCII")
			}
			if k.class[c] == 0 {
				k.class[c] = uint8(k.wide)
				k.wide++
			}
		}
	}
	for c := 'A'; c <= 'Z'; c++ {
		k.class[c] = k.class[c+'a'-'A']
	}
	k.next = make([]int32, k.wide)
	for i, w := range words {
		at := int32(0)
		for _, c := range []byte(w) {
			edge := int(at)*k.wide + int(k.class[c])
			if k.next[edge] == 0 {
				k.next[edge] = int32(len(k.found))
				k.found = append(k.found, nil)
				k.next = append(k.next, make([]int32, k.wide)...)
			}
			at = k.next[edge]
		}
		k.found[at] = append(k.found[at], int32(i))
	}
	// Where a word does not go on, its longest end that begins another one does.
	fallback := make([]int32, len(k.found))
	var queue []int32
	for _, s := range k.next[:k.wide] {
		if s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		f := fallback[s]
		k.found[s] = append(k.found[s], k.found[f]...)
		for c := range k.wide {
			edge := int(s)*k.wide + c
			via := k.next[int(f)*k.wide+c]
			if t := k.next[edge]; t != 0 {
				fallback[t] = via
				queue = append(queue, t)
			} else {
				k.next[edge] = via
			}
		}
	}
	return k
}

// find reports each place where a word begins, in the order of their ends.
func (k *keywords) find(text string, report func(word, at int)) {
	s := int32(0)
	for i := range len(text) {
		s = k.next[int(s)*k.wide+int(k.class[text[i]])]
		for _, w := range k.found[s] {
			report(int(w), i+1-len(k.words[w]))
		}
	}
}
