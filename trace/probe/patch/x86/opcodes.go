package x86

// An opcode is what an opcode's number alone says.
type opcode struct {
	known   bool
	modRM   bool
	noFault bool // its memory operand is no access (lea), or a hint (prefetch)
	imm     immediate
	group   group
	props   Props
	reads   Flags
	kills   Flags
}

// immediate is the kind of bytes that follow an opcode and its operands.
type immediate uint8

const (
	immNone immediate = iota
	imm8
	immZ    // 32 bits, or 16 with a 66 prefix
	imm16   //
	imm24   // enter: 16 bits and 8
	immV    // as long as the operand: up to 64 bits
	immAddr // an absolute address of 64 bits
	rel8    // a branch's displacement
	rel32
)

// group names opcodes whose meaning depends on more than the opcode.
type group uint8

const (
	groupNone  group = iota
	groupArith       // 80 81 83: add or adc sbb and sub xor cmp
	groupLEA
	groupPop     // 8F: pop, or another instruction set's prefix
	groupMov     // C6 C7: mov of a constant, or transactions
	groupShift   // C0 C1: by a constant
	groupShift1  // D0 D1
	groupShiftCL // D2 D3
	groupRet
	groupTrap
	groupUnary // F6 F7: test not neg mul imul div idiv
	groupIncDec
	groupFF   // inc dec call jmp push
	groupBits // bt bts btr btc with a register: it may reach beyond its operand
	groupBitsImm
	groupPopcnt // needs its F3 prefix
	groupRel    // a conditional branch
	groupJump
	groupCall
)

// Flags are the arithmetic flags, but for AF, which nothing reads that the
// compiler makes.
type Flags uint8

const (
	carry Flags = 1 << iota
	parity
	zero
	sign
	overflow
	AllFlags = carry | parity | zero | sign | overflow
)

// conditions are the flags that a condition code and its contrary look at: o b e
// be s p l le.
var conditions = [8]Flags{overflow, carry, zero, carry | zero, sign, parity, sign | overflow, zero | sign | overflow}

type opcodes [256]opcode

// The opcodes of one byte, and those after 0F. Where only an instruction's
// length is known (or wanted) it is not movable, and counts as reading flags.
var (
	oneByte = oneByteTable()
	twoByte = twoByteTable()
)

// The opcodes after 0F 38 and 0F 3A.
var after38, after3A = func() (a, b opcodes) {
	for c := range a {
		a[c], b[c] = threeByte38(byte(c)), threeByte3A(byte(c))
	}
	return a, b
}()

// set describes the opcodes from..to.
func (t *opcodes) set(from, to int, o opcode) {
	o.known = true
	for i := from; i <= to; i++ {
		t[i] = o
	}
}

// rare describes opcodes that are decoded and otherwise avoided.
func (t *opcodes) rare(from, to int, modRM bool, imm immediate) {
	t.set(from, to, opcode{modRM: modRM, imm: imm, props: MayFault, reads: AllFlags})
}

