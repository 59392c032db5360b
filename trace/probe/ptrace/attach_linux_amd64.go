package ptrace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// attachTime is how long threads have to stop. A thread that starts another
// program does not until that program runs, which takes milliseconds; one that
// waits for a broken disk may never.
const attachTime = 10 * time.Second

// Attach stops every thread of a process that runs. What it was doing it goes on
// with after Detach: a system call that it waited in is restarted by the kernel,
// or returns EINTR if it is one of the few that do when a process is stopped and
// continued (signal(7) lists them), such as epoll_wait with a timeout. If we end
// while the process is held, it goes on, too.
func Attach(pid int) (*Process, error) { return attach(pid, attachTime) }

func attach(pid int, timeout time.Duration) (*Process, error) {
	if pid == os.Getpid() {
		return nil, fmt.Errorf("process %d is tracerag itself", pid)
	}
	if err := checkProc(); err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	if err := checkFormat(fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
		return nil, attachError(pid, err)
	}
	p := &Process{pid: pid, tr: newTracer(), ended: make(chan struct{})}
	if fd, err := unix.PidfdOpen(pid, 0); err == nil {
		p.pidfd = os.NewFile(uintptr(fd), "pidfd")
	}
	p.held.Store(true)
	var err error
	p.tr.do(func() {
		if err = p.stopAll(time.Now().Add(timeout)); err == nil {
			err = p.openMemory()
		}
	})
	if err != nil {
		// Threads that did not stop are let go of when the tracing thread ends.
		_ = p.Detach()
		return nil, attachError(pid, err)
	}
	return p, nil
}

// attachError explains why a process is not held.
func attachError(pid int, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH):
		return fmt.Errorf("process %d not found: %w", pid, err)
	case errors.Is(err, fs.ErrPermission):
		if status, e := Status(pid); e == nil && status["TracerPid"] != "0" {
			return fmt.Errorf("process %d: %w: process %s, a debugger or strace, traces it: end that first", pid, ErrPtrace, status["TracerPid"])
		}
		return fmt.Errorf("process %d: %w: %w\nwithout root it must be a process of the same user, and not one with privileges (setuid, capabilities)\n%s", pid, ErrPtrace, err, ptraceHints())
	}
	return fmt.Errorf("process %d: %w", pid, err)
}

// stopAll seizes and stops all threads. A thread that is still running may make
// another one, so it looks again until there is none that is not stopped.
func (p *Process) stopAll(deadline time.Time) error {
	b := &reaper{pid: p.pid}
	for _, t := range p.threads {
		b.add(t.tid)
	}
	defer b.begin()()
	for {
		tids, err := p.tids()
		if err != nil {
			return err
		}
		var running []*thread
		for _, tid := range tids {
			if slices.ContainsFunc(p.threads, func(t *thread) bool { return t.tid == tid }) {
				continue
			}
			ok, err := p.seize(tid)
			if err != nil {
				return err
			}
			if ok {
				b.add(tid)
				running = append(running, &thread{tid: tid, seized: true})
			}
		}
		if len(running) == 0 {
			break
		}
		p.threads = append(p.threads, running...)
		for _, t := range running {
			switch err := p.settle(t, deadline); {
			case errors.Is(err, unix.ECHILD) && b.reaped(t.tid):
			case errors.Is(err, unix.ECHILD):
				return errReplaced
			case err != nil && !errors.Is(err, ErrEnded):
				return err
			}
		}
	}
	p.threads = slices.DeleteFunc(p.threads, func(t *thread) bool { return b.reaped(t.tid) })
	if len(p.threads) == 0 {
		return ErrEnded
	}
	slices.SortFunc(p.threads, func(a, b *thread) int { return a.tid - b.tid })
	return nil
}

// seize begins to trace a thread and asks it to stop. It is false for a thread
// that has just ended.
func (p *Process) seize(tid int) (bool, error) {
	err := ptrace(unix.PTRACE_SEIZE, tid, 0, unix.PTRACE_O_TRACESYSGOOD)
	if err == nil {
		err = unix.PtraceInterrupt(tid)
	}
	switch {
	case err == unix.ESRCH:
		return false, nil
	case err == unix.EPERM:
		// The first thread may have ended before the others, and stays in the list.
		status, e := readStatusFile(fmt.Sprintf("/proc/%d/task/%d/status", p.pid, tid))
		if e != nil || status["State"][0] == 'Z' || status["State"][0] == 'X' {
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	return true, nil
}

// settle waits until a thread that was asked to stop has done so. A signal that it
// is just getting it gets first: the thread then is at its handler's beginning.
func (p *Process) settle(t *thread, deadline time.Time) error {
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		ws, ok, err := p.collect(t.tid)
		switch {
		case err != nil:
			return err
		case !ok && time.Now().After(deadline):
			return fmt.Errorf("thread %d does not stop: it waits for a disk or for a program that it is starting; try again", t.tid)
		case !ok:
			time.Sleep(pause)
		case eventOf(ws) == unix.PTRACE_EVENT_STOP:
			return keepWaiting(t.tid)
		default:
			// The stop for the signal has taken the place of the one asked for.
			if err := unix.PtraceInterrupt(t.tid); err != nil {
				return err
			}
			if err := unix.PtraceCont(t.tid, int(ws.StopSignal())); err != nil {
				return err
			}
		}
	}
}

// eRestartNoHand is the kernel's word, which programs never see, for a system call
// that is to be restarted unless a signal handler runs.
const eRestartNoHand = 514

// keepWaiting has the kernel restart calls that wait without a limit, and of which
// it would otherwise tell the program that they were interrupted. With a limit a
// restarted call would wait for longer than it was to.
func keepWaiting(tid int) error {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	if !inSyscall(&regs) || regs.Rax != ^uint64(unix.EINTR)+1 {
		return nil
	}
	switch regs.Orig_rax {
	case unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT:
		if int32(regs.R10) >= 0 {
			return nil
		}
	case unix.SYS_EPOLL_PWAIT2:
		if regs.R10 != 0 {
			return nil
		}
	case unix.SYS_RT_SIGTIMEDWAIT:
		if regs.Rdx != 0 {
			return nil
		}
	default:
		return nil
	}
	regs.Rax = ^uint64(eRestartNoHand) + 1
	return unix.PtraceSetRegs(tid, &regs)
}

// tids are the numbers of the process's threads.
func (p *Process) tids() ([]int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.pid))
	if err != nil {
		return nil, err
	}
	var tids []int
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			return nil, err
		}
		tids = append(tids, tid)
	}
	slices.Sort(tids)
	return tids, nil
}
