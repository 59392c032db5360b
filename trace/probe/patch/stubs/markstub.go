package stubs

import (
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/x86"
)

// Stubs of marks. With [byte] the mark's byte:
//
//	where the flags mean nothing     where they matter
//	  displaced code before            displaced code before
//	  cmp byte [byte], 0               push rcx
//	  je first                         movzx ecx, byte [byte]
//	back:                              jrcxz 2
//	  displaced code                   jmp back
//	  jmp back                         jmp first
//	                                 back:
//	and behind all stubs               pop rcx
//	first:                             displaced code
//	  mov byte [byte], 1               jmp back
//	  call giveBack
//	  dq address, mask, changed, difference
//	  jmp back
//
// A store each time would do without all that, and have the processors that run the
// block at the same time wait for each other.
//
// In place of the displaced code and the jump back a call that is led through the
// stub has a jump to the function, and a branch that is has one to its target.
//
// # Giving back
//
// A mark that is set is in the way only. giveBack writes the program's own bytes over
// its patch, so that the block runs from then on as if there had never been a mark. It
// replaces the eight aligned bytes at the address, of which mask are the mark's, if
// these are still what the patch made of them: if a debugger has put a breakpoint there
// it is left alone, and the mark remains. The other bytes may be those of another
// mark, or change at that moment. Marks that cannot be given back so have neither the
// call nor what follows it ([plan.BlockMark.Once], [Entries.Writable]).
//
// Other threads may be running the block. One that is in the stub goes on there, and
// leads back behind the patch. None is in the middle of the patch, since that is one
// instruction: it runs that, or what was there before. That a processor sees all of one
// aligned store to code, or nothing, is what others rely on as well: HotSpot's
// NativeJump::patch_verified_entry stores eight aligned bytes to make a function's
// first instruction a jump while threads run it (JDK-8294947), LLVM's XRay two aligned
// bytes to switch its sleds (patchFunctionEntry in xray_x86_64.cpp). Instructions that
// straddle cache lines are where it goes wrong (Chamith et al., "Living on the edge:
// rapid-toggling probes with cross-modification on x86", PLDI 2016, which tried it on
// the processors of its time). Intel's manual promises less (vol. 3, "Handling Self- and
// Cross-Modifying Code"): other processors should run a serializing instruction first.
// Those here may go on running the jump as long as they like.

// mark writes the stub of mark i and its patch.
func (em *emitter) mark(i int, m *plan.BlockMark, e *Entries) {
	direct, called := em.direct[m.At]
	if called {
		em.align(callHead + len(m.Code) + 18)
		em.headCall(direct.call)
	} else {
		em.align(len(m.Code) + 18)
	}
	stub := em.here()
	at := m.At + em.slide
	end, to := at+plan.JumpSize, uint64(0)
	var oldRoom, changedRoom [16]byte // one instruction, or as few as have room for a jump
	old, rel := append(oldRoom[:0], m.Code...), 1
	if m.Form == plan.MarkSlot {
		for len(old) < plan.JumpSize {
			old = append(old, x86.Int3)
		}
	} else {
		in, ok := x86.Decode(m.Code, 0)
		if !ok || int(in.Size) != len(m.Code) || in.RelAt == 0 || int(in.RelAt) != len(m.Code)-4 {
			em.damaged(m.At)
			return
		}
		end, to = at+uint64(in.Size), at+uint64(in.Target)
		if led, ok := em.led[to]; ok && m.Form == plan.MarkCall {
			to = led
		} else if called {
			to = direct.stub
		}
		rel = int(in.RelAt)
	}
	changed := append(changedRoom[:0], old...)
	if m.Form == plan.MarkSlot {
		changed[0] = 0xe9
	}
	le.PutUint32(changed[rel:], em.distance(end, stub))
	first, last := m.Changed()
	em.patches = append(em.patches, NewPatch(at+uint64(first), old[first:last], changed[first:last]))
	u := unset{byte: e.Marks + uint64(i)}
	if m.Once && e.Writable && !em.leads(m) {
		u.patch = len(em.patches)
		if copy(u.own[:], old[first:last]); called { // as if there had been no mark
			le.PutUint32(u.own[:], em.distance(end, direct.stub))
		}
	}

	em.displace(m.At, m.Code, 0, m.Before)
	if m.Flags {
		em.bytes(0x51, 0x0f, 0xb6, 0x0d) // push rcx; movzx ecx, byte [rip+x]
		em.rel32(u.byte)
		em.bytes(0xe3, 2, 0xeb, 5, 0xe9, 0, 0, 0, 0) // jrcxz 2; jmp back; jmp first
		u.from = len(em.out)
		em.bytes(0x59) // pop rcx
	} else {
		em.bytes(0x80, 0x3d) // cmp byte [rip+x], 0
		em.out = le.AppendUint32(em.out, em.distance(em.here()+5, u.byte))
		em.bytes(0, 0x0f, 0x84, 0, 0, 0, 0) // je first
		u.from = len(em.out)
	}
	em.unset = append(em.unset, u)
	falls := true
	if m.Form == plan.MarkSlot {
		falls = em.displace(m.At, m.Code, m.Before, len(m.Code))
		to = at + uint64(len(m.Code))
	}
	if falls {
		em.bytes(0xe9)
		em.rel32(to)
	}
}

