package ptrace

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The processes of these tests are this test binary again, in one of the roles
// below: the programs that are held, and processes that hold them, where a test
// is about what the holder was started with or how it ends.

const roleVariable = "TRACERAG_TEST_ROLE"

// testTimeout is how long a test waits for something that must come.
const testTimeout = 20 * time.Second

var roles map[string]func(args []string) error

func init() {
	roles = map[string]func([]string) error{
		"exit":         exitRole,
		"die":          dieRole,
		"wait":         waitRole,
		"surroundings": surroundingsRole,
		"hold":         holdRole,
		"keep":         keepRole,
		"start":        startOnlyRole,
		"filter":       filterRole,
		"limit":        limitRole,
		"chain":        chainRole,
		"signalled":    signalledRole,
		"failed":       failedRole,
		"follow":       followRole,
		"keeper":       func([]string) error { return Keep() },
	}
}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Unsetenv(roleVariable)
		if err := roles[role](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, role+":", err)
			os.Exit(125)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// exitRole writes a line and exits with a code.
func exitRole(args []string) error {
	code, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	fmt.Println("exiting with", code)
	os.Exit(code)
	return nil
}

// dieRole ends by a signal. It may come to another thread, for which a select without
// cases would not wait: the runtime takes that for a deadlock.
func dieRole(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	if err := unix.Kill(os.Getpid(), unix.Signal(n)); err != nil {
		return err
	}
	time.Sleep(testTimeout)
	return errors.New("the signal did not come")
}

// waitRole says that it runs and does so until its input ends.
func waitRole([]string) error {
	fmt.Println("running")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// surroundings are what a program finds when it starts.
type surroundings struct {
	Args, Env   []string
	Dir         string
	Descriptors []string          // number and what it is, those of the streams without
	Status      map[string]string // lines of /proc/self/status
	OwnGroup    bool              // it leads its process group
	Limits      string
}

func surroundingsRole([]string) error {
	s := surroundings{Args: os.Args, Env: os.Environ(), OwnGroup: unix.Getpgrp() == os.Getpid(), Status: map[string]string{}}
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if n, _ := strconv.Atoi(name); n == int(dir.Fd()) {
			continue
		}
		link, err := os.Readlink("/proc/self/fd/" + name)
		if err != nil {
			return err
		}
		if kind, _, ok := strings.Cut(link, ":["); ok {
			link = kind // pipes and the runtime's event files have numbers
		}
		s.Descriptors = append(s.Descriptors, name+" "+link)
	}
	slices.Sort(s.Descriptors)
	status, err := Status(os.Getpid())
	if err != nil {
		return err
	}
	for _, key := range []string{"TracerPid", "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt", "NoNewPrivs", "Seccomp", "CapEff", "Uid", "Gid", "Umask", "CoreDumping"} {
		s.Status[key] = status[key]
	}
	limits, err := os.ReadFile("/proc/self/limits")
	if err != nil {
		return err
	}
	s.Limits = string(limits)
	if s.Dir, err = os.Getwd(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(s)
}

// holdRole starts a role with our streams, as the recorder would: it is held,
// given memory, and let go. We end with its code.
func holdRole(args []string) error {
	p, err := startRole([3]*os.File{os.Stdin, os.Stdout, os.Stderr}, true, args[0], args[1:]...)
	if err != nil {
		return err
	}
	if err := furnish(p); err != nil {
		// It is as it was, and can run.
		fmt.Println(err)
	}
	if err := p.Detach(); err != nil {
		return err
	}
	exit, err := p.Wait(context.Background())
	if err != nil {
		return err
	}
	os.Exit(exit.Code)
	return nil
}

// keepRole starts a role, says its number, and keeps it held, or lets it go and
// waits.
func keepRole(args []string) error {
	p, err := startRole([3]*os.File{os.Stdin, os.Stdout, os.Stderr}, true, args[1], args[2:]...)
	if err != nil {
		return err
	}
	if args[0] == "free" {
		if err := p.Detach(); err != nil {
			return err
		}
	}
	fmt.Println("process", p.Pid())
	for {
		time.Sleep(time.Hour)
	}
}

// startOnlyRole starts a program by its path and abandons it.
func startOnlyRole(args []string) error {
	p, err := Start(args[0], args, Attr{})
	if err != nil {
		return err
	}
	p.Abandon()
	return nil
}

// filterRole has a seccomp filter answer one system call in its way, here and in
// what we start, and goes on as the hold role.
func filterRole(args []string) error {
	nr, err := strconv.ParseUint(args[0], 0, 32)
	if err != nil {
		return err
	}
	action, err := strconv.ParseUint(args[1], 0, 32)
	if err != nil {
		return err
	}
	if err := answer(uint32(nr), uint32(action), unix.SECCOMP_FILTER_FLAG_TSYNC); err != nil {
		return err
	}
	return holdRole(args[2:])
}

// limitRole lowers a limit of its own, not that of what it starts, to a number
// above what is in use, and has memory shared with a process.
func limitRole(args []string) error {
	p, err := startRole([3]*os.File{os.Stdin, os.Stdout, os.Stderr}, true, "exit", "0")
	if err != nil {
		return err
	}
	defer p.Abandon()
	which, room := unix.RLIMIT_FSIZE, uint64(1<<30)
	if args[0] == "space" {
		status, err := Status(os.Getpid())
		if err != nil {
			return err
		}
		var size uint64
		if _, err := fmt.Sscanf(status["VmSize"], "%d kB", &size); err != nil {
			return err
		}
		which, room = unix.RLIMIT_AS, size<<10+1<<30
	}
	if err := unix.Setrlimit(which, &unix.Rlimit{Cur: room, Max: room}); err != nil {
		return err
	}
	return tooMuch(p)
}

// tooMuch shares more than a gigabyte with a process, which is too much, and then
// little, which is not.
func tooMuch(p *Process) error {
	before, err := p.Maps()
	if err != nil {
		return err
	}
	if _, _, err := p.Share(sharedSize, sharedAt); !errors.Is(err, ErrMemory) {
		return fmt.Errorf("sharing too much: %v, want ErrMemory", err)
	}
	after, err := p.Maps()
	if err != nil {
		return err
	}
	if !slices.Equal(before, after) {
		return fmt.Errorf("sharing too much left\n%v of\n%v", after, before)
	}
	mem, file, err := p.Share(1<<20, sharedAt)
	if err != nil {
		return fmt.Errorf("sharing little: %w", err)
	}
	return errors.Join(unix.Munmap(mem), file.Close())
}

// startRole starts this binary in a role, held.
func startRole(files [3]*os.File, sharesGroup bool, role string, args ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return Start(self, append([]string{self}, args...), Attr{
		Env: append(os.Environ(), roleVariable+"="+role, "GORACE=atexit_sleep_ms=0"), Files: files, OwnGroup: !sharesGroup,
	})
}

// plainRole runs this binary in a role without holding it.
func plainRole(role string, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, "GORACE=atexit_sleep_ms=0")
	return cmd
}

