//go:build unix

package breakpoint

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tracerag/fixtures"
	"tracerag/trace"
	"tracerag/trace/recordtest"
)

// hazards is the program in testdata/hazards.
var hazards = sync.OnceValues(func() (string, error) {
	dir, err := fixtures.CacheDir()
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, fmt.Sprintf("hazards-%d", os.Getpid()))
	msg, err := exec.Command("go", "build", "-o", out, "./testdata/hazards").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, msg)
	}
	return out, nil
})

func hazard(t *testing.T) string {
	t.Helper()
	path, err := hazards()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var address = regexp.MustCompile(`0x[0-9a-f]+|goroutine \d+|^stack: .*`)

// TestEnds has programs end in every way: what they wrote before, and how they
// ended, is as without a recorder, and what was called before is in the trace.
func TestEnds(t *testing.T) {
	tests := []struct {
		how    string
		exit   trace.Exit
		stderr bool // has addresses and a stack in it: only its first line is compared
	}{
		{"return", trace.Exit{Code: 0}, false},
		{"exit", trace.Exit{Code: 3}, false},
		{"goroutine", trace.Exit{Code: 4}, false},
		{"panic", trace.Exit{Code: 2}, true},
		{"throw", trace.Exit{Code: 2}, true},
		{"segv", trace.Exit{Code: 2}, true},
		{"deadlock", trace.Exit{Code: 2}, true},
		{"goexit", trace.Exit{Code: 6}, false},
		{"term", trace.Exit{Code: 5}, false},
		{"termed", trace.Exit{Code: 143, Signal: "SIGTERM"}, false},
		{"kill", trace.Exit{Code: 137, Signal: "SIGKILL"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.how, func(t *testing.T) {
			how := recordingTest{Job: job{Args: []string{fixtures.Build(t, "exits"), "-how=" + tt.how}}}
			plain, r := untraced(t, how), record(t, how)
			if r.Trace.Exit != tt.exit || r.Code != plain.Code {
				t.Errorf("ended with %v, exit code %d; want %v and %d", r.Trace.Exit, r.Code, tt.exit, plain.Code)
			}
			if tt.stderr {
				r.Stderr, plain.Stderr = firstLine(r.Stderr), firstLine(plain.Stderr)
			}
			if r.Stdout != plain.Stdout || r.Stderr != plain.Stderr {
				t.Errorf("stdout %q, want %q; stderr %q, want %q", r.Stdout, plain.Stdout, r.Stderr, plain.Stderr)
			}
			if got := counts(r.Trace); got["main.work"] != 10 || got["main.last"] != 1 {
				t.Errorf("main.work %d, main.last %d; want 10 and 1", got["main.work"], got["main.last"])
			}
		})
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return address.ReplaceAllString(line, "")
}

// TestHazards runs what is hard on a debugger. The number is that of calls of
// main.step in the trace, -1 for at least one.
func TestHazards(t *testing.T) {
	tests := []struct {
		what  string
		steps int64
		exit  trace.Exit
	}{
		{"exec", 1, trace.Exit{}},
		{"overflow", 1, trace.Exit{Code: 2}},
		{"threads", 100, trace.Exit{}},
		{"signals", 200, trace.Exit{}},
		{"vfork", 50, trace.Exit{}},
		{"trap", 1, trace.Exit{}},
		{"exits", -1, trace.Exit{Code: 7}},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			how := recordingTest{Job: job{Args: []string{hazard(t), tt.what}, MaxHits: 200}}
			plain, r := untraced(t, how), record(t, how)
			if r.Trace.Exit != tt.exit || r.Code != plain.Code {
				t.Errorf("ended with %v, exit code %d; want %v and %d", r.Trace.Exit, r.Code, tt.exit, plain.Code)
			}
			if r.Stdout != plain.Stdout || firstLine(r.Stderr) != firstLine(plain.Stderr) {
				t.Errorf("stdout %q, want %q; stderr %q, want %q", r.Stdout, plain.Stdout, r.Stderr, plain.Stderr)
			}
			if got := counts(r.Trace)["main.step"]; got != tt.steps && (tt.steps >= 0 || got < 1) {
				t.Errorf("main.step %d, want %d\n%s", got, tt.steps, tree(r.Trace))
			}
		})
	}
}

// TestOwnBreakpoint has the one signal that does not reach a program under a
// debugger: it goes on behind its own breakpoint, where it would have died.
func TestOwnBreakpoint(t *testing.T) {
	r := record(t, recordingTest{Job: job{Args: []string{hazard(t), "breakpoint"}}})
	if r.Code != 0 || r.Stdout != "breakpoint 1\n" || counts(r.Trace)["main.step"] != 1 {
		t.Errorf("exit code %d, stdout %q\n%s", r.Code, r.Stdout, tree(r.Trace))
	}
}

// TestStreams gives the target our streams, whatever they are.
func TestStreams(t *testing.T) {
	for _, tt := range []struct{ name, input string }{
		{"lines", "one\ntwo\n"},
		{"no end of line", "one"},
		{"nothing", ""},
		{"much", strings.Repeat("a line of forty bytes, many times over.\n", 10_000)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := func(f func(*testing.T, recordingTest) result) result {
				return f(t, recordingTest{Job: job{Args: []string{fixtures.Build(t, "stdio"), "an argument"}}, Stdin: strings.NewReader(tt.input)})
			}
			plain, r := run(untraced), run(record)
			if r.Stdout != plain.Stdout || r.Stderr != plain.Stderr || r.Code != plain.Code {
				t.Errorf("stdout %d bytes, want %d; stderr\n%s\nwant\n%s\nexit code %d, want %d", len(r.Stdout), len(plain.Stdout), r.Stderr, plain.Stderr, r.Code, plain.Code)
			}
		})
	}
	t.Run("silent", func(t *testing.T) {
		r := record(t, recordingTest{Job: job{Args: []string{fixtures.Build(t, "stdio")}, Silent: true}, Stdin: strings.NewReader("one\n")})
		if r.Stdout != "" || r.Stderr != "" {
			t.Errorf("a silent run wrote %q and %q", r.Stdout, r.Stderr)
		}
		if counts(r.Trace)["main.echo"] != 1 {
			t.Errorf("a silent run recorded\n%s", tree(r.Trace))
		}
	})
}

