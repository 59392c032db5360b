package sqlite

import (
	"encoding/binary"
	"maps"
	"slices"

	"tracerag/knowledge"
)

// Terms are kept by chunks: 4,096 numbers of units of one repository and group, next to each other.
// A chunk has the length of each unit, and for each term a row of its units. To search is to read
// the rows of some terms, one in each chunk, however often the terms are in the repository. New
// units are added to the end of the last chunk, so that rows are added to, and never read to be
// written. A unit that is removed only loses its length. When half of a chunk is removed, its rows are
// written without them.
const (
	chunkShift = 12
	chunkUnits = 1 << chunkShift
)

// Lengths of units that are no more. Numbers are not given again while a row may have them.
const (
	removed = 1<<32 - 1 - iota
	purged  // no row has it any more
)

// counts says how often a term is in each field of a unit, in the order of fields.
type counts [6]uint16

// The fields.
const (
	inName = iota
	inReceiver
	inDoc
	inPackage
	inBody
	inLiterals
)

// fields are those of the terms of a declaration.
func fields(t *knowledge.Terms) [6][]string {
	return [6][]string{inName: t.Name, inReceiver: t.Receiver, inDoc: t.Doc, inPackage: t.Package, inBody: t.Body, inLiterals: t.Literals}
}

// usual are the counts of four in five of all postings. One of these takes two bytes: twelve bits
// of the unit's number in its chunk, and four of which it is. With none, 0, a byte says in which fields
// the term is, and numbers how often in each.
var usual = [16]counts{
	1: {inBody: 1}, {inBody: 2}, {inBody: 3}, {inBody: 4}, {inBody: 5}, {inBody: 6}, {inBody: 7},
	{inDoc: 1}, {inDoc: 2}, {inPackage: 1}, {inDoc: 1, inBody: 1}, {inName: 1, inBody: 1}, {inReceiver: 1, inBody: 1},
	{inBody: 1, inLiterals: 1}, {inName: 1, inDoc: 1, inBody: 1},
}

var codes = func() map[counts]uint16 {
	m := map[counts]uint16{}
	for i, c := range usual[1:] {
		m[c] = uint16(i + 1)
	}
	return m
}()

// appendPosting adds a unit, by its number in the chunk.
func appendPosting(to []byte, unit uint16, c counts) []byte {
	code := codes[c]
	to = binary.LittleEndian.AppendUint16(to, unit<<4|code)
	if code != 0 {
		return to
	}
	at := len(to)
	to = append(to, 0)
	for i, n := range c {
		if n > 0 {
			to[at] |= 1 << i
			to = binary.AppendUvarint(to, uint64(n))
		}
	}
	return to
}

// eachPosting calls do for the units of a row. The code is that of usual counts; 0 if they are not.
func eachPosting(row []byte, do func(unit uint16, code uint16, c *counts)) error {
	var c counts
	for len(row) > 0 {
		if len(row) < 2 {
			return errPosting
		}
		head := binary.LittleEndian.Uint16(row)
		row = row[2:]
		code := head & 15
		if code != 0 {
			do(head>>4, code, &usual[code])
			continue
		}
		if len(row) == 0 {
			return errPosting
		}
		in := row[0]
		row = row[1:]
		c = counts{}
		for i := range c {
			if in&(1<<i) != 0 {
				n, size := binary.Uvarint(row)
				if size <= 0 {
					return errPosting
				}
				c[i], row = uint16(n), row[size:]
			}
		}
		do(head>>4, 0, &c)
	}
	return nil
}

// termed is the terms of the units that a transaction adds to a chunk.
type termed struct {
	next    uint16 // number in the chunk
	lengths []byte
	rows    map[string]*termRow
}

// termRow is the row of a term as it is made: the last unit is not in it yet.
type termRow struct {
	units  []byte
	last   uint16
	counts counts
}

// add takes in the terms of the next unit.
func (c *termed) add(t *knowledge.Terms) {
	length := uint32(0)
	for field, terms := range fields(t) {
		for _, term := range terms {
			r := c.rows[term]
			if r == nil {
				r = &termRow{last: c.next}
				c.rows[term] = r
			} else if r.last != c.next {
				r.units = appendPosting(r.units, r.last, r.counts)
				r.last, r.counts = c.next, counts{}
			}
			if r.counts[field] < 1<<16-1 {
				r.counts[field]++
			}
		}
		length += uint32(len(terms))
	}
	c.lengths = binary.LittleEndian.AppendUint32(c.lengths, length)
	c.next++
}

// write adds the rows to those of the chunk.
func (c *termed) write(t *transaction, chunk int64) error {
	if err := t.exec("INSERT INTO chunk VALUES (?, ?) ON CONFLICT DO UPDATE SET lengths = CAST(lengths || excluded.lengths AS BLOB)", chunk, c.lengths); err != nil {
		return err
	}
	for _, term := range slices.Sorted(maps.Keys(c.rows)) {
		r := c.rows[term]
		if err := t.exec("INSERT INTO posting VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET units = CAST(units || excluded.units AS BLOB)",
			chunk, term, appendPosting(r.units, r.last, r.counts)); err != nil {
			return err
		}
	}
	return nil
}

