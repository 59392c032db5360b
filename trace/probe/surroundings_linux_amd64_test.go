package probe

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tracerag/fixtures"
	"tracerag/trace/executable"
	"tracerag/trace/probe/ptrace"
	"tracerag/trace/recordtest"
	"tracerag/trace/target"
)

// TestBuilds records programs that were built and linked in other ways. See
// TestCounts for more.
func TestBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("links a program seven times")
	}
	for _, tt := range []struct {
		name  string
		flags []string
		env   string // for the go command
		needs string
	}{
		{name: "another linker", flags: []string{"-ldflags=-linkmode=external"}, needs: "gcc"},
		{name: "gold", flags: []string{"-ldflags=-linkmode=external -extldflags=-fuse-ld=gold"}, needs: "ld.gold"},
		{name: "lld", flags: []string{"-ldflags=-linkmode=external -extldflags=-fuse-ld=lld"}, needs: "ld.lld"},
		{name: "static", flags: []string{"-ldflags=-linkmode=external -extldflags=-static"}, needs: "gcc"},
		{name: "PIE by another linker", flags: []string{"-buildmode=pie", "-ldflags=-linkmode=external -s -w"}, needs: "gcc"},
		{name: "newer instructions", flags: []string{"-tags=v3"}, env: "GOAMD64=v3"},
		{name: "coverage", flags: []string{"-cover"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := exec.LookPath(tt.needs); tt.needs != "" && err != nil {
				t.Skip(err)
			}
			if key, value, ok := strings.Cut(tt.env, "="); ok {
				t.Setenv(key, value)
			}
			t.Setenv("GOCOVERDIR", t.TempDir())
			how := recordtest.Run{Job: recordtest.Job{Args: []string{fixtures.Build(t, "counters", tt.flags...)}}}
			if recordtest.Untraced(t, how).Code != 0 {
				t.Skip("this machine cannot run it")
			}
			got := recordtest.Generic(recordtest.Counts(sameRun(t, how).Trace))
			for fn, n := range fixtures.Want(t, "counters") {
				if got[fn] != n {
					t.Errorf("%s: %d calls, want %d", fn, got[fn], n)
				}
			}
		})
	}
}

// TestRefused are programs that this recorder does not touch. Another may.
func TestRefused(t *testing.T) {
	path := fixtures.Build(t, "twice")
	for _, tt := range []struct {
		name  string
		alter func(f *executable.File)
		says  string
	}{
		{"another system", func(f *executable.File) { f.GOOS = "windows" }, "a program for windows/amd64"},
		{"another machine", func(f *executable.File) { f.GOARCH = "arm64" }, "a program for linux/arm64"},
		{"an old race detector", func(f *executable.File) { f.GoVersion, f.Race = "go1.24.3", true }, "race detector of Go 1.24"},
		{"a release to come", func(f *executable.File) { f.GoVersion = "go1.99" }, "supports Go 1.21 to 1.26, and the program was built with 1.99"},
		{"no release", func(f *executable.File) { f.GoVersion = "" }, "does not say which Go release"},
		{"the memory sanitizer", func(f *executable.File) {
			f.Settings = append(f.Settings, executable.Setting{Key: "-msan", Value: "true"})
		}, "-msan"},
		{"the address sanitizer", func(f *executable.File) {
			f.Settings = append(f.Settings, executable.Setting{Key: "-asan", Value: "true"})
		}, "-asan"},
		{"a runtime of somebody's own", func(f *executable.File) { f.GoVersion = "go1.23.1" }, "its runtime is not that of go1.23.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tgt, err := target.Find([]string{path}, t.TempDir(), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			f := *tgt.Binary
			tt.alter(&f)
			tgt.Binary = &f
			_, err = Record(context.Background(), tgt, Options{})
			var unsuitable *Unsuitable
			if !errors.As(err, &unsuitable) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want an Unsuitable with %q", err, tt.says)
			}
		})
	}
}

