package ptrace

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Thread is a thread of a process that is held.
type Thread struct {
	Tid  int
	Regs unix.PtraceRegs // Regs.Rip is the address of its next instruction
}

// Threads are the process's threads, by number.
func (p *Process) Threads() ([]Thread, error) {
	var all []Thread
	err := p.do(func() error {
		for _, t := range p.threads {
			th := Thread{Tid: t.tid}
			if err := unix.PtraceGetRegs(t.tid, &th.Regs); err != nil {
				return err
			}
			all = append(all, th)
		}
		return nil
	})
	return all, err
}

// Range is a range of addresses: End is the first behind it.
type Range struct{ Start, End uint64 }

// mostSteps bounds what MoveOut waits for. A recorder's own code is through after
// a few hundred instructions, unless another thread would have to go first.
const mostSteps = 10_000

// MoveOut lets each thread that is about to run an instruction in one of the
// ranges run until it is outside of all. Then nobody is in the middle of the code
// there, and it may be changed.
//
// In a process that was attached to they run freely, for moments: if we were killed
// while one runs a single step, the trap behind that would end the program. What they
// do meanwhile is what they would do in any case.
func (p *Process) MoveOut(ranges ...Range) error {
	return p.do(func() error {
		for deadline := time.Now().Add(attachTime); ; {
			inside, err := p.inside(ranges)
			if err != nil || len(inside) == 0 {
				return err
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("thread %d does not leave the code at %#x", inside[0].tid, ranges[0].Start)
			}
			for _, t := range inside {
				if t.seized {
					err = p.runOn(t, deadline)
				} else {
					err = p.moveOut(t, ranges)
				}
				if err != nil && !errors.Is(err, ErrEnded) {
					return fmt.Errorf("thread %d: %w", t.tid, err)
				}
			}
			// They may have made others.
			if inside[0].seized {
				if err := p.stopAll(deadline); err != nil {
					return err
				}
			}
		}
	})
}

// inside are the threads that are about to run an instruction in one of the ranges.
func (p *Process) inside(ranges []Range) (inside []*thread, err error) {
	for _, t := range p.threads {
		var regs unix.PtraceRegs
		if err := unix.PtraceGetRegs(t.tid, &regs); err != nil {
			return nil, err
		}
		if within(regs.Rip, ranges) {
			inside = append(inside, t)
		}
	}
	return inside, nil
}

// runOn lets a thread run for a moment.
func (p *Process) runOn(t *thread, deadline time.Time) error {
	if err := t.unmaskSignals(); err != nil {
		return err
	}
	if err := unix.PtraceCont(t.tid, 0); err != nil {
		return err
	}
	time.Sleep(20 * time.Microsecond)
	if err := unix.PtraceInterrupt(t.tid); err != nil {
		return err
	}
	return p.settle(t, deadline)
}

// moveOut lets a thread run, by single steps, until it is outside of all ranges.
func (p *Process) moveOut(t *thread, ranges []Range) error {
	for range mostSteps {
		var regs unix.PtraceRegs
		if err := unix.PtraceGetRegs(t.tid, &regs); err != nil {
			return err
		}
		if !within(regs.Rip, ranges) {
			return nil
		}
		if inSyscall(&regs) {
			return fmt.Errorf("it waits in a system call at %#x", regs.Rip)
		}
		if err := p.step(t); err != nil {
			return err
		}
	}
	return fmt.Errorf("it does not leave the code at %#x in %d instructions", ranges[0].Start, mostSteps)
}

func within(pc uint64, ranges []Range) bool {
	for _, r := range ranges {
		if r.Start <= pc && pc < r.End {
			return true
		}
	}
	return false
}

// step has a thread run one instruction. If that raises a signal, such as the
// SIGSEGV of a nil pointer, the thread gets it and is at its handler.
func (p *Process) step(t *thread) error {
	if err := t.maskSignals(); err != nil {
		return err
	}
	// A single step is reported by a SIGTRAP that is forced: the kernel would
	// unblock it, and have it no longer ignored.
	trap := setOf(unix.SIGTRAP)
	status, err := Status(p.pid)
	if err != nil {
		return err
	}
	if ignored, err := parseSet(status["SigIgn"]); err != nil || ignored&trap != 0 {
		return fmt.Errorf("it cannot be moved: the program ignores SIGTRAP, or so it seems (%s)", status["SigIgn"])
	}
	if t.mask&trap != 0 {
		if err := setMask(t.tid, (t.mask|asynchronous)&^trap); err != nil {
			return err
		}
		defer func() { _ = setMask(t.tid, t.mask|asynchronous) }()
	}
	for {
		if err := unix.PtraceSingleStep(t.tid); err != nil {
			return err
		}
		ws, err := p.await(t.tid)
		if err != nil {
			return err
		}
		switch sig := ws.StopSignal(); {
		case eventOf(ws) != 0:
			// It was asked to stop, and has not run.
		case sig == unix.SIGTRAP:
			return nil
		case sig == unix.SIGSTOP:
			p.stop = true
		default:
			if !t.seized {
				return fmt.Errorf("it got %v", sig)
			}
			return p.deliver(t, sig)
		}
	}
}
