package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tracerag/fixtures"
)

func init() { testCommands["tracerag-without-ptrace"] = withoutPtrace }

// withoutPtrace is tracerag under a filter of system calls as containers have it.
func withoutPtrace() {
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the system call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_PTRACE, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter)))
		if errno != 0 {
			err = errno
		}
	}
	if err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(99)
	}
	main()
}

// TestWithoutPtrace is tracerag where tracing is forbidden and no setting says so.
func TestWithoutPtrace(t *testing.T) {
	cache := "XDG_CACHE_HOME=" + t.TempDir()
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"doctor"}, exitFailure, "missing  ptrace     a program that is started here cannot be traced: "},
		{[]string{"run", "--dir", t.TempDir(), "--", fixtures.Build(t, "twice")}, exitRunCannot, "not permitted"},
	} {
		cmd := exec.Command("tracerag-without-ptrace", tt.args...)
		cmd.Env = append(os.Environ(), cache)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.want) || !strings.Contains(string(out), "--cap-add=SYS_PTRACE") {
			t.Errorf("%v: exit code %d, want %d; it says\n%s", tt.args, code, tt.code, out)
		}
	}
}

// TestPrivileged: a program that would run without its privileges under any
// recorder is not run by one.
func TestPrivileged(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make a program of root's")
	}
	// Everybody must get there, and go test's directories are for their owner alone.
	public, err := os.MkdirTemp("/tmp", "tracerag-privileged-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(public) })
	copyFile := func(from, name string, mode os.FileMode) string {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(public, name)
		if err := errors.Join(os.Chmod(public, 0o777), os.WriteFile(path, data, 0o755), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tracerag := copyFile(commandPath(t), "tracerag", 0o755)
	program := copyFile(fixtures.Build(t, "twice"), "program", 0o755|os.ModeSetuid)
	for _, args := range [][]string{{"run", "--", program}, {"doctor", program}} {
		cmd := exec.Command(tracerag, args...)
		cmd.Dir = public
		cmd.Env = []string{"HOME=" + public, "PATH=" + os.Getenv("PATH"), "TMPDIR=/tmp"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, _ := cmd.CombinedOutput()
		want := map[string]int{"run": exitRunCannot, "doctor": exitFailure}[args[0]]
		if code := cmd.ProcessState.ExitCode(); code != want || !strings.Contains(string(out), "(setuid)") || strings.Contains(string(out), "breakpoint") {
			t.Errorf("%s: exit code %d, want %d; it says\n%s", args[0], code, want, out)
		}
	}
}
