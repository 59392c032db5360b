package ptrace

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Syscall has the process make a system call while it is held. A call that fails
// returns its unix.Errno; any other error means that it was not made.
func (p *Process) Syscall(nr uintptr, args ...uintptr) (uintptr, error) {
	var result uintptr
	err := p.do(func() (err error) {
		result, err = p.syscall(nr, args...)
		return err
	})
	if errno, ok := errors.AsType[refused](err); ok {
		return 0, errno.Errno
	}
	return result, err
}

// refused is what the kernel said to a system call of the process, as opposed to
// a request of ours.
type refused struct{ unix.Errno }

func (r refused) Unwrap() error { return r.Errno }

// syscall is Syscall on the tracing thread. The call's own error is a refused.
func (p *Process) syscall(nr uintptr, args ...uintptr) (uintptr, error) {
	return p.syscallOn(nil, nr, args...)
}

// syscallOn is syscall with a text that the call is to read, in a process that was attached
// to and has a refuge: it is at its text.
func (p *Process) syscallOn(text []byte, nr uintptr, args ...uintptr) (uintptr, error) {
	if len(args) > 6 {
		return 0, fmt.Errorf("system call %d has %d arguments", nr, len(args))
	}
	t, err := p.callerThread()
	if err != nil {
		return 0, err
	}
	if t.seized {
		if err := p.findRefuge(); err != nil {
			return 0, err
		}
	}
	if t.seized && p.refuge.addr != 0 {
		return p.syscallFromRefuge(t, nr, text, args)
	}
	if err := p.findGate(); err != nil {
		return 0, err
	}
	if err := t.maskSignals(); err != nil {
		return 0, fmt.Errorf("keeping signals waiting: %w", err)
	}
	var own unix.PtraceRegs
	if err := unix.PtraceGetRegs(t.tid, &own); err != nil {
		return 0, err
	}
	regs := calling(own, p.gate.addr, nr, args)
	if err := p.gate.open(p); err != nil {
		return 0, err
	}
	err = p.passGate(t, &regs)
	if e := p.gate.close(p); err == nil {
		err = e
	}
	if e := p.rest(t, &own); err == nil {
		err = e
	}
	if err != nil {
		return 0, err
	}
	return result(&regs)
}

// syscallFromRefuge is syscall for a thread that is to go on as it was if we are killed.
// At each moment it has either its own registers and mask, or is in the refuge.
func (p *Process) syscallFromRefuge(t *thread, nr uintptr, text []byte, args []uintptr) (uintptr, error) {
	var own unix.PtraceRegs
	if err := unix.PtraceGetRegs(t.tid, &own); err != nil {
		return 0, err
	}
	mask, err := t.signalMask()
	if err != nil {
		return 0, err
	}
	if err := p.refuge.write(p, &own, mask, text); err != nil {
		return 0, err
	}
	regs := calling(own, p.refuge.addr, nr, args)
	if err := unix.PtraceSetRegs(t.tid, &regs); err != nil {
		return 0, err
	}
	if err = t.maskSignals(); err == nil {
		err = p.passGate(t, &regs)
	}
	if e := p.halt(t); err == nil {
		err = e
	}
	if e := t.unmaskSignals(); err == nil {
		err = e
	}
	if e := unix.PtraceSetRegs(t.tid, &own); err == nil {
		err = e
	}
	if err != nil {
		return 0, err
	}
	return result(&regs)
}

// calling are the registers for a system call by the instruction at an address.
func calling(regs unix.PtraceRegs, at uint64, nr uintptr, args []uintptr) unix.PtraceRegs {
	regs.Rip, regs.Rax, regs.Orig_rax = at, uint64(nr), ^uint64(0)
	for i, r := range []*uint64{&regs.Rdi, &regs.Rsi, &regs.Rdx, &regs.R10, &regs.R8, &regs.R9} {
		*r = 0
		if i < len(args) {
			*r = uint64(args[i])
		}
	}
	return regs
}

// result is that of a system call. The kernel returns an error as a small negative number.
func result(regs *unix.PtraceRegs) (uintptr, error) {
	if errno := -regs.Rax; 0 < errno && errno < 4096 {
		return 0, refused{unix.Errno(errno)}
	}
	return uintptr(regs.Rax), nil
}

// passGate runs a thread with these registers, which are before a syscall
// instruction, through the system call, and reads them again behind it.
func (p *Process) passGate(t *thread, regs *unix.PtraceRegs) error {
	nr := regs.Rax
	if err := unix.PtraceSetRegs(t.tid, regs); err != nil {
		return err
	}
	for range 2 { // before it and behind it
		if err := p.toSyscallStop(t); err != nil {
			return err
		}
	}
	if err := unix.PtraceGetRegs(t.tid, regs); err != nil {
		return err
	}
	if regs.Rax == nr {
		// So it looks when a seccomp filter answers with SIGSYS, which comes
		// before anything else when the thread goes on.
		if trapped, err := p.swallowSIGSYS(t); err != nil || trapped {
			regs.Rax = ^uint64(unix.EPERM) + 1
			return err
		}
	}
	return nil
}

// toSyscallStop lets a thread run to the next side of a system call.
func (p *Process) toSyscallStop(t *thread) error {
	for {
		if err := unix.PtraceSyscall(t.tid, 0); err != nil {
			return err
		}
		ws, err := p.await(t.tid)
		if err != nil {
			return err
		}
		switch {
		case atSyscall(ws):
			return nil
		case eventOf(ws) != 0:
			// The request to stop that a thread had is due first.
		case ws.StopSignal() == unix.SIGSTOP:
			p.stop = true
		default:
			return fmt.Errorf("thread %d does not make system calls for us: it got %v", t.tid, ws.StopSignal())
		}
	}
}

