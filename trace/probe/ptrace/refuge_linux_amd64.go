package ptrace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A tracer may be killed at any moment, and then the kernel lets its threads go on with
// the registers that they have. A thread that is just making a system call for us would
// go on behind that, in the vDSO, with a mask of signals that is not its own.
//
// So in a process that was attached to these system calls are made from a refuge: a piece
// of code behind which all that the thread had is taken from memory. If we are there
// still, the thread never runs it.
//
//	syscall
//	lea rsp, [flags]; popfq
//	mov rsp, [rsp of the thread]
//	rt_sigprocmask(SIG_SETMASK, its mask)
//	mov rax, [rax of the thread], and so on
//	jmp [rip of the thread]
//
// It lies where the kernel fills up the last page of a mapping of code with zeros, which
// nobody runs or looks at: the vDSO's or the program's. Where no such place is found a
// system call is made without it.
type refuge struct {
	sought bool
	noVDSO bool   // in tests
	addr   uint64 // 0: there is none
	own    []byte // what is there otherwise
	now    []byte // what we have written there
}

const (
	refugeSize  = 400
	refugeWords = 176 // offset of the words that its code reads
	refugeText  = refugeWords + 19*8
	refugeRoom  = refugeSize - refugeText // for bytes that a system call reads
)

// findRefuge looks for room.
func (p *Process) findRefuge() error {
	if p.refuge.sought {
		return nil
	}
	p.refuge.sought = true
	maps, err := p.Maps()
	if err != nil {
		return err
	}
	// A thread that a tracer which was killed had in its refuge may be there still.
	var there []uint64
	for _, t := range p.threads {
		var regs unix.PtraceRegs
		if err := unix.PtraceGetRegs(t.tid, &regs); err != nil {
			return err
		}
		there = append(there, regs.Rip)
	}
	for _, vdso := range []bool{true, false} {
		for _, m := range maps {
			if m.Perms != "r-xp" || (m.Path == "[vdso]") != vdso || vdso && p.refuge.noVDSO || m.Path == "" || strings.HasPrefix(m.Path, "[vsyscall") {
				continue
			}
			// As many as there is room for, one before the other.
			for end := m.End; p.refuge.fits(p, end, m.Start); end -= refugeSize {
				at := Range{end - refugeSize, end}
				if slices.ContainsFunc(there, func(rip uint64) bool { return within(rip, []Range{at}) }) {
					continue
				}
				// Perhaps it cannot be written.
				if n, err := p.writeAt(make([]byte, refugeSize), at.Start); n < refugeSize || err != nil {
					break
				}
				p.refuge.addr, p.refuge.own = at.Start, make([]byte, refugeSize)
				return nil
			}
		}
	}
	return nil
}

// fits reports whether a refuge may end at an address: there are zeros before that, or
// the refuge of a tracer that was killed. Zeros before it are not taken, in case that
// they end something.
func (f *refuge) fits(p *Process, end, start uint64) bool {
	const margin = 48
	tail := make([]byte, refugeSize+margin)
	if end-start < uint64(len(tail)) {
		return false
	}
	if n, _ := p.readAt(tail, end-uint64(len(tail))); n < len(tail) {
		return false
	}
	room := tail[margin:]
	if !bytes.HasPrefix(room, refugeCode(&unix.PtraceRegs{}, 0)[:refugeWords]) && len(bytes.Trim(room, "\x00")) > 0 {
		return false
	}
	before := tail[:margin] // the end of another one, perhaps
	return len(bytes.Trim(before, "\x00")) == 0
}

// write makes the refuge that of a thread with these registers and this mask. Text is
// what the system call is to read.
func (f *refuge) write(p *Process, own *unix.PtraceRegs, mask signalSet, text []byte) error {
	if len(text) > refugeRoom {
		return fmt.Errorf("%d bytes are too many for a system call", len(text))
	}
	b := refugeCode(own, mask)
	copy(b[refugeText:], text)
	if bytes.Equal(b, f.now) {
		return nil
	}
	f.now = nil
	if _, err := p.writeAt(b, f.addr); err != nil {
		return err
	}
	f.now = b
	return nil
}

// close gives the place its own bytes back.
func (f *refuge) close(p *Process) error {
	if f.now == nil {
		return nil
	}
	f.now = nil
	_, err := p.writeAt(f.own, f.addr)
	return err
}

// text is the address of the text that write has written.
func (f *refuge) text() uint64 { return f.addr + refugeText }

// refugeCode writes the code and its words.
func refugeCode(own *unix.PtraceRegs, mask signalSet) []byte {
	r := resumed(*own)
	const trap = 0x100 // of the flags: a single step
	words := []uint64{r.Eflags &^ trap, r.Rsp, uint64(mask), r.Rip,
		r.Rax, r.Rcx, r.Rdx, r.Rbx, r.Rbp, r.Rsi, r.Rdi, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15}
	const flags, rsp, sigmask, rip, general = 0, 1, 2, 3, 4
	b := make([]byte, 0, refugeSize)
	// at adds an instruction that ends with the distance to a word.
	at := func(word int, op ...byte) {
		b = append(b, op...)
		b = binary.LittleEndian.AppendUint32(b, uint32(refugeWords+8*word-len(b)-4))
	}
	b = append(b, syscallInstruction...)
	at(flags, 0x48, 0x8d, 0x25)                           // lea rsp, [flags]
	b = append(b, 0x9d)                                   // popfq
	at(rsp, 0x48, 0x8b, 0x25)                             // mov rsp, [rsp]
	b = append(b, 0xb8, unix.SYS_RT_SIGPROCMASK, 0, 0, 0) // mov eax, SYS_RT_SIGPROCMASK
	b = append(b, 0xbf, unix.SIG_SETMASK, 0, 0, 0)        // mov edi, SIG_SETMASK
	at(sigmask, 0x48, 0x8d, 0x35)                         // lea rsi, [mask]
	b = append(b, 0xba, 0, 0, 0, 0)                       // mov edx, 0
	b = append(b, 0x41, 0xba, 8, 0, 0, 0)                 // mov r10d, 8
	b = append(b, syscallInstruction...)                  // which leaves the flags as they are
	for i, reg := range []byte{0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} {
		at(general+i, 0x48|reg>>3<<2, 0x8b, reg&7<<3|5) // mov reg, [word]
	}
	at(rip, 0xff, 0x25) // jmp [rip]
	if len(b) > refugeWords {
		panic(fmt.Sprintf("ptrace: the refuge's code takes %d bytes", len(b)))
	}
	b = b[:refugeWords]
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	if len(b) > refugeText {
		panic(fmt.Sprintf("ptrace: the refuge's words end at %d", len(b)))
	}
	return b[:refugeSize]
}

// resumed is where a thread goes on that is let go: within a system call the kernel makes
// it again where it says so by an error that programs never see.
func resumed(r unix.PtraceRegs) unix.PtraceRegs {
	const (
		restartSys   = 512
		restartNoInt = 513
		restartBlock = 516
	)
	if !inSyscall(&r) {
		return r
	}
	switch -int64(r.Rax) {
	case restartSys, restartNoInt, eRestartNoHand:
		r.Rax = r.Orig_rax
		r.Rip -= uint64(len(syscallInstruction))
	case restartBlock:
		r.Rax = unix.SYS_RESTART_SYSCALL
		r.Rip -= uint64(len(syscallInstruction))
	}
	return r
}
