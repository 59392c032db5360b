package ptrace

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrFiltered: the process has forbidden itself system calls, perhaps those that we would
// have it make.
var ErrFiltered = errors.New("it filters its system calls")

// A process that was attached to may have filters of its own (seccomp), and they may answer
// a system call that it was never to make with its end. What they answer cannot be asked
// beforehand, and a process that only we had in view must not die of it. So a thread that
// is to make system calls for us
//
//   - has no filter, or
//   - has them suspended as long as we hold it, which the kernel allows root, or
//   - has no more of them than we have ourselves, as everybody in a container has those of
//     the container, and the one by which we follow it.
//
// A process that was started has not run yet: there we try.

// passFilters sees to it that a thread can make any system call.
func (p *Process) passFilters(t *thread) error {
	theirs, err := readStatusFile(fmt.Sprintf("/proc/%d/task/%d/status", p.pid, t.tid))
	if err != nil {
		return err
	}
	if !filtered(theirs) {
		return nil
	}
	if p.keepFilters {
		err = unix.EPERM
	} else {
		err = unix.PtraceSetOptions(t.tid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_SUSPEND_SECCOMP)
	}
	if err == nil || err == unix.ESRCH {
		return err
	}
	ours, e := Status(os.Getpid())
	if e != nil {
		return e
	}
	const mode, number = "Seccomp", "Seccomp_filters" // the kernel tells the second since 5.9
	if ours[mode] == theirs[mode] && ours[number] == theirs[number] {
		return nil
	}
	if p.followed {
		n, e1 := strconv.Atoi(ours[number])
		m, e2 := strconv.Atoi(theirs[number])
		if e1 == nil && e2 == nil && m == n+1 {
			return nil
		}
	}
	return fmt.Errorf("%w (seccomp), and might be killed for those that recording needs: attach to it as root outside of containers, or start it by tracerag run", ErrFiltered)
}

// filtered reports whether a thread with this status has filters, or may make only the
// few system calls of the strict mode.
func filtered(status map[string]string) bool {
	mode := status["Seccomp"]
	return mode != "" && mode != "0"
}
