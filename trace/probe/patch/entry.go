package patch

import "bytes"

// jumpSize is the length of the jump that takes the place of the displaced
// instructions.
const jumpSize = 5

// reasons are what users read of a function that cannot be changed.
const (
	whyAssembly  = "assembly"
	whyOldABI    = "called from assembly"
	whyShort     = "too short"
	whyLoop      = "a loop begins with it"
	whyTarget    = "a branch into its first instructions"
	whyPinned    = "its first instructions cannot be moved"
	whyComputed  = "a jump to a computed address"
	whyCheck     = "an unusual stack check"
	whyRedZone   = "uses memory below the stack pointer"
	whyFlagsLive = "its first instructions need the flags"
)

// A window is a run of whole instructions that may give way to a jump.
type window struct {
	from, to int  // instructions
	after    int  // the recorder is called before this one
	ahead    int  // this one runs before those before it, 0: none does
	fault    bool // one of them may dereference nil
}

// entryHook finds where a function can be changed so that the recorder is called
// once whenever it is entered. Morestack holds the entries of the functions that
// stack checks call.
func (b *body) entryHook(morestack map[uint64]bool) (h Hook, why string) {
	kind, w, why := b.entryWindow(morestack)
	if why != "" {
		return h, why
	}
	h = Hook{
		Kind:     kind,
		At:       b.entry + uint64(b.ins[w.from].off),
		MayFault: w.fault,
		code:     bytes.Clone(b.bytesOf(w.from, w.to)),
		before:   int(b.ins[w.after].off - b.ins[w.from].off),
	}
	if kind == Check && b.copies(0, w.from) {
		h.lead = bytes.Clone(b.bytesOf(0, w.from))
	}
	if w.ahead > 0 {
		h.ahead = int(b.ins[w.ahead].off - b.ins[w.from].off)
	}
	return h, ""
}

// unsafe returns why nothing may be changed in the function.
func (b *body) unsafe() string {
	if b.props&(belowSP|threadLocal) == 0 {
		return ""
	}
	called := false
	for i := range b.ins {
		in := &b.ins[i]
		if in.is(belowSP) && b.savesPointer(i) {
			// Nothing is led away from between here and the call.
			b.ins[i].props &^= movable
			b.ins[i+1].props &^= movable
			continue
		}
		if in.is(belowSP) {
			// The recorder is called, and the program's signal handlers run, on
			// the same stack: Go code keeps nothing there.
			return whyRedZone
		}
		if in.is(threadLocal) && !called && !b.hasCheck() {
			// Compiled functions have the goroutine in R14 from the start. One
			// that has to look for it first is a bridge from assembly.
			return whyOldABI
		}
		called = called || in.flow == flowCall || in.flow == flowCallAny
	}
	return ""
}

// savesPointer tells if instruction i begins what the compiler of Go 1.25 and
// before writes around a call of runtime.duffzero or duffcopy, which have no frames
// of their own:
//
//	mov [rsp-16], rbp; lea rbp, [rsp-16]; call
//
// The call overwrites nothing of it: its return address is at [rsp-8].
func (b *body) savesPointer(i int) bool {
	if i+2 >= len(b.ins) || b.ins[i+2].flow != flowCall || b.enter[i+1] || b.enter[i+2] {
		return false
	}
	return bytes.Equal(b.bytesOf(i, i+2), []byte{0x48, 0x89, 0x6c, 0x24, 0xf0, 0x48, 0x8d, 0x6c, 0x24, 0xf0})
}

// entryWindow chooses the window of an entry hook.
func (b *body) entryWindow(morestack map[uint64]bool) (Kind, window, string) {
	if check := b.stackCheck(morestack); check >= 0 {
		if b.enter[check] || b.jumpsTo(0) > 1 {
			return 0, window{}, whyLoop
		}
		w, why := b.grow(window{from: check, after: check + 1}, false)
		return Check, w, why
	}
	if b.hasCheck() {
		return 0, window{}, whyCheck
	}
	if b.enter[0] {
		return 0, window{}, whyLoop
	}
	if b.startsFrame(0) {
		w, why := b.grow(window{}, false)
		if why == whyPinned && b.commutes(2) {
			return Frame, window{to: 3, ahead: 2, fault: true}, ""
		}
		return Frame, w, why
	}
	if b.lost {
		return 0, window{}, whyComputed
	}
	w, why := b.grow(window{}, false)
	if why != "" {
		if f, again := b.grow(window{}, true); again == "" {
			return Leaf, f, ""
		}
	}
	return Leaf, w, why
}

// comparesLimit tells if an instruction is the comparison of a stack check with
// the limit in the goroutine: cmp reg, [r14+16].
func (b *body) comparesLimit(i int) bool {
	p := b.bytesOf(i, i+1)
	return len(p) == 4 && (p[0] == 0x49 || p[0] == 0x4d) && p[1] == 0x3b && p[2]&0xc7 == 0x46 && p[3] == 0x10
}

// hasCheck tells if there is a stack check, of whatever form, at the beginning.
func (b *body) hasCheck() bool {
	for i := range min(len(b.ins), 6) {
		if b.comparesLimit(i) {
			return true
		}
	}
	return false
}

