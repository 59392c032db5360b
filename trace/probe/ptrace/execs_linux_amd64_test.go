package ptrace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// chainRole starts programs in all ways, and becomes one itself.
func chainRole([]string) error {
	as := func(role string) []string { return append(os.Environ(), roleVariable+"="+role) }
	start := func(role, name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Env, cmd.Stderr = as(role), os.Stderr
		out, err := cmd.Output()
		return string(out), err
	}
	out, err := start("exit", "/proc/self/exe", "3")
	fmt.Printf("directly: %q %v\n", out, err)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err = start("exit", "/bin/sh", "-c", `"$0" 4; echo then $?; exec "$0" 5`, self)
	fmt.Printf("by a shell: %q %v\n", out, err)
	out, err = start("die", "/proc/self/exe", "9")
	fmt.Printf("killed: %q %v\n", out, err)
	out, err = start("", os.DevNull)
	fmt.Printf("no program: %q %v\n", out, errors.Is(err, fs.ErrPermission))
	out, err = start("", "/bin/sh", "-c", "/none/such 2>/dev/null; echo $?")
	fmt.Printf("none: %q %v\n", out, err)
	var all sync.WaitGroup
	codes := make([]string, 20)
	for i := range codes {
		all.Go(func() {
			_, err := start("exit", "/proc/self/exe", fmt.Sprint(i))
			codes[i] = fmt.Sprint(err)
		})
	}
	all.Wait()
	fmt.Println(codes)
	return unix.Exec("/proc/self/exe", []string{"itself", "6"}, as("exit"))
}

// TestFollowExecs holds every program that a chain of programs starts, and sees the chain
// write and end as it does by itself.
func TestFollowExecs(t *testing.T) {
	alone := hold(t, "chain")
	alone.letGo(t)
	exit, stdout, stderr := alone.end(t)
	if exit != (Exit{Code: 6}) || stderr != "" || !strings.Contains(stdout, "then 4") {
		t.Fatalf("the chain ends with %v, writes %q and %q", exit, stdout, stderr)
	}

	p := hold(t, "chain")
	var mu sync.Mutex
	var held []string
	started := func(child *Process, noticed any) {
		if noticed != fmt.Sprint(child.Pid()) {
			t.Errorf("process %d was noticed as %v", child.Pid(), noticed)
		}
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", child.Pid()))
		if err == nil && filepath.Base(name) == filepath.Base(os.Args[0]) {
			name = "ours"
			mu.Lock()
			child.keepFilters = len(held)%2 == 0 // as who is not root must
			mu.Unlock()
			err = furnish(child)
		}
		if err := errors.Join(err, child.Detach()); err != nil {
			t.Errorf("process %d: %v", child.Pid(), err)
		}
		mu.Lock()
		defer mu.Unlock()
		held = append(held, name)
	}
	missed := func(tid int, file string, _ any, err error) { t.Errorf("thread %d, %s: %v", tid, file, err) }
	notice := func(tid int) any {
		status, err := Status(tid)
		if err != nil {
			t.Error(err)
		}
		return status["Tgid"]
	}
	x, err := p.FollowExecs(Follow{Notice: notice, Started: started, Missed: missed, Keeper: keeper()})
	if err != nil {
		t.Skipf("not allowed here: %v", err)
	}
	p.letGo(t)
	exit2, stdout2, stderr2 := p.end(t)
	if exit2 != exit || stdout2 != stdout || stderr2 != stderr {
		t.Errorf("it ends with %v, writes %q and %q; want %v, %q and %q", exit2, stdout2, stderr2, exit, stdout, stderr)
	}
	if err := x.Wait(); err != nil {
		t.Error(err)
	}
	ours := len(slices.DeleteFunc(slices.Clone(held), func(name string) bool { return name != "ours" }))
	// Directly, two by a shell, one that is killed, twenty at once, and itself; two shells.
	if want := 1 + 2 + 1 + 20 + 1; ours != want || len(held) != want+2 {
		t.Errorf("held %d of ours, want %d, and 2 shells: %q", ours, want, held)
	}
}

