package ptrace

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestForeignProc starts a program in a PID namespace of its own, where /proc still shows
// the processes of ours: their memory is not to be touched by their numbers.
func TestForeignProc(t *testing.T) {
	for what, flags := range map[string]uintptr{"root": unix.CLONE_NEWPID, "user": unix.CLONE_NEWPID | unix.CLONE_NEWUSER} {
		t.Run(what, func(t *testing.T) {
			cmd := plainRole("start", "/proc/self/exe")
			cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: flags}
			out, err := cmd.CombinedOutput()
			if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EINVAL) {
				t.Skip("no namespaces here: ", err)
			}
			if !strings.Contains(string(out), "another PID namespace") || !strings.Contains(string(out), "mount -t proc") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestStartRefuses gives Start what it cannot start. Errors name the program.
func TestStartRefuses(t *testing.T) {
	dir := t.TempDir()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, data []byte, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	header := func(offset int, value byte) []byte {
		data := bytes.Clone(self[:pageSize])
		data[offset] = value
		return data
	}
	for _, tt := range []struct {
		path string
		want error
		says string
	}{
		{file("script", []byte("#!/bin/sh\n"), 0o755), errFormat, "script"},
		{file("empty", nil, 0o755), errFormat, ""},
		{file("text", []byte("hello"), 0o755), errFormat, ""},
		{file("x32", header(4, 1), 0o755), errFormat, "GOARCH=amd64"},
		{file("arm64", header(18, 183), 0o755), errFormat, "GOARCH=amd64"},
		{file("data", self, 0o644), fs.ErrPermission, "chmod +x"},
		{filepath.Join(dir, "missing"), fs.ErrNotExist, ""},
	} {
		t.Run(filepath.Base(tt.path), func(t *testing.T) {
			p, err := Start(tt.path, []string{"program"}, Attr{})
			if err == nil {
				p.Abandon()
			}
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), tt.path) {
				t.Errorf("starting it: %v, want %v and %q", err, tt.want, tt.says)
			}
		})
	}
	t.Run("directory", func(t *testing.T) {
		_, err := Start("/proc/self/exe", nil, Attr{Dir: filepath.Join(dir, "missing")})
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "working directory") {
			t.Errorf("starting it: %v", err)
		}
	})
	if left := children(t); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
}

// TestPrivileges has nobody start programs that would make them somebody.
func TestPrivileges(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make such programs")
	}
	const refused = "run this as root"
	for _, tt := range []struct {
		name  string
		alter func(path string) error
		says  string
	}{
		{"none", func(string) error { return nil }, ""},
		{"setuid", func(path string) error { return os.Chmod(path, 0o755|fs.ModeSetuid) }, "(setuid)\n" + refused},
		{"setgid", func(path string) error { return os.Chmod(path, 0o755|fs.ModeSetgid) }, "(setgid)\n" + refused},
		{"setuid to themselves", func(path string) error {
			return errors.Join(os.Chown(path, 65534, 65534), os.Chmod(path, 0o755|fs.ModeSetuid|fs.ModeSetgid))
		}, ""},
		{"capabilities", func(path string) error {
			// version 2, cap_net_raw permitted and effective
			return unix.Setxattr(path, "security.capability", []byte("\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), 0)
		}, "(it has file capabilities)\n" + refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(publicDir(t), "program")
			if err := tt.alter(path); err != nil {
				t.Skip(err)
			}
			run := func(cmd *exec.Cmd) string {
				cmd.Env = append(cmd.Env, "TMPDIR=/tmp")
				out, err := cmd.CombinedOutput()
				if err != nil && len(out) == 0 {
					t.Fatal(err)
				}
				return string(out)
			}
			cmd := plainRole("start", path)
			asNobody(t, cmd)
			if out := run(cmd); tt.says == "" && out != "" || !strings.Contains(out, tt.says) {
				t.Errorf("nobody gets %q, want %q", out, tt.says)
			}
			if out := run(plainRole("start", path)); out != "" {
				t.Errorf("root gets %q", out)
			}
		})
	}
}

// TestNoexec starts a program from a file system from which none may be.
func TestNoexec(t *testing.T) {
	dir := "/dev/shm"
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Flags&unix.ST_NOEXEC == 0 {
		if dir = t.TempDir(); unix.Mount("none", dir, "tmpfs", unix.MS_NOEXEC, "") != nil {
			t.Skip("no such file system, and none can be made")
		}
		t.Cleanup(func() {
			if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ptrace-test")
	if err := os.WriteFile(path, self, 0o755); err != nil {
		t.Skip(err)
	}
	defer os.Remove(path)
	if _, err := Start(path, nil, Attr{}); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "noexec") {
		t.Errorf("starting it: %v", err)
	}
}

// TestSeccomp has filters refuse what holding a program takes, each in the ways
// that there are. A program to which memory was refused runs nevertheless.
func TestSeccomp(t *testing.T) {
	const (
		denied  = unix.SECCOMP_RET_ERRNO | int(unix.EPERM)
		missing = unix.SECCOMP_RET_ERRNO | int(unix.ENOSYS)
		runs    = "exiting with 9\n"
	)
	for _, tt := range []struct {
		name       string
		nr, action int
		says       []string
		code       int
	}{
		{"nothing", 100_000, denied, []string{runs}, 9},
		{"ptrace", unix.SYS_PTRACE, denied, []string{ErrPtrace.Error(), "seccomp"}, 125},
		{"ptrace missing", unix.SYS_PTRACE, missing, []string{ErrPtrace.Error(), "seccomp"}, 125},
		{"memory", unix.SYS_MEMFD_CREATE, denied, []string{ErrMemory.Error(), "seccomp", runs}, 9},
		{"memory missing", unix.SYS_MEMFD_CREATE, missing, []string{ErrMemory.Error(), "seccomp", runs}, 9},
		{"memory by SIGSYS", unix.SYS_MEMFD_CREATE, unix.SECCOMP_RET_TRAP, []string{ErrMemory.Error(), "seccomp", runs}, 9},
		{"memory by death", unix.SYS_MEMFD_CREATE, unix.SECCOMP_RET_KILL_PROCESS, []string{ErrEnded.Error()}, 128 + int(unix.SIGSYS)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := plainRole("filter", strconv.Itoa(tt.nr), strconv.Itoa(tt.action), "exit", "9")
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != tt.code {
				t.Errorf("it ends with %v, want %d", err, tt.code)
			}
			for _, s := range tt.says {
				if !strings.Contains(string(out), s) {
					t.Errorf("it says %q, want %q", out, s)
				}
			}
		})
	}
}

// TestLimits shares more memory than limits of ours or of the process allow.
func TestLimits(t *testing.T) {
	for _, which := range []string{"file", "space"} {
		t.Run("our "+which, func(t *testing.T) {
			if out, err := plainRole("limit", which).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v %s", err, out)
			}
		})
	}
	t.Run("its space", func(t *testing.T) {
		p := hold(t, "exit", "0")
		if err := unix.Prlimit(p.Pid(), unix.RLIMIT_AS, &unix.Rlimit{Cur: 1 << 32, Max: 1 << 32}, nil); err != nil {
			t.Fatal(err)
		}
		if err := tooMuch(p.Process); err != nil {
			t.Error(err)
		}
	})
}