// stackCheck returns the conditional jump to the call of runtime.morestack at
// the function's beginning, or -1. The forms of the check, for growing frames:
//
//	cmp rsp, [r14+16]; jbe
//	lea r12, [rsp-n]; cmp r12, [r14+16]; jbe
//	mov r12, rsp; sub r12, n; jb; cmp r12, [r14+16]; jbe
func (b *body) stackCheck(morestack map[uint64]bool) int {
	for i := 0; i+1 < len(b.ins) && i < 5; i++ {
		in := &b.ins[i]
		if b.comparesLimit(i) {
			if j := &b.ins[i+1]; j.flow == flowCond && b.startsAgain(b.index(j.target), morestack) {
				return i + 1
			}
			return -1
		}
		if in.flow != flowNext && in.flow != flowCond || in.is(mayFault) || b.enter[i] && i > 0 {
			return -1
		}
	}
	return -1
}

// jumpsTo counts the jumps to an offset.
func (b *body) jumpsTo(off int64) (n int) {
	for i := range b.ins {
		if in := &b.ins[i]; (in.flow == flowJump || in.flow == flowCond) && in.target == off {
			n++
		}
	}
	return n
}

// startsAgain tells if what begins at instruction i saves registers, calls
// runtime.morestack, restores them, and jumps to the function's entry.
func (b *body) startsAgain(i int, morestack map[uint64]bool) bool {
	if i <= 0 {
		return false
	}
	calls := 0
	for first := i; i < len(b.ins); i++ {
		if i > first && b.enter[i] {
			return false
		}
		switch in := &b.ins[i]; in.flow {
		case flowNext:
		case flowCall:
			if !morestack[b.entry+uint64(in.target)] {
				return false
			}
			calls++
		case flowJump:
			return calls == 1 && in.target == 0
		default:
			return false
		}
	}
	return false
}

// startsFrame tells if instruction i and the next are push rbp; mov rbp, rsp.
func (b *body) startsFrame(i int) bool {
	return i+1 < len(b.ins) && b.code[b.ins[i].off] == 0x55 && string(b.bytesOf(i+1, i+2)) == "\x48\x89\xe5"
}

// commutes tells if instruction i, which may fault, may as well run before
// instructions that set up the frame. There its fault is one of a function
// without a frame, which the runtime can deal with.
func (b *body) commutes(i int) bool {
	if i >= len(b.ins) || b.enter[1] || b.enter[i] {
		return false
	}
	in := &b.ins[i]
	if !in.is(movable) || in.is(movesSP|scratch|threadLocal) || in.flow != flowNext {
		return false
	}
	_, m, ok := operandOf(b.code, in.off)
	frame := func(r byte) bool { return r == regSP || r == regBP }
	return ok && m.memory && !frame(m.reg) && !frame(m.base) && !frame(m.index)
}

// grow adds instructions to a window, which begins empty at w.from, until a jump
// fits in. With fault, instructions that may fault are taken as long as the stack
// pointer is at the return address: then the runtime, which does not know the
// stub's addresses, takes the fault for one of the caller (see the package's
// documentation).
func (b *body) grow(w window, fault bool) (window, string) {
	size := uint32(0)
	framed, closure := false, w.from == 0
	w.to = w.from
	for size < jumpSize {
		if w.to == len(b.ins) {
			return w, whyShort
		}
		in := &b.ins[w.to]
		if w.to > w.from && b.enter[w.to] {
			return w, whyTarget
		}
		if !in.is(movable) || w.to >= w.after && in.is(scratch) {
			return w, whyPinned
		}
		op, m, ok := operandOf(b.code, in.off)
		if in.is(mayFault) && !(closure && ok && isLoad(op) && m.memory && m.base == regDX && m.index == noReg) {
			if !fault || framed {
				return w, whyPinned
			}
			w.fault = true
		}
		// A function that reads DX before it sets it is a closure, and DX its
		// address. Most instructions without operands set nothing; cqo, mul and
		// the like are not told from others.
		closure = closure && (ok && m.reg != regDX && (m.memory || m.rm != regDX) && op&^1 != 0xf6 || op == 0x55)
		framed = framed || in.is(movesSP)
		size += uint32(in.size)
		w.to++
		if !in.flow.falls() {
			break
		}
	}
	if size < jumpSize && (w.to < len(b.ins) || int(b.tail)+int(jumpSize-size) > len(b.code)) {
		return w, whyShort
	}
	// Where a function is entered the flags mean nothing.
	if w.after > 0 && b.flagsLive(w.after) {
		return w, whyFlagsLive
	}
	return w, ""
}

// isLoad tells if an instruction with a memory operand reads that and does
// nothing else that may fail.
func isLoad(op int) bool {
	switch op {
	case 0x8a, 0x8b, 0x63, map0F | 0xb6, map0F | 0xb7, map0F | 0xbe, map0F | 0xbf, map0F | 0x10, map0F | 0x6f:
		return true
	}
	return false
}

// flagsLive tells if the flags before instruction i may matter. Where control
// goes far before they are set again, they are taken to matter.
func (b *body) flagsLive(i int) bool {
	dead := flags(0)
	for range 64 {
		if i < 0 || i >= len(b.ins) {
			return true
		}
		in := &b.ins[i]
		if in.reads&^dead != 0 {
			return true
		}
		if dead |= in.kills; dead == allFlags {
			return false
		}
		switch in.flow {
		case flowNext:
			i++
		case flowJump:
			if in.target < 0 || in.target >= int64(len(b.code)) {
				return false // a tail call
			}
			i = b.index(in.target)
		case flowTrap:
			return false
		default:
			return true
		}
	}
	return true
}