// signalledRole becomes itself a few times, with a handler of SIGCHLD that has system calls
// end with EINTR, or be called anew.
func signalledRole(args []string) error {
	rounds, err := strconv.Atoi(args[1])
	if err != nil || rounds == 0 {
		fmt.Println("done")
		return err
	}
	if args[0] == "interrupt" {
		var action struct{ handler, flags, restorer, mask uint64 }
		change := func(act, old uintptr) error {
			if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), act, old, 8, 0, 0); errno != 0 {
				return errno
			}
			return nil
		}
		err := change(0, uintptr(unsafe.Pointer(&action)))
		action.flags &^= 0x10000000 // SA_RESTART
		if err = errors.Join(err, change(uintptr(unsafe.Pointer(&action)), 0)); err != nil {
			return err
		}
	}
	return unix.Exec("/proc/self/exe", []string{"itself", args[0], strconv.Itoa(rounds - 1)}, append(os.Environ(), roleVariable+"=signalled"))
}

// TestFollowSignalled sends signals to a thread that waits in execve for our answer. They do
// not end the call. Where the kernel has it made anew for them, each program is held once
// all the same, and nothing is said to be missed.
func TestFollowSignalled(t *testing.T) {
	for name, kernel := range map[string]bool{"interrupt": true, "restart": false} {
		t.Run(name, func(t *testing.T) {
			defer func(was bool) { uninterrupted = was }(uninterrupted)
			uninterrupted = kernel
			const rounds = 20
			p := hold(t, "signalled", name, fmt.Sprint(rounds))
			var mu sync.Mutex
			held := 0
			started := func(child *Process, noticed any) {
				mu.Lock()
				held++
				mu.Unlock()
				if noticed != "noticed" {
					t.Errorf("it was noticed as %v", noticed)
				}
				if err := child.Detach(); err != nil {
					t.Error(err)
				}
			}
			missed := func(_ int, file string, _ any, err error) { t.Errorf("missed %s: %v", file, err) }
			var notices atomic.Int64
			notice := func(int) any {
				if notices.Add(1)%4 != 0 { // a call that is always interrupted is made forever
					_ = unix.Kill(p.Pid(), unix.SIGCHLD)
					time.Sleep(time.Millisecond)
				}
				return "noticed"
			}
			x, err := p.FollowExecs(Follow{Notice: notice, Started: started, Missed: missed, Keeper: keeper()})
			if err != nil {
				t.Skipf("not allowed here: %v", err)
			}
			p.letGo(t)
			if exit, stdout, stderr := p.end(t); exit != (Exit{}) || stdout != "done\n" {
				t.Errorf("it ends with %v, writes %q and %q", exit, stdout, stderr)
			}
			if err := x.Wait(); err != nil {
				t.Error(err)
			}
			if held != rounds {
				t.Errorf("held %d programs, want %d", held, rounds)
			}
		})
	}
}

// TestFollowFailed follows a program that fails to become another one, and learns how it ends.
func TestFollowFailed(t *testing.T) {
	for _, want := range []Exit{{Code: 7}, {Code: 137, Signal: "SIGKILL"}} {
		p := hold(t, "failed", want.Signal)
		x, err := p.FollowExecs(Follow{Started: func(*Process, any) { t.Error("a program was started") }, Keeper: keeper()})
		if err != nil {
			t.Skipf("not allowed here: %v", err)
		}
		p.letGo(t)
		if exit, stdout, _ := p.end(t); exit != want || stdout != "no such file or directory\n" {
			t.Errorf("it ends with %v and writes %q, want %v", exit, stdout, want)
		}
		if err := x.Wait(); err != nil {
			t.Error(err)
		}
	}
}

func failedRole(args []string) error {
	runtime.LockOSThread() // the first, whose end is that of the process
	fmt.Println(unix.Exec("/none/such", []string{"none"}, nil))
	if args[0] != "" {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	os.Exit(7)
	return nil
}

// keeper runs Keep.
func keeper() []string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return []string{"/usr/bin/env", roleVariable + "=keeper", self}
}