const (
	sharedAt   = 0x2f00_0000_0000
	sharedSize = 1 << 34
)

// furnish does to a process all that a recorder does.
func furnish(p *Process) error {
	mem, file, err := p.Share(sharedSize, sharedAt)
	if err != nil {
		return err
	}
	defer unix.Munmap(mem)
	defer file.Close()
	entry, err := p.Entry()
	if err != nil {
		return err
	}
	code, err := p.FindRoom(entry, 1<<20, 1<<31-1<<21)
	if err != nil {
		return err
	}
	if err := p.MapCode(code, 1<<20); err != nil {
		return err
	}
	if _, err := p.WriteAt(bytes.Repeat([]byte{0xcc}, 1<<20), int64(code)); err != nil {
		return err
	}
	text := make([]byte, 64)
	if _, err := p.ReadAt(text, int64(entry)); err != nil {
		return err
	}
	_, err = p.WriteAt(text, int64(entry))
	return err
}

// held is a process held for a test.
type held struct {
	*Process
	stdin          *os.File // our ends
	stdout, stderr *bufio.Reader
}

// hold starts this binary in a role and holds it until the test is over.
func hold(t *testing.T, role string, args ...string) held {
	t.Helper()
	var ours, theirs [3]*os.File
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if ours[i], theirs[i] = r, w; i == 0 {
			ours[i], theirs[i] = w, r
		}
		t.Cleanup(func() { r.Close(); w.Close() })
	}
	p, err := startRole(theirs, false, role, args...)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range theirs {
		f.Close()
	}
	t.Cleanup(func() {
		p.Abandon()
		p.Kill()
	})
	return held{p, ours[0], bufio.NewReader(ours[1]), bufio.NewReader(ours[2])}
}

// letGo detaches, and fails the test if that fails.
func (h held) letGo(t *testing.T) {
	t.Helper()
	if err := h.Detach(); err != nil {
		t.Fatal(err)
	}
}

// end waits for the process's end and returns what it wrote.
func (h held) end(t *testing.T) (exit Exit, stdout, stderr string) {
	t.Helper()
	h.stdin.Close()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	exit, err := h.Wait(ctx)
	if err != nil {
		t.Fatalf("waiting for its end: %v", err)
	}
	out, err := io.ReadAll(h.stdout)
	text, err2 := io.ReadAll(h.stderr)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return exit, string(out), string(text)
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(testTimeout); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so: %s", what)
		}
	}
}

// state is a letter such as R, S, T (stopped), t (held), Z; empty if there is no
// such process.
func state(pid int) string {
	status, err := Status(pid)
	if err != nil {
		return ""
	}
	return status["State"][:1]
}

// children are the processes that this one has started and not waited for.
func children(t *testing.T) []string {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, name := range tasks {
		if text, err := os.ReadFile(name); err == nil {
			all = append(all, strings.Fields(string(text))...)
		}
	}
	return all
}

func itoa(n int) string { return strconv.Itoa(n) }
