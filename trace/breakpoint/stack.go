package breakpoint

import (
	"encoding/binary"

	"github.com/go-delve/delve/pkg/proc"
)

// maxFrames bounds the frames that are read of one stack: a recursion of a
// million calls is read once for every stop in it.
const maxFrames = 100_000

// stackChunk is how much of a stack is read at once.
const stackChunk = 4096

// stackReader reads words of a stack, which stand near each other.
type stackReader struct {
	mem  proc.MemoryReadWriter
	base uint64
	buf  []byte
	back [stackChunk]byte
}

func (s *stackReader) reset(mem proc.MemoryReadWriter) { s.mem, s.base, s.buf = mem, 0, nil }

// word returns the 8 bytes at addr, and false if they cannot be read.
func (s *stackReader) word(addr uint64) (uint64, bool) {
	if addr < s.base || addr+8 > s.base+uint64(len(s.buf)) {
		if !s.fill(addr) {
			return 0, false
		}
	}
	return binary.LittleEndian.Uint64(s.buf[addr-s.base:]), true
}

func (s *stackReader) fill(addr uint64) bool {
	// The page after the stack's end may not be there: read no further than
	// needed when a large read fails.
	for _, n := range []int{stackChunk, 8} {
		buf := s.back[:n]
		if got, err := s.mem.ReadMemory(buf, addr); err == nil && got == n {
			s.base, s.buf = addr, buf
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

// readStack reads the callers of the function that stopped at p.
//
// Frame pointers link the frames: a function saves its caller's frame pointer
// below its return address, and points its own there. At a point before that,
// or in a function without a frame, the caller's is still in the register.
func (r *recording) readStack(mem proc.MemoryReadWriter, regs proc.Registers, p *point) stack {
	s := &r.stack
	s.reset(mem)
	out := stack{pcs: make([]uint64, 0, 32)}
	fp, ret := regs.BP(), uint64(0)
	switch r.t.Binary.GOARCH {
	case "arm64":
		// The return address is in the link register until the frame is made.
		if p.sp == 0 {
			ret = regs.LR()
		} else {
			ret, _ = s.word(regs.SP())
			fp, _ = s.word(regs.SP() - 8)
		}
	default:
		slot := regs.SP() + uint64(p.sp)
		ret, _ = s.word(slot)
		if p.sp > 0 {
			fp, _ = s.word(slot - 8)
		}
	}
	for ret != 0 {
		pc := ret - r.slide - 1 // a byte of the call, which is what the frame is at
		if r.t.Binary.Func(pc) == nil {
			break
		}
		if len(out.pcs) == maxFrames {
			out.cut = true
			break
		}
		out.pcs = append(out.pcs, pc)
		next, ok := s.word(fp)
		if !ok {
			break
		}
		if ret, ok = s.word(fp + 8); !ok || next != 0 && next <= fp {
			// Callers stand at higher addresses. A link that does not was
			// never a frame pointer: this return address is the last one.
			if ok && next <= fp && ret != 0 && r.t.Binary.Func(ret-r.slide-1) != nil {
				out.pcs = append(out.pcs, ret-r.slide-1)
			}
			break
		}
		fp = next
	}
	return out
}
