package breakpoint

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"tracerag/trace/binary"
)

func supported(f *binary.File) error {
	switch {
	case f.GOOS != "linux":
		return fmt.Errorf("%s is a program for %s: build it for linux to run it here", f.Path, f.GOOS)
	case f.GOARCH != hostArch:
		return fmt.Errorf("%s is a program for %s, this machine is %s: build it with GOARCH=%s", f.Path, f.GOARCH, hostArch, hostArch)
	}
	return nil
}

func duplicate(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func signalName(n int) string {
	if name := unix.SignalName(unix.Signal(n)); name != "" {
		return name
	}
	return "signal " + strconv.Itoa(n)
}

// affinity is what the process may run on, while pin restricts it.
var affinity unix.CPUSet

// pin puts our threads on one processor. delve hands every ptrace call from one
// thread to another, a dozen for each stop, and waking a thread on another
// processor is the most expensive part of it: pinned, a stop took 0.4 ms
// instead of 1.0 on a virtual machine with two processors. The target is not
// pinned (restoreAffinity).
func pin() (unpin func()) {
	if err := unix.SchedGetaffinity(0, &affinity); err != nil || affinity.Count() < 2 {
		return func() {}
	}
	var one unix.CPUSet
	for cpu := 0; one.Count() == 0; cpu++ {
		if affinity.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	setAll(&one)
	return func() { setAll(&affinity) }
}

func setAll(set *unix.CPUSet) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.SchedSetaffinity(tid, set) // an optimisation: without it recording is only slower
		}
	}
}

// restoreAffinity gives the target, which has inherited our processor, all of
// them back before its runtime counts them.
func restoreAffinity(pid int) {
	if affinity.Count() > 1 {
		_ = unix.SchedSetaffinity(pid, &affinity)
	}
}
