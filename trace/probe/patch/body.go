package patch

import (
	"bytes"
	"slices"
)

// A body is the code of one function, taken apart.
type body struct {
	entry uint64
	code  []byte // with the padding after it
	ins   []inst
	tail  uint32  // where the padding begins
	at    []int32 // by offset: one more than the instruction that begins there, 0 if none does
	enter []bool  // by instruction: control may come from elsewhere than the one before
	calls []int32 // instructions that are direct calls
	props props   // of all instructions together
	jumps []indirect
	lost  bool // there is a jump to a computed address that is not understood
}

// An indirect is a jump through a table in the data.
type indirect struct {
	ins     int
	targets []int // instructions
}

// int3 fills the space between functions.
const int3 = 0xcc

// disassemble takes a function's code apart, from the first byte to the last. It
// reuses what b holds. It returns why it cannot, "" if it can.
func (b *body) disassemble(entry uint64, code []byte, word func(addr uint64) (uint64, bool)) (why string) {
	b.entry, b.code = entry, code
	b.ins, b.calls, b.jumps, b.props, b.lost = b.ins[:0], b.calls[:0], b.jumps[:0], 0, false
	b.tail = uint32(len(code))
	b.ins = slices.Grow(b.ins, len(code)/4) // there are a little fewer
	b.at = slices.Grow(b.at[:0], len(code))[:len(code)]
	clear(b.at)
	for off := uint32(0); off < b.tail; {
		if code[off] == int3 && off > 0 && padding(code[off:]) {
			b.tail = off
			break
		}
		n := len(b.ins)
		b.ins = slices.Grow(b.ins, 1)[:n+1]
		in := &b.ins[n]
		if !in.decode(code, off) {
			return "an instruction that is not understood"
		}
		b.at[off] = int32(n + 1)
		off += uint32(in.size)
	}
	b.at = b.at[:b.tail]
	if len(b.ins) == 0 {
		return "no code"
	}
	b.enter = slices.Grow(b.enter[:0], len(b.ins))[:len(b.ins)]
	clear(b.enter)
	computed := 0
	for i := range b.ins {
		in := &b.ins[i]
		b.props |= in.props
		if in.flow == flowCall {
			b.calls = append(b.calls, int32(i))
		}
		switch in.flow {
		case flowCond, flowJump, flowCall:
			if in.target < 0 || in.target >= int64(len(code)) {
				continue // into another function
			}
			t := b.index(in.target)
			if t < 0 {
				return "a branch into an instruction"
			}
			if in.flow != flowCall || t > 0 { // a recursive call enters as any other does
				b.enter[t] = true
			}
		case flowJumpAny:
			computed++
		}
	}
	if computed > 0 {
		b.findTables(word)
	}
	return ""
}

// padding tells if there is nothing but what fills the space between functions.
func padding(code []byte) bool { return bytes.Count(code, []byte{int3}) == len(code) }

// index is the instruction that begins at an offset from the entry, or -1.
func (b *body) index(off int64) int {
	if off < 0 || off >= int64(len(b.at)) {
		return -1
	}
	return int(b.at[off]) - 1
}

// bytesOf are the bytes of the instructions from..to.
func (b *body) bytesOf(from, to int) []byte {
	return b.code[b.ins[from].off:b.ins[to-1].end()]
}

// findTables finds where jumps through tables lead. The compiler makes them of
// large switch statements:
//
//	lea rcx, [rip+table]
//	jmp [rcx+rax*8]
//
// where the table, in read-only data, holds absolute addresses in this function.
// How long it is cannot be seen. It ends at the latest where a word is no
// address of an instruction in the function; a word too many does no harm,
// because a target too many only forbids.
func (b *body) findTables(word func(addr uint64) (uint64, bool)) {
	type table struct {
		ins     int
		reg     byte
		targets []int
	}
	var tables []table
	for i := range b.ins {
		in := &b.ins[i]
		if in.relAt != 3 || in.size != 7 || b.code[in.off+1] != 0x8d || b.code[in.off]&0xf8 != 0x48 { // lea r64, [rip+x]
			continue
		}
		t := table{ins: i, reg: b.code[in.off+2]>>3&7 | b.code[in.off]>>2&1<<3}
		for addr := b.entry + uint64(in.target); ; addr += 8 {
			v, ok := word(addr)
			if !ok || v <= b.entry || v-b.entry >= uint64(len(b.at)) {
				break // at the entry there is no case of a switch: a function value
			}
			k := b.index(int64(v - b.entry))
			if k < 0 {
				break
			}
			t.targets = append(t.targets, k)
		}
		if len(t.targets) > 0 {
			tables = append(tables, t)
		}
	}
	for i := range b.ins {
		in := &b.ins[i]
		if in.flow != flowJumpAny {
			continue
		}
		// jmp [base+index*8], without a displacement
		var found *table
		if _, m, ok := operandOf(b.code, in.off); ok && m.memory && m.base != noReg && m.scale == 8 && m.disp == 0 {
			for k := range tables {
				// The nearest one before; else, as blocks may have been moved,
				// any.
				if t := &tables[k]; t.reg == m.base && (found == nil || t.ins < i) {
					found = t
				}
			}
		}
		if found == nil {
			b.lost = true
			continue
		}
		b.jumps = append(b.jumps, indirect{i, found.targets})
	}
	for _, t := range tables {
		for _, k := range t.targets {
			b.enter[k] = true
		}
	}
}
