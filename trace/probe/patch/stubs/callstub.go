package stubs

import (
	"tracerag/trace/probe/patch/plan"
)

// Stubs of direct calls:
//
//	  4 bytes: the hook of the function called
//	  4 bytes: the distance from the stub to its entry
//	stub:
//	  the function's code as far as to its hook
//	  displaced code before
//	  mov r13d, N
//	  call Call
//	  displaced code
//	  jmp back, into the function
//
// N is the call's place behind the hooks in the caller. By the caller's return address
// the recorder finds the stub, and so what is before it, where it needs that: for
// the first call in a context, and where it cannot take this way. It goes on at the
// function's own entry then, as if it had been called there, and so does a function that
// starts again on a larger stack.

// callHead is the size of what is before such a stub.
const callHead = 8

// direct is a stub of a direct call.
type direct struct {
	call *plan.Call
	stub uint64
}

// calls writes the stubs of the direct calls, and the patches of those that have no
// mark: the stubs of marks lead on to them.
func (em *emitter) calls(entry uint64) {
	marked := map[uint64]bool{}
	for i := range em.plan.Marks {
		if m := &em.plan.Marks[i]; m.Form == plan.MarkCall {
			marked[m.At] = true
		}
	}
	var inside uint32 // hooks of the host
	for i := range em.plan.Calls {
		c := &em.plan.Calls[i]
		if i == 0 || c.Host != em.plan.Calls[i-1].Host {
			inside = em.plan.Inside(c.Host)
		}
		inside++
		h := &em.plan.Hooks[c.Callee]
		if !h.LedTo() || int(em.hosts[c.Host]) != c.Host {
			em.damaged(c.At)
			return
		}
		em.align(callHead + len(h.Lead) + len(h.Code) + 16)
		em.headCall(c)
		stub := em.here()
		em.bytes(h.Lead...)
		em.displace(h.At, h.Code, 0, h.Before)
		em.call(inside, entry)
		em.goOn(h)
		if at := c.At + em.slide; marked[c.At] {
			em.direct[c.At] = direct{c, stub}
		} else {
			em.redirect(at, 0xe8, em.entered(h), stub)
		}
	}
}

// headCall writes what is before the stub of a call.
func (em *emitter) headCall(c *plan.Call) {
	em.out = le.AppendUint32(em.out, uint32(c.Callee+1))
	em.rel32(em.entered(&em.plan.Hooks[c.Callee]))
}

// entered is the entry of the function that a call is led to.
func (em *emitter) entered(h *plan.Hook) uint64 { return h.At - uint64(len(h.Lead)) + em.slide }
