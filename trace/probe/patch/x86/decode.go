package x86

// Inst is one instruction.
type Inst struct {
	Off    uint32 // from the function's entry
	Size   uint8
	Flow   Flow
	RelAt  uint8 // where its pc-relative displacement is (of a branch: its target), 0: it has none
	Props  Props
	Reads  Flags // that what it does depends on
	Kills  Flags // that it sets, or leaves undefined
	Target int64 // what the displacement refers to, from the function's entry
}

func (in *Inst) End() uint32     { return in.Off + uint32(in.Size) }
func (in *Inst) Is(p Props) bool { return in.Props&p != 0 }

// Flow is where control goes after an instruction.
type Flow uint8

const (
	Next     Flow = iota // to the next instruction
	CondJump             // to the next one or to target
	Jump                 // to target
	JumpAny              // to a computed address
	Call                 // to target, and back
	CallAny              // to a computed address, and back
	Ret                  // to the caller
	Trap                 // nowhere: ud2, int3, hlt
)

// Falls tells if control can reach the next instruction.
func (f Flow) Falls() bool {
	return f == Next || f == CondJump || f == Call || f == CallAny
}

// Props are what else matters of an instruction.
type Props uint16

const (
	Movable     Props = 1 << iota // does the same at another address, once its displacement is adjusted
	MayFault                      // accesses memory that need not be there, or divides
	MovesSP                       // has the stack pointer as an operand that it may change
	Scratch                       // mentions R12, R13 or R15
	BelowSP                       // has an operand below the stack pointer
	ThreadLocal                   // has an operand in thread-local storage
	Fits                          // only fits others together: moves between registers and the stack, constants, no-ops, jumps
)

// Int3 is the instruction that fills the space between functions.
const Int3 = 0xcc

// MaxInst is the length of the longest instruction.
const MaxInst = 15

// A decoder is at some byte of an instruction.
type decoder struct {
	p []byte // from the instruction's first byte
	i int

	opsize, f2, f3, lock, segment bool // prefixes
	wide                          bool // REX.W
	r, x, b                       byte // bit 3 of the numbers of the registers in ModRM.reg, SIB.index and ModRM.rm, SIB.base or the opcode
	vector                        bool // VEX or EVEX
	v                             byte // VEX.vvvv: another register

	own opcode // of a vector instruction, which no table has
}

// Decode decodes the instruction at code[off:]. It fails on what is no
// instruction of the 64-bit mode, and on what it does not know.
func Decode(code []byte, off uint32) (in Inst, ok bool) {
	if !in.Decode(code, off) {
		return Inst{}, false
	}
	return in, true
}

// Decode is the same in place, since a program has a million instructions. When it
// fails it may have written something.
func (in *Inst) Decode(code []byte, off uint32) bool {
	d := decoder{p: code[off:]}
	if len(d.p) > MaxInst {
		d.p = d.p[:MaxInst]
	}
	d.prefixes()
	op, o, ok := d.opcode()
	if !ok || !o.known {
		return false
	}
	*in = Inst{Off: off, Props: o.props, Reads: o.reads, Kills: o.kills}
	var m Operand
	if o.modRM {
		if !d.operand(&m) {
			return false
		}
		in.RelAt = m.ripAt
		in.addOperand(&d, op, o, &m)
	} else if n := byte(op)&7 | d.b; !d.vector && isScratch(n) {
		in.Props |= Scratch // push r12, mov r13d, ...
	} else if n == RegSP && (op&^7 == 0x90 || op&^15 == 0xb0 || op&^7 == map0F|0xc8) {
		in.Props |= MovesSP // xchg, mov, bswap
	}
	if !d.vector && (op >= 0xb0 && op <= 0xbf || op >= 0x90 && op <= 0x97 || op == 0xe9 || op == 0xeb) { // mov of a constant, nop, xchg, jmp
		in.Props |= Fits
	}
	if d.segment {
		in.Props &^= Movable
		in.Props |= MayFault
	}
	n := d.immSize(o.imm)
	at := d.i
	d.i += n
	if n < 0 || d.i > len(d.p) {
		return false
	}
	in.Size = uint8(d.i)
	if o.group != groupNone && !in.refine(&d, op, o, &m, d.p[at:d.i]) {
		return false
	}
	switch o.imm {
	case rel8:
		in.RelAt = uint8(at)
		in.Target = int64(in.End()) + int64(int8(d.p[at]))
	case rel32:
		in.RelAt = uint8(at)
		in.Target = int64(in.End()) + int64(int32(le.Uint32(d.p[at:])))
	default:
		if in.RelAt > 0 {
			in.Target = int64(in.End()) + int64(int32(le.Uint32(d.p[in.RelAt:])))
		}
	}
	return true
}

// OperandOf decodes only the operand of the instruction at code[off:], which has
// been decoded before. It returns false if that has no ModRM byte, or has more
// operands than that byte describes.
func OperandOf(code []byte, off uint32) (op int, m Operand, ok bool) {
	d := decoder{p: code[off:]}
	d.prefixes()
	op, o, ok := d.opcode()
	if !ok || !o.modRM || d.vector {
		return op, m, false
	}
	ok = d.operand(&m)
	return op, m, ok
}

