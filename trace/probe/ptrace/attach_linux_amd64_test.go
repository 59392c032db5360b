package ptrace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAttachBusy holds a program again and again that does all that programs do.
func TestAttachBusy(t *testing.T) {
	r := start(t, "busy")
	r.line(t)
	const rounds = 50
	for i := range rounds {
		p := r.attach(t)
		threads, err := p.Threads()
		if err != nil || len(threads) < 2 {
			t.Fatalf("%d threads, %v", len(threads), err)
		}
		for _, th := range threads {
			if s, err := readStatusFile(fmt.Sprintf("/proc/%d/task/%d/status", r.pid(), th.Tid)); err != nil || !strings.HasPrefix(s["State"], "t") {
				t.Fatalf("round %d: thread %d is not held: %s, %v", i, th.Tid, s["State"], err)
			}
		}
		if pid, err := p.Syscall(unix.SYS_GETPID); err != nil || int(pid) != r.pid() {
			t.Fatalf("round %d: getpid is %d, %v", i, pid, err)
		}
		if i == 0 {
			if err := furnish(p); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Detach(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	if status, err := Status(r.pid()); err != nil || status["TracerPid"] != "0" {
		t.Errorf("still traced by %s, %v", status["TracerPid"], err)
	}
	r.end(t, "done 0\n")
}

// TestAttachWaiting makes system calls on a thread that waits in one of its own,
// several times. Its own returns what it would have returned, when it would have.
func TestAttachWaiting(t *testing.T) {
	for name, tt := range waits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, "waiting", name)
			tid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(r.line(t), "thread ")))
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "it waits", func() bool {
				text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", r.pid(), tid))
				return err == nil && strings.HasPrefix(string(text), fmt.Sprint(tt.nr, " "))
			})
			for range 3 {
				p := r.attach(t)
				for _, th := range p.threads {
					if th.tid == tid {
						p.caller = th
					}
				}
				var before, after unix.PtraceRegs
				err := p.do(func() error {
					return errors.Join(unix.PtraceGetRegs(tid, &before), func() error {
						_, err := p.syscall(unix.SYS_GETPPID)
						return err
					}(), unix.PtraceGetRegs(tid, &after))
				})
				if err != nil {
					t.Fatal(err)
				}
				// From the second time on it may be in the call that resumes it.
				if before != after || before.Orig_rax != uint64(tt.nr) && before.Orig_rax != unix.SYS_RESTART_SYSCALL {
					t.Errorf("its registers were\n%+v and are\n%+v", before, after)
				}
				if p.caller.tid != tid {
					t.Errorf("thread %d made the call, not %d", p.caller.tid, tid)
				}
				if err := p.Detach(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Millisecond)
			}
			switch tt.wake {
			case "input":
				if _, err := r.stdin.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
			case "signal":
				if err := unix.Tgkill(r.pid(), tid, unix.Signal(64)); err != nil {
					t.Fatal(err)
				}
			}
			var result, errno, ms int
			line := r.line(t)
			if _, err := fmt.Sscan(line, &result, &errno, &ms); err != nil || fmt.Sprint(result, errno) != tt.want {
				t.Errorf("it returned %q, want %q", line, tt.want)
			}
			if tt.wake == "" && (ms < 300 || ms > 3000) {
				t.Errorf("300 ms last %d ms", ms)
			}
			r.end(t, "")
		})
	}
}

// TestAttachSignals sends signals to a program while it is held and while it is
// about to be: it gets every one.
func TestAttachSignals(t *testing.T) {
	r := start(t, "signals")
	r.line(t)
	n := 0
	next := func() {
		t.Helper()
		n++
		if line := r.line(t); line != fmt.Sprintf("signal %d\n", n) {
			t.Fatalf("it says %q, want signal %d", line, n)
		}
	}
	send := func() {
		t.Helper()
		if err := unix.Kill(r.pid(), unix.SIGUSR1); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		p := r.attach(t)
		send()
		if _, err := p.Syscall(unix.SYS_GETPID); err != nil {
			t.Fatal(err)
		}
		if err := p.Detach(); err != nil {
			t.Fatal(err)
		}
		next()
	}
	for i := range 50 {
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			time.Sleep(time.Duration(i) * 10 * time.Microsecond)
			_ = unix.Kill(r.pid(), unix.SIGUSR1)
		}()
		p := r.attach(t)
		if _, err := p.Syscall(unix.SYS_GETPID); err != nil {
			t.Fatal(err)
		}
		<-sent
		if err := p.Detach(); err != nil {
			t.Fatal(err)
		}
		next()
	}
	r.end(t, "")
}

