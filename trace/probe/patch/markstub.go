package patch

// Stubs of marks. With [byte] the mark's byte:
//
//	where the flags mean nothing     where they matter
//	  displaced code before            displaced code before
//	  cmp byte [byte], 0               push rcx
//	  je first                         movzx ecx, byte [byte]
//	back:                              jrcxz first
//	  displaced code                   jmp back
//	  jmp back                       first:
//	and behind all stubs               mov byte [byte], 1
//	first:                           back:
//	  mov byte [byte], 1               pop rcx
//	  jmp back                         displaced code
//	                                   jmp back
//
// A store each time would do without all that, and have the processors that run the
// block at the same time wait for each other.
//
// In place of the displaced code and the jump back a call that is led through the
// stub has a jump to the function, and a branch that is has one to its target.

// mark writes the stub of mark i and its patch.
func (em *emitter) mark(i int, m *Mark, bytes uint64) {
	em.align(8 + len(m.code) + 18)
	direct, ok := em.direct[m.At]
	if ok && m.form == markCall {
		em.headCall(direct.call)
	}
	stub := em.here()
	at := m.At + em.slide
	to := uint64(0)
	switch m.form {
	case markWindow:
		old := m.code
		for len(old) < jumpSize {
			old = append(old[:len(old):len(old)], int3)
		}
		em.patch(at, old[:jumpSize], 0xe9, stub)
	default:
		in, ok := decode(m.code, 0)
		if !ok || int(in.size) != len(m.code) || in.relAt == 0 {
			em.damaged(m.At)
			return
		}
		to = at + uint64(in.target)
		if led, ok := em.led[to]; ok && m.form == markCall {
			to = led
		} else if direct.call != nil && m.form == markCall {
			to = direct.stub
		}
		rel := uint64(in.relAt)
		em.patches = append(em.patches, Patch{at + rel, m.code[rel:], le.AppendUint32(nil, em.distance(at+uint64(in.size), stub))})
	}

	em.displace(m.At, m.code, 0, m.before)
	address := bytes + uint64(i)
	first := -1
	if m.flags {
		em.bytes(0x51, 0x0f, 0xb6, 0x0d) // push rcx; movzx ecx, byte [rip+x]
		em.rel32(address)
		em.bytes(0xe3, 2, 0xeb, 7) // jrcxz first; jmp back
		em.set(address)
		em.bytes(0x59) // pop rcx
	} else {
		em.bytes(0x80, 0x3d) // cmp byte [rip+x], 0
		em.out = le.AppendUint32(em.out, em.distance(em.here()+5, address))
		em.bytes(0, 0x0f, 0x84, 0, 0, 0, 0) // je first
		first = len(em.out)
	}
	falls := true
	if m.form == markWindow {
		falls = em.displace(m.At, m.code, m.before, len(m.code))
		to = at + uint64(len(m.code))
	}
	if falls {
		em.bytes(0xe9)
		em.rel32(to)
	}
	if first >= 0 {
		em.unset = append(em.unset, unset{first, address})
	}
}

// An unset mark is where a stub goes once: the offset behind its branch there, which
// is to be completed, and the address of the byte.
type unset struct {
	from int
	byte uint64
}

// setMarks writes what sets the marks, away from the stubs, which run so often.
func (em *emitter) setMarks() {
	for _, u := range em.unset {
		le.PutUint32(em.out[u.from-4:], uint32(len(em.out)-u.from))
		em.set(u.byte)
		em.bytes(0xe9)
		em.rel32(em.base + uint64(u.from))
	}
}

// set writes an instruction that sets a byte to 1.
func (em *emitter) set(address uint64) {
	em.bytes(0xc6, 0x05)
	em.out = le.AppendUint32(em.out, em.distance(em.here()+5, address))
	em.bytes(1)
}
