package payload

import (
	"sync/atomic"
	"unsafe"
)

// stopped is more than any number of cells, and less than would make that of the next
// cell overflow.
const stopped = 1 << 40

// Stop has the target make no more nodes, nor larger shadow stacks, from now on, as if
// the memory were full. It may run meanwhile; mem is the shared memory.
func (l Layout) Stop(mem []byte) {
	if word(mem, stopOff).Load() != 0 {
		return
	}
	next := word(mem, cellOff).Add(stopped) - stopped
	word(mem, endOff).Store(word(mem, nextOff).Load())
	word(mem, stopOff).Store(next)
}

func word(mem []byte, off int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&mem[off]))
}
