//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tracerag/fixtures"
	"tracerag/trace/recordtest"
)

// TestTerminal types at a terminal at which tracerag records a program that shows
// what it sees of it. Package breakpoint compares that with the program alone;
// here it is about tracerag, which must end as the program does, save the trace,
// and leave the terminal as it was.
func TestTerminal(t *testing.T) {
	program := fixtures.Build(t, "stdio")
	type step struct{ await, send string } // send this when that is to be seen
	// The last line that the program writes before it reads.
	const ready = "directory: "
	tests := []struct {
		name  string
		steps []step
		last  string // line of the program
		exit  string
	}{
		{"Ctrl-C", []step{{ready, "\x03"}}, "signal: interrupt\r\n", "exit code 42"},
		{"Ctrl-backslash", []step{{ready, "\x1c"}}, "SIGQUIT: quit\r\n", "exit code 2"},
		{"Ctrl-D", []step{{ready, "hello\n"}, {"hello\r\nhello\r\n", "\x04"}}, "", "exit code 0"},
		{"Ctrl-Z", []step{{ready, "\x1a"}, {"[stopped]", "hello\n"}, {"hello\r\nhello\r\n", "\x04"}}, "", "exit code 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			traces := filepath.Join(t.TempDir(), "traces")
			cmd := exec.Command("jobshell", commandPath(t), "run", "--dir", traces, "--", program)
			term := recordtest.StartAtTerminal(t, cmd)
			// What the program sees.
			term.Await(t, "terminal 0: true\r\nterminal 1: true\r\nterminal 2: true\r\n")
			term.Await(t, "foreground: yes\r\n")
			for _, s := range tt.steps {
				term.Await(t, s.await)
				time.Sleep(50 * time.Millisecond) // the program's own read comes a moment after
				term.Send(t, s.send)
			}
			term.Await(t, tt.last)
			term.Await(t, "tracerag: recorded ")
			term.Await(t, "tracerag: trace: ")
			term.Await(t, "["+tt.exit+", the terminal its own: true, in the same mode: true]")
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if n := strings.Count(term.Text(), "signal: "); n > 1 {
				t.Errorf("one key was %d signals:\n%s", n, term.Text())
			}
			if tree := mustRun(t, commandPath(t), "tree", "--dir", traces); !strings.Contains(tree, "main.echo ") {
				t.Errorf("main.echo is not in the trace:\n%s", tree)
			}
		})
	}
}

// TestCtrlCInBaseline: who interrupts the run of the baseline does not want the
// program to be started after it.
func TestCtrlCInBaseline(t *testing.T) {
	traces := filepath.Join(t.TempDir(), "traces")
	cmd := exec.Command("jobshell", commandPath(t), "run", "--dir", traces, "--baseline=-wait", "--", fixtures.Build(t, "stdio"))
	term := recordtest.StartAtTerminal(t, cmd)
	term.Await(t, "tracerag: baseline: running ")
	time.Sleep(300 * time.Millisecond) // for it to be there; before that the outcome is the same
	term.Send(t, "\x03")
	term.Await(t, "[exit code 130, the terminal its own: true, in the same mode: true]")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if text := term.Text(); strings.Contains(text, "directory: ") || strings.Contains(text, "tracerag: recorded ") {
		t.Errorf("the program was started:\n%s", text)
	}
	if _, err := os.Stat(traces); err == nil {
		t.Error("a trace was saved")
	}
}

func TestExportBinaryToTerminal(t *testing.T) {
	cmd := exec.Command("jobshell", commandPath(t), "export", "--dir", t.TempDir(), "--format", "pprof")
	term := recordtest.StartAtTerminal(t, cmd)
	term.Await(t, "tracerag export: pprof is binary, and standard output a terminal: write it to a file with -o run.pb.gz, or pipe it\r\n")
	term.Await(t, "[exit code 2,")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func init() { testCommands["jobshell"] = jobshell }

// jobshell is to a command what a shell at a terminal is: it runs it as a job, with
// a process group that has the terminal, brings it back to the foreground whenever
// it stops, and says in brackets what becomes of it.
func jobshell() {
	mode, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		fmt.Println("[no terminal:", err, "]")
		os.Exit(1)
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true}
	if err := cmd.Start(); err != nil {
		fmt.Println("[", err, "]")
		os.Exit(1)
	}
	// Not before the start: the job would inherit it.
	signal.Ignore(syscall.SIGTTOU)
	group := cmd.Process.Pid
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(group, &ws, unix.WUNTRACED, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			fmt.Println("[wait:", err, "]")
			os.Exit(1)
		}
		if !ws.Stopped() {
			break
		}
		fmt.Printf("[%v]\n", ws.StopSignal())
		_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, group)
		_ = unix.Kill(-group, unix.SIGCONT)
	}
	owner, _ := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	after, err := unix.IoctlGetTermios(0, unix.TCGETS)
	fmt.Printf("[exit code %d, the terminal its own: %v, in the same mode: %v]\n", ws.ExitStatus(), owner == group, err == nil && *after == *mode)
}
