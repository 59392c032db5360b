package rows

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"
)

// longestKey is how long a text of an index is. PostgreSQL takes 2,704 bytes for all texts of an index together.
const longestKey = 600

// Key is a text as an index has it: of a long one the beginning and a hash. The whole text is compared after.
// Key(Key(s)) is Key(s).
func Key(s string) string {
	if len(s) <= longestKey {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	n := longestKey - 2*len(sum)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + hex.EncodeToString(sum[:])
}

// keys are those of several texts.
func keys(list []string) []string {
	for i, s := range list {
		if len(s) > longestKey { // hardly ever
			list = append([]string(nil), list...)
			for j := range list[i:] {
				list[i+j] = Key(list[i+j])
			}
			break
		}
	}
	return list
}

// chunks are those of terms as an index has them.
func (s *Source) chunks(in Scope, terms []string) ([]*Chunk, error) {
	return s.Chunks(in, keys(terms))
}