// swallowSIGSYS takes away the SIGSYS that a thread is to get, if there is one.
func (p *Process) swallowSIGSYS(t *thread) (bool, error) {
	status, err := readStatusFile(fmt.Sprintf("/proc/%d/task/%d/status", p.pid, t.tid))
	if err != nil {
		return false, err
	}
	if pending, err := parseSet(status["SigPnd"]); err != nil || pending&setOf(unix.SIGSYS) == 0 {
		return false, err
	}
	for {
		if err := unix.PtraceCont(t.tid, 0); err != nil {
			return false, err
		}
		ws, err := p.await(t.tid)
		if err != nil {
			return false, err
		}
		if ws.StopSignal() == unix.SIGSYS {
			return true, nil
		}
		p.stop = p.stop || ws.StopSignal() == unix.SIGSTOP
	}
}

// rest gives a thread that has made a system call its own registers back.
func (p *Process) rest(t *thread, own *unix.PtraceRegs) error {
	if t.seized {
		// It may have been within a system call of its own. To restart it the
		// kernel looks at the registers on the way out of a signal's stop;
		// out of a system call's stop, where the thread is now, only if it
		// has another reason to.
		if err := p.halt(t); err != nil {
			return err
		}
	}
	return unix.PtraceSetRegs(t.tid, own)
}

// halt moves a stopped thread on to the stop that an interruption makes, with not
// one instruction in between: the kernel stops it on the way.
func (p *Process) halt(t *thread) error { return p.deliver(t, 0) }

// deliver is halt for a thread that is stopped to get a signal, which it gets: it
// then is at the beginning of the signal's handler.
func (p *Process) deliver(t *thread, signal unix.Signal) error {
	for {
		if err := unix.PtraceInterrupt(t.tid); err != nil {
			return err
		}
		if err := unix.PtraceCont(t.tid, int(signal)); err != nil {
			return err
		}
		ws, err := p.await(t.tid)
		if err != nil {
			return err
		}
		if eventOf(ws) != 0 {
			return nil
		}
		if signal = ws.StopSignal(); signal == unix.SIGSTOP {
			p.stop, signal = true, 0
		}
	}
}

// callerThread is the thread that makes system calls for us. We prefer one that
// is within a system call: it is certainly not in a restartable sequence, which
// the kernel would forget when the thread is seen elsewhere. Before that comes one
// whose system calls are not filtered.
func (p *Process) callerThread() (*thread, error) {
	if p.caller != nil {
		return p.caller, nil
	}
	if len(p.threads) == 0 {
		return nil, ErrEnded
	}
	var best *thread
	most := -1
	for _, t := range p.threads {
		var regs unix.PtraceRegs
		if err := unix.PtraceGetRegs(t.tid, &regs); err != nil {
			return nil, err
		}
		merits := 0
		if inSyscall(&regs) {
			merits++
		}
		if t.seized {
			status, err := readStatusFile(fmt.Sprintf("/proc/%d/task/%d/status", p.pid, t.tid))
			if err != nil {
				return nil, err
			}
			if !filtered(status) {
				merits += 2
			}
		} else {
			merits += 2
		}
		if merits > most {
			best, most = t, merits
		}
		if most == 3 {
			break
		}
	}
	if best.seized {
		if err := p.passFilters(best); err != nil {
			return nil, err
		}
	}
	p.caller = best
	return best, nil
}

// inSyscall reports whether a thread is behind a system call of its own, whose
// number the kernel keeps.
func inSyscall(regs *unix.PtraceRegs) bool { return int64(regs.Orig_rax) >= 0 }

func parseSet(text string) (signalSet, error) {
	var s signalSet
	if _, err := fmt.Sscanf(text, "%x", &s); err != nil {
		return 0, fmt.Errorf("a set of signals %q in /proc: %w", text, err)
	}
	return s, nil
}

// gate is a syscall instruction in the process.
type gate struct {
	addr uint64 // 0: not known yet
	own  []byte // the bytes there, where the instruction has to be written first
	text bool   // it has to
}

var syscallInstruction = []byte{0x0f, 0x05}

// findGate looks for the instruction in the vDSO, which the kernel maps into
// nearly every process, and else makes do with the program's entry: that code
// runs once, and not while we hold the process.
func (p *Process) findGate() error {
	if p.gate.addr != 0 {
		return nil
	}
	maps, err := p.Maps()
	if err != nil {
		return err
	}
	for _, m := range maps {
		if m.Path != "[vdso]" || !strings.Contains(m.Perms, "x") {
			continue
		}
		code := make([]byte, m.End-m.Start)
		if _, err := p.readAt(code, m.Start); err != nil {
			break
		}
		if i := bytes.Index(code, syscallInstruction); i >= 0 {
			p.gate = gate{addr: m.Start + uint64(i)}
			return nil
		}
	}
	entry, err := p.Entry()
	if err != nil {
		return err
	}
	p.gate = gate{addr: entry, text: true}
	return nil
}

func (g *gate) open(p *Process) error {
	if !g.text {
		return nil
	}
	g.own = make([]byte, len(syscallInstruction))
	if _, err := p.readAt(g.own, g.addr); err != nil {
		return err
	}
	_, err := p.writeAt(syscallInstruction, g.addr)
	return err
}

func (g *gate) close(p *Process) error {
	if !g.text {
		return nil
	}
	_, err := p.writeAt(g.own, g.addr)
	return err
}
