package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Inner is the inner step: the process that [New]'s command line starts calls it and exits
// with what it returns. It limits itself, starts the command, watches it, and
// leaves nothing of it behind.
func Inner() int {
	// The command must not be able to read this process or to change it.
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	unix.CloseRange(reportFile+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	syscall.CloseOnExec(orderFile)
	syscall.CloseOnExec(reportFile)
	in, out := os.NewFile(orderFile, "order"), os.NewFile(reportFile, "report")
	var o order
	dec := json.NewDecoder(in)
	if err := dec.Decode(&o); err != nil {
		fmt.Fprintln(os.Stderr, "this step of tracerag is not for the command line")
		return 2
	}
	// No signal of the command may end this process. Signals are not ignored but received: the
	// command would inherit that they are ignored.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals)
	go func() {
		for range signals {
		}
	}()
	b := &box{order: o, done: make(chan syscall.WaitStatus, 1), empty: make(chan struct{})}
	r := b.run(in)
	json.NewEncoder(out).Encode(r)
	return 0
}

// box is the inside of a sandbox.
type box struct {
	order order
	pid   int
	done  chan syscall.WaitStatus
	empty chan struct{} // closed when nothing is left
	over  atomic.Bool

	uppers    []int    // directories below layers, as they are without these
	unlayered []string // layers that show only what is in themselves, with the reasons
}

func (b *box) run(in io.Reader) report {
	c := b.order.Command
	if err := b.prepare(); err != nil {
		return report{Failed: err.Error()}
	}
	if len(c.Args) == 0 {
		return report{Started: true, Failed: b.try()}
	}
	path, err := look(c)
	if err != nil {
		return report{Failed: err.Error(), Missing: true}
	}
	w := newWatcher(b)
	warmThreads()
	if err := b.start(path); err != nil {
		return report{Failed: err.Error()}
	}
	r := report{Started: true, Unlayered: b.unlayered}
	gone := make(chan struct{})
	go func() {
		io.Copy(io.Discard, in) // until the outer process ends or closes it
		close(gone)
	}()
	go b.reap()
	r.Code, r.Stopped = b.wait(w, gone)
	b.end()
	r.CPU, r.Memory, r.Refused = b.used(), w.most, b.refused()
	return r
}

// wait waits for the command's end, or for a limit.
func (b *box) wait(w *watcher, gone <-chan struct{}) (code int, stopped Reason) {
	var limit <-chan time.Time
	if t := b.order.Command.Limits.Time; t > 0 {
		limit = time.After(t)
	}
	tick := time.NewTimer(0)
	for {
		select {
		case status := <-b.done:
			code := status.ExitStatus()
			if status.Signaled() {
				code = 128 + int(status.Signal())
			}
			// What it did last may have been too much, too.
			return code, w.look(true)
		case <-gone:
			return 128 + int(syscall.SIGKILL), Interrupted
		case <-limit:
			return 128 + int(syscall.SIGKILL), Time
		case <-tick.C:
			if why := w.look(false); why != "" {
				return 128 + int(syscall.SIGKILL), why
			}
			tick.Reset(w.pause)
		}
	}
}

// prepare limits what the command inherits of this process.
func (b *box) prepare() error {
	c := b.order.Command
	unix.KeyctlJoinSessionKeyring("") // an empty one
	os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	if c.Limits.Disk > 0 {
		n := uint64(c.Limits.Disk)
		unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: n, Max: n})
	}
	if b.order.Mechanism == namespaces {
		if err := b.mount(); err != nil {
			return err
		}
		if !c.Limits.Network {
			if err := loopback(); err != nil {
				return err
			}
		}
	} else {
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		b.unlayered = unlayered(c.Layers, "only a mount namespace can lay a directory over another")
	}
	if err := os.Chdir(c.Dir); err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	return nil
}

// start starts the command from a thread that has given up what the command must not have.
func (b *box) start(path string) error {
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: no other goroutine may run on this thread
		failed <- func() error {
			if err := b.restrict(); err != nil {
				return err
			}
			c := b.order.Command
			pid, err := syscall.ForkExec(path, c.Args, &syscall.ProcAttr{
				Dir: c.Dir, Env: b.environment(), Files: []uintptr{0, 1, 2},
				Sys: &syscall.SysProcAttr{Setsid: b.order.Mechanism != namespaces},
			})
			if err != nil {
				return fmt.Errorf("starting %s: %w", c.Args[0], err)
			}
			b.pid = pid
			b.limitTasks()
			return nil
		}()
		select {}
	}()
	return <-failed
}

// try does what comes before the start of a command, and says what failed.
func (b *box) try() string {
	failed := make(chan error)
	go func() {
		runtime.LockOSThread()
		failed <- b.restrict()
		select {}
	}()
	if err := <-failed; err != nil {
		return err.Error()
	}
	return ""
}

// environment is the command's. Where it sees its directory for temporary files as the
// system's, no variable needs to lead there: names of sockets have 108 bytes at most.
func (b *box) environment() []string {
	c := b.order.Command
	env := slices.Clone(c.Env)
	if b.order.Mechanism == namespaces && c.Temp != "" {
		env = slices.DeleteFunc(env, func(kv string) bool { return kv == "TMPDIR="+c.Temp })
	}
	return env
}

// look finds the command as a shell would, with the command's own PATH.
func look(c inner) (string, error) {
	for _, kv := range c.Env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			os.Setenv("PATH", path)
		}
	}
	path, err := exec.LookPath(c.Args[0])
	if errors.Is(err, exec.ErrDot) {
		err = nil
	}
	return path, err
}

// warmThreads makes threads in advance: when the command has used up all that there may
// be, this process must still be able to end it.
func warmThreads() {
	const n = 8
	in, out := make(chan struct{}), make(chan struct{})
	for range n {
		go func() {
			runtime.LockOSThread()
			in <- struct{}{}
			<-out
			runtime.UnlockOSThread()
		}()
	}
	for range n {
		<-in
	}
	close(out)
}

// reap waits for every child: the command, and what processes have left to this one.
func (b *box) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			if b.over.Load() {
				close(b.empty)
				return
			}
			time.Sleep(10 * time.Millisecond)
		case pid == b.pid:
			b.done <- status
		}
	}
}

// end kills what is left and waits until it is gone: until this process has no child. A
// list of processes may miss one that is started meanwhile.
func (b *box) end() {
	b.over.Store(true)
	deadline := time.After(grace)
	for {
		if b.order.Mechanism == namespaces {
			syscall.Kill(-1, syscall.SIGKILL)
		}
		for _, p := range processes(b.order.Mechanism) {
			syscall.Kill(p.pid, syscall.SIGKILL)
		}
		select {
		case <-b.empty:
			return
		case <-deadline:
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// used is the processor time of all that has been waited for.
func (b *box) used() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
