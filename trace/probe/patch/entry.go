package patch

import (
	"bytes"

	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/x86"
)

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

// A slot is a run of whole instructions that may give way to a jump.
type slot struct {
	from, to int  // instructions
	after    int  // the recorder is called before this one
	ahead    int  // this one runs before those before it, 0: none does
	fault    bool // one of them may dereference nil
}

// entryHook finds where a function can be changed so that the recorder is called
// once whenever it is entered. Morestack holds the entries of the functions that
// stack checks call.
func (b *function) entryHook(morestack map[uint64]bool) (h plan.Hook, why string) {
	kind, w, why := b.entrySlot(morestack)
	if why != "" {
		return h, why
	}
	h = plan.Hook{
		Kind:     kind,
		At:       b.Entry + uint64(b.Ins[w.from].Off),
		MayFault: w.fault,
		Code:     bytes.Clone(b.BytesOf(w.from, w.to)),
		Before:   int(b.Ins[w.after].Off - b.Ins[w.from].Off),
	}
	if kind == plan.Check && b.copies(0, w.from) {
		h.Lead = bytes.Clone(b.BytesOf(0, w.from))
	}
	if w.ahead > 0 {
		h.Ahead = int(b.Ins[w.ahead].Off - b.Ins[w.from].Off)
	}
	return h, ""
}