// TestAttachDelivers stops a thread that is just getting a signal: it gets it first.
func TestAttachDelivers(t *testing.T) {
	r := start(t, "signals")
	r.line(t)
	p := &Process{pid: r.pid(), tr: newTracer(), ended: make(chan struct{})}
	p.held.Store(true)
	th := &thread{tid: r.pid(), seized: true}
	p.threads = []*thread{th}
	if err := p.do(func() error {
		if err := ptrace(unix.PTRACE_SEIZE, th.tid, 0, unix.PTRACE_O_TRACESYSGOOD); err != nil {
			return err
		}
		if err := unix.Tgkill(p.pid, th.tid, unix.SIGUSR1); err != nil {
			return err
		}
		for state(th.tid) != "t" {
			time.Sleep(time.Millisecond)
		}
		if err := unix.PtraceInterrupt(th.tid); err != nil {
			return err
		}
		return p.settle(th, time.Now().Add(testTimeout))
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Syscall(unix.SYS_GETPID); err != nil {
		t.Error(err)
	}
	if err := p.Detach(); err != nil {
		t.Fatal(err)
	}
	if line := r.line(t); line != "signal 1\n" {
		t.Errorf("it says %q, want that it got a signal", line)
	}
	r.end(t, "")
}

// TestAttachStopped holds a program that Ctrl-Z has stopped, which it is afterwards,
// and one that is stopped while it is held.
func TestAttachStopped(t *testing.T) {
	for _, when := range []string{"before", "while held", "while held, with a call"} {
		t.Run(when, func(t *testing.T) {
			r := start(t, "signals")
			r.line(t)
			stop := func() {
				if err := unix.Kill(r.pid(), unix.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			if when == "before" {
				stop()
				eventually(t, "it is stopped", func() bool { return state(r.pid()) == "T" })
			}
			p := r.attach(t)
			if when != "before" {
				stop()
			}
			if when != "while held" {
				if pid, err := p.Syscall(unix.SYS_GETPID); err != nil || int(pid) != r.pid() {
					t.Fatalf("getpid is %d, %v", pid, err)
				}
			}
			if err := p.Detach(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "it is stopped", func() bool { return state(r.pid()) == "T" })
			time.Sleep(20 * time.Millisecond)
			if s := state(r.pid()); s != "T" {
				t.Errorf("its state is %s, want T", s)
			}
			if err := unix.Kill(r.pid(), unix.SIGCONT); err != nil {
				t.Fatal(err)
			}
			r.end(t, "")
		})
	}
}

// TestAttachShare shares memory with a program that runs, also with one that has
// locked all of its memory: ours does not become resident.
func TestAttachShare(t *testing.T) {
	for _, args := range [][]string{nil, {"locked"}} {
		t.Run(strings.Join(args, ""), func(t *testing.T) {
			r := start(t, "signals", args...)
			if line := r.line(t); line != "ready\n" {
				t.Skip("its memory cannot be locked:", line)
			}
			before := descriptors(t, r.pid())
			p := r.attach(t)
			mem, file, err := p.Share(sharedSize, sharedAt)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Munmap(mem)
			defer file.Close()
			var st unix.Stat_t
			if err := unix.Fstat(int(file.Fd()), &st); err != nil || st.Blocks != 0 {
				t.Errorf("it takes %d bytes, %v", st.Blocks*512, err)
			}
			if _, err := p.Syscall(unix.SYS_GETRANDOM, sharedAt, 64, 0); err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(mem[:64], make([]byte, 64)) {
				t.Error("what the process has written is not to be seen here")
			}
			if err := p.Detach(); err != nil {
				t.Fatal(err)
			}
			if after := descriptors(t, r.pid()); after != before {
				t.Errorf("its descriptors were %s and are %s", before, after)
			}
			r.end(t, "")
		})
	}
}

func descriptors(t *testing.T, pid int) string {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(entries)
}

// TestAttachTimesOut gives up on threads that have not stopped yet. The program does
// not mind.
func TestAttachTimesOut(t *testing.T) {
	r := start(t, "busy")
	r.line(t)
	failed := 0
	for range 20 {
		p, err := attach(r.pid(), 0)
		if err == nil {
			if err := p.Detach(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if failed++; !strings.Contains(err.Error(), "does not stop") {
			t.Fatal(err)
		}
		eventually(t, "it is let go", func() bool {
			tids, err := (&Process{pid: r.pid()}).tids()
			if err != nil {
				t.Fatal(err)
			}
			for _, tid := range tids {
				if s, err := readStatusFile(fmt.Sprintf("/proc/%d/task/%d/status", r.pid(), tid)); err == nil && s["TracerPid"] != "0" {
					return false
				}
			}
			return true
		})
	}
	if failed == 0 {
		t.Error("all threads have stopped before they were asked to")
	}
	r.end(t, "done 0\n")
}

// TestAttachedEnds kills a program while it is held.
func TestAttachedEnds(t *testing.T) {
	r := start(t, "busy")
	r.line(t)
	p := r.attach(t)
	p.Kill()
	if _, err := p.Syscall(unix.SYS_GETPID); !errors.Is(err, ErrEnded) {
		t.Errorf("getpid: %v, want ErrEnded", err)
	}
	if exit, err := p.Wait(t.Context()); err != nil || exit.Signal != "SIGKILL" {
		t.Errorf("it ends with %v, %v", exit, err)
	}
	if err := p.Detach(); err != nil {
		t.Errorf("letting go of the dead: %v", err)
	}
}

// TestAttachedWait waits for a program that was let go.
func TestAttachedWait(t *testing.T) {
	for _, how := range []string{"pidfd", "number"} {
		t.Run(how, func(t *testing.T) {
			r := start(t, "signals")
			r.line(t)
			p := r.attach(t)
			if how == "number" {
				p.pidfd.Close()
				p.pidfd = nil
			}
			if err := p.Detach(); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(50*time.Millisecond, func() { r.stdin.Close() })
			go func() { _, _ = r.cmd.Process.Wait() }()
			exit, err := p.Wait(t.Context())
			if err != nil || exit.Signal != "" {
				t.Errorf("it ends with %v, %v", exit, err)
			}
		})
	}
}

// TestAttachRefuses attaches to what it cannot hold.
func TestAttachRefuses(t *testing.T) {
	r := start(t, "signals")
	r.line(t)
	t.Run("this process", func(t *testing.T) {
		if _, err := Attach(os.Getpid()); err == nil {
			t.Error("it is held")
		}
	})
	t.Run("no process", func(t *testing.T) {
		if _, err := Attach(1 << 30); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("attaching: %v", err)
		}
	})
	t.Run("traced", func(t *testing.T) {
		p := r.attach(t)
		if _, err := Attach(r.pid()); !errors.Is(err, ErrPtrace) || !strings.Contains(err.Error(), "traces it") {
			t.Errorf("attaching: %v, want that it is traced", err)
		}
		if err := p.Detach(); err != nil {
			t.Error(err)
		}
	})
	t.Run("somebody else's", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can be two users")
		}
		cmd := plainRole("attach", itoa(r.pid()))
		asNobody(t, cmd)
		out, _ := cmd.CombinedOutput()
		if !strings.Contains(string(out), ErrPtrace.Error()) || !strings.Contains(string(out), "same user") {
			t.Errorf("it says %q", out)
		}
	})
	t.Run("ended thread", func(t *testing.T) {
		r := start(t, "headless")
		r.line(t)
		if p, err := Attach(r.pid()); err == nil {
			if _, err := p.Syscall(unix.SYS_GETPID); err == nil {
				t.Log("it can be held")
			}
			if err := p.Detach(); err != nil {
				t.Error(err)
			}
		}
		r.end(t, "done\n")
	})
	r.end(t, "")
}

// TestAttachReplaced seizes a thread of a program that then replaces itself: the
// kernel lets nobody seize another one until the end of the first was waited for, and
// lets the program go on no sooner.
func TestAttachReplaced(t *testing.T) {
	r := start(t, "replaced")
	tid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(r.line(t), "thread ")))
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{pid: r.pid(), tr: newTracer(), ended: make(chan struct{})}
	p.held.Store(true)
	p.tr.do(func() {
		if ok, err := p.seize(tid); !ok || err != nil {
			t.Errorf("thread %d is not seized: %v", tid, err)
		}
	})
	p.threads = []*thread{{tid: tid, seized: true}}
	if _, err := r.stdin.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the thread has ended", func() bool {
		s, err := readStatusFile(fmt.Sprintf("/proc/%d/task/%d/status", r.pid(), tid))
		return err != nil || strings.HasPrefix(s["State"], "Z")
	})
	stopped := make(chan error, 1)
	p.tr.do(func() { stopped <- p.stopAll(time.Now().Add(testTimeout)) })
	switch err := <-stopped; {
	case errors.Is(err, errReplaced):
	case err != nil:
		t.Error(err)
	case slices.ContainsFunc(p.threads, func(th *thread) bool { return th.tid == tid }):
		t.Errorf("thread %d is held, which has ended", tid)
	}
	if err := p.Detach(); err != nil {
		t.Error(err)
	}
	r.end(t, "exiting with 0\n")
}