// leads tells if the stub of a mark leads where the program's own code does not: to
// the stub of a hook at a function's calls.
func (em *emitter) leads(m *plan.BlockMark) bool {
	for off := uint32(0); off < uint32(len(m.Code)); {
		in, ok := x86.Decode(m.Code, off)
		if !ok {
			return true
		}
		if in.Flow == x86.Call || in.Flow == x86.Jump {
			if _, ok := em.led[m.At+em.slide+uint64(in.Target)]; ok {
				return true
			}
		}
		off = in.End()
	}
	return false
}

// An unset mark is where a stub goes once.
type unset struct {
	from  int                 // offset behind its branch there, which is to be completed
	byte  uint64              // address
	patch int                 // place among the patches, from 1 on, of what is to be given back; 0: nothing
	own   [plan.JumpSize]byte // and what that is
}

// setMarks writes what sets the marks, away from the stubs, which run so often.
func (em *emitter) setMarks() {
	give := uint64(0)
	for _, u := range em.unset {
		if u.patch > 0 && give == 0 {
			give = em.here()
			em.bytes(giveBack...)
		}
		le.PutUint32(em.out[u.from-4:], uint32(len(em.out)-u.from))
		em.bytes(0xc6, 0x05) // mov byte [rip+x], 1
		em.out = le.AppendUint32(em.out, em.distance(em.here()+5, u.byte))
		em.bytes(1)
		if u.patch > 0 {
			em.bytes(0xe8)
			em.rel32(give)
			em.word(&em.patches[u.patch-1], u.own[:])
		}
		em.bytes(0xe9)
		em.rel32(em.base + uint64(u.from))
	}
}

// word writes what giveBack has to know of a patch that gives way to the code's own bytes.
func (em *emitter) word(p *Patch, code []byte) {
	const word = 8
	off := p.Addr % word
	if off+uint64(len(p.New())) > word {
		em.damaged(p.Addr - em.slide)
		return
	}
	var mask, changed, own [word]byte
	for i := range p.New() {
		mask[off+uint64(i)] = 0xff
	}
	copy(changed[off:], p.New())
	copy(own[off:], code[:len(p.New())])
	em.out = le.AppendUint64(em.out, p.Addr-off)
	em.bytes(mask[:]...)
	em.bytes(changed[:]...)
	em.out = le.AppendUint64(em.out, le.Uint64(changed[:])^le.Uint64(own[:]))
}

// giveBack is called with four words behind the call, and goes on behind these. It
// leaves all registers and the flags as they were and takes 48 bytes of stack, with
// what its callers have pushed 56.
var giveBack = []byte{
	0x9c,                          // pushfq
	0x50,                          // push rax
	0x51,                          // push rcx
	0x52,                          // push rdx
	0x53,                          // push rbx
	0x48, 0x8b, 0x5c, 0x24, 5 * 8, // mov rbx, [rsp+40]
	0x48, 0x83, 0x44, 0x24, 5 * 8, 4 * 8, // add qword [rsp+40], 32
	0x48, 0x8b, 0x0b, // mov rcx, [rbx]
	0x48, 0x8b, 0x01, // mov rax, [rcx]
	// again:
	0x48, 0x89, 0xc2, // mov rdx, rax
	0x48, 0x23, 0x53, 0x08, // and rdx, [rbx+8]
	0x48, 0x3b, 0x53, 0x10, // cmp rdx, [rbx+16]
	0x75, 14, // jne out
	0x48, 0x89, 0xc2, // mov rdx, rax
	0x48, 0x33, 0x53, 0x18, // xor rdx, [rbx+24]
	0xf0, 0x48, 0x0f, 0xb1, 0x11, // lock cmpxchg [rcx], rdx
	0x75, 0xe5, // jne again, with what is there in rax
	// out:
	0x5b, // pop rbx
	0x5a, // pop rdx
	0x59, // pop rcx
	0x58, // pop rax
	0x9d, // popfq
	0xc3, // ret
}
