package record

import (
	"bytes"
	"io"
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

// TestGoSignal: who wants to end the program knows the process id of tracerag.
func TestGoSignal(t *testing.T) {
	dir := recordtest.Module(t)
	cmd := startable(recording(t, dir, testRecording{}, "go", "run", "./cmd/app", "-wait"))
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal, no matter who runs the tests
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	var text []byte
	for buf := make([]byte, 1000); !bytes.Contains(text, []byte("waiting\n")); {
		n, err := out.Read(buf)
		if err != nil {
			t.Fatalf("after %q: %v\n%s", text, err, &stderr)
		}
		text = append(text, buf[:n]...)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.String(), "exit status 7\n") {
		t.Errorf("exit code %d, and the program's exit status 7 is not in:\n%s", code, &stderr)
	}
	if traces := recordtest.Saved(t, dir); len(traces) != 1 || traces[0].Exit.Code != 7 {
		t.Errorf("traces %+v", traces)
	}
}

// TestEachInterrupted: a signal to tracerag ends the test that runs, and no other is
// begun. What was recorded until then is kept.
func TestEachInterrupted(t *testing.T) {
	dir := recordtest.HangingTests(t)
	cmd := startable(recording(t, dir, testRecording{Spec: Spec{Each: 1}}, "go", "test", "./lib"))
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal, no matter who runs the tests
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
	traces := recordtest.Saved(t, dir)
	if names := recordtest.Names(traces); !slices.Equal(names, []string{"TestDouble", "TestHang"}) {
		t.Fatalf("traces %q\n%s", names, &out)
	}
	if traces[1].Exit.Signal != "SIGTERM" || cmd.ProcessState.ExitCode() == 0 || !strings.Contains(out.String(), "error: interrupted after 2 tests of 3\n") {
		t.Errorf("TestHang %v, exit code %d\n%s", traces[1].Exit, cmd.ProcessState.ExitCode(), &out)
	}
}

func startable(args []string) *exec.Cmd { return exec.Command(args[0], args[1:]...) }
