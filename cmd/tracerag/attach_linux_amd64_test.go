package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"tracerag/fixtures"
	"tracerag/trace/recordtest"
)

// TestInterruptedAttach: a signal that ends the command while it attaches leaves nothing
// of it in the process, and the command says so; from then on it saves the trace.
func TestInterruptedAttach(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes, and waits for them")
	}
	server := fixtures.Build(t, "server")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT} {
		t.Run(sig.String()+" while it is held", func(t *testing.T) {
			for range 20 { // the moment is short, and may be missed
				waits := idle(t, server)
				code, out := attachAndSignal(t, waits, sig, func(out string) bool { return isHeld(t, waits) || strings.Contains(out, "recording process") })
				if code == exitOK {
					continue
				}
				if want := fmt.Sprintf("process %d goes on, unchanged", waits); code != exitInterrupted || !strings.Contains(out, want) {
					t.Errorf("exit code %d, want %d and %q: %s", code, exitInterrupted, want, out)
				}
				if maps := procFile(t, waits, "maps"); strings.Contains(maps, "memfd:tracerag") {
					t.Errorf("left in the process:\n%s", maps)
				}
				return
			}
			t.Error("never came in time")
		})
		t.Run(sig.String()+" while it is recorded", func(t *testing.T) {
			waits := idle(t, server)
			code, out := attachAndSignal(t, waits, sig, func(out string) bool { return strings.Contains(out, "recording process") })
			if code != exitOK || !strings.Contains(out, "trace ") {
				t.Errorf("exit code %d, want 0 and a trace: %s", code, out)
			}
			if err := syscall.Kill(waits, 0); err != nil {
				t.Error("the process has ended")
			}
		})
	}
}

// idle starts a program that waits, and returns its number.
func idle(t *testing.T, program string) int {
	t.Helper()
	cmd := exec.Command(program, "-wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

// attachAndSignal attaches to a process, and sends a signal to the command as soon as
// now holds of what it has printed.
func attachAndSignal(t *testing.T, pid int, sig syscall.Signal, now func(out string) bool) (code int, out string) {
	t.Helper()
	printed, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer printed.Close()
	cmd := exec.Command("tracerag", "attach", "--dir="+t.TempDir(), fmt.Sprint(pid))
	cmd.Stdout, cmd.Stderr = printed, printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(recordtest.Timeout, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	read := func() string {
		text, err := os.ReadFile(printed.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(bytes.TrimSpace(text))
	}
	for sent := false; !sent; {
		select {
		case <-ended:
			t.Fatalf("it has ended: %s", read())
		default:
			if sent = now(read()); sent {
				_ = cmd.Process.Signal(sig)
			}
		}
	}
	<-ended
	return cmd.ProcessState.ExitCode(), read()
}

func isHeld(t *testing.T, pid int) bool {
	return !strings.Contains(procFile(t, pid, "status"), "TracerPid:\t0\n")
}

func procFile(t *testing.T, pid int, name string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
