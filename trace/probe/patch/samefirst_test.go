package patch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/stubs"
)

// This part of the judge runs what a mark's stub does the first time, instruction by
// instruction, with anything in the registers and the flags. It has to come back with
// all of them as they were and the byte set, and to have written nothing else but
// below the stack pointer, as far down as StackNeed, and the bytes that the mark changed,
// which are the program's own again, or lead a call to its stub.

// firstTime judges the first-time part of a mark's stub, from first to back.
func (j *judge) firstTime(mk *plan.BlockMark, mark, first, back uint64) error {
	if err, ok := j.first[first]; ok {
		return err
	}
	if j.first == nil {
		j.first = map[uint64]error{}
	}
	gone, err := j.runFirst(mk, mark, first, back)
	if gone && j.gone != nil {
		j.gone.Add(1)
	}
	j.first[first] = err
	return err
}

func (j *judge) runFirst(mk *plan.BlockMark, mark, first, back uint64) (gone bool, err error) {
	// The mark has these bytes, in words of which the others may be anything.
	at := mk.At + j.slide
	size := uint64(len(mk.Code))
	if mk.Form == plan.MarkSlot {
		size = plan.JumpSize
	}
	from, to := at&^7, (at+size+7)&^7
	if len(j.patched.at(from)) < int(to-from) { // code that begins or ends there
		from, to = at, at+size
	}
	plain := slices.Clone(j.plain.at(from)[:to-from])
	patched := slices.Clone(j.patched.at(from)[:to-from])
	if _, ok := j.calls[at]; ok && mk.Form == plan.MarkCall {
		// To the call's own stub, where the mark's goes on: see callStub.
		op, err := read(j.patched, back)
		if err == nil && op.inst.Op == x86asm.POP {
			op, err = read(j.patched, back+uint64(op.size))
		}
		if err != nil || op.inst.Op != x86asm.JMP {
			return false, fmt.Errorf("it goes on with %q, %v", op.text, err)
		}
		le.PutUint32(plain[at-from+1:], uint32(op.to-at-plan.JumpSize))
	}
	inside := func(i int) bool { return from+uint64(i) >= at && from+uint64(i) < at+size }
	ours := func(i int) bool { return inside(i) && plain[i] != patched[i] }
	rnd := rand.New(rand.NewPCG(first, mark))
	others := func(code []byte) {
		for i := range code {
			if !inside(i) {
				code[i] = byte(rnd.Uint32())
			}
		}
	}
	run := func(code []byte, meanwhile func(code []byte)) error {
		c := &cpu{rnd: rnd, code: j.patched, meanwhile: meanwhile, text: stretch{from, code}, mark: mark}
		return c.call(first, back)
	}

	code := slices.Clone(patched)
	if err := run(code, nil); err != nil {
		return false, err
	}
	gone = !bytes.Equal(code, patched)
	if gone {
		for i := range code {
			if ours(i) && code[i] != plain[i] || !ours(i) && code[i] != patched[i] {
				return true, fmt.Errorf("it makes % x of % x, which was % x", code, patched, plain)
			}
		}
		if !mk.Once || !j.entries.Writable {
			return true, fmt.Errorf("it gives back what it is not to")
		}
	}
	// The same with other neighbours, and with some that change just then.
	tries, bits := 1, 1
	if j.thorough {
		tries, bits = 10, 8
	}
	for n := range 2 * tries {
		code := slices.Clone(patched)
		others(code)
		want := slices.Clone(code)
		var meanwhile func([]byte)
		if n%2 == 1 {
			meanwhile = func(code []byte) { others(code); copy(want, code) }
		}
		if err := run(code, meanwhile); err != nil {
			return gone, err
		}
		for i := range want {
			if gone && ours(i) {
				want[i] = plain[i]
			}
		}
		if !bytes.Equal(code, want) {
			return gone, fmt.Errorf("with other code around it makes % x where % x was to be", code, want)
		}
	}
	// What somebody else has changed stays.
	for i := range patched {
		for bit := range bits {
			if !ours(i) {
				continue
			}
			change := byte(1) << (bit + rnd.IntN(8/bits))
			code := slices.Clone(patched)
			code[i] ^= change
			want := slices.Clone(code)
			if err := run(code, nil); err != nil {
				return gone, err
			}
			late, wantLate := slices.Clone(patched), patched
			if err := run(late, func(code []byte) { code[i] ^= change; wantLate = want }); err != nil {
				return gone, err
			}
			if !bytes.Equal(code, want) || !bytes.Equal(late, wantLate) {
				return gone, fmt.Errorf("a breakpoint at %#x is overwritten", from+uint64(i))
			}
		}
	}
	return gone, nil
}

