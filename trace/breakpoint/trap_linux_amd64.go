package breakpoint

import (
	"fmt"
	"os"
	"strconv"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/dwarf/regnum"
	"github.com/go-delve/delve/pkg/proc"
	"golang.org/x/arch/x86/x86asm"
)

// maxInlinedPoints bounds the breakpoints of a program for whose inlined calls
// breakpoints are set, too. Each takes 5 us to set. Of the programs tried Hugo has
// the most.
const maxInlinedPoints = 1_000_000

// int3 is the breakpoint instruction.
const int3 = 0xCC

// rawTraps writes breakpoint instructions into the target's memory and keeps
// the table of them itself, which makes a stop's cost independent of their
// number. To delve they are breakpoints that the program brought along: it
// stops at them and leaves what follows to us.
//
// Getting past one is cheaper, too. delve puts the instruction back, lets the
// thread make one step, and writes the breakpoint again: a dozen system calls,
// each in another thread. But nearly all of our breakpoints are on a "push
// %rbp" or on a no-op, which are done by changing the thread's registers. For
// other instructions delve's way remains.
type rawTraps struct {
	tgt   *proc.Target
	mem   *os.File        // of the target; nil: through delve
	orig  map[uint64]byte // what stood where a breakpoint is set
	code  map[uint64]skip // how to get past, by address, once it was needed
	lent  []uint64        // addresses handed to delve to be stepped over
	delve map[uint64]bool // breakpoints that are delve's for good
}

// skip is what the instruction under a breakpoint does, as far as it can be done
// for it.
type skip struct {
	kind skipKind
	len  uint64
}

type skipKind uint8

const (
	skipNot skipKind = iota
	skipNop
	skipPushBP
)

func newTraps(tgt *proc.Target) traps {
	r := &rawTraps{tgt: tgt, orig: map[uint64]byte{}, code: map[uint64]skip{}, delve: map[uint64]bool{}}
	// Reading and writing here needs no detour over delve's ptrace thread. A
	// kernel may forbid it (proc_mem.force_override), then delve does it.
	r.mem, _ = os.OpenFile("/proc/"+strconv.Itoa(tgt.Pid())+"/mem", os.O_RDWR, 0)
	// delve's own breakpoints stop at panics and throws, where there is
	// nothing for us.
	for addr := range tgt.Breakpoints().M {
		_ = tgt.ClearBreakpoint(addr)
	}
	// At every stop delve reads the list of shared objects, to find plugins.
	tgt.BinInfo().ElfDynamicSection.Addr = 0
	return r
}

func (r *rawTraps) write(addr uint64, data []byte) error {
	if r.mem != nil {
		if n, err := r.mem.WriteAt(data, int64(addr)); err == nil && n == len(data) {
			return nil
		}
	}
	_, err := r.tgt.Memory().WriteMemory(addr, data)
	return err
}

func (r *rawTraps) set(addr uint64) error {
	if _, ok := r.orig[addr]; ok || r.delve[addr] {
		return nil
	}
	// delve reports a breakpoint that is not its own only if the next byte
	// belongs to the same function. A function without arguments that does
	// nothing is a single byte, a return.
	if bi := r.tgt.BinInfo(); bi.PCToFunc(addr+1) == nil || bi.PCToFunc(addr+1) != bi.PCToFunc(addr) {
		if _, err := r.tgt.SetBreakpoint(0, addr, proc.UserBreakpoint, nil); err != nil {
			return err
		}
		r.delve[addr] = true
		return nil
	}
	var b [1]byte
	if _, err := r.tgt.Memory().ReadMemory(b[:], addr); err != nil {
		return fmt.Errorf("reading the instruction: %w", err)
	}
	if err := r.write(addr, []byte{int3}); err != nil {
		return fmt.Errorf("writing the breakpoint: %w", err)
	}
	r.orig[addr] = b[0]
	return nil
}

func (r *rawTraps) clear(addr uint64) error {
	if r.delve[addr] {
		delete(r.delve, addr)
		return r.tgt.ClearBreakpoint(addr)
	}
	b, ok := r.orig[addr]
	if !ok {
		return nil
	}
	// What the program itself has written there since stays.
	var now [1]byte
	if _, err := r.tgt.Memory().ReadMemory(now[:], addr); err != nil || now[0] == int3 {
		if err := r.write(addr, []byte{b}); err != nil {
			return err
		}
	}
	delete(r.orig, addr)
	// A thread that delve was to step over it simply goes on.
	if bp := r.tgt.Breakpoints().M[addr]; bp != nil {
		delete(r.tgt.Breakpoints().M, addr)
		for _, th := range r.tgt.ThreadList() {
			if th.Breakpoint().Breakpoint == bp {
				th.Breakpoint().Clear()
			}
		}
	}
	return nil
}

