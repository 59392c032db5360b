package ptrace

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The programs that tests attach to.

func init() {
	roles["busy"] = busyRole
	roles["waiting"] = waitingRole
	roles["signals"] = signalsRole
	roles["headless"] = headlessRole
	roles["attach"] = attachRole
	roles["replaced"] = replacedRole
	roles["filtered"] = filteredRole
	if role := os.Getenv(roleVariable); role == "headless" || role == "replaced" {
		runtime.LockOSThread() // main is to run on the main thread
	}
}

// replacedRole tells the number of a thread that waits, and replaces the program by
// one that exits once there is input.
func replacedRole([]string) error {
	tid := make(chan int)
	go func() {
		runtime.LockOSThread()
		tid <- unix.Gettid()
		select {}
	}()
	fmt.Println("thread", <-tid)
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return err
	}
	return unix.Exec("/proc/self/exe", []string{"replaced", "0"}, append(os.Environ(), roleVariable+"=exit"))
}

// busyRole computes, allocates, talks between goroutines, writes to pipes and
// starts programs, and checks all results, until its input ends.
func busyRole([]string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	work := func(f func(round int) error) {
		wg.Go(func() {
			for round := 0; ctx.Err() == nil; round++ {
				if err := f(round); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	block := bytes.Repeat([]byte("tracerag"), 512)
	sum := sha256.Sum256(block)
	for range 3 {
		work(func(int) error {
			if sha256.Sum256(bytes.Clone(block)) != sum {
				return errors.New("a wrong sum")
			}
			return nil
		})
	}
	ping, pong := make(chan int), make(chan int)
	work(func(n int) error {
		select {
		case ping <- n:
		case <-ctx.Done():
			return nil
		}
		if m := <-pong; m != n+1 {
			return fmt.Errorf("%d came back as %d", n, m)
		}
		return nil
	})
	go func() {
		for n := range ping {
			pong <- n + 1
		}
	}()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	work(func(n int) error {
		if _, err := w.Write([]byte{byte(n)}); err != nil {
			return err
		}
		var b [1]byte
		if _, err := r.Read(b[:]); err != nil || b[0] != byte(n) {
			return fmt.Errorf("%d read as %d, %w", byte(n), b[0], err)
		}
		return nil
	})
	work(func(int) error {
		start := time.Now()
		time.Sleep(time.Millisecond)
		if d := time.Since(start); d < time.Millisecond {
			return fmt.Errorf("a millisecond lasts %v", d)
		}
		return nil
	})
	work(func(int) error { return exec.CommandContext(context.Background(), "/bin/true").Run() })
	fmt.Println("busy")
	_, err = io.Copy(io.Discard, os.Stdin)
	cancel()
	wg.Wait()
	fmt.Println("done", len(errs))
	return errors.Join(append(errs, err)...)
}

// waits are system calls that wait. Each says what it returned.
var waits = map[string]struct {
	nr   uintptr
	call func() (uintptr, unix.Errno)
	want string
	wake string // what ends it, if it does not end by itself: input, signal
}{
	"read": {unix.SYS_READ, func() (uintptr, unix.Errno) {
		var b [8]byte
		return raw(unix.SYS_READ, 0, uintptr(unsafe.Pointer(&b)), 8)
	}, "1 0", "input"},
	"nanosleep": {unix.SYS_NANOSLEEP, func() (uintptr, unix.Errno) {
		return raw(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&unix.Timespec{Nsec: 300e6})), 0)
	}, "0 0", ""},
	"futex": {unix.SYS_FUTEX, func() (uintptr, unix.Errno) {
		var word uint32
		return raw(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&word)), 0, 0, uintptr(unsafe.Pointer(&unix.Timespec{Nsec: 300e6})))
	}, "0 110", ""}, // ETIMEDOUT
	"epoll_wait": {unix.SYS_EPOLL_WAIT, func() (uintptr, unix.Errno) {
		fd, _ := unix.EpollCreate1(0)
		_ = unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, 0, &unix.EpollEvent{Events: unix.EPOLLIN})
		var events [4]unix.EpollEvent
		return raw(unix.SYS_EPOLL_WAIT, uintptr(fd), uintptr(unsafe.Pointer(&events)), 4, ^uintptr(0))
	}, "1 0", "input"},
	"ppoll": {unix.SYS_PPOLL, func() (uintptr, unix.Errno) {
		set := setOf(unix.SIGUSR2)
		return raw(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&unix.PollFd{Events: unix.POLLIN})), 1, 0, uintptr(unsafe.Pointer(&set)), 8)
	}, "1 0", "input"},
	"rt_sigtimedwait": {unix.SYS_RT_SIGTIMEDWAIT, func() (uintptr, unix.Errno) {
		set := setOf(unix.Signal(64))
		_, _ = raw(unix.SYS_RT_SIGPROCMASK, unix.SIG_BLOCK, uintptr(unsafe.Pointer(&set)), 0, 8)
		return raw(unix.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&set)), 0, 0, 8)
	}, "64 0", "signal"},
}

