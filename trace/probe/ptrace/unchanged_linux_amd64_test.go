package ptrace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tracerag/fixtures"
)

// TestSurroundings compares what a program finds that was held with what it finds
// otherwise.
func TestSurroundings(t *testing.T) {
	for _, tt := range []struct {
		name  string
		shell string // before the program is started
		alter func(t *testing.T, cmd *exec.Cmd)
	}{
		{name: "plain"},
		{name: "inherited descriptors", shell: "exec 3</dev/null 7>/dev/full"},
		{name: "closed input", shell: "exec <&-"},
		{name: "ignored signals", shell: "trap '' HUP USR2 TRAP PIPE"},
		{name: "limits and umask", shell: "umask 027; ulimit -n 100; ulimit -c 0; ulimit -s 4096"},
		{name: "session of its own", alter: func(_ *testing.T, cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }},
		{name: "unprivileged", alter: asNobody},
	} {
		t.Run(tt.name, func(t *testing.T) {
			look := func(args ...string) surroundings {
				cmd := plainRole(args[0], args[1:]...)
				if tt.alter != nil {
					tt.alter(t, cmd)
				}
				if tt.shell != "" {
					cmd.Args = append([]string{"sh", "-c", tt.shell + `; exec "$0" "$@"`}, cmd.Args...)
					cmd.Path = "/bin/sh"
				}
				return look(t, cmd)
			}
			plain, held := look("surroundings"), look("hold", "surroundings")
			// The shell tells where it was started by one of these.
			plain.OwnGroup, held.OwnGroup = false, false
			same(t, plain, held)
		})
	}
	t.Run("blocked signals", func(t *testing.T) {
		// A process has the mask of the thread that makes it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var old unix.Sigset_t
		if err := unix.PthreadSigmask(unix.SIG_BLOCK, &unix.Sigset_t{Val: [16]uint64{uint64(setOf(unix.SIGUSR1, unix.SIGALRM))}}, &old); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil); err != nil {
				t.Error(err)
			}
		}()
		plain, held := look(t, plainRole("surroundings")), look(t, plainRole("hold", "surroundings"))
		if blocked, err := parseSet(plain.Status["SigBlk"]); err != nil || blocked != setOf(unix.SIGUSR1, unix.SIGALRM) {
			t.Fatalf("the program has %#x blocked, %v", blocked, err)
		}
		same(t, plain, held)
	})
	t.Run("process group", func(t *testing.T) {
		p := hold(t, "surroundings") // which shares no group
		p.letGo(t)
		var s surroundings
		_, stdout, stderr := p.end(t)
		if err := json.Unmarshal([]byte(stdout), &s); err != nil || !s.OwnGroup {
			t.Errorf("a process that shares no group does not lead one: %v %s", err, stderr)
		}
		if s := look(t, plainRole("hold", "surroundings")); s.OwnGroup {
			t.Error("a process that shares our group leads one")
		}
	})
}

func look(t *testing.T, cmd *exec.Cmd) (s surroundings) {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, &stderr)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

