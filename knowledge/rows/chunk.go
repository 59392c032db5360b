package rows

import "encoding/binary"

// Scope is some of the groups of some repositories.
type Scope struct {
	Repositories []int64
	From, To     int64 // groups
}

// Chunks returns the first and the last number that chunks of a repository of the scope may have.
func (s *Scope) Chunks(repository int64) (first, last int64) {
	first, last = Within(repository, s.From, s.To)
	return first >> ChunkShift, last >> ChunkShift
}

// Chunk is a chunk, and the rows of the terms asked for: nil of a term that it has not.
type Chunk struct {
	ID      int64
	Lengths []byte
	Rows    [][]byte
}

// size returns how many units are there, and how many terms they have.
func (c *Chunk) size() (units, terms int) {
	for i := 0; i+4 <= len(c.Lengths); i += 4 {
		if n := binary.LittleEndian.Uint32(c.Lengths[i:]); n < purged {
			units, terms = units+1, terms+int(n)
		}
	}
	return units, terms
}

// each calls do for the units that have a term.
func (c *Chunk) each(term int, do func(unit uint16, length uint32, code uint16, n *Counts)) error {
	return EachPosting(c.Rows[term], func(unit, code uint16, n *Counts) {
		if length := LengthOf(c.Lengths, unit); length < purged {
			do(unit, length, code, n)
		}
	})
}

// with returns in how many units each of the terms is.
func with(chunks []*Chunk, terms int) ([]int, error) {
	n := make([]int, terms)
	for _, c := range chunks {
		for t := range c.Rows {
			if err := c.each(t, func(uint16, uint32, uint16, *Counts) { n[t]++ }); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}