// A cpu runs the instructions that a first-time part is made of.
type cpu struct {
	rnd       *rand.Rand
	code      image
	text      stretch           // the program's code around the mark, which may change
	mark      uint64            // address of the byte
	meanwhile func(code []byte) // changes the code, once, between its being read and written

	reg   [16]uint64 // in the order of their numbers
	flags uint64
	stack map[uint64]byte // by address
	sp    uint64          // where it was
	set   bool
}

const zeroFlag = 1 << 6

// call runs from one address to another.
func (c *cpu) call(from, to uint64) error {
	for i := range c.reg {
		c.reg[i] = c.rnd.Uint64()
	}
	c.sp = 0x7fff_0000_0000 + c.rnd.Uint64N(1<<16)&^7
	c.reg[4] = c.sp
	c.flags = c.rnd.Uint64()
	c.stack = map[uint64]byte{}
	reg, flags := c.reg, c.flags
	for n := 0; from != to; n++ {
		if n == 100 {
			return fmt.Errorf("it does not come back")
		}
		op, err := read(c.code, from)
		if err == nil {
			from, err = c.step(from, op)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case c.reg != reg:
		return fmt.Errorf("the registers were %x and are %x", reg, c.reg)
	case c.flags != flags:
		return fmt.Errorf("the flags were %x and are %x", flags, c.flags)
	case !c.set:
		return fmt.Errorf("it does not set its byte")
	}
	return nil
}

// step runs one instruction. What it does not know is an error.
func (c *cpu) step(at uint64, op operation) (next uint64, err error) {
	next = at + uint64(op.size)
	if !op.known {
		return 0, fmt.Errorf("unexpected %s", op.text)
	}
	x := op.inst
	locked := slices.ContainsFunc(x.Prefix[:], func(p x86asm.Prefix) bool { return p&0xff == 0xf0 })
	if locked != (x.Op == x86asm.CMPXCHG) {
		return 0, fmt.Errorf("%v at %#x is locked: %v", x, at, locked)
	}
	args := [2]uint64{}
	for i, a := range x.Args[:2] {
		if a == nil || x.Op == x86asm.POP || x.Op == x86asm.MOV && i == 0 {
			continue
		}
		if args[i], err = c.get(a, next, x.MemBytes); err != nil {
			return 0, fmt.Errorf("%v: %w", x, err)
		}
	}
	arith := func(v uint64) uint64 {
		c.flags = c.rnd.Uint64() &^ zeroFlag
		if v == 0 {
			c.flags |= zeroFlag
		}
		return v
	}
	push := func(v uint64) error {
		c.reg[4] -= 8
		return c.store(c.reg[4], le.AppendUint64(nil, v), false)
	}
	pop := func() (uint64, error) {
		v, err := c.load(c.reg[4], 8)
		c.reg[4] += 8
		return v, err
	}
	switch x.Op {
	case x86asm.MOV:
		err = c.put(x.Args[0], next, x.MemBytes, args[1])
	case x86asm.ADD:
		err = c.put(x.Args[0], next, x.MemBytes, arith(args[0]+args[1]))
	case x86asm.AND:
		err = c.put(x.Args[0], next, x.MemBytes, arith(args[0]&args[1]))
	case x86asm.XOR:
		err = c.put(x.Args[0], next, x.MemBytes, arith(args[0]^args[1]))
	case x86asm.CMP:
		arith(args[0] - args[1])
	case x86asm.JE, x86asm.JNE:
		if (c.flags&zeroFlag != 0) == (x.Op == x86asm.JE) {
			next = op.to
		}
	case x86asm.JMP:
		next = op.to
	case x86asm.CALL:
		err = push(next)
		next = op.to
	case x86asm.RET:
		if x.Args[0] != nil {
			return 0, fmt.Errorf("%v takes more than it should", x)
		}
		next, err = pop()
	case x86asm.PUSHFQ:
		err = push(c.flags)
	case x86asm.POPFQ:
		c.flags, err = pop()
	case x86asm.PUSH:
		err = push(args[0])
	case x86asm.POP:
		var v uint64
		if v, err = pop(); err == nil {
			err = c.put(x.Args[0], next, 8, v)
		}
	case x86asm.CMPXCHG:
		err = c.exchange(x, next)
	default:
		err = fmt.Errorf("what is that?")
	}
	if err == nil && next == 0 {
		err = fmt.Errorf("it leads nowhere")
	}
	if err != nil {
		err = fmt.Errorf("%v at %#x: %w", x, at, err)
	}
	return next, err
}

// exchange is the only way in which code may be written.
func (c *cpu) exchange(x x86asm.Inst, next uint64) error {
	m, ok := x.Args[0].(x86asm.Mem)
	if !ok || x.MemBytes != 8 {
		return fmt.Errorf("it is not of eight bytes")
	}
	addr, err := c.address(m, next)
	if err != nil {
		return err
	}
	if addr%8 != 0 {
		return fmt.Errorf("%#x is not aligned", addr)
	}
	if c.meanwhile != nil {
		c.meanwhile(c.text.bytes)
		c.meanwhile = nil
	}
	is, err := c.load(addr, 8)
	if err != nil {
		return err
	}
	to, err := c.get(x.Args[1], next, 8)
	if err != nil {
		return err
	}
	c.flags = c.rnd.Uint64() | zeroFlag
	if is != c.reg[0] {
		c.reg[0] = is
		c.flags &^= zeroFlag
		return nil
	}
	return c.store(addr, le.AppendUint64(nil, to), true)
}

func (c *cpu) address(m x86asm.Mem, next uint64) (uint64, error) {
	addr := uint64(int64(int32(m.Disp)))
	if m.Base == x86asm.RIP {
		addr += next
	} else {
		v, err := c.get(m.Base, 0, 0)
		if err != nil {
			return 0, err
		}
		addr += v
	}
	if m.Index != 0 || m.Segment != 0 {
		return 0, fmt.Errorf("an address of that kind is not known")
	}
	return addr, nil
}

func (c *cpu) get(a x86asm.Arg, next uint64, size int) (uint64, error) {
	switch a := a.(type) {
	case x86asm.Imm:
		return uint64(a), nil
	case x86asm.Rel:
		return 0, nil
	case x86asm.Reg:
		if a >= x86asm.RAX && a <= x86asm.R15 {
			return c.reg[a-x86asm.RAX], nil
		}
	case x86asm.Mem:
		addr, err := c.address(a, next)
		if err != nil {
			return 0, err
		}
		return c.load(addr, size)
	}
	return 0, fmt.Errorf("%v is not known", a)
}

func (c *cpu) put(a x86asm.Arg, next uint64, size int, v uint64) error {
	switch a := a.(type) {
	case x86asm.Reg:
		if a >= x86asm.RAX && a <= x86asm.R15 {
			c.reg[a-x86asm.RAX] = v
			return nil
		}
	case x86asm.Mem:
		addr, err := c.address(a, next)
		if err != nil {
			return err
		}
		return c.store(addr, le.AppendUint64(nil, v)[:size], false)
	}
	return fmt.Errorf("%v is not known", a)
}

func (c *cpu) load(addr uint64, size int) (uint64, error) {
	if size != 8 {
		return 0, fmt.Errorf("%d bytes are read", size)
	}
	var b [8]byte
	for i := range b {
		a := addr + uint64(i)
		v, ok := c.stack[a]
		if p := c.text.at(a); len(p) > 0 {
			v, ok = p[0], true
		} else if p := c.code.at(a); len(p) > 0 && !ok {
			v, ok = p[0], true
		}
		if !ok {
			return 0, fmt.Errorf("what is at %#x is not known", a)
		}
		b[i] = v
	}
	return le.Uint64(b[:]), nil
}

func (c *cpu) store(addr uint64, b []byte, exchange bool) error {
	switch {
	case addr >= c.sp-stubs.StackNeed && addr+uint64(len(b)) <= c.sp && addr >= c.reg[4]:
		for i, v := range b {
			c.stack[addr+uint64(i)] = v
		}
	case addr == c.mark && bytes.Equal(b, []byte{1}):
		c.set = true
	case exchange && len(c.text.at(addr)) >= len(b):
		copy(c.text.at(addr), b)
	default:
		return fmt.Errorf("% x is written to %#x", b, addr)
	}
	return nil
}

func (s stretch) at(addr uint64) []byte { return stretches{s}.at(addr) }
