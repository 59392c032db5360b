package patch

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// This part of the judge knows what the recorder's call destroys, and whether an
// instruction still needs it.

// spoil tells what is still spoilt after an operation. It fails if the operation
// reads what is.
func spoil(op operation, s spoils, strict bool) (spoils, error) {
	if s == 0 {
		return 0, nil
	}
	if !op.known {
		return s, nil // of VEX and EVEX none reads the flags; R12 and the others are looked at by their bytes elsewhere
	}
	x := op.inst
	reads, writes := flagsOf(x)
	if s&reads != 0 {
		return 0, fmt.Errorf("%v reads flags that the recorder destroyed", x)
	}
	s &^= writes
	if !strict {
		return s & spoiltFlags, nil
	}
	for bit, regs := range map[spoils][]x86asm.Reg{
		spoilt12: {x86asm.R12, x86asm.R12L, x86asm.R12W, x86asm.R12B},
		spoilt13: {x86asm.R13, x86asm.R13L, x86asm.R13W, x86asm.R13B},
		spoilt15: {x86asm.R15, x86asm.R15L, x86asm.R15W, x86asm.R15B},
	} {
		if s&bit == 0 {
			continue
		}
		used := false
		for i, a := range x.Args {
			if a != nil && mentions(a, regs...) && !(setsFirst(x, regs) && (i == 0 || x.Op == x86asm.XOR || x.Op == x86asm.SBB)) {
				used = true
			}
		}
		if used {
			return 0, fmt.Errorf("%v reads %v, which the recorder destroyed", x, regs[0])
		}
		if setsFirst(x, regs) {
			s &^= bit
		}
	}
	return s, nil
}

// setsFirst tells if an instruction sets its first operand, one of regs, without
// reading it.
func setsFirst(x x86asm.Inst, regs []x86asm.Reg) bool {
	r, ok := x.Args[0].(x86asm.Reg)
	if !ok {
		return false
	}
	if strings.HasPrefix(x.Op.String(), "SET") { // what reads the byte after that is right to
		return slices.Contains(regs, r)
	}
	if !slices.Contains(regs[:2], r) {
		return false
	}
	switch x.Op {
	case x86asm.MOV, x86asm.LEA, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.POP, x86asm.MOVQ, x86asm.MOVD, x86asm.BSF, x86asm.BSR,
		x86asm.CVTTSD2SI, x86asm.CVTTSS2SI:
		return true
	case x86asm.XOR, x86asm.SBB:
		return x.Args[1] == x.Args[0]
	case x86asm.IMUL:
		return x.Args[2] != nil
	}
	return false
}

// flagsOf tells which arithmetic flags an instruction reads, and which it
// certainly sets, or leaves undefined so that nobody can rely on them.
func flagsOf(x x86asm.Inst) (reads, writes spoils) {
	switch x.Op {
	case x86asm.JO, x86asm.JNO, x86asm.SETO, x86asm.SETNO, x86asm.CMOVO, x86asm.CMOVNO:
		return spoiltOF, 0
	case x86asm.JB, x86asm.JAE, x86asm.SETB, x86asm.SETAE, x86asm.CMOVB, x86asm.CMOVAE, x86asm.CMC:
		return spoiltCF, 0
	case x86asm.JE, x86asm.JNE, x86asm.SETE, x86asm.SETNE, x86asm.CMOVE, x86asm.CMOVNE, x86asm.LOOPE, x86asm.LOOPNE:
		return spoiltZF, 0
	case x86asm.JBE, x86asm.JA, x86asm.SETBE, x86asm.SETA, x86asm.CMOVBE, x86asm.CMOVA:
		return spoiltCF | spoiltZF, 0
	case x86asm.JS, x86asm.JNS, x86asm.SETS, x86asm.SETNS, x86asm.CMOVS, x86asm.CMOVNS:
		return spoiltSF, 0
	case x86asm.JP, x86asm.JNP, x86asm.SETP, x86asm.SETNP, x86asm.CMOVP, x86asm.CMOVNP:
		return spoiltPF, 0
	case x86asm.JL, x86asm.JGE, x86asm.SETL, x86asm.SETGE, x86asm.CMOVL, x86asm.CMOVGE:
		return spoiltSF | spoiltOF, 0
	case x86asm.JLE, x86asm.JG, x86asm.SETLE, x86asm.SETG, x86asm.CMOVLE, x86asm.CMOVG:
		return spoiltZF | spoiltSF | spoiltOF, 0
	case x86asm.ADC, x86asm.SBB:
		return spoiltCF, spoiltFlags
	case x86asm.RCL, x86asm.RCR:
		return spoiltCF, 0
	case x86asm.LAHF, x86asm.PUSHF, x86asm.PUSHFQ:
		return spoiltFlags, 0
	case x86asm.INC, x86asm.DEC:
		return 0, spoiltFlags &^ spoiltCF
	case x86asm.BSF, x86asm.BSR:
		return 0, spoiltZF
	case x86asm.BT, x86asm.BTS, x86asm.BTR, x86asm.BTC:
		return 0, spoiltCF
	case x86asm.SHL, x86asm.SHR, x86asm.SAR:
		if n, ok := x.Args[1].(x86asm.Imm); ok && n&0x1f != 0 {
			return 0, spoiltFlags
		}
	case x86asm.ADD, x86asm.SUB, x86asm.CMP, x86asm.TEST, x86asm.AND, x86asm.OR, x86asm.XOR, x86asm.NEG,
		x86asm.UCOMISD, x86asm.UCOMISS, x86asm.COMISD, x86asm.COMISS, x86asm.XADD, x86asm.CMPXCHG, x86asm.POPCNT,
		x86asm.IMUL, x86asm.MUL, x86asm.CALL, x86asm.RET:
		return 0, spoiltFlags
	}
	return 0, 0
}
