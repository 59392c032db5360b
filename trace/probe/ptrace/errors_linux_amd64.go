package ptrace

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Errors by which a caller can tell what is refused. They come wrapped in one
// that names the program or process, the kernel's own error, and the way out.
var (
	// ErrPtrace: this system does not let us trace the process.
	ErrPtrace = errors.New("tracing is not permitted")
	// ErrProc: /proc is not there, or shows other processes than those that we see.
	ErrProc = errors.New("/proc is of no use here")
	// ErrPrivileged: a program with privileges of its own (setuid, setgid, file
	// capabilities) would be started without them under a tracer.
	ErrPrivileged = errors.New("it would lose its privileges under a tracer")
	// errFormat: not a program in 64-bit x86 code.
	errFormat = errors.New("not a 64-bit x86 program")
	// ErrMemory: shared memory of this size is refused; a smaller one may do.
	ErrMemory = errors.New("shared memory is refused")
	// errCode: memory for code is refused.
	errCode = errors.New("memory for code is refused")
	// errTaken: the addresses are in use.
	errTaken = errors.New("the addresses are in use")
	// ErrEnded: the process ended while it was held.
	ErrEnded = errors.New("the process has ended")
	// errLetGo: the process is no longer held.
	errLetGo = errors.New("the process is no longer held")
)

// ptraceHints says why ptrace may be forbidden here, and what to change.
func ptraceHints() string {
	var hints []string
	if text, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil {
		if scope := strings.TrimSpace(string(text)); scope != "0" {
			hints = append(hints, "/proc/sys/kernel/yama/ptrace_scope is "+scope+": 0 permits it, 1 permits it for programs that are started here, 2 for root, 3 forbids it")
		}
	}
	if status, err := Status(os.Getpid()); err == nil {
		if s := status["Seccomp"]; s != "" && s != "0" {
			hints = append(hints, "a seccomp filter is in force, as in containers: run the container with --cap-add=SYS_PTRACE or a seccomp profile that has ptrace")
		}
		if tracer := status["TracerPid"]; tracer != "" && tracer != "0" {
			hints = append(hints, "this process is traced itself (by process "+tracer+", a debugger or strace): run it without")
		}
	}
	if len(hints) == 0 {
		hints = append(hints, "in a container, run it with --cap-add=SYS_PTRACE or a seccomp profile that has ptrace; else look for a security module's message in the kernel's log")
	}
	return strings.Join(hints, "\n")
}

// checkProc finds out whether /proc is that of our PID namespace. Otherwise the number of
// the process that we hold is another one's there, and we would change that one's memory.
func checkProc() error {
	status, err := readStatusFile("/proc/self/status")
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w\nmount it: mount -t proc proc /proc", ErrProc, err)
	case cmp.Or(status["NSpid"], status["Pid"]) != strconv.Itoa(os.Getpid()): // NSpid has one number a namespace
		return fmt.Errorf("%w: it shows the processes of another PID namespace\nmount our own: mount -t proc proc /proc, or unshare --mount-proc", ErrProc)
	}
	return nil
}

// startError explains why a program was not started.
func startError(path, file string, err error) error {
	switch {
	case errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("%s: %w: %w\n%s", path, ErrPtrace, err, ptraceHints())
	case errors.Is(err, unix.EACCES):
		var fs unix.Statfs_t
		if unix.Statfs(file, &fs) == nil && fs.Flags&unix.ST_NOEXEC != 0 {
			return fmt.Errorf("%s: %w: its file system is mounted noexec; copy the program to another one", path, err)
		}
		return fmt.Errorf("%s: %w\nis it executable? chmod +x %s", path, err, path)
	}
	return fmt.Errorf("%s: starting it: %w", path, err)
}

// Status returns what the kernel says of a process or thread, by the names in /proc/PID/status.
func Status(pid int) (map[string]string, error) {
	return readStatusFile(fmt.Sprintf("/proc/%d/status", pid))
}

func readStatusFile(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	fields := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			fields[key] = strings.TrimSpace(value)
		}
	}
	return fields, nil
}