//go:uintptrescapes
func raw(nr uintptr, args ...uintptr) (uintptr, unix.Errno) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		r = 0
	}
	return r, errno
}

// waitingRole makes a system call that waits and says what it returned.
func waitingRole(args []string) error {
	runtime.LockOSThread()
	fmt.Println("thread", unix.Gettid())
	start := time.Now()
	r, errno := waits[args[0]].call()
	fmt.Println(r, int(errno), time.Since(start).Milliseconds())
	return nil
}

// signalsRole counts signals until its input ends.
func signalsRole(args []string) error {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGUSR1)
	go func() {
		for n := 1; ; n++ {
			<-signals
			fmt.Println("signal", n)
		}
	}()
	if len(args) > 0 { // lock all memory
		if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE); err != nil {
			fmt.Println(err)
			return nil
		}
	}
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// headlessRole ends its main thread; the others go on.
func headlessRole([]string) error {
	go func() {
		for state(os.Getpid()) != "Z" {
			time.Sleep(time.Millisecond)
		}
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Println("done")
		os.Exit(0)
	}()
	_, _, errno := unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
	return errno
}

// attachRole attaches to a process.
func attachRole(args []string) error {
	var pid int
	if _, err := fmt.Sscan(args[0], &pid); err != nil {
		return err
	}
	p, err := Attach(pid)
	if err != nil {
		return err
	}
	return p.Detach()
}

// run is a program that runs and was not started by Start.
type run struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr bytes.Buffer
}

func start(t *testing.T, role string, args ...string) *run {
	t.Helper()
	r := &run{cmd: plainRole(role, args...)}
	var err error
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.stdout = bufio.NewReader(stdout)
	r.cmd.Stderr = &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(2*testTimeout, func() { _ = r.cmd.Process.Kill() })
	t.Cleanup(func() {
		kill.Stop()
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
	})
	return r
}

func (r *run) pid() int { return r.cmd.Process.Pid }

// line is the next line that the program writes.
func (r *run) line(t *testing.T) string {
	t.Helper()
	line, err := r.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, r.stderr.String())
	}
	return line
}

// attach holds a program.
func (r *run) attach(t *testing.T) *Process {
	t.Helper()
	p, err := Attach(r.pid())
	if err != nil {
		rest, _ := io.ReadAll(r.stdout)
		_ = r.cmd.Wait()
		t.Fatalf("%v\nit said %q\n%s", err, rest, r.stderr.String())
	}
	t.Cleanup(func() { _ = p.Detach() })
	return p
}

// end has the program's input end, and waits for its end.
func (r *run) end(t *testing.T, want string) {
	t.Helper()
	r.stdin.Close()
	out, err := io.ReadAll(r.stdout)
	if err := errors.Join(err, r.cmd.Wait()); err != nil || string(out) != want || r.stderr.Len() > 0 {
		t.Errorf("it ends with %v and writes %q, want %q\n%s", err, out, want, r.stderr.String())
	}
}