// followRole follows a role that it starts, and ends with its code.
func followRole(args []string) error {
	p, err := startRole([3]*os.File{os.Stdin, os.Stdout, os.Stderr}, true, args[0], args[1:]...)
	if err != nil {
		return err
	}
	started := func(child *Process, _ any) {
		_ = furnish(child)
		time.Sleep(5 * time.Millisecond) // so that much of the time something is held
	}
	notice := func(int) any { time.Sleep(5 * time.Millisecond); return nil }
	if _, err := p.FollowExecs(Follow{Notice: notice, Started: started, Keeper: keeper()}); err != nil {
		fmt.Println("not allowed:", err)
		return err
	}
	if err := p.Detach(); err != nil {
		return err
	}
	exit, err := p.Wait(context.Background())
	if err == nil {
		os.Exit(exit.Code)
	}
	return err
}

// TestFollowerKilled kills who follows a chain of programs at any moment. The chain goes on
// and writes what it writes by itself.
func TestFollowerKilled(t *testing.T) {
	alone := hold(t, "chain")
	alone.letGo(t)
	_, want, _ := alone.end(t)
	begin := time.Now()
	out, err := plainRole("follow", "chain").Output()
	if strings.Contains(string(out), "not allowed") {
		t.Skip(string(out))
	}
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 6 || string(out) != want {
		t.Fatalf("it ends with %v and writes %q, want %q", err, out, want)
	}
	took := time.Since(begin)
	const rounds = 30
	whole := 0
	for i := range rounds {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := plainRole("follow", "chain")
		cmd.Stdout = w
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		time.Sleep(took * time.Duration(i) / rounds)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = r.SetReadDeadline(time.Now().Add(testTimeout))
		got, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			t.Fatalf("killed after %d/%d of the time: the chain goes on forever: %v; it has written %q", i, rounds, err, got)
		}
		if len(got) == 0 { // killed before the chain had begun
			continue
		}
		whole++
		if string(got) != want {
			t.Errorf("killed after %d/%d of the time: the chain writes %q, want %q", i, rounds, got, want)
		}
	}
	if whole < rounds/3 {
		t.Errorf("only %d of %d chains had begun", whole, rounds)
	}
}

// TestKeeperKilled kills the keeper, and then who follows a chain of programs: another keeper
// is there.
func TestKeeperKilled(t *testing.T) {
	alone := hold(t, "chain")
	alone.letGo(t)
	_, want, _ := alone.end(t)
	whole := 0
	for range 10 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := plainRole("follow", "chain")
		cmd.Stdout = w
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		first := keeperOf(cmd.Process.Pid, 0)
		second := 0
		if first > 0 {
			_ = unix.Kill(first, unix.SIGKILL)
			second = keeperOf(cmd.Process.Pid, first)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = r.SetReadDeadline(time.Now().Add(testTimeout))
		got, err := io.ReadAll(r)
		r.Close()
		if strings.Contains(string(got), "not allowed") {
			t.Skip(string(got))
		}
		if err != nil {
			t.Fatalf("the chain goes on forever: %v; it has written %q", err, got)
		}
		if second == 0 || len(got) == 0 { // it had ended, or had not begun
			continue
		}
		whole++
		if string(got) != want {
			t.Errorf("the chain writes %q, want %q", got, want)
		}
	}
	if whole < 3 {
		t.Errorf("only %d chains ran when both were killed", whole)
	}
}

// keeperOf waits for a keeper that a process has started, another one than a first; 0 if it has none
// any more.
func keeperOf(pid, first int) int {
	for range 200 {
		list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		for _, thread := range threads {
			of, _ := os.ReadFile(thread)
			list = append(append(list, ' '), of...)
		}
		if err != nil {
			return 0
		}
		for _, one := range strings.Fields(string(list)) {
			var child int
			fmt.Sscan(one, &child)
			command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
			environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", child))
			if child != first && strings.Contains(string(environ)+string(command), roleVariable+"=keeper") {
				return child
			}
		}
		time.Sleep(time.Millisecond)
	}
	return 0
}
