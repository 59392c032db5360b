package ptrace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a process that is held, from Start or Attach to Detach or Abandon.
// In between its methods act on it; after that only Pid, Kill and Wait do.
type Process struct {
	pid   int
	child bool     // started by us: ours to wait for
	pidfd *os.File // the kernel's handle on it, nil where there are none

	held    atomic.Bool // false once it is let go
	holding sync.Mutex  // taken while the tracing thread works for a caller
	tr      *tracer     // ends when the process is let go
	mem     *os.File    // /proc/PID/mem, nil where that is forbidden
	threads []*thread   // all of them, by number
	caller  *thread     // the one that makes system calls for us, nil until chosen
	gate    gate
	refuge  refuge
	stop    bool // a SIGSTOP came while it was held

	followed    bool // by a filter of ours
	keepFilters bool // in tests: as if we may not suspend them

	watch sync.Once  // begins to wait for its end
	mu    sync.Mutex // guards gone and exit
	gone  bool       // reaped: its number may be another process's by now
	exit  Exit
	ended chan struct{} // closed when exit is known
}

// Exit says how a process ended. Its fields are those of trace.Exit.
type Exit struct {
	Code   int    // exit status; 128 and the signal's number if a signal ended it; -1 if unknown
	Signal string // the signal that ended it, such as "SIGKILL"; empty if it exited
}

// Pid is the process's number.
func (p *Process) Pid() int { return p.pid }

// do has f run on the tracing thread while the process is held.
func (p *Process) do(f func() error) error {
	p.holding.Lock()
	defer p.holding.Unlock()
	if !p.held.Load() {
		return fmt.Errorf("process %d: %w", p.pid, errLetGo)
	}
	var err error
	p.tr.do(func() {
		if err = f(); err != nil && p.dying() {
			err = ErrEnded
		}
	})
	if err != nil {
		return fmt.Errorf("process %d: %w", p.pid, err)
	}
	return nil
}

// dying reports whether a request failed because the process was killed, and if
// so waits for its end.
func (p *Process) dying() bool {
	for {
		if len(p.threads) == 0 {
			return true
		}
		// The first thread's end is not reported before that of the others.
		last := p.threads[len(p.threads)-1]
		var regs unix.PtraceRegs
		if unix.PtraceGetRegs(last.tid, &regs) != unix.ESRCH {
			return false
		}
		// Only SIGKILL makes a thread that we hold leave its stop.
		if _, err := p.await(last.tid); err != nil && !errors.Is(err, ErrEnded) {
			return false
		}
	}
}

// await waits for the next stop of a thread. ErrEnded says that it has ended.
func (p *Process) await(tid int) (unix.WaitStatus, error) {
	for {
		// Look first and reap under the lock: Kill must not meet a number
		// that is no longer the process's.
		err := unix.Waitid(unix.P_PID, tid, nil, unix.WEXITED|unix.WSTOPPED|unix.WALL|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("waiting for its stop: %w", err)
		}
		if ws, ok, err := p.collect(tid); err != nil || ok {
			return ws, err
		}
	}
}

// collect takes what there is to wait for of a thread, if anything.
func (p *Process) collect(tid int) (ws unix.WaitStatus, ok bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := unix.Wait4(tid, &ws, unix.WNOHANG|unix.WALL, nil)
	switch {
	case err != nil:
		return 0, false, fmt.Errorf("waiting for its stop: %w", err)
	case n == 0:
		return 0, false, nil
	case ws.Stopped():
		return ws, true, nil
	}
	p.threads = slices.DeleteFunc(p.threads, func(t *thread) bool { return t.tid == tid })
	p.caller = nil
	if tid == p.pid {
		p.finish(exitOf(ws))
	}
	return ws, false, ErrEnded
}

// finish notes the end. The caller holds p.mu.
func (p *Process) finish(e Exit) {
	if !p.gone {
		p.gone, p.exit = true, e
		close(p.ended)
		if p.pidfd != nil {
			p.pidfd.Close()
		}
	}
}

