package target

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A witness tells the signals that were sent to our whole process group from those that
// were sent to us alone, which look the same to the process that gets them. The target
// is in our group and has had the first kind already.
//
// It is one more process of the group: this program again, held by ptrace before its
// first instruction, so that it never does anything. Signals to the group are sent to it as
// well and stay pending. As long as some are, it can be let go on: the kernel takes
// the next one and stops it again before an instruction runs. It is killed when its thread
// here ends, however that comes about.
//
// A process that handles the signals would do as well, but only after it has had its turn
// on the processor, and we would have to wait for that long with each signal. The kernel
// sends a signal to a group's youngest process first: what we get the witness has.
type witness struct {
	pid  int
	seen map[syscall.Signal]time.Time // when one that was sent to the group was last taken
}

// startWitness must be called, as all methods, from a goroutine that is locked to its
// thread until it ends.
func startWitness() (*witness, error) {
	pid, err := forkMasked()
	if err != nil {
		return nil, err
	}
	w := &witness{pid: pid, seen: map[syscall.Signal]time.Time{}}
	err = w.await(func() error { return unix.PtraceSetOptions(pid, unix.PTRACE_O_EXITKILL) })
	if err == nil {
		// It was started with all signals blocked; those do not stop it.
		var none uint64
		const ptraceSetSigmask = 0x420b
		if _, _, e := unix.Syscall6(unix.SYS_PTRACE, ptraceSetSigmask, uintptr(pid), unsafe.Sizeof(none), uintptr(unsafe.Pointer(&none)), 0, 0); e != 0 {
			err = e
		}
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// forkMasked starts this program, to be held when it begins. Signals are masked, and
// the child inherits that: one that stopped it before it has become a program would keep
// us waiting for ever.
func forkMasked() (pid int, err error) {
	var all, old unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &old); err != nil {
		return 0, err
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	return syscall.ForkExec("/proc/self/exe", []string{"tracerag-signals"}, &syscall.ProcAttr{
		Files: []uintptr{^uintptr(0), ^uintptr(0), ^uintptr(0)},
		Sys:   &syscall.SysProcAttr{Ptrace: true},
	})
}

// await waits until the witness is stopped, which a request finds out that fails
// otherwise. Its stops are not waited for: delve would take their reports, as it does
// those of any child.
func (w *witness) await(request func() error) error {
	for end := time.Now().Add(time.Second); ; {
		err := request()
		if err != unix.ESRCH || time.Now().After(end) {
			return err
		}
		time.Sleep(20 * time.Microsecond)
	}
}

// together is how long after one signal to the group another of its kind is taken for one
// to the group, too: two that come close together may be pending as one here, or be taken
// at once, and reach us one after the other.
const together = 100 * time.Millisecond

// toGroup tells if a signal that we have got was sent to the whole group.
func (w *witness) toGroup(s syscall.Signal) (bool, error) {
	// On an ordinary kernel the first look is enough.
	for range 3 {
		if err := w.take(); err != nil {
			return false, err
		}
		if time.Since(w.seen[s]) < together {
			return true, nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	return false, nil
}

// take takes all signals that are pending for the witness.
func (w *witness) take() error {
	for {
		pending, err := w.pending()
		if err != nil || pending == 0 {
			return err
		}
		if err := unix.PtraceCont(w.pid, 0); err != nil {
			return err
		}
		var info struct { // siginfo_t
			signo int32
			_     [124]byte
		}
		err = w.await(func() error {
			if _, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGINFO, uintptr(w.pid), 0, uintptr(unsafe.Pointer(&info)), 0, 0); e != 0 {
				return e
			}
			return nil
		})
		if err != nil {
			return err
		}
		w.seen[syscall.Signal(info.signo)] = time.Now()
	}
}

// pending is the set of signals that wait for the witness, but for SIGKILL.
func (w *witness) pending() (uint64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.pid))
	if err != nil {
		return 0, err
	}
	set := uint64(0)
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "State":
			if !strings.HasPrefix(strings.TrimSpace(value), "t") {
				return 0, errors.New("the process that witnesses signals has ended")
			}
		case "SigPnd", "ShdPnd":
			var n uint64
			if _, err := fmt.Sscanf(value, "%x", &n); err != nil {
				return 0, err
			}
			set |= n
		}
	}
	return set &^ (1 << (unix.SIGKILL - 1)), nil
}

func (w *witness) close() {
	_ = unix.Kill(w.pid, unix.SIGKILL)
	for {
		if _, err := unix.Wait4(w.pid, nil, unix.WALL, nil); err != unix.EINTR {
			return
		}
	}
}

// withWitness calls f on a thread of its own, with a function that tells if a signal that
// we have got was sent to our whole group; known is false where that cannot be found out.
func withWitness(ready chan<- struct{}, f func(toGroup func(syscall.Signal) (yes, known bool))) {
	runtime.LockOSThread() // and the thread ends with this goroutine
	w, err := startWitness()
	if err != nil {
		w = nil
	}
	close(ready)
	f(func(s syscall.Signal) (yes, known bool) {
		if w == nil {
			return false, false
		}
		yes, err := w.toGroup(s)
		if err != nil {
			w.close()
			w = nil
		}
		return yes, err == nil
	})
	if w != nil {
		w.close()
	}
}
