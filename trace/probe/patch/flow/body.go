package flow

import (
	"bytes"
	"slices"

	"tracerag/trace/probe/patch/x86"
)

// Body is the code of one function, taken apart.
type Body struct {
	Entry   uint64
	Code    []byte // with the padding after it
	Ins     []x86.Inst
	Tail    uint32    // where the padding begins
	At      []int32   // by offset: one more than the instruction that begins there, 0 if none does
	Entered []bool    // by instruction: control may come from elsewhere than the one before
	Calls   []int32   // instructions that are direct calls
	Props   x86.Props // of all instructions together
	jumps   []indirect
	Lost    bool // a jump leads to a computed address that is not understood
}

// An indirect is a jump through a table in the data.
type indirect struct {
	ins     int
	targets []int // instructions
}

// Disassemble takes a function's code apart, from the first byte to the last. It
// reuses what b holds. It returns why it cannot, "" if it can.
func (b *Body) Disassemble(entry uint64, code []byte, word func(addr uint64) (uint64, bool)) (why string) {
	b.Entry, b.Code = entry, code
	b.Ins, b.Calls, b.jumps, b.Props, b.Lost = b.Ins[:0], b.Calls[:0], b.jumps[:0], 0, false
	b.Tail = uint32(len(code))
	b.Ins = slices.Grow(b.Ins, len(code)/4) // there are a little fewer
	b.At = slices.Grow(b.At[:0], len(code))[:len(code)]
	clear(b.At)
	for off := uint32(0); off < b.Tail; {
		if code[off] == x86.Int3 && off > 0 && padding(code[off:]) {
			b.Tail = off
			break
		}
		n := len(b.Ins)
		b.Ins = slices.Grow(b.Ins, 1)[:n+1]
		in := &b.Ins[n]
		if !in.Decode(code, off) {
			return "an instruction that is not understood"
		}
		b.At[off] = int32(n + 1)
		off += uint32(in.Size)
	}
	b.At = b.At[:b.Tail]
	if len(b.Ins) == 0 {
		return "no code"
	}
	b.Entered = slices.Grow(b.Entered[:0], len(b.Ins))[:len(b.Ins)]
	clear(b.Entered)
	computed := 0
	for i := range b.Ins {
		in := &b.Ins[i]
		b.Props |= in.Props
		if in.Flow == x86.Call {
			b.Calls = append(b.Calls, int32(i))
		}
		switch in.Flow {
		case x86.CondJump, x86.Jump, x86.Call:
			if in.Target < 0 || in.Target >= int64(len(code)) {
				continue // into another function
			}
			t := b.Index(in.Target)
			if t < 0 {
				return "a branch into an instruction"
			}
			if in.Flow != x86.Call || t > 0 { // a recursive call enters as any other does
				b.Entered[t] = true
			}
		case x86.JumpAny:
			computed++
		}
	}
	if computed > 0 {
		b.findTables(word)
	}
	return ""
}

// padding tells if there is nothing but what fills the space between functions.
func padding(code []byte) bool { return bytes.Count(code, []byte{x86.Int3}) == len(code) }

// Index is the instruction that begins at an offset from the entry, or -1.
func (b *Body) Index(off int64) int {
	if off < 0 || off >= int64(len(b.At)) {
		return -1
	}
	return int(b.At[off]) - 1
}

// BytesOf are the bytes of the instructions from..to.
func (b *Body) BytesOf(from, to int) []byte {
	return b.Code[b.Ins[from].Off:b.Ins[to-1].End()]
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
func (b *Body) findTables(word func(addr uint64) (uint64, bool)) {
	type table struct {
		ins     int
		reg     byte
		targets []int
	}
	var tables []table
	for i := range b.Ins {
		in := &b.Ins[i]
		if in.RelAt != 3 || in.Size != 7 || b.Code[in.Off+1] != 0x8d || b.Code[in.Off]&0xf8 != 0x48 { // lea r64, [rip+x]
			continue
		}
		t := table{ins: i, reg: b.Code[in.Off+2]>>3&7 | b.Code[in.Off]>>2&1<<3}
		for addr := b.Entry + uint64(in.Target); ; addr += 8 {
			v, ok := word(addr)
			if !ok || v <= b.Entry || v-b.Entry >= uint64(len(b.At)) {
				break // at the entry there is no case of a switch: a function value
			}
			k := b.Index(int64(v - b.Entry))
			if k < 0 {
				break
			}
			t.targets = append(t.targets, k)
		}
		if len(t.targets) > 0 {
			tables = append(tables, t)
		}
	}
	for i := range b.Ins {
		in := &b.Ins[i]
		if in.Flow != x86.JumpAny {
			continue
		}
		// jmp [base+index*8], without a displacement
		var found *table
		if _, m, ok := x86.OperandOf(b.Code, in.Off); ok && m.Memory && m.Base != x86.NoReg && m.Scale == 8 && m.Disp == 0 {
			for k := range tables {
				// The nearest one before; else, as blocks may have been moved,
				// any.
				if t := &tables[k]; t.reg == m.Base && (found == nil || t.ins < i) {
					found = t
				}
			}
		}
		if found == nil {
			b.Lost = true
			continue
		}
		b.jumps = append(b.jumps, indirect{i, found.targets})
	}
	for _, t := range tables {
		for _, k := range t.targets {
			b.Entered[k] = true
		}
	}
}
