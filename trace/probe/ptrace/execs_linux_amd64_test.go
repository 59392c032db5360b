package ptrace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

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
	x, err := p.FollowExecs(func(child *Process) {
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", child.Pid()))
		if err == nil && filepath.Base(name) == filepath.Base(os.Args[0]) {
			name = "ours"
			err = furnish(child)
		}
		if err := errors.Join(err, child.Detach()); err != nil {
			t.Errorf("process %d: %v", child.Pid(), err)
		}
		mu.Lock()
		defer mu.Unlock()
		held = append(held, name)
	})
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
