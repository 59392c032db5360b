//go:build linux && amd64

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tracerag/fixtures"
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
			term := startAtTerminal(t, cmd)
			// What the program sees.
			term.await(t, "terminal 0: true\r\nterminal 1: true\r\nterminal 2: true\r\n")
			term.await(t, "foreground: yes\r\n")
			for _, s := range tt.steps {
				term.await(t, s.await)
				time.Sleep(50 * time.Millisecond) // the program's own read comes a moment after
				term.send(t, s.send)
			}
			term.await(t, tt.last)
			term.await(t, "tracerag: recorded ")
			term.await(t, "tracerag: trace: ")
			term.await(t, "["+tt.exit+", the terminal its own: true, in the same mode: true]")
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if n := strings.Count(term.text(), "signal: "); n > 1 {
				t.Errorf("one key was %d signals:\n%s", n, term.text())
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
	term := startAtTerminal(t, cmd)
	term.await(t, "tracerag: baseline: running ")
	time.Sleep(300 * time.Millisecond) // for it to be there; before that the outcome is the same
	term.send(t, "\x03")
	term.await(t, "[exit code 130, the terminal its own: true, in the same mode: true]")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if text := term.text(); strings.Contains(text, "directory: ") || strings.Contains(text, "tracerag: recorded ") {
		t.Errorf("the program was started:\n%s", text)
	}
	if _, err := os.Stat(traces); err == nil {
		t.Error("a trace was saved")
	}
}

func TestExportBinaryToTerminal(t *testing.T) {
	cmd := exec.Command("jobshell", commandPath(t), "export", "--dir", t.TempDir(), "--format", "pprof")
	term := startAtTerminal(t, cmd)
	term.await(t, "tracerag export: pprof is binary, and standard output a terminal: write it to a file with -o run.pb.gz, or pipe it\r\n")
	term.await(t, "[exit code 2,")
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

// keyboard is a pseudo terminal as one who sits at it has it: keys and a screen.
type keyboard struct {
	master *os.File
	mu     sync.Mutex
	screen bytes.Buffer
	seen   int // what await has passed
}

// startAtTerminal starts a command as the leader of a session with a terminal.
func startAtTerminal(t *testing.T, cmd *exec.Cmd) *keyboard {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	// Not master.Fd, which would make reads block beyond its closing.
	raw, err := master.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var number int
	ctlErr := raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if ctlErr != nil || err != nil {
		t.Skipf("no pseudo terminals here: %v %v", ctlErr, err)
	}
	slave, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	defer slave.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// When the session's leader dies the kernel hangs up on the others.
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	k := &keyboard{master: master}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			k.mu.Lock()
			k.screen.Write(buf[:n])
			k.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return k
}

func (k *keyboard) text() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.screen.String()
}

// await waits until something is to be seen behind what was awaited before.
func (k *keyboard) await(t *testing.T, what string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		text := k.text()
		if i := strings.Index(text[k.seen:], what); i >= 0 {
			k.seen += i + len(what)
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the terminal does not show %q but\n%s", what, text)
		}
	}
}

func (k *keyboard) send(t *testing.T, keys string) {
	t.Helper()
	if _, err := k.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}
