//go:build linux

package breakpoint

import (
	"bytes"
	"encoding/json"
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
	"tracerag/trace/recordtest"
)

// shellJob is for the third thing that this test binary can be: a shell with a
// terminal that runs one command as a job, brings it to the foreground whenever
// it stops, and says what happens to it in brackets.
type shellJob struct {
	Args       []string // the command; none: this binary, as the recorder
	Background bool     // start it there
}

const shellVariable = "TRACERAG_TEST_SHELL"

func init() {
	text := os.Getenv(shellVariable)
	if text == "" {
		return
	}
	os.Unsetenv(shellVariable)
	var j shellJob
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = shell(j)
	}
	if err != nil {
		fmt.Println("[shell:", err, "]")
		os.Exit(1)
	}
	os.Exit(0)
}

func shell(j shellJob) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if j.Args == nil {
		j.Args = []string{self}
	}
	cmd := exec.Command(j.Args[0], j.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: !j.Background}
	if err := cmd.Start(); err != nil {
		return err
	}
	// Only now: the job would inherit it.
	signal.Ignore(syscall.SIGTTOU)
	group := cmd.Process.Pid
	for {
		var ws unix.WaitStatus
		if err := wait(group, &ws, unix.WUNTRACED); err != nil {
			return err
		}
		if !ws.Stopped() {
			owner, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
			fmt.Printf("[exit code %d, terminal its own: %v %v]\n", ws.ExitStatus(), owner == group, err)
			return unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpgrp())
		}
		fmt.Printf("[%v]\n", ws.StopSignal())
		if err := unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, group); err != nil {
			return err
		}
		if err := unix.Kill(-group, unix.SIGCONT); err != nil {
			return err
		}
	}
}

// TestTerminal types at a terminal on which a job runs: what is to be seen there
// is the same with the recorder and without.
func TestTerminal(t *testing.T) {
	type step struct{ await, send string } // send this when that is to be seen
	// The last line that the program writes before it reads.
	const ready = "directory: "
	tests := []struct {
		name       string
		background bool
		steps      []step
		last       string
	}{
		{"read and write", false, []step{{ready, "hello\n"}, {"hello\r\nhello\r\n", "\x04"}}, "[exit code 0, terminal its own: true <nil>]"},
		{"Ctrl-C", false, []step{{ready, "\x03"}}, "signal: interrupt\r\n[exit code 42, terminal its own: true <nil>]"},
		{"Ctrl-Z", false, []step{{ready, "\x1a"}, {"[stopped]", "hello\n"}, {"hello\r\nhello\r\n", "\x04"}}, "[exit code 0, terminal its own: true <nil>]"},
		{"background", true, []step{{"[stopped (tty input)]", "hello\n"}, {"hello\r\nhello\r\n", "\x04"}}, "[exit code 0, terminal its own: true <nil>]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := func(recorded bool) string {
				args := []string{fixtures.Build(t, "stdio")}
				cmd, out := command(t, t.Context(), job{Args: args})
				s := shellJob{Background: tt.background}
				if !recorded {
					s.Args = args
					cmd.Env = os.Environ()
				}
				text, err := json.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				cmd.Env = append(cmd.Env, shellVariable+"="+string(text))
				term := startAtTerminal(t, cmd)
				for _, s := range tt.steps {
					term.await(t, s.await)
					// The program's own stop or read comes a moment after.
					time.Sleep(50 * time.Millisecond)
					term.send(t, s.send)
				}
				term.await(t, tt.last)
				if err := cmd.Wait(); err != nil {
					t.Error(err)
				}
				if recorded && counts(readTrace(t, out, ""))["main.echo"] != 1 {
					t.Error("main.echo is not in the trace")
				}
				return term.text()
			}
			if plain, got := run(false), run(true); got != plain {
				t.Errorf("the terminal shows\n%q\nwant\n%q", got, plain)
			}
		})
	}
}

// terminal is the keyboard and the screen of a pseudo terminal.
type terminal struct {
	master *os.File
	mu     sync.Mutex
	screen bytes.Buffer
	seen   int // what await has passed
}

// startAtTerminal starts a command as the leader of a session with a terminal.
func startAtTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
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
	var n int
	ctlErr := raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if ctlErr != nil || err != nil {
		t.Skipf("no pseudo terminals here: %v %v", ctlErr, err)
	}
	slave, err := os.OpenFile(filepath.Join("/dev/pts", fmt.Sprint(n)), os.O_RDWR|syscall.O_NOCTTY, 0)
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
	term := &terminal{master: master}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			term.mu.Lock()
			term.screen.Write(buf[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return term
}

func (term *terminal) text() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.screen.String()
}

// await waits until something is to be seen behind what was awaited before.
func (term *terminal) await(t *testing.T, what string) {
	t.Helper()
	for end := time.Now().Add(recordtest.Patience / 3); ; time.Sleep(10 * time.Millisecond) {
		text := term.text()
		if i := strings.Index(text[term.seen:], what); i >= 0 {
			term.seen += i + len(what)
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the terminal does not show %q but\n%q", what, text)
		}
	}
}

func (term *terminal) send(t *testing.T, keys string) {
	t.Helper()
	if _, err := term.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}
