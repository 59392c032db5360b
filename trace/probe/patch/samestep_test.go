package patch

import (
	"bytes"
	"fmt"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"tracerag/trace/probe/patch/x86"
)

// How the judge of same_test.go follows one instruction.

// savesPointer tells if at this state begins what Go 1.25 and before have around a
// call of duffcopy, all of it as it was: nothing may run between that uses the
// stack.
func (j *judge) savesPointer(s *state) bool {
	const call = 15 // bytes to its end
	p, q := j.plain.at(s.plain), j.patched.at(s.patched)
	return len(p) >= call && len(q) >= call && !j.inStubs(s.patched) && bytes.Equal(p[:call], q[:call]) &&
		bytes.HasPrefix(p, []byte{0x48, 0x89, 0x6c, 0x24, 0xf0, 0x48, 0x8d, 0x6c, 0x24, 0xf0, 0xe8})
}

// memory makes sure that what runs in a stub cannot fault, or faults as the
// package says; and that nothing lives below the stack pointer.
func (j *judge) memory(s *state, op operation) error {
	if !op.known {
		// VEX and EVEX: their operands are not known here.
		if in, ok := x86.Decode(j.plain.at(s.plain), 0); ok && in.Is(x86.MayFault) && j.inStubs(s.patched) && s.framed {
			return fmt.Errorf("% x may fault in a stub", j.plain.at(s.plain)[:in.Size])
		}
		return nil
	}
	x := op.inst
	switch x.Op {
	case x86asm.LEA, x86asm.NOP, x86asm.PREFETCHNTA, x86asm.PREFETCHT0, x86asm.PREFETCHT1, x86asm.PREFETCHT2, x86asm.PREFETCHW:
	case x86asm.DIV, x86asm.IDIV:
		if j.inStubs(s.patched) && s.framed {
			return fmt.Errorf("%v may fault in a stub", x)
		}
	default:
		for _, a := range x.Args {
			m, ok := a.(x86asm.Mem)
			if !ok {
				continue
			}
			if m.Base == x86asm.RSP && m.Disp < 0 && !j.savesPointer(s) {
				return fmt.Errorf("%v has an operand below the stack pointer", x)
			}
			if !j.inStubs(s.patched) || m.Index == 0 && m.Segment == 0 && (m.Base == x86asm.RSP || m.Base == x86asm.RBP || m.Base == x86asm.R14 || m.Base == x86asm.RIP) {
				continue
			}
			if m.Base == x86asm.RDX && m.Index == 0 && !s.noClosure || !s.framed {
				continue
			}
			return fmt.Errorf("%v may fault in a stub, where a frame is set up", x)
		}
	}
	regs := func(a x86asm.Arg, rs ...x86asm.Reg) bool {
		r, ok := a.(x86asm.Reg)
		return ok && slices.Contains(rs, r)
	}
	switch x.Op {
	case x86asm.CMP, x86asm.TEST, x86asm.NOP:
		return nil
	case x86asm.PUSH, x86asm.POP, x86asm.PUSHF, x86asm.PUSHFQ, x86asm.POPF, x86asm.POPFQ, x86asm.ENTER, x86asm.LEAVE, x86asm.CALL:
		s.framed = true
	case x86asm.MUL, x86asm.IMUL, x86asm.DIV, x86asm.IDIV, x86asm.CQO, x86asm.CDQ, x86asm.CWD, x86asm.RDTSC, x86asm.CPUID:
		s.noClosure = true
	}
	for _, a := range x.Args[:2] {
		if a == nil {
			break
		}
		if regs(a, x86asm.RSP, x86asm.ESP, x86asm.SP, x86asm.SPB) {
			s.framed = true
		}
		if regs(a, x86asm.RDX, x86asm.EDX, x86asm.DX, x86asm.DL, x86asm.DH) {
			s.noClosure = true
		}
	}
	return nil
}

// jumpsOnly tells if nothing but jumps comes from an address on.
func (j *judge) jumpsOnly(addr uint64, m image) bool {
	for range 2 * maxJumps {
		op, err := read(m, addr)
		if err != nil || op.inst.Op != x86asm.JMP || op.to == 0 {
			return false
		}
		addr = op.to
	}
	return true
}

