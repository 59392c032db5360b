package probe

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
)

// startedBy finds the call by which a thread that waits in execve starts a program: a thread
// of a target that becomes it, or more often one of a process that was forked for it, and that has the
// target's memory, or a copy. The recorder left there which calls of the goroutine
// had been entered; which of them have not returned the stack says.
func (l *Live) startedBy(tid int) *startCall {
	if l.p.ready() != nil {
		return nil
	}
	l.starting.Lock()
	defer l.starting.Unlock()
	if l.over {
		return nil
	}
	s := &startCall{order: l.r.layout.Called(l.r.mem)}
	l.starts = append(l.starts, s)
	pc, sp, ok := inCall(tid)
	if !ok {
		return s
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", tid))
	if err != nil {
		return s
	}
	defer mem.Close()
	calls, stack, err := l.r.layout.Entered(mem, l.r.mem, l.p.runtime, sp)
	if err != nil {
		return s
	}
	frames := l.unwind(pc, sp, stack)
	for _, c := range slices.Backward(calls) {
		i := slices.IndexFunc(frames, func(f stackFrame) bool { return f.slot == c.Slot && f.ret == c.Return })
		switch {
		case i >= 0:
			s.node, s.site = c.Node, uint32(frames[i].pc-l.r.text)
		default:
			continue
		}
		return s
	}
	return s
}

// inCall returns where a thread waits in a system call: the address behind the call, and its
// stack pointer.
func inCall(tid int) (pc, sp uint64, ok bool) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", tid))
	if err != nil {
		return 0, 0, false
	}
	fields := strings.Fields(string(line))
	if len(fields) < 9 { // "running"
		return 0, 0, false
	}
	n, err := fmt.Sscanf(fields[len(fields)-2]+" "+fields[len(fields)-1], "0x%x 0x%x", &sp, &pc)
	return pc, sp, err == nil && n == 2
}

// stackFrame is a function that has not returned.
type stackFrame struct {
	pc   uint64 // where it goes on
	slot uint64 // where its return address is
	ret  uint64
}

// unwind returns the frames of a stack, which begins at sp, the innermost first.
func (l *Live) unwind(pc, sp uint64, stack []byte) []stackFrame {
	if l.tables == nil {
		l.tables = l.t.Binary.Clone()
	}
	slide := l.r.text - l.p.shape.Start
	var frames []stackFrame
	for at := sp; ; {
		link := pc - slide
		if len(frames) > 0 {
			link-- // of the call, which may be the function's last instruction
		}
		if l.tables.Index(link) < 0 {
			return frames
		}
		slot := at + uint64(l.tables.StackDepth(link))
		if slot < at || slot-sp+8 > uint64(len(stack)) {
			return frames
		}
		ret := binary.LittleEndian.Uint64(stack[slot-sp:])
		frames = append(frames, stackFrame{pc, slot, ret})
		pc, at = ret, slot+8
	}
}

// started returns the calls by which programs were started, in order. There are no more.
func (l *Live) started() []*startCall {
	l.starting.Lock()
	defer l.starting.Unlock()
	l.over = true
	slices.SortStableFunc(l.starts, func(a, b *startCall) int { return cmp.Compare(a.order, b.order) })
	return l.starts
}