// unsafe returns why nothing may be changed in the function.
func (b *function) unsafe() string {
	if b.Props&(x86.BelowSP|x86.ThreadLocal) == 0 {
		return ""
	}
	called := false
	for i := range b.Ins {
		in := &b.Ins[i]
		if in.Is(x86.BelowSP) && b.savesPointer(i) {
			// Nothing is led away from between here and the call.
			b.Ins[i].Props &^= x86.Movable
			b.Ins[i+1].Props &^= x86.Movable
			continue
		}
		if in.Is(x86.BelowSP) {
			// The recorder is called, and the program's signal handlers run, on
			// the same stack: Go code keeps nothing there.
			return whyRedZone
		}
		if in.Is(x86.ThreadLocal) && !called && !b.hasCheck() {
			// Compiled functions have the goroutine in R14 from the start. One
			// that has to look for it first is a bridge from assembly.
			return whyOldABI
		}
		called = called || in.Flow == x86.Call || in.Flow == x86.CallAny
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
func (b *function) savesPointer(i int) bool {
	if i+2 >= len(b.Ins) || b.Ins[i+2].Flow != x86.Call || b.Entered[i+1] || b.Entered[i+2] {
		return false
	}
	return bytes.Equal(b.BytesOf(i, i+2), []byte{0x48, 0x89, 0x6c, 0x24, 0xf0, 0x48, 0x8d, 0x6c, 0x24, 0xf0})
}

// entrySlot chooses the slot of an entry hook.
func (b *function) entrySlot(morestack map[uint64]bool) (plan.Kind, slot, string) {
	if check := b.stackCheck(morestack); check >= 0 {
		if b.Entered[check] || b.jumpsTo(0) > 1 {
			return 0, slot{}, whyLoop
		}
		w, why := b.grow(slot{from: check, after: check + 1}, false)
		return plan.Check, w, why
	}
	if b.hasCheck() {
		return 0, slot{}, whyCheck
	}
	if b.Entered[0] {
		return 0, slot{}, whyLoop
	}
	if b.startsFrame(0) {
		w, why := b.grow(slot{}, false)
		if why == whyPinned && b.commutes(2) {
			return plan.Frame, slot{to: 3, ahead: 2, fault: true}, ""
		}
		return plan.Frame, w, why
	}
	if b.Lost {
		return 0, slot{}, whyComputed
	}
	w, why := b.grow(slot{}, false)
	if why != "" {
		if f, again := b.grow(slot{}, true); again == "" {
			return plan.Leaf, f, ""
		}
	}
	return plan.Leaf, w, why
}

// comparesLimit tells if an instruction is the comparison of a stack check with
// the limit in the goroutine: cmp reg, [r14+16].
func (b *function) comparesLimit(i int) bool {
	p := b.BytesOf(i, i+1)
	return len(p) == 4 && (p[0] == 0x49 || p[0] == 0x4d) && p[1] == 0x3b && p[2]&0xc7 == 0x46 && p[3] == 0x10
}

// hasCheck tells if there is a stack check, of whatever form, at the beginning.
func (b *function) hasCheck() bool {
	for i := range min(len(b.Ins), 6) {
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
func (b *function) stackCheck(morestack map[uint64]bool) int {
	for i := 0; i+1 < len(b.Ins) && i < 5; i++ {
		in := &b.Ins[i]
		if b.comparesLimit(i) {
			if j := &b.Ins[i+1]; j.Flow == x86.CondJump && b.startsAgain(b.Index(j.Target), morestack) {
				return i + 1
			}
			return -1
		}
		if in.Flow != x86.Next && in.Flow != x86.CondJump || in.Is(x86.MayFault) || b.Entered[i] && i > 0 {
			return -1
		}
	}
	return -1
}

// jumpsTo counts the jumps to an offset.
func (b *function) jumpsTo(off int64) (n int) {
	for i := range b.Ins {
		if in := &b.Ins[i]; (in.Flow == x86.Jump || in.Flow == x86.CondJump) && in.Target == off {
			n++
		}
	}
	return n
}

// startsAgain tells if what begins at instruction i saves registers, calls
// runtime.morestack, restores them, and jumps to the function's entry.
func (b *function) startsAgain(i int, morestack map[uint64]bool) bool {
	if i <= 0 {
		return false
	}
	calls := 0
	for first := i; i < len(b.Ins); i++ {
		if i > first && b.Entered[i] {
			return false
		}
		switch in := &b.Ins[i]; in.Flow {
		case x86.Next:
		case x86.Call:
			if !morestack[b.Entry+uint64(in.Target)] {
				return false
			}
			calls++
		case x86.Jump:
			return calls == 1 && in.Target == 0
		default:
			return false
		}
	}
	return false
}

// startsFrame tells if instruction i and the next are push rbp; mov rbp, rsp.
func (b *function) startsFrame(i int) bool {
	return i+1 < len(b.Ins) && b.Code[b.Ins[i].Off] == 0x55 && string(b.BytesOf(i+1, i+2)) == "\x48\x89\xe5"
}

// commutes tells if instruction i, which may fault, may as well run before
// instructions that set up the frame. There its fault is one of a function
// without a frame, which the runtime can deal with.
func (b *function) commutes(i int) bool {
	if i >= len(b.Ins) || b.Entered[1] || b.Entered[i] {
		return false
	}
	in := &b.Ins[i]
	if !in.Is(x86.Movable) || in.Is(x86.MovesSP|x86.Scratch|x86.ThreadLocal) || in.Flow != x86.Next {
		return false
	}
	_, m, ok := x86.OperandOf(b.Code, in.Off)
	frame := func(r byte) bool { return r == x86.RegSP || r == x86.RegBP }
	return ok && m.Memory && !frame(m.Reg) && !frame(m.Base) && !frame(m.Index)
}

// grow adds instructions to a slot, which begins empty at w.from, until a jump
// fits in. With fault, instructions that may fault are taken as long as the stack
// pointer is at the return address: then the runtime, which does not know the
// stub's addresses, takes the fault for one of the caller (see the package's
// documentation).
func (b *function) grow(w slot, fault bool) (slot, string) {
	size := uint32(0)
	framed, closure := false, w.from == 0
	w.to = w.from
	for size < plan.JumpSize {
		if w.to == len(b.Ins) {
			return w, whyShort
		}
		in := &b.Ins[w.to]
		if w.to > w.from && b.Entered[w.to] {
			return w, whyTarget
		}
		if !in.Is(x86.Movable) || w.to >= w.after && in.Is(x86.Scratch) {
			return w, whyPinned
		}
		op, m, ok := x86.OperandOf(b.Code, in.Off)
		if in.Is(x86.MayFault) && !(closure && ok && x86.IsLoad(op) && m.Memory && m.Base == x86.RegDX && m.Index == x86.NoReg) {
			if !fault || framed {
				return w, whyPinned
			}
			w.fault = true
		}
		// A function that reads DX before it sets it is a closure, and DX its
		// address. Most instructions without operands set nothing; cqo, mul and
		// the like are not told from others.
		closure = closure && (ok && m.Reg != x86.RegDX && (m.Memory || m.Rm != x86.RegDX) && op&^1 != 0xf6 || op == 0x55)
		framed = framed || in.Is(x86.MovesSP)
		size += uint32(in.Size)
		w.to++
		if !in.Flow.Falls() {
			break
		}
	}
	if size < plan.JumpSize && (w.to < len(b.Ins) || int(b.Tail)+int(plan.JumpSize-size) > len(b.Code)) {
		return w, whyShort
	}
	// Where a function is entered the flags mean nothing.
	if w.after > 0 && b.flagsLive(w.after) {
		return w, whyFlagsLive
	}
	return w, ""
}

// flagsLive tells if the flags before instruction i may matter. Where control
// goes far before they are set again, they are taken to matter.
func (b *function) flagsLive(i int) bool {
	dead := x86.Flags(0)
	for range 64 {
		if i < 0 || i >= len(b.Ins) {
			return true
		}
		in := &b.Ins[i]
		if in.Reads&^dead != 0 {
			return true
		}
		if dead |= in.Kills; dead == x86.AllFlags {
			return false
		}
		switch in.Flow {
		case x86.Next:
			i++
		case x86.Jump:
			if in.Target < 0 || in.Target >= int64(len(b.Code)) {
				return false // a tail call
			}
			i = b.Index(in.Target)
		case x86.Trap:
			return false
		default:
			return true
		}
	}
	return true
}
