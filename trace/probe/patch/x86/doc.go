// Package x86 decodes instructions of the 64-bit mode of x86 processors, as far as
// somebody has to know who moves them: where an instruction ends, where control goes
// from it, which arithmetic flags it needs and sets, whether it may fault, and whether
// it does the same at another address.
//
//	for off := uint32(0); off < uint32(len(code)); {
//		in, ok := x86.Decode(code, off)
//		if !ok {
//			return // not an instruction, or one that the package does not know
//		}
//		off = in.End()
//	}
//
// What an instruction computes is not decoded. [OperandOf] decodes the operand of the
// few for which a caller wants more than [Inst.Props] says.
//
// The package exists because every byte of a program has to be looked at:
// golang.org/x/arch/x86/x86asm takes ten times as long, and writes operands out where a
// bit is enough here. The tests compare the two on whole programs, and with objdump.
//
// Anything unknown is refused, never guessed. A new instruction set is a row in
// opcodes.go, or, for the encodings of AVX, in vector.go.
package x86
