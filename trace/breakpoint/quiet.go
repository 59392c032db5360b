package breakpoint

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"tracerag/trace/executable"
)

// untouched is how many bytes at a function's beginning no breakpoint is in, where
// the program may write over functions or copy their first instructions. Those
// who do so write 5 to 14 bytes, and copy whole instructions, so 28 bytes at most.
// A breakpoint among them would be copied too, or would be put back long after it was lifted.
const untouched = 32

const whyUntouched = "the program changes its own code, and the function calls or branches too soon to be watched behind the bytes that it may change"

// behind returns the first address, untouched bytes or more behind a function's entry, which
// runs once in each call: from the stack check on control only falls through, and
// nobody branches back there. It returns 0 if there is none. Code is the whole function.
func behind(code []byte, entry, check uint64) uint64 {
	place, straight := uint64(0), true
	var targets []uint64
	for off := 0; off < len(code); {
		at := entry + uint64(off)
		in, err := x86asm.Decode(code[off:], 64)
		if err != nil {
			break // padding, or what is not known here; a table is never in the code
		}
		if straight && at >= check && at >= entry+untouched && place == 0 {
			place = at
		}
		off += in.Len
		rel, branches := in.Args[0].(x86asm.Rel)
		if branches && in.Op != x86asm.CALL {
			targets = append(targets, entry+uint64(off+int(rel)))
		}
		if at >= check && (branches || leaves(in.Op)) {
			straight = false
		}
	}
	for _, t := range targets {
		if t > check && t <= place {
			return 0
		}
	}
	return place
}

// leaves tells if what comes after an instruction may not run, or only after others.
func leaves(op x86asm.Op) bool {
	switch op {
	case x86asm.CALL, x86asm.JMP, x86asm.RET, x86asm.UD2, x86asm.INT, x86asm.SYSCALL:
		return true
	}
	return false
}

// all reads a whole function.
func (c *codeReader) all(fn *executable.Func) []byte {
	buf := make([]byte, fn.End-fn.Entry)
	n, err := c.mem.ReadMemory(buf, fn.Entry+c.slide)
	if err != nil {
		return nil
	}
	return buf[:n]
}

// checksItself tells if a package is of those whose code the program compares with a sum when
// it starts in FIPS 140 mode. It ends there if they are not what they were.
func checksItself(pkg string) bool {
	return pkg == "crypto/internal/fips140" || strings.HasPrefix(pkg, "crypto/internal/fips140/")
}
