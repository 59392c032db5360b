package rows

import (
	"encoding/binary"
	"errors"

	"tracerag/knowledge"
)

var errPosting = errors.New("a row of table posting is cut short")

// Terms are kept by chunks: 4,096 numbers of units of one repository and group, next to each other.
// A chunk has the length of each unit, and for each term a row of its units. To search is to read
// the rows of some terms, one in each chunk, however often the terms are in the repository. New
// units are added to the end of the last chunk, so that rows are added to, and never read to be
// written. A unit that is removed only loses its length. When half of a chunk is removed, its rows are
// written without them.
const (
	ChunkShift = 12
	chunkUnits = 1 << ChunkShift
)

// Lengths of units that are no more. Numbers are not given again while a row may have them.
const (
	removed = 1<<32 - 1 - iota
	purged  // no row has it any more
)

// Counts says how often a term is in each field of a unit, in the order of fields.
type Counts [6]uint16

// The fields.
const (
	inName = iota
	inReceiver
	inDoc
	inPackage
	inBody
	inLiterals
)

// Fields are those of the terms of a declaration.
func Fields(t *knowledge.Terms) [6][]string {
	return [6][]string{inName: t.Name, inReceiver: t.Receiver, inDoc: t.Doc, inPackage: t.Package, inBody: t.Body, inLiterals: t.Literals}
}

// usual are the counts of four in five of all postings. One of these takes two bytes: twelve bits
// of the unit's number in its chunk, and four of which it is. With none, 0, a byte says in which fields
// the term is, and numbers how often in each.
var usual = [16]Counts{
	1: {inBody: 1}, {inBody: 2}, {inBody: 3}, {inBody: 4}, {inBody: 5}, {inBody: 6}, {inBody: 7},
	{inDoc: 1}, {inDoc: 2}, {inPackage: 1}, {inDoc: 1, inBody: 1}, {inName: 1, inBody: 1}, {inReceiver: 1, inBody: 1},
	{inBody: 1, inLiterals: 1}, {inName: 1, inDoc: 1, inBody: 1},
}

var codes = func() map[Counts]uint16 {
	m := map[Counts]uint16{}
	for i, c := range usual[1:] {
		m[c] = uint16(i + 1)
	}
	return m
}()

// appendPosting adds a unit, by its number in the chunk.
func appendPosting(to []byte, unit uint16, c Counts) []byte {
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

// EachPosting calls do for the units of a row. The code is that of usual counts; 0 if they are not.
func EachPosting(row []byte, do func(unit uint16, code uint16, c *Counts)) error {
	var c Counts
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
		c = Counts{}
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

// LengthOf returns the length of a unit by those of its chunk. Of one that was removed since it is
// no length: [Lives] says so.
func LengthOf(lengths []byte, unit uint16) uint32 {
	if 4*int(unit)+4 > len(lengths) {
		return purged
	}
	return binary.LittleEndian.Uint32(lengths[4*int(unit):])
}

// Lives reports whether a length is that of a unit that is there.
func Lives(length uint32) bool { return length < purged }

// Purged reports whether a length is that of a unit that no row has any more.
func Purged(length uint32) bool { return length == purged }
