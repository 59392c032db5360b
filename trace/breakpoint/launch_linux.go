package breakpoint

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/native"
	"golang.org/x/sys/unix"

	"tracerag/trace/executable"
	"tracerag/trace/target"
)

func supported(f *executable.File) error {
	switch {
	case f.GOOS != "linux":
		return fmt.Errorf("%s is a program for %s: build it for linux to run it here", f.Path, f.GOOS)
	case f.GOARCH != hostArch:
		return fmt.Errorf("%s is a program for %s, this machine is %s: build it with GOARCH=%s", f.Path, f.GOARCH, hostArch, hostArch)
	}
	return nil
}

// launch starts the target, stopped before its first instruction.
//
// delve could start it, too, but only in a process group of its own. Then the
// terminal belongs either to it or to the rest of a pipeline: of
// "tracerag run app | less" one could not read the keyboard. So the target is
// started here, as a shell would, and delve attaches to it.
func launch(t *target.Target) (*proc.TargetGroup, error) {
	// Only the thread that starts the target can detach from it again.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, err := startStopped(t)
	if err != nil {
		return nil, err
	}
	defer hushStderr()()
	grp, err := native.Attach(pid, nil, nil)
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, nil, 0, nil)
		return nil, err
	}
	// This ends the stop that startStopped left it in; the target itself stays
	// where it is until delve lets it go on.
	_ = unix.Kill(pid, unix.SIGCONT)
	return grp, nil
}

// startStopped starts the target and leaves it, as a stopped process that
// is not traced, before its first instruction.
func startStopped(t *target.Target) (pid int, err error) {
	files, release, err := t.Files()
	if err != nil {
		return 0, err
	}
	defer release()
	p, err := os.StartProcess(t.Path, t.Args, &os.ProcAttr{
		Dir: t.Dir, Files: files[:],
		Sys: &unix.SysProcAttr{
			Ptrace: true, // stops it when it has become the program
			// Without us it would run into unhandled breakpoints.
			Pdeathsig: unix.SIGKILL,
		},
	})
	if err != nil {
		return 0, err
	}
	pid = p.Pid
	_ = p.Release() // delve waits for it
	var ws unix.WaitStatus
	if err := wait(pid, &ws, 0); err != nil {
		return 0, fmt.Errorf("waiting for its start: %w", err)
	}
	if !ws.Stopped() {
		return 0, errors.New("it ended before its first instruction")
	}
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, uintptr(unix.SIGSTOP), 0, 0); errno != 0 {
		_ = unix.Kill(pid, unix.SIGKILL)
		_ = wait(pid, &ws, 0)
		return 0, fmt.Errorf("letting go of it: %w", errno)
	}
	if err := wait(pid, &ws, unix.WUNTRACED); err != nil {
		return 0, fmt.Errorf("waiting for its stop: %w", err)
	}
	return pid, nil
}

func wait(pid int, ws *unix.WaitStatus, options int) error {
	for {
		_, err := unix.Wait4(pid, ws, options, nil)
		if err != unix.EINTR {
			return err
		}
	}
}

// hushStderr points os.Stderr elsewhere. delve warns there that values and
// stacks need DWARF when a binary has none; we need neither.
func hushStderr() (restore func()) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return func() {}
	}
	stderr := os.Stderr
	os.Stderr = null
	return func() {
		os.Stderr = stderr
		null.Close()
	}
}

func signalName(n int) string {
	if name := unix.SignalName(unix.Signal(n)); name != "" {
		return name
	}
	return "signal " + strconv.Itoa(n)
}
