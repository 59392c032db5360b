package ptrace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
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
// listener is closed execve fails there with ENOSYS. So a keeper has it, too: see [Keep].
//
// A 32-bit call is not noticed. A program that gets privileges by its file (setuid) does not
// get them while it is traced by somebody without CAP_SYS_PTRACE.

// Follow says what is to be done with the programs that a process and its descendants start.
type Follow struct {
	// Notice is called with a thread that is about to start another program, which may
	// still fail. What it returns is given to the others. May be nil.
	Notice func(tid int) any
	// Started is called with each program, held before its first instruction, and lets go
	// of it. Calls of it are concurrent.
	Started func(p *Process, noticed any)
	// Missed is called with a program that cannot be held, mostly since somebody else
	// traces it. It may not have been started after all. May be nil.
	Missed func(tid int, file string, noticed any, err error)
	// Keeper is a command line that runs [Keep]: see there.
	Keeper []string
}

// Execs are the programs that a process and its descendants start.
type Execs struct {
	follow   Follow
	child    int // the process, if its end is ours to learn; or 0
	listener *os.File
	notices  *notices
	stopped  *os.File // closed: serve returns
	stop     *os.File
	alive    *os.File       // closed: the keeper answers
	ends     *os.File       // its other end
	answers  sync.WaitGroup // that are to be given
	handlers sync.WaitGroup
	ended    chan struct{}
	err      error

	mu       sync.Mutex
	noticed  map[int]*starting // by thread
	stopping bool
	closed   bool
	started  sync.WaitGroup // calls of Started
}

// errListener: the kernel allows one such filter in a process and its ancestors.
var errListener = errors.New("a container's runtime, another tracerag or the like already watches its system calls")

// FollowExecs begins to follow a process that is held before its first instruction, to the
// end of its last descendant or until Stop. Without CAP_SYS_ADMIN setuid programs get no
// privileges then (no_new_privs).
func (p *Process) FollowExecs(f Follow) (*Execs, error) {
	x := &Execs{follow: f, ended: make(chan struct{}), noticed: map[int]*starting{}}
	if p.child {
		x.child = p.pid
	}
	err := p.do(func() (err error) { x.listener, err = p.filterExecs(); return err })
	if err == nil {
		err = x.prepare()
	}
	if err != nil {
		x.close()
		if errors.Is(err, errListener) {
			return nil, errListener
		}
		return nil, fmt.Errorf("its programs cannot be followed: %w", err)
	}
	go x.serve()
	return x, nil
}

// prepare makes what serve needs, and starts the keeper.
func (x *Execs) prepare() (err error) {
	if x.stopped, x.stop, err = os.Pipe(); err != nil {
		return err
	}
	if x.notices, err = newNotices(); err != nil {
		return err
	}
	return x.keep()
}

// close gives back what is needed no more. From then on the keeper answers.
func (x *Execs) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	for _, f := range []*os.File{x.listener, x.stopped, x.stop, x.alive, x.ends} {
		if f != nil {
			f.Close()
		}
	}
	if x.notices != nil {
		x.notices.close()
	}
}

// Stop ends the following, and waits for the calls of Started. Programs that are started
// later are let go by the keeper.
func (x *Execs) Stop() error {
	x.mu.Lock()
	x.stopping = true
	x.mu.Unlock()
	_, _ = x.stop.Write([]byte{0})
	<-x.ended
	x.started.Wait() // and not for handlers, of which some wait for threads whose execve failed
	return x.err
}

// begin reports whether Started is to be called.
func (x *Execs) begin() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.stopping {
		x.started.Add(1)
	}
	return !x.stopping
}

// uninterrupted has a thread whose notice we have taken wait for the answer without handling a
// signal, as of Linux 5.19. A signal otherwise ends its execve with EINTR, which no program
// expects, or, if its handler was installed with SA_RESTART, has it call anew: another notice.
var uninterrupted = true

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
		// A filter otherwise makes the processor run the program slower, on older kernels.
		flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW)
		if uninterrupted {
			flags |= unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
		}
		install := func() (err error) {
			fd, err = p.syscallOn(text, unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, addr)
			return err
		}
		err := install()
		if errors.Is(err, unix.EINVAL) {
			flags &^= unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
			err = install()
		}
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

// serve answers until no process has the filter any more.
func (x *Execs) serve() {
	defer close(x.ended)
	defer func() {
		x.answers.Wait()
		x.close()
	}()
	fd := int(x.listener.Fd())
	for {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(x.stopped.Fd()), Events: unix.POLLIN}}
		switch _, err := unix.Poll(poll, -1); {
		case err == unix.EINTR:
			continue
		case err != nil:
			x.err = err
			return
		}
		if poll[1].Revents != 0 || poll[0].Revents&unix.POLLIN == 0 {
			return // to stop, or hung up: the last of them has ended
		}
		n := x.notices.take()
		switch err := control(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(n)); err {
		case nil:
			x.answers.Add(1)
			x.handlers.Go(func() { x.handle(n) })
			continue
		case unix.EINTR, unix.ENOENT: // killed meanwhile
		default:
			x.err = err
			return
		}
		x.notices.give(n)
	}
}

