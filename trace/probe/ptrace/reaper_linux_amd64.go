package ptrace

import (
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// errReplaced: nothing of the program that was to be held is there any more.
var errReplaced = errors.New("it was just starting another program in its place; try again")

// A reaper waits for threads that end while others are being seized. When a thread
// replaces the program (execve), the kernel ends all others and has the one wait until
// the tracer of each has waited for it. Meanwhile PTRACE_SEIZE of any of them waits for
// the execve, so a tracer that has seized some and is about to seize the next would
// hang for ever, and the program with it. So somebody else has to wait.
type reaper struct {
	pid  int
	mu   sync.Mutex
	tids []int // that may end; not the first of the process, whose end is that of the process
	dead []int // that did, and nobody can wait for any more
}

// reapEvery is how often it looks. In nearly all cases all is over by then.
const reapEvery = 5 * time.Millisecond

// begin waits until end is called.
func (b *reaper) begin() (end func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(reapEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				b.look()
			}
		}
	}()
	return func() { close(done); <-ended }
}

func (b *reaper) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tids = slices.DeleteFunc(b.tids, func(tid int) bool {
		// Waiting would also return stops, which belong to the tracer.
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, tid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
		if err != nil || info.Code != cldExited && info.Code != cldKilled && info.Code != cldDumped {
			return err == unix.ECHILD
		}
		b.dead = append(b.dead, tid)
		_ = unix.Waitid(unix.P_PID, tid, nil, unix.WEXITED|unix.WNOHANG|unix.WALL, nil)
		return true
	})
}

// What a siginfo of SIGCHLD says of a thread that has ended (sigaction(2)).
const (
	cldExited = 1 + iota
	cldKilled
	cldDumped
)

// add has it look after a thread, too.
func (b *reaper) add(tid int) {
	if tid == b.pid {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tids = append(b.tids, tid)
}

// reaped reports whether a thread has ended and was waited for.
func (b *reaper) reaped(tid int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.dead, tid)
}
