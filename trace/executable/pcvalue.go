package executable

import "sort"

// A pc-value table is a sequence of pairs of varints: the change of the value
// (zigzag coded, from -1), and the number of pc units for which it holds. A
// zero value change, except in the first pair, ends it.

// A step of a pc-value table: from the end of the step before, to end.
type step struct {
	end   uint32 // distance from the function's entry, exclusive
	value int32
}

// walk calls yield for each step of the table at offset off of a function of
// the given size, until yield returns false. Offset 0 is no table. A damaged
// table ends where it stops making sense.
func (t *table) walk(off uint32, size uint64, yield func(step) bool) {
	if off == 0 || uint64(off) >= uint64(len(t.values)) {
		return
	}
	p := t.values[off:]
	value, pc := int32(-1), uint64(0)
	for first := true; ; first = false {
		u, n := uvarint32(p)
		if n == 0 || u == 0 && !first {
			return
		}
		p = p[n:]
		value += int32(-(u & 1) ^ u>>1)
		u, n = uvarint32(p)
		if n == 0 || u == 0 {
			return
		}
		p = p[n:]
		pc += uint64(u) * t.quantum
		if pc > size { // no more than the function: bounds memory, too
			pc = size
		}
		if !yield(step{uint32(pc), value}) || pc == size {
			return
		}
	}
}

// uvarint32 decodes a varint and returns its length, 0 if there is none.
func uvarint32(p []byte) (v uint32, n int) {
	for shift := 0; shift < 35 && n < len(p); shift += 7 {
		c := p[n]
		n++
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return v, n
		}
	}
	return 0, 0
}

// valueAt is a table's value at a distance from the function's entry, -1 where
// it has none.
func (t *table) valueAt(off uint32, size, pc uint64) int32 {
	value := int32(-1)
	t.walk(off, size, func(s step) bool {
		if pc < uint64(s.end) {
			value = s.value
			return false
		}
		return true
	})
	return value
}

// A steps is a decoded table.
type steps []step

func (t *table) decode(off uint32, size uint64) steps {
	n := 0
	t.walk(off, size, func(step) bool { n++; return true })
	if n == 0 {
		return nil
	}
	out := make(steps, 0, n)
	t.walk(off, size, func(s step) bool {
		out = append(out, s)
		return true
	})
	return out
}

// behind returns the steps that end behind a distance from the function's entry.
func (s steps) behind(pc uint32) steps {
	for len(s) > 0 && s[0].end <= pc {
		s = s[1:]
	}
	return s
}

// at is the value at a distance from the function's entry, -1 where there is
// none.
func (s steps) at(pc uint64) int32 {
	i := sort.Search(len(s), func(i int) bool { return uint64(s[i].end) > pc })
	if i == len(s) {
		return -1
	}
	return s[i].value
}
