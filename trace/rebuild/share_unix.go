//go:build (linux || darwin) && (amd64 || arm64)

package rebuild

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"tracerag/trace"
)

// limits is what may keep the memory from being mapped.
const limits = " (ulimit -v)"

// begin makes a file the memory.
func (l layout) begin(mem *os.File) error {
	err := mem.Truncate(int64(l.size()))
	if err == nil {
		_, err = mem.WriteAt(l.header(), 0)
	}
	return err
}

// addressSpace is how much the memory may take of a limited address space, of which the program must have nearly all, and of
// files whose size is limited.
func addressSpace() uint64 {
	most := ^uint64(0)
	limit := unix.Rlimit{}
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) == nil && limit.Cur != unix.RLIM_INFINITY {
		most = uint64(limit.Cur) / 16
	}
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && limit.Cur != unix.RLIM_INFINITY {
		most = min(most, uint64(limit.Cur))
	}
	return most
}

// exitOf is how a process has ended.
func exitOf(s *os.ProcessState, _ bool) trace.Exit {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return trace.Exit{Code: 128 + int(w.Signal()), Signal: unix.SignalName(w.Signal())}
	}
	return trace.Exit{Code: s.ExitCode()}
}
