package patch

import (
	"bytes"
	"fmt"
	"slices"
)

// What the judge notes of a mark in place of a hook's number.
const (
	markKept   = 1<<32 - 1 // the flags are as they were
	markSpoils = 1<<32 - 2
)

// mark recognises a mark in a stub: how long it is, or 0. It makes sure that the
// byte is that of a block in which control is, at one of the addresses of plain, without
// a branch since its beginning.
func (j *judge) mark(addr uint64, plain ...uint64) (n int, note uint32, err error) {
	p := j.patched.at(addr)
	set := func(at uint64, p []byte) (to uint64, ok bool) {
		if !bytes.HasPrefix(p, []byte{0xc6, 0x05}) || len(p) < 7 || p[6] != 1 {
			return 0, false
		}
		return at + 7 + uint64(int64(int32(le.Uint32(p[2:])))), true
	}
	n, note = 20, markKept
	var to uint64
	if bytes.HasPrefix(p, []byte{0x51, 0x0f, 0xb6, 0x0d}) && len(p) > 20 {
		to = addr + 8 + uint64(int64(int32(le.Uint32(p[4:]))))
		if to-j.entries.Marks >= uint64(len(j.marks)) {
			return 0, 0, nil // of the program
		}
		same, ok := set(addr+12, p[12:])
		if !ok || same != to || !bytes.Equal(p[8:12], []byte{0xe3, 2, 0xeb, 7}) || p[19] != 0x59 {
			return 0, 0, fmt.Errorf("the mark at %#x does not set its byte and leave all else", addr)
		}
	} else {
		if !bytes.HasPrefix(p, []byte{0x80, 0x3d}) || len(p) < 13 || p[6] != 0 || p[7] != 0x0f || p[8] != 0x84 {
			return 0, 0, nil
		}
		n, note = 13, markSpoils
		to = addr + 7 + uint64(int64(int32(le.Uint32(p[2:]))))
		if to-j.entries.Marks >= uint64(len(j.marks)) {
			return 0, 0, nil // of the program
		}
		first := addr + 13 + uint64(int64(int32(le.Uint32(p[9:]))))
		q := j.patched.at(first)
		same, ok := set(first, q)
		if !ok || same != to || len(q) < 12 || q[7] != 0xe9 || first+12+uint64(int64(int32(le.Uint32(q[8:])))) != addr+13 {
			return 0, 0, fmt.Errorf("the mark at %#x does not set its byte and come back", addr)
		}
	}
	mk := &j.marks[to-j.entries.Marks]
	for _, at := range plain {
		if err = j.straight(mk, at); err == nil {
			return n, note, nil
		}
	}
	return 0, 0, fmt.Errorf("the mark at %#x of the block %#x: %w", addr, mk.Block+j.slide, err)
}

// straight makes sure that control comes from a mark's block to an address without
// a branch, and what it may meet on its way.
func (j *judge) straight(mk *Mark, plain uint64) error {
	at := mk.Block + j.slide
	for at < plain {
		in, ok := decode(j.plain.at(at), 0)
		if !ok || in.flow != flowNext {
			return fmt.Errorf("something else than the block leads to %#x", plain)
		}
		if in.is(mayFault) && !mk.Behind {
			return fmt.Errorf("what is at %#x may fault before it", at)
		}
		at += uint64(in.size)
	}
	if at != plain {
		return fmt.Errorf("%#x is set before it", plain)
	}
	return nil
}

// withMarks adds marks in all blocks of one function to a plan of its hooks.
func withMarks(p *Plan, b *body, entry *Hook, name func(uint64) string, noReturn func(uint64) bool) {
	if entry.Kind == 0 || b.lost {
		return
	}
	var changed spans
	for i := range p.Hooks {
		h := &p.Hooks[i]
		changed = append(changed, span{h.At, h.At + uint64(max(len(h.code), jumpSize))})
	}
	changed.sort()
	at := make([]int, len(b.ins)) // a line for each instruction
	for i := range at {
		at[i] = i + 1
	}
	var l inliner
	k := marker{l: &l, at: at, name: name}
	p.Marks = slices.Clone(k.marks(b, entry, changed, noReturn))
}