func oneByteTable() (t opcodes) {
	for op := range 8 { // add or adc sbb and sub xor cmp
		o := opcode{props: Movable, kills: AllFlags}
		if op == 2 || op == 3 {
			o.reads = carry
		}
		small, large := o, o
		small.imm, large.imm, o.modRM = imm8, immZ, true
		t.set(op<<3, op<<3+3, o)
		t.set(op<<3+4, op<<3+4, small)
		t.set(op<<3+5, op<<3+5, large)
	}
	t.set(0x50, 0x5b, opcode{props: Movable | MovesSP}) // push, pop
	t.set(0x5c, 0x5c, opcode{props: MovesSP})           // pop rsp
	t.set(0x5d, 0x5f, opcode{props: Movable | MovesSP})
	t.set(0x63, 0x63, opcode{modRM: true, props: Movable})                             // movsxd
	t.set(0x68, 0x68, opcode{imm: immZ, props: Movable | MovesSP})                     // push
	t.set(0x69, 0x69, opcode{modRM: true, imm: immZ, props: Movable, kills: AllFlags}) // imul
	t.set(0x6a, 0x6a, opcode{imm: imm8, props: Movable | MovesSP})
	t.set(0x6b, 0x6b, opcode{modRM: true, imm: imm8, props: Movable, kills: AllFlags})
	t.rare(0x6c, 0x6f, false, immNone)
	for c := range 16 {
		t.set(0x70+c, 0x70+c, opcode{imm: rel8, group: groupRel, props: Movable, reads: conditions[c>>1]})
	}
	t.set(0x80, 0x80, opcode{modRM: true, imm: imm8, group: groupArith, props: Movable, kills: AllFlags})
	t.set(0x81, 0x81, opcode{modRM: true, imm: immZ, group: groupArith, props: Movable, kills: AllFlags})
	t.set(0x83, 0x83, opcode{modRM: true, imm: imm8, group: groupArith, props: Movable, kills: AllFlags})
	t.set(0x84, 0x85, opcode{modRM: true, props: Movable, kills: AllFlags}) // test
	t.set(0x86, 0x8b, opcode{modRM: true, props: Movable})                  // xchg, mov
	t.rare(0x8c, 0x8c, true, immNone)
	t.set(0x8d, 0x8d, opcode{modRM: true, noFault: true, group: groupLEA, props: Movable})
	t.rare(0x8e, 0x8e, true, immNone)
	t.set(0x8f, 0x8f, opcode{modRM: true, group: groupPop, props: MovesSP | MayFault})
	t.set(0x90, 0x99, opcode{props: Movable}) // nop, xchg, cdqe, cqo
	t.rare(0x9b, 0x9b, false, immNone)
	t.set(0x9c, 0x9d, opcode{props: MovesSP, reads: AllFlags}) // pushf, popf
	t.rare(0x9e, 0x9f, false, immNone)
	t.rare(0xa0, 0xa3, false, immAddr)
	t.set(0xa4, 0xa5, opcode{props: MayFault})                            // movs
	t.rare(0xa6, 0xa7, false, immNone)                                    // cmps
	t.set(0xa8, 0xa8, opcode{imm: imm8, props: Movable, kills: AllFlags}) // test
	t.set(0xa9, 0xa9, opcode{imm: immZ, props: Movable, kills: AllFlags})
	t.set(0xaa, 0xab, opcode{props: MayFault}) // stos
	t.rare(0xac, 0xaf, false, immNone)
	t.set(0xb0, 0xb7, opcode{imm: imm8, props: Movable}) // mov
	t.set(0xb8, 0xbf, opcode{imm: immV, props: Movable})
	t.set(0xc0, 0xc1, opcode{modRM: true, imm: imm8, group: groupShift, props: Movable})
	t.set(0xc2, 0xc2, opcode{imm: imm16, group: groupRet, props: MovesSP, kills: AllFlags})
	t.set(0xc3, 0xc3, opcode{group: groupRet, props: Movable | MovesSP, kills: AllFlags})
	t.set(0xc6, 0xc6, opcode{modRM: true, imm: imm8, group: groupMov, props: Movable})
	t.set(0xc7, 0xc7, opcode{modRM: true, imm: immZ, group: groupMov, props: Movable})
	t.set(0xc8, 0xc8, opcode{imm: imm24, props: MovesSP}) // enter
	t.set(0xc9, 0xc9, opcode{props: MovesSP})             // leave
	t.set(0xcc, 0xcc, opcode{group: groupTrap})           // int3
	t.rare(0xcd, 0xcd, false, imm8)                       // int
	t.set(0xd0, 0xd1, opcode{modRM: true, group: groupShift1, props: Movable})
	t.set(0xd2, 0xd3, opcode{modRM: true, group: groupShiftCL, props: Movable})
	t.rare(0xd7, 0xd7, false, immNone)                                     // xlat
	t.rare(0xd8, 0xdf, true, immNone)                                      // x87
	t.set(0xe0, 0xe3, opcode{imm: rel8, group: groupRel, reads: AllFlags}) // loop, jrcxz
	t.rare(0xe4, 0xe7, false, imm8)
	t.set(0xe8, 0xe8, opcode{imm: rel32, group: groupCall, kills: AllFlags})
	t.set(0xe9, 0xe9, opcode{imm: rel32, group: groupJump, props: Movable})
	t.set(0xeb, 0xeb, opcode{imm: rel8, group: groupJump, props: Movable})
	t.rare(0xec, 0xef, false, immNone)
	t.set(0xf4, 0xf4, opcode{group: groupTrap}) // hlt
	t.rare(0xf5, 0xf5, false, immNone)
	t.set(0xf6, 0xf6, opcode{modRM: true, group: groupUnary, props: Movable})
	t.set(0xf7, 0xf7, opcode{modRM: true, group: groupUnary, props: Movable})
	t.set(0xf8, 0xf9, opcode{props: Movable}) // clc, stc
	t.rare(0xfa, 0xfd, false, immNone)
	t.set(0xfe, 0xfe, opcode{modRM: true, group: groupIncDec, props: Movable})
	t.set(0xff, 0xff, opcode{modRM: true, group: groupFF, props: Movable})
	return t
}