// TestStandardLibrary records it, too: nothing that the program does changes, also
// where the library checks that its own code is what it was.
func TestStandardLibrary(t *testing.T) {
	for _, tt := range []struct {
		how recordtest.Run
		fn  string // is in the trace
	}{
		{recordtest.Run{Job: recordtest.Job{Args: []string{path(t, callbacks)}}}, "fmt.Fprintf"},
		{recordtest.Run{Job: recordtest.Job{Args: []string{path(t, callbacks)}}, Env: []string{"GODEBUG=fips140=on"}}, "net/http.(*Server).Serve"},
		{recordtest.Run{Job: recordtest.Job{Args: []string{path(t, ownHazards), "nils"}}}, "fmt.Fprintln"},
		{recordtest.Run{Job: recordtest.Job{Args: []string{path(t, ownHazards), "goroutines"}}}, "sync.(*WaitGroup).Add"},
		{recordtest.Run{Job: recordtest.Job{Args: []string{path(t, ownHazards), "chain"}}}, "os/exec.(*Cmd).Start"},
		{recordtest.Run{Job: recordtest.Job{Args: []string{path(t, otherHazards), "vfork"}}}, "os.StartProcess"},
		{recordtest.Run{Job: recordtest.Job{Args: []string{path(t, otherHazards), "signals"}}}, "os/signal.loop"},
		{recordtest.Run{Job: recordtest.Job{Args: []string{fixtures.Build(t, "panics")}}}, "fmt.Fprintln"},
		{recordtest.Run{Job: recordtest.Job{Args: []string{fixtures.Build(t, "counters", "-race")}}}, "fmt.Fprintln"},
		{recordtest.Run{Job: recordtest.Job{Args: []string{fixtures.Build(t, "counters", "-buildmode=pie")}}}, "fmt.Fprintln"},
		{recordtest.Run{Job: recordtest.Job{Args: []string{fixtures.Build(t, "tablecat"), "--md", filepath.Join(fixtures.Dir("tablecat"), "doc.md")}}}, "regexp.(*Regexp).doExecute"},
	} {
		name := append([]string{filepath.Base(tt.how.Args[0])}, tt.how.Args[1:min(2, len(tt.how.Args))]...)
		t.Run(strings.Join(append(name, tt.how.Env...), " "), func(t *testing.T) {
			how := tt.how
			how.Include = []string{"all"}
			r := sameRun(t, how)
			if recordtest.Counts(r.Trace)[tt.fn] == 0 {
				t.Errorf("%s was not called, by the trace", tt.fn)
			}
			if l := dropped(r.Trace); len(l) > 0 {
				t.Errorf("losses: %v", l)
			}
		})
	}
}

// TestLocked has a program lock all its memory, of which the recorder's is part.
func TestLocked(t *testing.T) {
	how := recordtest.Run{Job: recordtest.Job{Args: []string{path(t, locked)}}}
	if recordtest.Untraced(t, how).Code == 3 {
		t.Skip("it may not lock so much: ulimit -l")
	}
	cmd, out := recordtest.Command(t, t.Context(), how.Job)
	if text, err := cmd.CombinedOutput(); err != nil || string(text) != "1000\n" {
		t.Fatalf("%v %s", err, text)
	}
	if n := recordtest.Counts(recordtest.ReadTrace(t, out, ""))["main.step"]; n != 1000 {
		t.Errorf("main.step %d, want 1000", n)
	}
	// The larger one of the recorder's process and the program.
	if mb := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10; mb > 400 {
		t.Errorf("%d MB were resident", mb)
	}
}

// TestLittleAddressSpace has the recorder and the program run with an address
// space of 4 GB, less than the recorder takes by itself.
func TestLittleAddressSpace(t *testing.T) {
	if self, err := executable.Open(os.Args[0]); err != nil || self.Race {
		t.Skip("the race detector takes far more, in this recorder")
	}
	job := recordtest.Job{Args: []string{path(t, ownHazards), "goroutines"}}
	cmd, out := recordtest.Command(t, t.Context(), job)
	cmd.Args = []string{"sh", "-c", `ulimit -v 4000000 && exec "$0"`, cmd.Path}
	cmd.Path = "/bin/sh"
	if text, err := cmd.CombinedOutput(); err != nil || string(text) != "goroutines 100000\n" {
		t.Fatalf("%v %s", err, text)
	}
	if n := recordtest.Counts(recordtest.ReadTrace(t, out, ""))["main.step"]; n != 100_000 {
		t.Errorf("main.step %d, want 100000", n)
	}
}

