//go:build linux

package breakpoint

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
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
				term := recordtest.StartAtTerminal(t, cmd)
				for _, s := range tt.steps {
					term.Await(t, s.await)
					// The program's own stop or read comes a moment after.
					time.Sleep(50 * time.Millisecond)
					term.Send(t, s.send)
				}
				term.Await(t, tt.last)
				if err := cmd.Wait(); err != nil {
					t.Error(err)
				}
				if recorded && counts(readTrace(t, out, ""))["main.echo"] != 1 {
					t.Error("main.echo is not in the trace")
				}
				return term.Text()
			}
			if plain, got := run(false), run(true); got != plain {
				t.Errorf("the terminal shows\n%q\nwant\n%q", got, plain)
			}
		})
	}
}