func twoByteTable() (t opcodes) {
	plain := opcode{modRM: true, props: Movable}
	kills := opcode{modRM: true, props: Movable, kills: AllFlags}
	constant := opcode{modRM: true, imm: imm8, props: Movable}
	hint := opcode{modRM: true, noFault: true, props: Movable}
	bits := opcode{modRM: true, group: groupBits, props: Movable}

	t.rare(0x00, 0x03, true, immNone)
	t.rare(0x05, 0x05, false, immNone)          // syscall
	t.set(0x0b, 0x0b, opcode{group: groupTrap}) // ud2
	t.set(0x0d, 0x0d, hint)                     // prefetchw
	t.set(0x10, 0x17, plain)                    // SSE moves
	t.set(0x18, 0x18, hint)                     // prefetch
	t.rare(0x19, 0x1b, true, immNone)
	t.set(0x1c, 0x1f, hint) // nop
	t.set(0x28, 0x2d, plain)
	t.set(0x2e, 0x2f, kills)           // ucomis, comis
	t.rare(0x30, 0x33, false, immNone) // rdtsc and others
	for c := range 16 {
		reads := conditions[c>>1]
		t.set(0x40+c, 0x40+c, opcode{modRM: true, props: Movable, reads: reads}) // cmov
		t.set(0x80+c, 0x80+c, opcode{imm: rel32, group: groupRel, props: Movable, reads: reads})
		t.set(0x90+c, 0x90+c, opcode{modRM: true, props: Movable, reads: reads}) // setcc
	}
	t.set(0x50, 0x76, plain)           // SSE
	t.set(0x70, 0x73, constant)        // pshuf, shifts
	t.rare(0x77, 0x77, false, immNone) // emms
	t.set(0x7c, 0x7f, plain)           //
	t.rare(0xa2, 0xa2, false, immNone) // cpuid
	t.set(0xa3, 0xa3, bits)            // bt
	t.set(0xa4, 0xa4, constant)        // shld
	t.set(0xa5, 0xa5, plain)
	t.set(0xab, 0xab, bits)     // bts
	t.set(0xac, 0xac, constant) // shrd
	t.set(0xad, 0xad, plain)
	t.rare(0xae, 0xae, true, immNone) // fences, ldmxcsr
	t.set(0xaf, 0xaf, kills)          // imul
	t.set(0xb0, 0xb1, kills)          // cmpxchg
	t.set(0xb3, 0xb3, bits)           // btr
	t.set(0xb6, 0xb7, plain)          // movzx
	t.set(0xb8, 0xb8, opcode{modRM: true, group: groupPopcnt, props: Movable, kills: AllFlags})
	t.set(0xba, 0xba, opcode{modRM: true, imm: imm8, group: groupBitsImm, props: Movable})
	t.set(0xbb, 0xbb, bits)                                             // btc
	t.set(0xbc, 0xbd, opcode{modRM: true, props: Movable, kills: zero}) // bsf bsr tzcnt lzcnt
	t.set(0xbe, 0xbf, plain)                                            // movsx
	t.set(0xc0, 0xc1, kills)                                            // xadd
	t.set(0xc2, 0xc2, constant)
	t.set(0xc3, 0xc3, plain) // movnti
	t.set(0xc4, 0xc6, constant)
	t.rare(0xc7, 0xc7, true, immNone)         // cmpxchg16b, rdrand
	t.set(0xc8, 0xcf, opcode{props: Movable}) // bswap
	t.set(0xd0, 0xfe, plain)                  // MMX and SSE
	t.rare(0xf7, 0xf7, true, immNone)         // maskmov: memory that the encoding does not show
	return t
}

// threeByte38 and threeByte3A are the opcodes after 0F 38 and 0F 3A.
func threeByte38(op byte) opcode {
	switch {
	case op <= 0x0b, op >= 0x10 && op <= 0x41, op >= 0xc8 && op <= 0xcd, op >= 0xdb && op <= 0xdf, op == 0xf0, op == 0xf1:
		return opcode{known: true, modRM: true, props: Movable} // SSE, SHA, AES, movbe, crc32
	case op == 0xf6: // adcx, adox
		return opcode{known: true, modRM: true, reads: AllFlags}
	}
	return opcode{}
}

func threeByte3A(op byte) opcode {
	switch {
	case op >= 0x08 && op <= 0x0f, op >= 0x14 && op <= 0x17, op >= 0x20 && op <= 0x22,
		op >= 0x40 && op <= 0x44, op >= 0x60 && op <= 0x63, op == 0xcc, op == 0xdf:
		return opcode{known: true, modRM: true, imm: imm8, props: Movable}
	}
	return opcode{}
}