// TestClosedPipe is "program | head -1": the program must end by SIGPIPE.
func TestClosedPipe(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), recordtest.Timeout)
	defer cancel()
	cmd, out := command(t, ctx, job{Args: []string{fixtures.Build(t, "stdio"), "-endless"}})
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "line 0\n" {
		t.Errorf("read %q, %v", line, err)
	}
	stdout.Close()
	_ = cmd.Wait()
	if ctx.Err() != nil {
		t.Fatal("it hangs")
	}
	if exit := readTrace(t, out, "").Exit; exit != (trace.Exit{Code: 141, Signal: "SIGPIPE"}) {
		t.Errorf("ended with %v, want SIGPIPE", exit)
	}
}

// TestSignalsAreForwarded sends signals to the recorder, which has no terminal,
// and to the target itself.
func TestSignalsAreForwarded(t *testing.T) {
	tests := []struct {
		name     string
		signal   syscall.Signal
		toTarget bool
		exit     trace.Exit
	}{
		{"SIGINT", syscall.SIGINT, false, trace.Exit{Code: 42}},
		{"SIGTERM", syscall.SIGTERM, false, trace.Exit{Code: 55}},
		{"SIGHUP", syscall.SIGHUP, false, trace.Exit{Code: 41}},
		{"SIGQUIT", syscall.SIGQUIT, false, trace.Exit{Code: 2}},
		{"SIGINT to the target", syscall.SIGINT, true, trace.Exit{Code: 42}},
		{"SIGKILL to the target", syscall.SIGKILL, true, trace.Exit{Code: 137, Signal: "SIGKILL"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec, wait := waiting(t)
			pid := rec
			if tt.toTarget {
				pid = childOf(t, rec)
			}
			if err := syscall.Kill(pid, tt.signal); err != nil {
				t.Fatal(err)
			}
			tr := wait()
			if tr.Exit != tt.exit {
				t.Errorf("ended with %v, want %v", tr.Exit, tt.exit)
			}
			if counts(tr)["main.echo"] != 1 {
				t.Errorf("the trace is\n%s", tree(tr))
			}
		})
	}
}

// TestRecorderKilled has the target end with its recorder: its code is full of
// unhandled breakpoints.
func TestRecorderKilled(t *testing.T) {
	rec, _ := waiting(t)
	pid := childOf(t, rec)
	if err := syscall.Kill(rec, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil && !zombie(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the target lives on")
		}
	}
}

func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z")
}

// waiting starts a recorder without a terminal whose target waits for a signal,
// and returns the recorder's process and a function that waits for the trace.
func waiting(t *testing.T) (pid int, wait func() *trace.Trace) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), recordtest.Timeout)
	t.Cleanup(cancel)
	cmd, out := command(t, ctx, job{Args: []string{fixtures.Build(t, "stdio"), "-wait"}})
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewReader(stderr)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the target did not come to wait: %v", err)
		}
		if line == "waiting\n" {
			break
		}
	}
	return cmd.Process.Pid, func() *trace.Trace {
		t.Helper()
		_, _ = io.Copy(io.Discard, lines)
		_ = cmd.Wait()
		if ctx.Err() != nil {
			t.Fatal("it hangs")
		}
		return readTrace(t, out, "")
	}
}

// childOf is the only child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, path := range tasks {
		text, _ := os.ReadFile(path)
		for _, child := range strings.Fields(string(text)) {
			// But for the one that tells us whom signals were sent to.
			if line, err := os.ReadFile("/proc/" + child + "/cmdline"); err == nil && string(line) != "tracerag-signals\x00" {
				all = append(all, child)
			}
		}
	}
	if len(all) != 1 {
		t.Skipf("cannot tell the target's process (%q)", all)
	}
	child, err := strconv.Atoi(all[0])
	if err != nil {
		t.Fatal(err)
	}
	return child
}
