package ptrace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestMoveOut moves threads of a busy program out of the code that they are in.
func TestMoveOut(t *testing.T) {
	r := start(t, "busy")
	r.line(t)
	moved := 0
	for round := 0; round < 200 && moved < 20; round++ {
		p := r.attach(t)
		before, err := p.Threads()
		if err != nil {
			t.Fatal(err)
		}
		var ranges []Range
		for _, th := range before {
			around := Range{th.Regs.Rip - 2, th.Regs.Rip + 3}
			if th.Regs.Rip < 1<<32 && !slices.ContainsFunc(before, func(o Thread) bool { // in the program's code
				return inSyscall(&o.Regs) && within(o.Regs.Rip, []Range{around})
			}) {
				ranges = append(ranges, around)
			}
		}
		if err := p.MoveOut(ranges...); err != nil {
			t.Fatal(err)
		}
		after, err := p.Threads()
		if err != nil {
			t.Fatal(err)
		}
		for _, th := range after {
			if within(th.Regs.Rip, ranges) {
				t.Errorf("thread %d is still at %#x", th.Tid, th.Regs.Rip)
			}
			i := slices.IndexFunc(before, func(o Thread) bool { return o.Tid == th.Tid })
			if i < 0 {
				continue // a thread that was moved has made it
			}
			if th.Regs != before[i].Regs {
				moved++
			}
			if (th.Regs != before[i].Regs) != within(before[i].Regs.Rip, ranges) {
				t.Errorf("thread %d moved from %#x to %#x, ranges %x", th.Tid, before[i].Regs.Rip, th.Regs.Rip, ranges)
			}
		}
		if _, err := p.Syscall(unix.SYS_GETPID); err != nil {
			t.Fatal(err)
		}
		if err := p.Detach(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	if moved == 0 {
		t.Error("no thread was moved")
	}
	r.end(t, "done 0\n")
}

// TestStepBlocked steps a thread that has SIGTRAP blocked, by which steps are
// reported: it is blocked, and caught, afterwards.
func TestStepBlocked(t *testing.T) {
	r := start(t, "busy")
	r.line(t)
	trap := setOf(unix.SIGTRAP)
	look := func(tid int, key string) bool {
		t.Helper()
		status, err := readStatusFile(fmt.Sprintf("/proc/%d/task/%d/status", r.pid(), tid))
		if err != nil {
			t.Fatal(err)
		}
		set, err := parseSet(status[key])
		if err != nil {
			t.Fatal(err)
		}
		return set&trap != 0
	}
	stepped := 0
	for round := 0; round < 200 && stepped < 5; round++ {
		p := r.attach(t)
		for _, th := range p.threads {
			if err := p.do(func() error {
				var regs unix.PtraceRegs
				if err := unix.PtraceGetRegs(th.tid, &regs); err != nil || inSyscall(&regs) {
					return err
				}
				var own signalSet
				if err := ptrace(unix.PTRACE_GETSIGMASK, th.tid, 8, uintptr(unsafe.Pointer(&own))); err != nil {
					return err
				}
				if err := setMask(th.tid, own|trap); err != nil {
					return err
				}
				if err := p.step(th); err != nil {
					return err
				}
				if err := th.unmaskSignals(); err != nil {
					return err
				}
				if !look(th.tid, "SigBlk") || !look(th.tid, "SigCgt") {
					t.Error("SIGTRAP is no longer blocked or no longer caught")
				}
				stepped++
				return setMask(th.tid, own)
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Detach(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	if stepped == 0 {
		t.Error("no thread was stepped")
	}
	r.end(t, "done 0\n")
}

// TestStepSignal steps over an instruction that faults: the program's handler runs.
func TestStepSignal(t *testing.T) {
	r := start(t, "signals")
	r.line(t)
	p := r.attach(t)
	if err := p.do(func() error {
		th := p.threads[0]
		var regs unix.PtraceRegs
		if err := unix.PtraceGetRegs(th.tid, &regs); err != nil {
			return err
		}
		regs.Rip, regs.Orig_rax = 0x10, ^uint64(0) // where nothing is
		if err := unix.PtraceSetRegs(th.tid, &regs); err != nil {
			return err
		}
		if err := p.step(th); err != nil {
			return err
		}
		if err := unix.PtraceGetRegs(th.tid, &regs); err != nil {
			return err
		}
		if regs.Rip < pageSize {
			return fmt.Errorf("it stands at %#x, not at its handler", regs.Rip)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := p.Detach(); err != nil {
		t.Fatal(err)
	}
	_ = r.cmd.Wait()
	if code := r.cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(r.stderr.String(), "SIGSEGV") {
		t.Errorf("it ends with %d and says %q", code, r.stderr.String())
	}
}
