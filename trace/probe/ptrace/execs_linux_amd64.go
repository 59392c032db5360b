package ptrace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The programs that a process starts, and those that these start, are noticed by a filter of
// system calls (seccomp) that asks us at every execve and that all descendants inherit. It
// costs nothing but at an execve. We then begin to trace the thread, let it go on with its
// call, and hold it when it has become the other program.
//
// Rejected: to stay attached and follow each fork (PTRACE_O_TRACEFORK) stops every thread at
// each of its signals, with which Go preempts goroutines thousands of times a second; to
// patch syscall.forkExec does not see what a shell starts; the kernel's process events
// (netlink) need root and come when the program already runs.
//
// Somebody has to answer as long as a descendant lives: once the last descriptor of the
// listener is closed, as by our end, execve fails there with ENOSYS. Who follows a process
// must see to it that somebody else has the listener then.
//
// A 32-bit call is not noticed. A program that gets privileges by its file (setuid) does not
// get them while it is traced by somebody without CAP_SYS_PTRACE.

// Execs are the programs that a process and its descendants start.
type Execs struct {
	listener *os.File
	answers  sync.WaitGroup // that are to be given
	handlers sync.WaitGroup
	ended    chan struct{}
	err      error
}

// errListener: the kernel allows one such filter in a process and its ancestors.
var errListener = errors.New("somebody already listens to the system calls of this process, as a container's runtime does")

// FollowExecs begins to follow a process that is held before its first instruction. Every
// program that it or a descendant starts is given to each, held before its own first
// instruction, which lets go of it. Calls of each are concurrent. Without CAP_SYS_ADMIN
// setuid programs get no privileges then (no_new_privs).
func (p *Process) FollowExecs(each func(*Process)) (*Execs, error) {
	x := &Execs{ended: make(chan struct{})}
	if err := p.do(func() (err error) { x.listener, err = p.filterExecs(); return err }); err != nil {
		return nil, fmt.Errorf("its programs cannot be followed: %w", err)
	}
	go x.serve(each)
	return x, nil
}

// filterExecs has the process install the filter, and returns our end of it.
func (p *Process) filterExecs() (*os.File, error) {
	var fd uintptr
	err := p.withText(make([]byte, execFilterSize), func(text []byte, addr uintptr) error {
		prog := execFilter(uint64(addr))
		if text != nil {
			text = prog
		} else if _, err := p.writeAt(prog, uint64(addr)); err != nil {
			return err
		}
		install := func() (err error) {
			fd, err = p.syscallOn(text, unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, addr)
			return err
		}
		err := install()
		if errors.Is(err, unix.EACCES) {
			if _, err = p.syscallOn(text, unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err == nil {
				err = install()
			}
		}
		if errors.Is(err, unix.EBUSY) {
			return errListener
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	// The descriptor is an anonymous file: it cannot be opened by its name.
	pidfd, err := unix.PidfdOpen(p.pid, 0)
	ours := -1
	if err == nil {
		ours, err = unix.PidfdGetfd(pidfd, int(fd), 0)
		unix.Close(pidfd)
	}
	if _, e := p.syscall(unix.SYS_CLOSE, fd); err == nil && e != nil {
		err = e
		unix.Close(ours)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(ours), "seccomp listener"), nil
}

const execFilterSize = 16 + 8*7

// execFilter is a struct sock_fprog for this address, and its program behind it.
func execFilter(addr uint64) []byte {
	const auditArch = 0xc000003e // AUDIT_ARCH_X86_64
	load, equal, ret := uint16(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS), uint16(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K), uint16(unix.BPF_RET|unix.BPF_K)
	filter := []unix.SockFilter{
		{Code: load, K: 4}, // the architecture
		{Code: equal, Jf: 3, K: auditArch},
		{Code: load, K: 0}, // the number
		{Code: equal, Jt: 2, K: unix.SYS_EXECVE},
		{Code: equal, Jt: 1, K: unix.SYS_EXECVEAT},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
		{Code: ret, K: unix.SECCOMP_RET_USER_NOTIF},
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(filter)))
	b = binary.LittleEndian.AppendUint64(b, addr+16)
	for _, f := range filter {
		b = binary.LittleEndian.AppendUint16(b, f.Code)
		b = append(b, f.Jt, f.Jf)
		b = binary.LittleEndian.AppendUint32(b, f.K)
	}
	return b
}

// notice is the kernel's struct seccomp_notif.
type notice struct {
	id   uint64
	pid  uint32 // of the thread
	_    uint32
	nr   int32
	arch uint32
	_    [7]uint64 // instruction pointer and arguments
}

// response is its struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

// serve answers until no process has the filter any more.
func (x *Execs) serve(each func(*Process)) {
	defer close(x.ended)
	defer func() {
		x.answers.Wait()
		x.listener.Close()
	}()
	fd := int(x.listener.Fd())
	for {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		switch _, err := unix.Poll(poll, -1); {
		case err == unix.EINTR:
			continue
		case err != nil:
			x.err = err
			return
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			return // hung up: the last of them has ended
		}
		var n notice
		switch err := control(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err {
		case nil:
			x.answers.Add(1)
			x.handlers.Go(func() { x.handle(n, each) })
		case unix.EINTR, unix.ENOENT: // killed meanwhile
		default:
			x.err = err
			return
		}
	}
}

// Wait waits until the process and all its descendants have ended, or are no longer
// followed, and each has returned for all of them.
func (x *Execs) Wait() error {
	<-x.ended
	x.handlers.Wait()
	return x.err
}

// handle lets a thread go on with its execve, and gives the program that it becomes to each.
func (x *Execs) handle(n notice, each func(*Process)) {
	p := &Process{tr: newTracer(), ended: make(chan struct{})}
	p.tr.do(func() {
		// A thread that we trace since an execve that failed is waited for there.
		err := ptrace(unix.PTRACE_SEIZE, int(n.pid), 0, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACEEXEC)
		a := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		for control(int(x.listener.Fd()), unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)) == unix.EINTR {
		}
		x.answers.Done()
		if err == nil {
			p.pid = awaitExec()
		}
	})
	if p.pid == 0 {
		p.tr.end()
		return
	}
	p.threads = []*thread{{tid: p.pid}}
	if fd, err := unix.PidfdOpen(p.pid, 0); err == nil {
		p.pidfd = os.NewFile(uintptr(fd), "pidfd")
	}
	p.held.Store(true)
	defer p.Detach() // if it is still held
	if p.do(p.openMemory) == nil {
		each(p)
	}
}

// awaitExec waits on the tracing thread until the thread that it traces has become another
// program and is back from its system call, and returns the process; 0 if it ends before.
// Until then it gets its signals as if nobody traced it.
func awaitExec() int {
	became := false
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0
		}
		if !ws.Stopped() {
			continue // there is nothing to wait for then
		}
		request, signal := unix.PTRACE_CONT, uintptr(0)
		switch event := eventOf(ws); {
		case event == unix.PTRACE_EVENT_EXEC:
			became = true
		case atSyscall(ws) && became:
			return pid
		case event == unix.PTRACE_EVENT_STOP && slices.Contains(stopSignals, ws.StopSignal()):
			request = unix.PTRACE_LISTEN // stopped as by a shell's Ctrl-Z
		case event == 0 && !atSyscall(ws):
			signal = uintptr(ws.StopSignal())
		}
		if became && request == unix.PTRACE_CONT {
			request = unix.PTRACE_SYSCALL
		}
		_ = ptrace(request, pid, 0, signal)
	}
}

var stopSignals = []unix.Signal{unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU}

func control(fd int, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}
