package breakpoint

import (
	"github.com/go-delve/delve/pkg/proc"
	"golang.org/x/arch/x86/x86asm"

	"tracerag/trace/executable"
)

// prologueSize is enough for the longest stack check, that of a huge frame.
const prologueSize = 64

// codeReader reads the beginnings of functions.
type codeReader struct {
	mem   proc.MemoryReadWriter
	slide uint64
}

func (c *codeReader) read(fn *executable.Func) []byte {
	buf := make([]byte, min(prologueSize, fn.End-fn.Entry))
	n, err := c.mem.ReadMemory(buf, fn.Entry+c.slide)
	if err != nil {
		return nil
	}
	return buf[:n]
}

// afterStackCheck returns the address behind the stack check at the beginning
// of a function, or its entry if it has none.
//
// A function whose stack is too small calls runtime.morestack, which copies the
// stack and starts the function again: a breakpoint at the entry would count
// that call twice. On amd64 the check is a comparison of the stack pointer with
// the limit in g and a jbe to the call of morestack. Other architectures count
// at the entry: there the second count of a call that grew the stack remains.
func afterStackCheck(goarch string, code []byte, entry uint64) uint64 {
	if goarch != "amd64" {
		return entry
	}
	compared := false
	for off := 0; off < len(code); {
		in, err := x86asm.Decode(code[off:], 64)
		if err != nil {
			return entry
		}
		off += in.Len
		switch in.Op {
		case x86asm.CMP:
			compared = true
		case x86asm.MOV, x86asm.LEA, x86asm.SUB, x86asm.NOP, x86asm.JB:
			// A large frame computes what it compares, and checks for wrap-around.
		case x86asm.JBE:
			rel, ok := in.Args[0].(x86asm.Rel)
			if compared && ok && rel > 0 {
				return entry + uint64(off)
			}
			return entry
		default:
			return entry
		}
	}
	return entry
}
