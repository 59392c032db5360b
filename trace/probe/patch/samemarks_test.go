package patch

import (
	"bytes"
	"fmt"
	"slices"

	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/x86"
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
	jump := func(at uint64, p []byte) uint64 { return at + 4 + uint64(int64(int32(le.Uint32(p)))) }
	var to, first uint64
	switch {
	case bytes.HasPrefix(p, []byte{0x51, 0x0f, 0xb6, 0x0d}) && len(p) > 18:
		n, note, to, first = 18, markKept, jump(addr+4, p[4:]), jump(addr+13, p[13:])
	case bytes.HasPrefix(p, []byte{0x80, 0x3d}) && len(p) > 13 && p[6] == 0 && p[7] == 0x0f && p[8] == 0x84:
		n, note, to, first = 13, markSpoils, jump(addr+2, p[2:])+1, jump(addr+9, p[9:])
	default:
		return 0, 0, nil
	}
	if to-j.entries.Marks >= uint64(len(j.marks)) {
		return 0, 0, nil // of the program
	}
	back := addr + uint64(n)
	if note == markKept {
		back-- // to the pop
		if !bytes.Equal(p[8:13], []byte{0xe3, 2, 0xeb, 5, 0xe9}) || p[17] != 0x59 {
			return 0, 0, fmt.Errorf("the mark at %#x does not leave all as it was", addr)
		}
	}
	mk := &j.marks[to-j.entries.Marks]
	if err := j.firstTime(mk, to, first, back); err != nil {
		return 0, 0, fmt.Errorf("the mark at %#x, the first time: %w", addr, err)
	}
	for _, at := range plain {
		if err = j.straight(mk, at); err == nil {
			return n, note, nil
		}
	}
	return 0, 0, fmt.Errorf("the mark at %#x of the block %#x: %w", addr, mk.Block+j.slide, err)
}

// straight makes sure that control comes from a mark's block to an address without
// a branch, and what it may meet on its way.
func (j *judge) straight(mk *plan.BlockMark, plain uint64) error {
	at := mk.Block + j.slide
	for at < plain {
		in, ok := x86.Decode(j.plain.at(at), 0)
		if !ok || in.Flow != x86.Next {
			return fmt.Errorf("something else than the block leads to %#x", plain)
		}
		if in.Is(x86.MayFault) && !mk.Behind {
			return fmt.Errorf("what is at %#x may fault before it", at)
		}
		at += uint64(in.Size)
	}
	if at != plain {
		return fmt.Errorf("%#x is set before it", plain)
	}
	return nil
}

// withMarks adds marks in all blocks of one function to a plan of its hooks.
func withMarks(p *plan.Plan, b *function, entry *plan.Hook, name func(uint64) string, noReturn func(uint64) bool) {
	if entry.Kind == 0 || b.Lost {
		return
	}
	var changed spans
	for i := range p.Hooks {
		h := &p.Hooks[i]
		changed = append(changed, span{h.At, h.At + uint64(max(len(h.Code), plan.JumpSize))})
	}
	changed.sort()
	at := make([]int, len(b.Ins)) // a line for each instruction
	for i := range at {
		at[i] = i + 1
	}
	var l inliner
	k := marker{l: &l, at: at, name: name}
	p.Marks = slices.Clone(k.marks(b, entry, changed, noReturn))
}
