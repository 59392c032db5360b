package main

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestGoSignal: who wants to end the program knows the process id of tracerag.
func TestGoSignal(t *testing.T) {
	dir := goDir(t)
	cmd := exec.Command("tracerag", "run", "--", "go", "run", "./cmd/app", "-wait")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal, whoever runs the tests
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
	if traces := saved(t, dir); len(traces) != 1 || traces[0].Exit.Code != 7 {
		t.Errorf("traces %+v", traces)
	}
}
