package rows

import (
	"encoding/binary"
	"maps"
	"slices"

	"tracerag/knowledge"
)

// enough is how many declarations begin a chunk of their own: then the rows of the one
// before are not written again.
const enough = 512

// Filler takes in the new units of one repository in one transaction, and gives them their
// numbers.
type Filler struct {
	Repository int64
	// Last returns the last chunk of a range, and how many units it had; 0 units if there is none.
	Last func(first, last int64) (chunk int64, units int, err error)

	last   map[int64]int64 // by group: the last chunk
	coming map[int64]int   // by group: how many declarations there are to write
	chunks map[int64]*Filling
}

// Expect says what is to be written, so that much of it begins a chunk of its own.
func (f *Filler) Expect(put []knowledge.Parsed) {
	f.last, f.coming, f.chunks = map[int64]int64{}, map[int64]int{}, map[int64]*Filling{}
	for i := range put {
		for j := range put[i].Decls {
			f.coming[Group(&put[i].File, put[i].Decls[j].Kind)]++
		}
	}
}

// Unit gives the next number of a group, and takes in the terms of the unit.
func (f *Filler) Unit(group int64, terms *knowledge.Terms) (int64, error) {
	chunk, ok := f.last[group]
	if !ok {
		first, last := Within(f.Repository, group, group+1)
		n, size, err := f.Last(first>>ChunkShift, last>>ChunkShift)
		if err != nil {
			return 0, err
		}
		chunk = first >> ChunkShift
		if size > 0 {
			if chunk = n; size >= chunkUnits || f.coming[group] >= enough {
				chunk++
			} else {
				f.chunks[chunk] = &Filling{next: uint16(size), rows: map[string]*termRow{}}
			}
		}
		f.last[group] = chunk
	}
	c := f.chunks[chunk]
	if c == nil || c.next == chunkUnits {
		if c != nil {
			chunk++
			f.last[group] = chunk
		}
		c = &Filling{rows: map[string]*termRow{}}
		f.chunks[chunk] = c
	}
	id := chunk<<ChunkShift | int64(c.next)
	c.add(terms)
	return id, nil
}

// Each calls do for the chunks to which something is to be added, in their order.
func (f *Filler) Each(do func(chunk int64, c *Filling) error) error {
	for _, chunk := range slices.Sorted(maps.Keys(f.chunks)) {
		if err := do(chunk, f.chunks[chunk]); err != nil {
			return err
		}
	}
	return nil
}

// Filling is what a transaction adds to a chunk.
type Filling struct {
	next    uint16 // number in the chunk
	Lengths []byte
	rows    map[string]*termRow
}

// termRow is the row of a term as it is made: the last unit is not in it yet.
type termRow struct {
	units  []byte
	last   uint16
	counts Counts
}

// add takes in the terms of the next unit.
func (c *Filling) add(t *knowledge.Terms) {
	length := uint32(0)
	for field, terms := range Fields(t) {
		for _, term := range terms {
			term = Key(term)
			r := c.rows[term]
			if r == nil {
				r = &termRow{last: c.next}
				c.rows[term] = r
			} else if r.last != c.next {
				r.units = appendPosting(r.units, r.last, r.counts)
				r.last, r.counts = c.next, Counts{}
			}
			if r.counts[field] < 1<<16-1 {
				r.counts[field]++
			}
		}
		length += uint32(len(terms))
	}
	c.Lengths = binary.LittleEndian.AppendUint32(c.Lengths, length)
	c.next++
}

// Terms calls do for what is to be added to the row of each term, in their order. It may be called
// once.
func (c *Filling) Terms(do func(term string, units []byte) error) error {
	for _, term := range slices.Sorted(maps.Keys(c.rows)) {
		r := c.rows[term]
		if err := do(term, appendPosting(r.units, r.last, r.counts)); err != nil {
			return err
		}
	}
	return nil
}

// ByChunk are units by their chunks: their numbers in them.
func ByChunk(units []int64) map[int64][]uint16 {
	of := map[int64][]uint16{}
	for _, u := range units {
		of[u>>ChunkShift] = append(of[u>>ChunkShift], uint16(u&(chunkUnits-1)))
	}
	return of
}

// Remove takes units out of a chunk, whose lengths it changes. What is left says what becomes of the
// chunk's rows.
func Remove(lengths []byte, units []uint16) Left {
	for _, u := range units {
		if int(u)*4 < len(lengths) {
			binary.LittleEndian.PutUint32(lengths[4*int(u):], removed)
		}
	}
	gone, here := 0, 0
	for i := 0; i < len(lengths); i += 4 {
		switch binary.LittleEndian.Uint32(lengths[i:]) {
		case removed:
			gone++
		case purged:
		default:
			here++
		}
	}
	switch {
	case here == 0:
		return Nothing
	case gone > here:
		return Little
	}
	return Much
}

// Left says what is left of a chunk.
type Left int

// What may be left of a chunk.
const (
	Much    Left = iota // its rows stay as they are
	Little              // its rows are written again by [PurgeRows], then its lengths by [Purge]
	Nothing             // it is removed with its rows
)

// PurgeRows returns the rows (term, units) of a chunk that had units that were removed, without them: they may
// be empty then.
func PurgeRows(q Query, lengths []byte) (map[string][]byte, error) {
	changed := map[string][]byte{}
	err := q.Each(func(scan Scan) error {
		var term string
		var row []byte
		if err := scan(&term, &row); err != nil {
			return err
		}
		left, err := purgeRow(lengths, row)
		if len(left) < len(row) {
			changed[term] = left
		}
		return err
	})
	return changed, err
}

// purgeRow returns the row of a term without the units that were removed.
func purgeRow(lengths, row []byte) (left []byte, err error) {
	err = EachPosting(row, func(unit, _ uint16, c *Counts) {
		if Lives(LengthOf(lengths, unit)) {
			left = appendPosting(left, unit, *c)
		}
	})
	return left, err
}

// Purge notes in the lengths of a chunk that its rows were all purged.
func Purge(lengths []byte) {
	for i := 0; i < len(lengths); i += 4 {
		if binary.LittleEndian.Uint32(lengths[i:]) == removed {
			binary.LittleEndian.PutUint32(lengths[i:], purged)
		}
	}
}