// TestCoreDump has a program dump its core: what is shared is not in it.
func TestCoreDump(t *testing.T) {
	if pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern"); err != nil || strings.ContainsAny(string(pattern), "|/") {
		t.Skip("cores are not written to the working directory here")
	}
	dir := t.TempDir()
	cmd, _ := recordtest.Command(t, t.Context(), recordtest.Job{Args: []string{path(t, ownHazards), "crash", "segv"}, Dir: dir})
	cmd.Args = []string{"sh", "-c", `ulimit -c unlimited && exec "$0"`, cmd.Path}
	cmd.Path, cmd.Dir = "/bin/sh", dir
	cmd.Env = append(cmd.Env, "GOTRACEBACK=crash")
	_ = cmd.Run()
	cores, err := filepath.Glob(filepath.Join(dir, "core*"))
	if err != nil || len(cores) != 1 {
		t.Skipf("no core was written: %v %v", cores, err)
	}
	info, err := os.Stat(cores[0])
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 1<<30 {
		t.Errorf("the core has %d bytes", info.Size())
	}
}

// TestNobody records as a user without any privileges.
func TestNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("all other tests do, too")
	}
	dir, err := os.MkdirTemp("", "probe-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copies := map[string]string{"recorder": self, "program": path(t, ownHazards)}
	for name, from := range copies {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const nobody = 65534
	record := func() (text, trace string) {
		cmd, _ := recordtest.Command(t, t.Context(), recordtest.Job{Args: []string{filepath.Join(dir, "program"), "plain"}, Dir: dir})
		for i, v := range cmd.Env { // the trace is to be nobody's, too
			cmd.Env[i] = strings.ReplaceAll(v, `"Out":"`+filepath.Dir(outOf(v)), `"Out":"`+dir)
		}
		cmd.Path, cmd.Dir = filepath.Join(dir, "recorder"), dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, _ := cmd.CombinedOutput()
		return string(out), filepath.Join(dir, "trace.json")
	}
	if err := errors.Join(os.Chown(dir, nobody, nobody), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	text, trace := record()
	if text != "plain 1000\n" {
		t.Errorf("it writes %q", text)
	}
	if n := recordtest.Counts(recordtest.ReadTrace(t, trace, text))["main.step"]; n != 1000 {
		t.Errorf("main.step %d, want 1000", n)
	}
	// And one that would run as somebody else.
	if err := os.Chmod(filepath.Join(dir, "program"), 0o755|fs.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	if text, _ := record(); !strings.Contains(text, "setuid") || strings.Contains(text, "plain 1000") {
		t.Errorf("a setuid program: %q", text)
	}
}

// outOf is the file of a job that is in an environment variable.
func outOf(variable string) string {
	_, rest, ok := strings.Cut(variable, `"Out":"`)
	if !ok {
		return "\x00/"
	}
	file, _, _ := strings.Cut(rest, `"`)
	return file
}

// TestNoPtrace runs where a filter forbids to trace: the program does not run, and
// the message says what to do.
func TestNoPtrace(t *testing.T) {
	// The filter is for good, so it is that of a process of its own.
	if os.Getenv("TRACERAG_TEST_NO_PTRACE") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestNoPtrace$")
		cmd.Env = append(os.Environ(), "TRACERAG_TEST_NO_PTRACE=1", "TRACERAG_TEST_PROGRAM="+path(t, ownHazards))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := forbid(unix.SYS_PTRACE); err != nil {
		t.Skip(err)
	}
	tgt, err := target.Find([]string{os.Getenv("TRACERAG_TEST_PROGRAM"), "plain"}, t.TempDir(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	tgt.Silent = true
	if _, err := Record(context.Background(), tgt, Options{}); !errors.Is(err, ptrace.ErrPtrace) || !strings.Contains(err.Error(), "seccomp") {
		t.Errorf("without ptrace: %v", err)
	}
}

// forbid has the kernel refuse a system call to this process, and to all that it
// starts.
func forbid(nr uint32) error {
	return filter([]unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	})
}

// filter has the kernel ask this program about every system call of this process and of
// those that it starts.
func filter(program []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}
