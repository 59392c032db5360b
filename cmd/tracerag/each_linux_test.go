package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tracerag/trace/recordtest"
)

// hangDir has three tests, of which the second takes a minute and says so by a file.
func hangDir(t *testing.T) string {
	t.Helper()
	dir := goDir(t)
	text := `package lib

import (
	"os"
	"testing"
	"time"
)

func TestHang(*testing.T) {
	_ = os.WriteFile("hanging", nil, 0o644)
	time.Sleep(time.Minute)
}

func TestLast(*testing.T) { Double(1) }
`
	if err := os.WriteFile(filepath.Join(dir, "lib", "more_test.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestEachInterrupted: a signal to tracerag ends the test that runs, and no other is
// begun. What was recorded until then is kept.
func TestEachInterrupted(t *testing.T) {
	dir := hangDir(t)
	cmd := exec.Command("tracerag", "run", "--each", "--", "go", "test", "./lib")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal, whoever runs the tests
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(recordtest.Timeout, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	for hanging := filepath.Join(dir, "lib", "hanging"); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(hanging); err == nil {
			break
		}
		if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
			t.Fatalf("it has ended: %v\n%s", err, &out)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	traces := saved(t, dir)
	if names := namesOf(traces); !slices.Equal(names, []string{"TestDouble", "TestHang"}) {
		t.Fatalf("traces %q\n%s", names, &out)
	}
	if traces[1].Exit.Signal != "SIGTERM" || cmd.ProcessState.ExitCode() == 0 || !strings.Contains(out.String(), "tracerag: interrupted after 2 tests of 3\n") {
		t.Errorf("TestHang %v, exit code %d\n%s", traces[1].Exit, cmd.ProcessState.ExitCode(), &out)
	}
}

// TestEachAtTerminal: how far it is stands in a line of its own, in which nothing else
// is written. -timeout is each test's own: the one that hangs ends, and the others
// have their turn.
func TestEachAtTerminal(t *testing.T) {
	dir := hangDir(t)
	cmd := exec.Command("jobshell", commandPath(t), "run", "--each", "--", "go", "test", "-timeout=3s", "./lib")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=xterm")
	term := recordtest.StartAtTerminal(t, cmd)
	term.Await(t, "\rtracerag: recording tests: 1 of 3 ... ")
	term.Await(t, "\r\x1b[Kpanic: test timed out after 3s\r\n")
	term.Await(t, "[exit code 1, the terminal its own: true, in the same mode: true]")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	traces := saved(t, dir)
	if names := namesOf(traces); !slices.Equal(names, []string{"TestDouble", "TestHang", "TestLast"}) || traces[1].Exit.Code != 2 || traces[2].Exit.Failed() {
		t.Errorf("traces %q\n%s", names, term.Text())
	}
}
