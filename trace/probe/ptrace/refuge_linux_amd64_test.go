package ptrace

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRefuge lets go of threads at each step of a system call that they make for us, as
// when we are killed there. They go on as if nothing had been, with their own masks.
func TestRefuge(t *testing.T) {
	for _, noVDSO := range []bool{false, true} {
		t.Run(fmt.Sprintf("without vDSO %v", noVDSO), func(t *testing.T) {
			r := start(t, "busy")
			r.line(t)
			const steps = 7 // of partly, or none of them
			for round := range 10 * steps {
				p := r.attach(t)
				p.refuge.noVDSO = noVDSO
				if err := p.do(p.findRefuge); err != nil {
					t.Fatal(err)
				}
				if p.refuge.addr == 0 {
					t.Skip("the program has no room for a refuge")
				}
				var th *thread
				blocked := func() (signalSet, error) {
					status, err := readStatusFile(fmt.Sprintf("/proc/%d/task/%d/status", p.pid, th.tid))
					if err != nil {
						return 0, err
					}
					return parseSet(status["SigBlk"])
				}
				var before signalSet
				err := p.do(func() (err error) {
					th = p.threads[rand.IntN(len(p.threads))]
					if before, err = blocked(); err != nil {
						return err
					}
					return p.partly(th, round%steps)
				})
				if err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				p.release()
				eventually(t, "it is let go", func() bool {
					status, err := Status(p.pid)
					return err == nil && status["TracerPid"] == "0"
				})
				// A thread that has ended has no mask, and Go blocks all signals for
				// moments, as when it starts a program.
				eventually(t, fmt.Sprintf("round %d: thread %d has its mask %x again", round, th.tid, before), func() bool {
					now, err := blocked()
					return err != nil || now == before || now == 0
				})
			}
			r.end(t, "done 0\n")
		})
	}
}

// partly does the first steps of syscallFromRefuge.
func (p *Process) partly(t *thread, steps int) error {
	var own unix.PtraceRegs
	if err := unix.PtraceGetRegs(t.tid, &own); err != nil {
		return err
	}
	mask, err := t.signalMask()
	if err != nil {
		return err
	}
	if err := p.refuge.write(p, &own, mask, nil); err != nil {
		return err
	}
	regs := calling(own, p.refuge.addr, unix.SYS_GETPPID, nil)
	for _, step := range []func() error{
		func() error { return unix.PtraceSetRegs(t.tid, &regs) },
		t.maskSignals,
		func() error { return p.toSyscallStop(t) },
		func() error { return p.toSyscallStop(t) },
		func() error { return p.halt(t) },
		t.unmaskSignals,
	}[:steps] {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