// next returns the next byte; past the end that is 0 and d.i is too large.
func (d *decoder) next() byte {
	d.i++
	if d.i > len(d.p) {
		return 0
	}
	return d.p[d.i-1]
}

func (d *decoder) prefixes() {
	if len(d.p) > 0 && !isPrefix[d.p[0]] {
		return
	}
	for ; d.i < len(d.p); d.i++ {
		switch c := d.p[d.i]; c {
		case 0x66:
			d.opsize = true
		case 0xf2:
			d.f2 = true
		case 0xf3:
			d.f3 = true
		case 0xf0:
			d.lock = true
		case 0x2e, 0x36, 0x3e, 0x26: // of no effect
		case 0x64, 0x65:
			d.segment = true
		default:
			if c&0xf0 == 0x40 { // REX is the last one
				d.wide, d.r, d.x, d.b = c&8 != 0, c>>2&1<<3, c>>1&1<<3, c&1<<3
				d.i++
			}
			return
		}
	}
}

// isPrefix tells what prefixes does not pass by.
var isPrefix = func() (is [256]bool) {
	for _, c := range []byte{0x66, 0xf2, 0xf3, 0xf0, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65} {
		is[c] = true
	}
	for c := 0x40; c <= 0x4f; c++ {
		is[c] = true
	}
	return is
}()

// opcode reads the opcode. Its number is that in the map, with the map above it.
func (d *decoder) opcode() (op int, o *opcode, ok bool) {
	before := d.i
	switch c := d.next(); c {
	case 0x0f:
		switch c := d.next(); c {
		case 0x38:
			c := d.next()
			return map38 | int(c), &after38[c], d.i <= len(d.p)
		case 0x3a:
			c := d.next()
			return map3A | int(c), &after3A[c], d.i <= len(d.p)
		default:
			return map0F | int(c), &twoByte[c], d.i <= len(d.p)
		}
	case 0xc4, 0xc5, 0x62:
		// VEX and EVEX take the place of these prefixes.
		if before > 0 && d.p[before-1]&0xf0 == 0x40 || d.opsize || d.f2 || d.f3 || d.lock {
			return 0, nil, false
		}
		op, d.own, ok = d.vectorOpcode(c)
		return op, &d.own, ok
	default:
		return int(c), &oneByte[c], d.i <= len(d.p)
	}
}

// Maps of opcodes.
const (
	map0F = 0x100
	map38 = 0x200
	map3A = 0x300
)

// Operand is what a ModRM byte says.
type Operand struct {
	Reg    byte // its reg field, extended
	group  byte // its reg field, as part of the opcode
	Memory bool
	Rm     byte // the register, if not memory
	Base   byte // with memory: 0xff if there is none
	Index  byte // 0xff if there is none
	Scale  byte // of the index: 1, 2, 4 or 8
	ripAt  uint8
	Disp   int32
}

const NoReg = 0xff

func (d *decoder) operand(m *Operand) (ok bool) {
	c := d.next()
	mod, rm := c>>6, c&7
	m.group = c >> 3 & 7
	m.Reg = m.group | d.r
	m.Base, m.Index = NoReg, NoReg
	if mod == 3 {
		m.Rm = rm | d.b
		return d.i <= len(d.p)
	}
	m.Memory = true
	m.Base = rm | d.b
	wide := mod == 2 // a displacement of 4 bytes
	switch {
	case rm == 4:
		sib := d.next()
		if x := sib>>3&7 | d.x; x != 4 {
			m.Index, m.Scale = x, 1<<(sib>>6)
		}
		m.Base = sib&7 | d.b
		if sib&7 == 5 && mod == 0 {
			m.Base = NoReg
			wide = true
		}
	case rm == 5 && mod == 0:
		m.Base = NoReg
		m.ripAt = uint8(d.i)
		wide = true
	}
	switch {
	case wide:
		if d.i+4 > len(d.p) {
			return false
		}
		m.Disp = int32(le.Uint32(d.p[d.i:]))
		d.i += 4
	case mod == 1:
		m.Disp = int32(int8(d.next()))
	}
	return d.i <= len(d.p)
}

const (
	RegDX = 2 // at a function's entry: the closure that is called
	RegSP = 4
	RegBP = 5
	regG  = 14 // R14, the goroutine
)

// certain tells if the memory is there whatever the program does: on the stack,
// in the goroutine's descriptor, or a global variable.
func (m *Operand) certain() bool {
	return m.Index == NoReg && (m.Base == RegSP || m.Base == RegBP || m.Base == regG || m.ripAt > 0)
}

func isScratch(r byte) bool { return r == 12 || r == 13 || r == 15 }