func exitOf(ws unix.WaitStatus) Exit {
	if !ws.Signaled() {
		return Exit{Code: ws.ExitStatus()}
	}
	n := ws.Signal()
	name := unix.SignalName(n)
	if name == "" {
		name = "signal " + strconv.Itoa(int(n))
	}
	return Exit{Code: 128 + int(n), Signal: name}
}

// Detach lets the process go on by itself. Signals that came for it while it was
// held now reach it. Nobody traces it any more.
func (p *Process) Detach() error {
	var errs []error
	err := p.do(func() error {
		if p.stop {
			// It stops as soon as it runs, as it would have done.
			errs = append(errs, unix.Kill(p.pid, unix.SIGSTOP))
		}
		if err := p.refuge.close(p); err != nil {
			errs = append(errs, err)
		}
		for _, t := range p.threads {
			err := t.unmaskSignals()
			if err == nil {
				err = ptrace(unix.PTRACE_DETACH, t.tid, 0, 0)
			}
			if err != nil && err != unix.ESRCH { // killed meanwhile
				errs = append(errs, fmt.Errorf("letting go of thread %d: %w", t.tid, err))
			}
		}
		return errors.Join(errs...)
	})
	if !errors.Is(err, errLetGo) {
		p.release()
	}
	return err
}

// release ends the tracing thread, and with it whatever it still traces is free.
func (p *Process) release() {
	p.holding.Lock()
	defer p.holding.Unlock()
	if !p.held.Swap(false) {
		return
	}
	p.tr.end()
	if p.mem != nil {
		p.mem.Close()
	}
	if p.child {
		p.watch.Do(func() { go p.awaitEnd() })
	}
}

// awaitEnd waits for the end of a process that is not held, and reaps a child.
func (p *Process) awaitEnd() {
	select {
	case <-p.ended: // while it was held
		return
	default:
	}
	// To wait for a number would be answered, too, when a tracer within this
	// process stops it. Kernels before 5.3 know nothing better.
	for err := error(unix.EINTR); err == unix.EINTR; {
		switch {
		case p.pidfd != nil:
			_, err = unix.Poll([]unix.PollFd{{Fd: int32(p.pidfd.Fd()), Events: unix.POLLIN}}, -1)
		case p.child:
			err = unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		case unix.Kill(p.pid, 0) != unix.ESRCH:
			time.Sleep(20 * time.Millisecond)
		default:
			err = nil
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return
	}
	exit := Exit{Code: -1}
	if p.child {
		var ws unix.WaitStatus
		if n, err := unix.Wait4(p.pid, &ws, unix.WNOHANG, nil); err == nil && n == p.pid {
			exit = exitOf(ws)
		}
	}
	p.finish(exit)
}

// Abandon kills a process that was started and is still held, before it has run
// an instruction of its own, and waits for its end. It does nothing to one that
// was let go, and lets go of one that was attached to.
func (p *Process) Abandon() {
	if !p.child {
		_ = p.Detach()
		return
	}
	if p.held.Load() {
		p.Kill() // at once: a system call that blocks in it may keep us waiting
		p.release()
		<-p.ended
	}
}

// Kill sends SIGKILL, whether the process is held or not.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.gone:
	case p.pidfd != nil:
		// The number of a process that is not our child may have a new owner.
		_ = unix.PidfdSendSignal(int(p.pidfd.Fd()), unix.SIGKILL, nil, 0)
	default:
		_ = unix.Kill(p.pid, unix.SIGKILL)
	}
}

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	if p.pidfd == nil {
		return unix.Kill(p.pid, 0) == nil
	}
	ended := []unix.PollFd{{Fd: int32(p.pidfd.Fd()), Events: unix.POLLIN}}
	n, _ := unix.Poll(ended, 0)
	return n == 0
}

// Wait waits until the process has ended, which a process that is held will not
// do by itself. When ctx is done it returns ctx's error and leaves the process
// alone. How a process ended that was attached to is not known.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	if !p.child && !p.held.Load() {
		p.watch.Do(func() { go p.awaitEnd() })
	}
	select {
	case <-p.ended:
		return p.exit, nil
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
}
