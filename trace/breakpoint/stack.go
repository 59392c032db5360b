package breakpoint

import (
	"encoding/binary"

	"github.com/go-delve/delve/pkg/proc"
)

// Bounds of reading one stack, which is done at every stop. A recursion through
// one call site takes two frames of the first, however deep it is.
const (
	maxFrames = 1 << 18 // kept
	maxDepth  = 1 << 24 // looked at: Go ends a program whose stack reaches 1 GB
)

// stackReader reads words of a stack, which are near each other.
type stackReader struct {
	mem  proc.MemoryReadWriter
	base uint64
	buf  []byte
	next int // size of the next read
	back [64 << 10]byte
}

// firstRead is enough for most stacks. Each further read is twice as long.
const firstRead = 4 << 10

func (s *stackReader) reset(mem proc.MemoryReadWriter) {
	s.mem, s.base, s.buf, s.next = mem, 0, nil, firstRead
}

// word returns the 8 bytes at addr, and false if they cannot be read.
func (s *stackReader) word(addr uint64) (uint64, bool) {
	if addr < s.base || addr-s.base > uint64(len(s.buf))-8 || len(s.buf) < 8 {
		if !s.fill(addr) {
			return 0, false
		}
	}
	return binary.LittleEndian.Uint64(s.buf[addr-s.base:]), true
}

func (s *stackReader) fill(addr uint64) bool {
	// What follows the stack may not be there: a read that fails is tried
	// again with less.
	for n := s.next; n >= 8; n /= 8 {
		if got, err := s.mem.ReadMemory(s.back[:n], addr); err == nil && got == n {
			s.base, s.buf = addr, s.back[:n]
			s.next = min(2*s.next, len(s.back))
			return true
		}
	}
	return false
}

// stack is what was read of a goroutine's stack.
type stack struct {
	pcs []uint64 // a pc in each calling function, innermost first, link-time addresses
	cut bool     // there were more
}

// add appends a frame, and reports whether there is room for more. Of a
// recursion through one call site two frames are kept: the trace folds the
// others onto them.
func (s *stack) add(pc uint64) bool {
	if n := len(s.pcs); n >= 2 && s.pcs[n-1] == pc && s.pcs[n-2] == pc {
		return true
	}
	s.pcs = append(s.pcs, pc)
	return len(s.pcs) < maxFrames
}

// readStack reads the callers of the function that stopped at p.
func (r *recording) readStack(mem proc.MemoryReadWriter, regs proc.Registers, p *point) stack {
	r.stack.reset(mem)
	if r.t.Binary.GOARCH == "amd64" {
		return r.walkDepths(regs.SP() + uint64(p.sp))
	}
	return r.walkPointers(regs, p)
}

// caller is what is known of the frame that a return address leads to.
type caller struct {
	pc    uint64 // of the call, or of the instruction that faulted; 0: no function of the program
	depth uint64 // from its stack pointer to its return address
	fault bool   // what called it is put on the stack by a signal
	last  bool   // nothing called it
}

// walkDepths reads a stack as the runtime does: the pclntab says for every pc
// how far the return address is from the stack pointer. It needs no frame
// pointers, which break off where C calls Go and where a leaf faults. slot is
// the address of the innermost return address.
func (r *recording) walkDepths(slot uint64) stack {
	out := stack{pcs: make([]uint64, 0, 32)}
	fault := false
	for range maxDepth {
		ret, ok := r.stack.word(slot)
		if !ok || ret == 0 {
			return out
		}
		c := r.caller(ret, fault)
		if c.pc == 0 {
			return out
		}
		if !out.add(c.pc) {
			break
		}
		if c.last {
			return out
		}
		slot, fault = slot+8+c.depth, c.fault
	}
	out.cut = true
	return out
}

type returnKey struct {
	ret   uint64
	fault bool
}

// caller looks a return address up. That of a frame which a fault put there is
// the faulting instruction itself; others follow a call.
func (r *recording) caller(ret uint64, fault bool) caller {
	key := returnKey{ret, fault}
	c, ok := r.callers[key]
	if ok {
		return c
	}
	at := ret - r.slide
	pc := at
	if !fault {
		pc--
	}
	if fn := r.t.Binary.Func(pc); fn != nil {
		if at >= fn.End { // the call never returns
			at = pc
		}
		c = caller{pc: pc, depth: uint64(r.t.Binary.StackDepth(at))}
		switch fn.Name {
		case "runtime.sigpanic":
			c.fault = true
		case "runtime.goexit", "runtime.mstart", "runtime.rt0_go", "runtime.mcall", "runtime.morestack":
			c.last = true
		}
	}
	r.callers[key] = c
	return c
}

// walkPointers reads a stack by its frame pointers: a function saves its
// caller's next to its return address, and points its own there. At a point
// before that, or in a function without a frame, the caller's is still in the
// register.
func (r *recording) walkPointers(regs proc.Registers, p *point) stack {
	s := &r.stack
	out := stack{pcs: make([]uint64, 0, 32)}
	fp, ret := regs.BP(), regs.LR()
	if p.sp > 0 {
		ret, _ = s.word(regs.SP())
		fp, _ = s.word(regs.SP() - 8)
	}
	for range maxDepth {
		c := r.caller(ret, false)
		if ret == 0 || c.pc == 0 {
			return out
		}
		if !out.add(c.pc) {
			break
		}
		next, ok := s.word(fp)
		if !ok || c.last {
			return out
		}
		if ret, ok = s.word(fp + 8); !ok {
			return out
		}
		if next <= fp {
			// Callers are at higher addresses. A link that does not was
			// never a frame pointer: this return address is the last one.
			if c := r.caller(ret, false); ret != 0 && c.pc != 0 {
				out.add(c.pc)
			}
			return out
		}
		fp = next
	}
	out.cut = true
	return out
}