// ahead allows for one difference: the original pushes RBP and copies RSP to it,
// and then runs an instruction that has nothing to do with either; in the patched
// program that instruction comes first.
func (j *judge) ahead(s state, op, got operation) ([]state, error) {
	differ := fmt.Errorf("%q became %q", op.text, got.text)
	if op.text != "55" || s.plain != j.entry {
		return nil, differ
	}
	second, err := read(j.plain, s.plain+1)
	if err != nil || second.text != "48 89 e5" {
		return nil, differ
	}
	third, err := read(j.plain, s.plain+4)
	if err != nil || third.text != got.text || !j.inStubs(s.patched) {
		return nil, differ
	}
	for _, a := range got.inst.Args {
		if mentions(a, x86asm.RSP, x86asm.ESP, x86asm.SP, x86asm.SPB, x86asm.RBP, x86asm.EBP, x86asm.BP, x86asm.BPB) {
			return nil, fmt.Errorf("%w, which has to do with the frame", differ)
		}
	}
	switch got.inst.Op {
	case x86asm.PUSH, x86asm.POP, x86asm.CALL, x86asm.RET, x86asm.JMP:
		return nil, differ
	}
	p := s.patched + uint64(got.size)
	for i, want := range []string{"55", "48 89 e5"} {
		op, err := read(j.patched, p)
		if err != nil || op.text != want {
			return nil, fmt.Errorf("%w, and instruction %d of the frame is missing", differ, i)
		}
		p += uint64(op.size)
	}
	spoilt, err := spoil(got, s.spoilt, j.strict)
	if err != nil {
		return nil, err
	}
	return []state{{plain: s.plain + 4 + uint64(third.size), patched: p, counted: s.counted, midway: s.midway, framed: true, noClosure: true, spoilt: spoilt}}, nil
}

func mentions(a x86asm.Arg, regs ...x86asm.Reg) bool {
	switch a := a.(type) {
	case x86asm.Reg:
		return slices.Contains(regs, a)
	case x86asm.Mem:
		return slices.Contains(regs, a.Base) || slices.Contains(regs, a.Index)
	}
	return false
}

// after returns the states behind an operation that both sides have run.
func (j *judge) after(s state, op, got operation) ([]state, error) {
	next := s
	next.plain += uint64(op.size)
	next.patched += uint64(got.size)
	branch := s
	branch.plain, branch.patched = op.to, got.to
	switch op.inst.Op {
	case x86asm.JMP: // to a computed address
		if !s.counted {
			return nil, fmt.Errorf("jumps without the hook being called")
		}
		var out []state
		for _, t := range j.targets {
			out = append(out, state{plain: t, patched: t, counted: true, midway: s.midway, framed: true, noClosure: true})
		}
		return out, nil
	case x86asm.RET, x86asm.LRET:
		if !s.counted {
			return nil, fmt.Errorf("returns without the hook being called")
		}
		return nil, nil
	case x86asm.UD2, x86asm.UD1, x86asm.HLT, x86asm.INT:
		return nil, nil
	case x86asm.CALL, x86asm.LCALL, x86asm.SYSCALL, x86asm.XBEGIN:
		if s.plain != s.patched {
			return nil, fmt.Errorf("a call was moved")
		}
		next.spoilt, next.framed, next.noClosure = 0, true, true
		if j.noReturn[op.to] || s.counted && j.more[op.to] {
			return nil, nil
		}
		if !s.counted {
			// Only the way to runtime.morestack, which starts again.
			return j.restarts(next)
		}
		return []state{next}, nil
	case x86asm.JA, x86asm.JAE, x86asm.JB, x86asm.JBE, x86asm.JE, x86asm.JG, x86asm.JGE, x86asm.JL, x86asm.JLE,
		x86asm.JNE, x86asm.JNO, x86asm.JNP, x86asm.JNS, x86asm.JO, x86asm.JP, x86asm.JS,
		x86asm.JCXZ, x86asm.JECXZ, x86asm.JRCXZ, x86asm.LOOP, x86asm.LOOPE, x86asm.LOOPNE:
		return []state{next, branch}, nil
	}
	return []state{next}, nil
}

// restarts makes sure that what follows a call before the hook leads back to the
// entry.
func (j *judge) restarts(s state) ([]state, error) {
	for p := s.plain; j.inside64(p); {
		op, err := read(j.plain, p)
		if err != nil {
			break
		}
		if op.inst.Op == x86asm.JMP {
			if op.to == j.entry {
				s.call = 0 // it is counted as any other
				return []state{s}, nil
			}
			break
		}
		if op.inst.Op == x86asm.CALL || op.inst.Op == x86asm.RET || op.to != 0 {
			break
		}
		p += uint64(op.size)
	}
	return nil, fmt.Errorf("calls without the hook being called")
}
