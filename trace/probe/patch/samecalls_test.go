package patch

import (
	"fmt"

	"golang.org/x/arch/x86/x86asm"

	"tracerag/trace/probe/patch/stubs"
)

// This part of the judge knows calls that are led through stubs.

// ledCall is what is known of a direct call that has a stub of its own.
type ledCall struct {
	callee uint64 // the function's entry
	hook   uint32 // and its hook
	number uint32 // behind the hooks of the caller
}

// led makes sure that a call in the patched program leads through a stub to the
// function that the original calls.
func (j *judge) led(s state, op, got operation) error {
	if !j.inStubs(got.to) {
		return fmt.Errorf("%q became %q", op.text, got.text)
	}
	if c, ok := j.calls[s.plain]; ok {
		if c.callee != op.to {
			return fmt.Errorf("%q is led to the function at %#x", op.text, c.callee)
		}
		_, err := j.callStub(s.plain, c)
		return err
	}
	if n, _, err := j.mark(got.to, s.plain); err != nil || n > 0 {
		// It goes on to the function, perhaps by the stub of a hook.
		to, e := read(j.patched, got.to+uint64(n))
		if err == nil && (e != nil || to.inst.Op != x86asm.JMP) {
			err = fmt.Errorf("a mark's stub for %q goes on with %q", op.text, to.text)
		}
		if err != nil || to.to == op.to {
			return err
		}
		got.to = to.to
	}
	n, id, err := j.recorder(got.to)
	if err != nil {
		return err
	}
	to, err := read(j.patched, got.to+uint64(n))
	if err != nil || n == 0 || to.inst.Op != x86asm.JMP || to.to != op.to {
		return fmt.Errorf("%q became a call of a stub that goes on with %q", op.text, to.text)
	}
	if callee, ok := j.leads[id]; !ok || callee != op.to {
		return fmt.Errorf("%q is counted by hook %d", op.text, id&^stubs.Inside)
	}
	return nil
}

// callStub is where the call at an address in the patched program leads to, past a
// mark. It makes sure of what is before the stub.
func (j *judge) callStub(site uint64, c ledCall) (stub uint64, err error) {
	op, err := read(j.patched, site)
	if err != nil || op.inst.Op != x86asm.CALL || !j.inStubs(op.to) {
		return 0, fmt.Errorf("%q does not lead to a stub: %v", op.text, err)
	}
	stub = op.to
	for range 2 {
		head := j.patched.at(stub - 8)
		if hook, entry := le.Uint32(head), stub+uint64(int64(int32(le.Uint32(head[4:])))); hook != c.hook || entry != c.callee {
			return 0, fmt.Errorf("before the stub at %#x stand hook %d and the entry %#x, want %d and %#x", stub, hook, entry, c.hook, c.callee)
		}
		n, _, err := j.mark(stub, site)
		if err != nil || n == 0 {
			return stub, err
		}
		to, err := read(j.patched, stub+uint64(n))
		if err != nil || to.inst.Op != x86asm.JMP {
			return 0, fmt.Errorf("a mark's stub goes on with %q, %v", to.text, err)
		}
		stub = to.to
	}
	return 0, fmt.Errorf("the call's stub at %#x is a mark's again", stub)
}