func (r *rawTraps) hits() ([]hit, error) {
	var out []hit
	for _, th := range r.tgt.ThreadList() {
		bp := th.Breakpoint().Breakpoint
		lent := bp != nil && r.tgt.Breakpoints().M[bp.Addr] == bp
		if !lent && !th.SoftExc() {
			continue
		}
		regs, err := th.Registers()
		if err != nil {
			return nil, fmt.Errorf("registers of thread %d: %w", th.ThreadID(), err)
		}
		addr := regs.PC() // delve has put it back
		if !lent {
			addr--
		}
		if _, ok := r.orig[addr]; !ok && !r.delve[addr] {
			continue // a trap of the program's own
		}
		out = append(out, hit{th, addr, regs})
	}
	// What delve was lent has been stepped over.
	for _, addr := range r.lent {
		delete(r.tgt.Breakpoints().M, addr)
	}
	r.lent = r.lent[:0]
	for _, h := range out {
		if r.delve[h.addr] {
			continue // delve steps over it
		}
		if err := r.pass(h); err != nil {
			return nil, fmt.Errorf("thread %d at %#x: %w", h.th.ThreadID(), h.addr, err)
		}
	}
	return byThread(out), nil
}

// pass brings a thread behind its breakpoint.
func (r *rawTraps) pass(h hit) error {
	h.th.Breakpoint().Clear()
	s, ok := r.code[h.addr]
	if !ok {
		s = r.decode(h.addr)
		r.code[h.addr] = s
	}
	after := h.addr + 1 // where the thread is, unless delve put it back
	if h.regs.PC() == h.addr {
		after = h.addr
	}
	setPC := func(pc uint64) error {
		if pc == after {
			return nil
		}
		return h.th.SetReg(regnum.AMD64_Rip, op.DwarfRegisterFromUint64(pc))
	}
	switch s.kind {
	case skipPushBP:
		sp := h.regs.SP() - 8
		if err := r.write(sp, le64(h.regs.BP())); err != nil {
			break // the stack ends here: let the instruction itself fault
		}
		if err := h.th.SetReg(regnum.AMD64_Rsp, op.DwarfRegisterFromUint64(sp)); err != nil {
			return err
		}
		return setPC(h.addr + s.len)
	case skipNop:
		return setPC(h.addr + s.len)
	}
	bp := &proc.Breakpoint{
		Addr: h.addr, OriginalData: []byte{r.orig[h.addr]},
		Breaklets: []*proc.Breaklet{{Kind: proc.UserBreakpoint}},
	}
	if old := r.tgt.Breakpoints().M[h.addr]; old != nil {
		bp = old // another thread is here, too
	}
	r.tgt.Breakpoints().M[h.addr] = bp
	r.lent = append(r.lent, h.addr)
	h.th.Breakpoint().Breakpoint = bp
	return setPC(h.addr)
}

// decode looks at the instruction under a breakpoint.
func (r *rawTraps) decode(addr uint64) skip {
	var code [15]byte
	n := len(code)
	for n > 0 { // the text may end here
		if got, err := r.tgt.Memory().ReadMemory(code[:n], addr); err == nil && got == n {
			break
		}
		n--
	}
	if n == 0 {
		return skip{}
	}
	// Neighbouring breakpoints, and this one, hide the program's own bytes.
	for i := range n {
		if b, ok := r.orig[addr+uint64(i)]; ok {
			code[i] = b
		}
	}
	in, err := x86asm.Decode(code[:n], 64)
	if err != nil {
		return skip{}
	}
	switch {
	case in.Op == x86asm.NOP:
		return skip{skipNop, uint64(in.Len)}
	case in.Op == x86asm.PUSH && in.Args[0] == x86asm.RBP && in.Len == 1:
		return skip{skipPushBP, 1}
	}
	return skip{}
}

func (r *rawTraps) clearAll() error {
	for addr := range r.orig {
		if err := r.clear(addr); err != nil {
			return err
		}
	}
	return nil // Detach clears what is delve's
}

func le64(v uint64) []byte {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
	return b
}