// addOperand adds what follows from the operand.
func (in *Inst) addOperand(d *decoder, op int, o *opcode, m *Operand) {
	if isScratch(m.Reg) || isScratch(m.Base) || isScratch(m.Index) || !m.Memory && isScratch(m.Rm) || d.vector && d.v >= 12 {
		in.Props |= Scratch
	}
	if m.Memory {
		if !o.noFault && !m.certain() {
			in.Props |= MayFault
		}
		if d.segment {
			in.Props |= ThreadLocal
		}
		// An EVEX displacement is scaled; its sign is not.
		if m.Base == RegSP && m.Disp < 0 && !o.noFault {
			in.Props |= BelowSP
		}
	}
	if !d.vector && isFit(op, m) {
		in.Props |= Fits
	}
	general := op < map0F || op >= map0F|0x40 && op <= map0F|0x4f || op >= map0F|0xa0 && op <= map0F|0xcf
	compares := op >= 0x38 && op <= 0x3b || op == 0x84 || op == 0x85 || o.group == groupArith && m.group == 7
	if d.vector { // andn, shlx and others of the general registers
		general = op >= map38|0xf0 && op <= map38|0xf7 || op == map3A|0xf0
		compares = false
	}
	if general && !compares && (m.Reg == RegSP || !m.Memory && m.Rm == RegSP || d.vector && d.v == RegSP) {
		in.Props |= MovesSP
	}
}

// isFit tells if an instruction with this operand is one of those by which the
// register allocator and the assembler fit other instructions together.
func isFit(op int, m *Operand) bool {
	local := !m.Memory || m.Base == RegSP
	switch op {
	case 0x88, 0x89, 0x8a, 0x8b, // mov
		map0F | 0x10, map0F | 0x11, map0F | 0x28, map0F | 0x29, // movss, movsd, movups, movaps
		map0F | 0x6e, map0F | 0x6f, map0F | 0x7e, map0F | 0x7f, map0F | 0xd6, // movd, movq, movdqu
		map0F | 0xb6, map0F | 0xb7, 0xc6, 0xc7: // movzx, mov of a constant
		return local
	case 0x8d: // lea
		return m.Base == RegSP && m.Index == NoReg || m.ripAt > 0
	case 0x30, 0x31, 0x32, 0x33, map0F | 0x57, map0F | 0xef: // xor with itself
		return !m.Memory && m.Reg == m.Rm
	case map0F | 0x1f: // nop
		return true
	}
	return false
}

// immSize is the length of an immediate; it is negative for a branch with a
// prefix that processors read differently.
func (d *decoder) immSize(k immediate) int {
	switch k {
	case imm8:
		return 1
	case imm16:
		return 2
	case imm24:
		return 3
	case immAddr:
		return 8
	case immZ:
		if d.opsize && !d.wide {
			return 2
		}
		return 4
	case immV:
		switch {
		case d.wide:
			return 8
		case d.opsize:
			return 2
		}
		return 4
	case rel8, rel32:
		switch {
		case d.opsize:
			return -1
		case k == rel8:
			return 1
		}
		return 4
	}
	return 0
}

// refine completes an instruction whose opcode does not say everything. It
// returns false if there is no such instruction.
func (in *Inst) refine(d *decoder, op int, o *opcode, m *Operand, imm []byte) bool {
	switch o.group {
	case groupArith:
		if m.group == 2 || m.group == 3 { // adc, sbb
			in.Reads = carry
		}
	case groupLEA:
		return m.Memory
	case groupPop, groupMov:
		return m.group == 0
	case groupShift, groupShift1, groupShiftCL:
		switch m.group {
		case 0, 1: // rol, ror: not all flags
		case 2, 3: // rcl, rcr
			in.Reads = carry
		default: // a shift by 0 sets none
			if o.group == groupShift1 || o.group == groupShift && imm[0]&0x1f != 0 {
				in.Kills = AllFlags
			}
		}
	case groupRet:
		in.Flow = Ret
	case groupTrap:
		in.Flow = Trap
	case groupUnary:
		switch m.group {
		case 0, 1: // test: the only one with an immediate
			n := 1
			if op&1 != 0 {
				n = d.immSize(immZ)
			}
			if d.i += n; d.i > len(d.p) {
				return false
			}
			in.Size = uint8(d.i)
			in.Kills = AllFlags
		case 3, 4, 5: // neg, mul, imul
			in.Kills = AllFlags
		case 6, 7: // div, idiv
			in.Props |= MayFault
		}
	case groupIncDec:
		in.Kills = AllFlags &^ carry
		return m.group <= 1
	case groupFF:
		switch m.group {
		case 0, 1:
			in.Kills = AllFlags &^ carry
		case 2:
			in.Flow, in.Props, in.Kills = CallAny, in.Props&^Movable, AllFlags
		case 4:
			in.Flow, in.Props = JumpAny, in.Props&^Movable
		case 6:
			in.Props |= MovesSP
		case 3, 5, 7: // far calls and jumps
			return false
		}
	case groupBits:
		in.Kills = carry
		if m.Memory {
			in.Props |= MayFault
		}
	case groupBitsImm:
		in.Kills = carry
		return m.group >= 4
	case groupPopcnt:
		return d.f3
	case groupRel:
		in.Flow = CondJump
	case groupJump:
		in.Flow = Jump
	case groupCall:
		in.Flow = Call
	}
	return true
}
