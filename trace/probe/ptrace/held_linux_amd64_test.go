package ptrace

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSignals sends signals to a process that is held. It gets them when it is
// let go, before its first instruction, and system calls are made regardless.
func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		name    string
		signals []unix.Signal
		stopped bool // afterwards, until SIGCONT
		exit    Exit
	}{
		{"terminate", []unix.Signal{unix.SIGTERM}, false, Exit{Code: 143, Signal: "SIGTERM"}},
		{"Ctrl-C", []unix.Signal{unix.SIGINT}, false, Exit{Code: 130, Signal: "SIGINT"}},
		{"Ctrl-Z", []unix.Signal{unix.SIGTSTP}, true, Exit{}},
		{"Ctrl-Z and fg", []unix.Signal{unix.SIGTSTP, unix.SIGCONT}, false, Exit{}},
		{"stop", []unix.Signal{unix.SIGSTOP}, true, Exit{}},
		{"resize, child", []unix.Signal{unix.SIGWINCH, unix.SIGCHLD}, false, Exit{}},
	} {
		for _, calls := range []int{0, 2} {
			t.Run(tt.name+" "+strconv.Itoa(calls), func(t *testing.T) {
				p := hold(t, "wait")
				for _, s := range tt.signals {
					if err := unix.Kill(p.Pid(), s); err != nil {
						t.Fatal(err)
					}
				}
				for range calls {
					if pid, err := p.Syscall(unix.SYS_GETPID); err != nil || int(pid) != p.Pid() {
						t.Fatalf("getpid is %d, %v", pid, err)
					}
				}
				p.letGo(t)
				if tt.stopped {
					eventually(t, "it is stopped", func() bool { return state(p.Pid()) == "T" })
					if err := unix.Kill(p.Pid(), unix.SIGCONT); err != nil {
						t.Fatal(err)
					}
				}
				want := "running\n"
				if tt.exit.Signal != "" {
					want = ""
				}
				if exit, stdout, _ := p.end(t); exit != tt.exit || stdout != want {
					t.Errorf("ended with %v and wrote %q, want %v", exit, stdout, tt.exit)
				}
			})
		}
	}
}

// TestBlockedSignal sends a signal that the program has blocked: it stays pending.
func TestBlockedSignal(t *testing.T) {
	p := hold(t, "surroundings")
	blocked := setOf(unix.SIGUSR1)
	if err := p.do(func() error { p.threads[0].mask |= blocked; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(p.Pid(), unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if err := furnish(p.Process); err != nil {
		t.Fatal(err)
	}
	p.letGo(t)
	var s surroundings
	if _, stdout, stderr := p.end(t); json.Unmarshal([]byte(stdout), &s) != nil {
		t.Fatalf("%q %q", stdout, stderr)
	}
	for _, key := range []string{"SigBlk", "ShdPnd"} {
		if got, err := parseSet(s.Status[key]); err != nil || got != blocked {
			t.Errorf("%s is %s, want USR1", key, s.Status[key])
		}
	}
}

// TestKilledWhileHeld ends a process, by us and by others, while it is held and
// while it makes a system call.
func TestKilledWhileHeld(t *testing.T) {
	killed := Exit{Code: 137, Signal: "SIGKILL"}
	t.Run("between calls", func(t *testing.T) {
		p := hold(t, "wait")
		if err := unix.Kill(p.Pid(), unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is dead", func() bool { return state(p.Pid()) == "Z" })
		if _, err := p.Syscall(unix.SYS_GETPID); !errors.Is(err, ErrEnded) {
			t.Errorf("getpid: %v, want ErrEnded", err)
		}
		if _, err := p.Syscall(unix.SYS_GETPID); !errors.Is(err, ErrEnded) {
			t.Errorf("getpid again: %v, want ErrEnded", err)
		}
		if exit, _, _ := p.end(t); exit != killed {
			t.Errorf("ended with %v", exit)
		}
	})
	for name, end := range map[string]func(*Process){"Kill": (*Process).Kill, "Abandon": (*Process).Abandon} {
		t.Run("in a call by "+name, func(t *testing.T) {
			p := hold(t, "wait")
			called := make(chan error)
			go func() {
				_, err := p.Syscall(unix.SYS_PAUSE)
				called <- err
			}()
			eventually(t, "it waits", func() bool { return state(p.Pid()) == "S" })
			end(p.Process)
			if err := <-called; !errors.Is(err, ErrEnded) {
				t.Errorf("pause: %v, want ErrEnded", err)
			}
			if exit, _, _ := p.end(t); exit != killed {
				t.Errorf("ended with %v", exit)
			}
		})
	}
	t.Run("by its own call", func(t *testing.T) {
		p := hold(t, "wait")
		if _, err := p.Syscall(unix.SYS_EXIT_GROUP, 17); !errors.Is(err, ErrEnded) {
			t.Errorf("exit: %v, want ErrEnded", err)
		}
		if exit, _, _ := p.end(t); exit.Code != 17 {
			t.Errorf("ended with %v", exit)
		}
	})
	t.Run("before Detach", func(t *testing.T) {
		p := hold(t, "wait")
		p.Kill()
		if err := p.Detach(); err != nil {
			t.Errorf("letting go of the dead: %v", err)
		}
		if exit, _, _ := p.end(t); exit != killed {
			t.Errorf("ended with %v", exit)
		}
	})
}

// TestAbandon has a program end before it has done anything.
func TestAbandon(t *testing.T) {
	p := hold(t, "exit", "0")
	if err := furnish(p.Process); err != nil {
		t.Fatal(err)
	}
	p.Abandon()
	if _, err := p.Syscall(unix.SYS_GETPID); !errors.Is(err, errLetGo) {
		t.Errorf("getpid: %v, want errLetGo", err)
	}
	if exit, stdout, stderr := p.end(t); exit.Signal != "SIGKILL" || stdout+stderr != "" {
		t.Errorf("ended with %v and wrote %q, %q", exit, stdout, stderr)
	}
	p.Abandon() // does nothing
}

// TestHolderKilled has a process end with the one that holds it, and not with one
// that has let it go.
func TestHolderKilled(t *testing.T) {
	for _, how := range []string{"held", "free"} {
		t.Run(how, func(t *testing.T) {
			cmd := plainRole("keep", how, "wait")
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pid, lines := 0, bufio.NewReader(stdout)
			for running := how == "held"; pid == 0 || !running; {
				line, err := lines.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				if text, ok := strings.CutPrefix(strings.TrimSpace(line), "process "); ok {
					if pid, err = strconv.Atoi(text); err != nil {
						t.Fatal(err)
					}
				}
				running = running || line == "running\n"
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if _, err := cmd.Process.Wait(); err != nil {
				t.Fatal(err)
			}
			gone := func() bool { s := state(pid); return s == "" || s == "Z" }
			if how == "free" {
				time.Sleep(20 * time.Millisecond)
				if gone() {
					t.Error("it ended with us")
				}
				stdin.Close() // and now it ends by itself
			}
			eventually(t, "it ends", gone)
		})
	}
}

// TestWait gives up waiting; the process does not mind.
func TestWait(t *testing.T) {
	p := hold(t, "wait")
	p.letGo(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting: %v, want that it is cancelled", err)
	}
	if err := p.Detach(); !errors.Is(err, errLetGo) {
		t.Errorf("letting go twice: %v, want errLetGo", err)
	}
	if exit, stdout, _ := p.end(t); exit != (Exit{}) || stdout != "running\n" {
		t.Errorf("ended with %v and wrote %q", exit, stdout)
	}
}