// enough is how many declarations begin a chunk of their own: then the rows of the one
// before are not written again.
const enough = 512

// newUnit gives the next number of a group, and takes in the terms of the unit.
func (w *fileWriter) newUnit(group int64, terms *knowledge.Terms) (int64, error) {
	chunk, ok := w.last[group]
	if !ok {
		first, last := within(w.repository, group, group+1)
		n, known, err := w.number("SELECT max(id) FROM chunk WHERE id BETWEEN ? AND ? HAVING count(*) > 0", first>>chunkShift, last>>chunkShift)
		if err != nil {
			return 0, err
		}
		chunk = first >> chunkShift
		if known {
			size, _, err := w.number("SELECT length(lengths) / 4 FROM chunk WHERE id = ?", n)
			if err != nil {
				return 0, err
			}
			if chunk = n; size >= chunkUnits || w.coming[group] >= enough {
				chunk++
			} else {
				w.chunks[chunk] = &termed{next: uint16(size), rows: map[string]*termRow{}}
			}
		}
		w.last[group] = chunk
	}
	c := w.chunks[chunk]
	if c == nil || c.next == chunkUnits {
		if c != nil {
			chunk++
			w.last[group] = chunk
		}
		c = &termed{rows: map[string]*termRow{}}
		w.chunks[chunk] = c
	}
	id := chunk<<chunkShift | int64(c.next)
	c.add(terms)
	return id, nil
}

// writeChunks writes what newUnit took in.
func (w *fileWriter) writeChunks() error {
	for _, chunk := range slices.Sorted(maps.Keys(w.chunks)) {
		if err := w.chunks[chunk].write(w.transaction, chunk); err != nil {
			return err
		}
	}
	return nil
}

// removeUnits takes units out of their chunks.
func (t *transaction) removeUnits(units []int64) error {
	of := map[int64][]uint16{}
	for _, u := range units {
		of[u>>chunkShift] = append(of[u>>chunkShift], uint16(u&(chunkUnits-1)))
	}
	for _, chunk := range slices.Sorted(maps.Keys(of)) {
		lengths, err := t.bytes("SELECT lengths FROM chunk WHERE id = ?", chunk)
		if err != nil {
			return err
		}
		for _, u := range of[chunk] {
			if int(u)*4 < len(lengths) {
				binary.LittleEndian.PutUint32(lengths[4*int(u):], removed)
			}
		}
		if err := t.setLengths(chunk, lengths); err != nil {
			return err
		}
	}
	return nil
}

// setLengths writes the lengths of a chunk, and its rows if many of its units were removed.
func (t *transaction) setLengths(chunk int64, lengths []byte) error {
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
	if here == 0 {
		if err := t.exec("DELETE FROM posting WHERE chunk = ?", chunk); err != nil {
			return err
		}
		return t.exec("DELETE FROM chunk WHERE id = ?", chunk)
	}
	if gone > here {
		if err := t.purge(chunk, lengths); err != nil {
			return err
		}
	}
	return t.exec("UPDATE chunk SET lengths = ? WHERE id = ?", lengths, chunk)
}

// purge writes the rows of a chunk without the units that were removed.
func (t *transaction) purge(chunk int64, lengths []byte) error {
	rows := map[string][]byte{}
	if err := t.rows(func(scan func(...any) error) error {
		var term string
		var units, left []byte
		if err := scan(&term, &units); err != nil {
			return err
		}
		err := eachPosting(units, func(unit, _ uint16, c *counts) {
			if lengthOf(lengths, unit) < purged {
				left = appendPosting(left, unit, *c)
			}
		})
		if len(left) < len(units) {
			rows[term] = left
		}
		return err
	}, "SELECT term, units FROM posting WHERE chunk = ?", chunk); err != nil {
		return err
	}
	for _, term := range slices.Sorted(maps.Keys(rows)) {
		var err error
		if units := rows[term]; len(units) > 0 {
			err = t.exec("UPDATE posting SET units = ? WHERE chunk = ? AND term = ?", units, chunk, term)
		} else {
			err = t.exec("DELETE FROM posting WHERE chunk = ? AND term = ?", chunk, term)
		}
		if err != nil {
			return err
		}
	}
	for i := 0; i < len(lengths); i += 4 {
		if binary.LittleEndian.Uint32(lengths[i:]) == removed {
			binary.LittleEndian.PutUint32(lengths[i:], purged)
		}
	}
	return nil
}

// lengthOf returns the length of a unit; one that was removed since has purged or removed.
func lengthOf(lengths []byte, unit uint16) uint32 {
	if 4*int(unit)+4 > len(lengths) {
		return purged
	}
	return binary.LittleEndian.Uint32(lengths[4*int(unit):])
}
