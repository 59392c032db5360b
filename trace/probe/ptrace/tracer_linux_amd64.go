package ptrace

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tracer is the thread that ptrace obeys for one process.
type tracer struct {
	work chan func()
}

func newTracer() *tracer {
	t := &tracer{work: make(chan func())}
	started := make(chan struct{})
	go t.run(started)
	<-started
	return t
}

// run does the work on a thread of its own until there is no more. The goroutine
// ends without unlocking its thread, so the thread ends with it: whatever it
// still traces the kernel then lets go of.
func (t *tracer) run(started chan<- struct{}) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The main thread would not end before the program does. While it is
		// locked here, another goroutine finds another thread.
		defer runtime.UnlockOSThread()
		again := make(chan struct{})
		go t.run(again)
		<-again
		close(started)
		return
	}
	close(started)
	for f := range t.work {
		f()
	}
}

// do has f run on the tracing thread.
func (t *tracer) do(f func()) {
	done := make(chan struct{})
	t.work <- func() {
		defer close(done)
		f()
	}
	<-done
}

func (t *tracer) end() { close(t.work) }

// thread is a thread of the process, stopped.
type thread struct {
	tid    int
	seized bool      // by PTRACE_SEIZE: it can be asked to stop
	masked bool      // its signal mask is ours
	mask   signalSet // its own
}

// signalSet is a set of signals as the kernel has it: bit n-1 for signal n.
type signalSet uint64

func setOf(signals ...unix.Signal) signalSet {
	var s signalSet
	for _, n := range signals {
		s |= 1 << (n - 1)
	}
	return s
}

// asynchronous are the signals that wait while a thread is held. The others are
// raised by what a thread does itself; if they were masked, the kernel would force
// them and forget the program's handler.
var asynchronous = ^setOf(unix.SIGSEGV, unix.SIGBUS, unix.SIGILL, unix.SIGFPE, unix.SIGTRAP, unix.SIGSYS)

// maskSignals keeps signals waiting until unmaskSignals.
func (t *thread) maskSignals() error {
	if t.masked {
		return nil
	}
	var err error
	if t.mask, err = t.signalMask(); err != nil {
		return err
	}
	if err := setMask(t.tid, t.mask|asynchronous); err != nil {
		return err
	}
	t.masked = true
	return nil
}

// signalMask is the thread's own mask.
func (t *thread) signalMask() (mask signalSet, err error) {
	if t.masked {
		return t.mask, nil
	}
	err = ptrace(unix.PTRACE_GETSIGMASK, t.tid, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
	return mask, err
}

func (t *thread) unmaskSignals() error {
	if !t.masked {
		return nil
	}
	t.masked = false
	return setMask(t.tid, t.mask)
}

func setMask(tid int, mask signalSet) error {
	return ptrace(unix.PTRACE_SETSIGMASK, tid, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
}

// ptrace is for the requests that package unix has no function for.
//
//go:uintptrescapes
func ptrace(request, tid int, addr, data uintptr) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// eventOf is the PTRACE_EVENT_ number of a stop, 0 if it is none.
func eventOf(ws unix.WaitStatus) int { return int(ws) >> 16 }

// atSyscall reports whether a stop is one before or behind a system call.
func atSyscall(ws unix.WaitStatus) bool { return ws.Stopped() && ws.StopSignal() == unix.SIGTRAP|0x80 }