// Wait waits until the process and all its descendants have ended, or are no longer
// followed, and Started has returned for all of them.
func (x *Execs) Wait() error {
	<-x.ended
	x.handlers.Wait()
	return x.err
}

// starting is a thread that is about to start another program.
type starting struct {
	mu      sync.Mutex // of its tracing
	traced  int        // handlers that trace it. It may do so since an execve that failed
	notices int        // that are being handled
	last    uint64     // the last of them
	noticed any        // by that
}

// handle lets a thread go on with its execve, and gives the program that it becomes to Started.
func (x *Execs) handle(n *notice) {
	p := &Process{tr: newTracer(), ended: make(chan struct{}), followed: true}
	tid := int(n.pid)
	s, file := x.notice(n)
	var err error
	missed := false
	p.tr.do(func() {
		err, missed = x.trace(s, n)
		allow(int(x.listener.Fd()), n.id)
		x.notices.give(n)
		x.answers.Done()
		if err == nil {
			p.pid = awaitExec(x.child)
		}
	})
	noticed := x.forget(tid, s, err == nil)
	if p.pid == 0 {
		p.tr.end()
		if missed && x.follow.Missed != nil {
			x.follow.Missed(tid, file, noticed, err)
		}
		return
	}
	p.threads = []*thread{{tid: p.pid, seized: true}}
	if fd, err := unix.PidfdOpen(p.pid, 0); err == nil {
		p.pidfd = os.NewFile(uintptr(fd), "pidfd")
	}
	p.held.Store(true)
	defer p.Detach() // if it is still held
	if !x.begin() {
		return
	}
	defer x.started.Done()
	if err := p.do(p.openMemory); err == nil {
		x.follow.Started(p, noticed)
	} else if x.follow.Missed != nil {
		x.follow.Missed(p.pid, file, noticed, err)
	}
}

// trace begins to trace a thread that waits for the answer to a notice. If it cannot, it
// reports whether that program will be missed.
func (x *Execs) trace(s *starting, n *notice) (err error, missed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = ptrace(unix.PTRACE_SEIZE, int(n.pid), 0, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACEEXEC)
	if err == nil {
		s.traced++
		return nil, false
	}
	// If it is traced by us already it is waited for there. If it waits no more it was killed,
	// or a signal has interrupted the call, of which there is another notice then.
	return err, s.traced == 0 && control(int(x.listener.Fd()), unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.id)) == nil
}

// notice looks at a thread that waits for an answer. It returns what is known of the thread,
// and what file it is about to start.
func (x *Execs) notice(n *notice) (s *starting, file string) {
	tid := int(n.pid)
	var noticed any
	if x.follow.Notice != nil {
		noticed = x.follow.Notice(tid)
	}
	if n.nr == unix.SYS_EXECVE {
		file = readString(tid, n.args[0])
	} else {
		file = readString(tid, n.args[1])
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if s = x.noticed[tid]; s == nil {
		s = &starting{}
		x.noticed[tid] = s
	}
	s.notices++
	if n.id >= s.last { // else it was interrupted, and looked at too late
		s.last, s.noticed = n.id, noticed
	}
	return s, file
}

// forget returns what was noticed last of a thread, when a notice of it was handled. traced says
// whether it was traced for that.
func (x *Execs) forget(tid int, s *starting, traced bool) any {
	if traced {
		s.mu.Lock()
		s.traced--
		s.mu.Unlock()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if s.notices--; s.notices == 0 {
		delete(x.noticed, tid)
	}
	return s.noticed
}

// readString reads a string that a program gives to the kernel; "" if it cannot be read.
func readString(tid int, addr uint64) string {
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", tid))
	if err != nil {
		return ""
	}
	defer mem.Close()
	b := make([]byte, unix.PathMax)
	n, _ := mem.ReadAt(b[:min(len(b), int(4096-addr%4096))], int64(addr))
	if i := bytes.IndexByte(b[:n], 0); i >= 0 {
		return string(b[:i])
	}
	if more, _ := mem.ReadAt(b[n:], int64(addr)+int64(n)); more > 0 {
		n += more
	}
	s, _, _ := strings.Cut(string(b[:n]), "\x00")
	return s
}

// awaitExec waits on the tracing thread until the thread that it traces has become another
// program and is back from its system call, and returns the process; 0 if it ends before.
// Until then it gets its signals as if nobody traced it. The end of our own child is left to
// who waits for that.
func awaitExec(child int) int {
	became := false
	for {
		if endsNext(child) {
			return 0
		}
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

// endsNext waits for the next that the tracing thread is to learn, and reports whether it is the
// end of our child.
func endsNext(child int) bool {
	if child == 0 {
		return false
	}
	const kinds = unix.WEXITED | unix.WNOWAIT | unix.WALL | unix.WNOTHREAD
	for unix.Waitid(unix.P_ALL, 0, nil, kinds|unix.WSTOPPED, nil) == unix.EINTR {
	}
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, child, &info, kinds|unix.WNOHANG, nil)
	return err == nil && (info.Code == cldExited || info.Code == cldKilled || info.Code == cldDumped) // and no stop
}

var stopSignals = []unix.Signal{unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU}

func control(fd int, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}
