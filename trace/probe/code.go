package probe

import (
	"encoding/binary"
	"sync"

	"tracerag/trace/executable"
)

// code is the program's code, of which parts are read from its file when they are asked for.
type code func() *executable.Code // nil: the file is not there any more, or another

func newCode(f *executable.File) code {
	return sync.OnceValue(func() *executable.Code {
		c, err := f.OpenCode()
		if err != nil {
			return nil
		}
		return c
	})
}

// callee returns the link-time address of the function that the direct call
// before this return address calls; 0 if it is not a direct call, or not known.
func (c code) callee(pc uint64) uint64 {
	const size = 5 // opcode and displacement
	from := c()
	if from == nil || pc < size {
		return 0
	}
	b := from.Bytes(pc-size, size)
	if b == nil || b[0] != 0xe8 {
		return 0
	}
	return pc + uint64(int64(int32(binary.LittleEndian.Uint32(b[1:]))))
}