func same(t *testing.T, plain, held surroundings) {
	t.Helper()
	plain.Args, held.Args = nil, nil // they have the role's
	p, err := json.MarshalIndent(plain, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	h, err := json.MarshalIndent(held, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(p, h) {
		t.Errorf("the program finds otherwise\n%s\nand when it was held\n%s", p, h)
	}
}

// asNobody has a command run without any privileges, which it has already if we
// are not root.
func asNobody(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	if testing.CoverMode() != "" {
		t.Skip("nobody may not write the coverage, and says so")
	}
	cmd.Path = filepath.Join(publicDir(t), "program")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir = "/"
}

// publicDir makes a directory that everybody may read, with this binary in it as
// "program".
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ptrace-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "program"), self, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestTracedAgain lets a program go that then holds another one itself, and is
// traced by others.
func TestTracedAgain(t *testing.T) {
	p := hold(t, "hold", "wait")
	p.letGo(t)
	if line, err := p.stdout.ReadString('\n'); line != "running\n" || err != nil {
		t.Fatalf("the program that a held program holds says %q, %v", line, err)
	}
	if status, err := Status(p.Pid()); err != nil || status["TracerPid"] != "0" {
		t.Errorf("still traced by %s, %v", status["TracerPid"], err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.PtraceSeize(p.Pid()); err != nil {
		t.Fatalf("it cannot be traced: %v", err)
	}
	if err := unix.PtraceInterrupt(p.Pid()); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Wait4(p.Pid(), nil, unix.WALL, nil); err != nil {
		t.Fatal(err)
	}
	if err := unix.PtraceDetach(p.Pid()); err != nil {
		t.Fatal(err)
	}
	if exit, stdout, stderr := p.end(t); exit != (Exit{}) || stdout+stderr != "" {
		t.Errorf("ended with %v and wrote %q, %q", exit, stdout, stderr)
	}
}

// TestBuilds holds programs as the go command makes them: their code and their
// loaders lie at different places.
func TestBuilds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags []string
		cgo   bool
	}{
		{"exits", nil, false},
		{"exits", []string{"-buildmode=pie"}, false},
		{"exits", []string{"-ldflags=-s -w"}, false},
		{"exits", []string{"-race"}, true},
		{"cgocalls", nil, true},
		{"cgocalls", []string{"-buildmode=pie"}, true},
		{"cgocalls", []string{"-ldflags=-linkmode=external -extldflags=-static-pie", "-buildmode=pie"}, true},
	} {
		t.Run(strings.Join(append([]string{tt.name}, tt.flags...), " "), func(t *testing.T) {
			if testing.Short() && tt.cgo {
				t.Skip("it takes seconds to build")
			}
			if tt.cgo {
				fixtures.Build(t, "cgocalls") // skips where there is no C compiler
			}
			path := fixtures.Build(t, tt.name, tt.flags...)
			want, err := exec.Command(path).Output()
			if err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "out")
			file, err := os.Create(out)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			p, err := Start(path, []string{tt.name}, Attr{Files: [3]*os.File{nil, file, os.Stderr}})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Abandon()
			if err := furnish(p); err != nil {
				t.Fatal(err)
			}
			if err := p.Detach(); err != nil {
				t.Fatal(err)
			}
			exit, err := p.Wait(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(out); exit != (Exit{}) || err != nil || !bytes.Equal(got, want) {
				t.Errorf("ended with %v and wrote %q, %v; want %q", exit, got, err, want)
			}
		})
	}
}

// TestNoLeaks holds many programs one after the other.
func TestNoLeaks(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 50
	}
	count := func(dir string) int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	files, threads := count("/proc/self/fd"), count("/proc/self/task")
	for i := range rounds {
		p, err := startRole([3]*os.File{null, null, null}, i%2 == 0, "exit", "5")
		if err != nil {
			t.Fatal(err)
		}
		if i%4 == 3 {
			p.Abandon()
			if exit, err := p.Wait(t.Context()); err != nil || exit.Signal != "SIGKILL" {
				t.Fatalf("an abandoned process ends with %v, %v", exit, err)
			}
			continue
		}
		if _, err := p.Syscall(unix.SYS_GETPPID); err != nil {
			t.Fatal(err)
		}
		if err := p.Detach(); err != nil {
			t.Fatal(err)
		}
		if exit, err := p.Wait(t.Context()); err != nil || exit.Code != 5 {
			t.Fatalf("it ends with %v, %v", exit, err)
		}
	}
	if n := count("/proc/self/fd"); n > files+rounds/10 {
		t.Errorf("%d files open, %d before", n, files)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	eventually(t, fmt.Sprintf("about %d threads", threads), func() bool { return count("/proc/self/task") < threads+rounds/10 })
}
