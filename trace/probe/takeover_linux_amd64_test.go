package probe

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tracerag/fixtures"
	"tracerag/trace/probe/payload"
	"tracerag/trace/target"
)

// The recorders that are killed here are this test binary again.
const killedVariable = "TRACERAG_TEST_KILLED"

// recordUntilKilled attaches to a process, or runs a program, and says when it has, and
// ends the recording when its input ends.
func recordUntilKilled(what string, args []string) error {
	ctx, o := context.Background(), Options{NoInlined: true, CacheDir: os.Getenv("TRACERAG_TEST_PLANS")}
	if what == "run" {
		tgt, err := target.Find(args, ".", nil, nil)
		if err != nil {
			return err
		}
		if _, err := Start(ctx, tgt, o); err != nil {
			return err
		}
		select {}
	}
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	tgt, err := target.Of(pid, nil, nil)
	if err != nil {
		return err
	}
	fmt.Println("attaching")
	l, err := Attach(ctx, tgt, pid, o)
	if err != nil {
		return err
	}
	fmt.Println("attached")
	if what == "detach" {
		if _, err := l.Detach(); err != nil {
			return err
		}
		fmt.Println("detached")
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// recorder starts one, and waits until it says that it has come so far.
func recorder(t *testing.T, what, until string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), killedVariable+"="+what)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = in // it stays open until the recorder is killed
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == until {
			return cmd
		}
	}
	t.Fatalf("the recorder did not say %q: %v", until, cmd.Wait())
	return nil
}

func kill9(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// attachTo attaches to a process.
func attachTo(t *testing.T, pid int) (*Live, error) {
	t.Helper()
	tgt, err := target.Of(pid, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Attach(t.Context(), tgt, pid, Options{NoInlined: true})
}

// ownMappings counts those of a process that are ours, but for what is marked as left
// because a signal's handler may return there, and what belongs to that.
func ownMappings(t *testing.T, pid int) (n int) {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	for line := range strings.Lines(string(maps)) {
		var from int64
		if _, err := fmt.Sscanf(line, "%x-", &from); err != nil || !strings.Contains(line, memoryName) {
			continue
		}
		magic := make([]byte, len(leftMagic))
		if _, err := mem.ReadAt(magic, from+payload.OwnerOff); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(magic, leftMagic[:]) {
			n++
		}
	}
	return n
}

// A process whose recorder was killed is recorded again, and then is as it was before
// the first one.
func TestAttachAfterKill(t *testing.T) {
	for _, flags := range [][]string{nil, {"-buildmode=pie"}} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			cmd := exec.Command(fixtures.Build(t, "server", flags...))
			url := serve(t, func(stdout *os.File) {
				cmd.Stdout = stdout
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
			})
			defer kill9(cmd)
			pid := cmd.Process.Pid
			before := text(t, pid)
			for round := range 3 {
				dead := recorder(t, "attach", "attached", fmt.Sprint(pid))
				get(t, url+"/work?n=7")

				_, err := attachTo(t, pid)
				if want := fmt.Sprintf("process %d is already recorded by tracerag %d", pid, dead.Process.Pid); err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("round %d: a second recorder: %v, want %q", round, err, want)
				}
				if got := get(t, url+"/work?n=12"); got != "78" {
					t.Errorf("round %d: the server says %q after a second recorder was refused, want 78", round, got)
				}

				kill9(dead)
				if got := get(t, url+"/work?n=12"); got != "78" {
					t.Errorf("round %d: the server says %q after its recorder was killed, want 78", round, got)
				}
				l, err := attachTo(t, pid)
				if err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				if want := fmt.Sprintf("tracerag %d, which recorded it, is gone", dead.Process.Pid); !strings.Contains(l.Found(), want) {
					t.Errorf("round %d: what was found: %q, want %q", round, l.Found(), want)
				}
				if got := get(t, url+"/work?n=12"); got != "78" {
					t.Errorf("round %d: the server says %q under the second recorder, want 78", round, got)
				}
				tr, err := l.Detach()
				l.Close()
				if err != nil {
					t.Fatal(err)
				}
				check(t, fmt.Sprint("round ", round), tr, map[string]int64{"main.work": 1, "main.sum": 13})
			}
			if text(t, pid) != before || ownMappings(t, pid) != 0 {
				t.Errorf("the code is what it was: %v; %d mappings are left", text(t, pid) == before, ownMappings(t, pid))
			}
			get(t, url+"/quit")
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// childOf is the child of a process that runs a program. Any thread may have started it.
func childOf(t *testing.T, parent int, program string) int {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil || len(lists) == 0 {
		t.Skip("the kernel does not tell children")
	}
	for _, list := range lists {
		children, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, child := range strings.Fields(string(children)) {
			if exe, err := os.Readlink("/proc/" + child + "/exe"); err == nil && exe == program {
				pid, err := strconv.Atoi(child)
				if err != nil {
					t.Fatal(err)
				}
				return pid
			}
		}
	}
	t.Fatalf("process %d has no child that runs %s", parent, program)
	return 0
}

// A program that was started by a recorder goes on alone when that is killed, and can be
// attached to: its code is then that of its file, and may not be written any more.
func TestAttachToRunThatWasKilled(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	run := exec.Command(os.Args[0], fixtures.Build(t, "server"))
	run.Env = append(os.Environ(), killedVariable+"=run")
	run.Stdout, run.Stderr = w, os.Stderr
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	url, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url = strings.TrimSpace(url)
	pid := childOf(t, run.Process.Pid, fixtures.Build(t, "server"))
	defer func() { _ = unix.Kill(pid, unix.SIGKILL) }()
	get(t, url+"/work?n=7")
	if _, err := attachTo(t, pid); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d is already recorded by tracerag %d", pid, run.Process.Pid)) {
		t.Errorf("attaching to a run: %v", err)
	}
	kill9(run)
	if got := get(t, url+"/work?n=12"); got != "78" {
		t.Errorf("the server says %q after its recorder was killed, want 78", got)
	}
	l, err := attachTo(t, pid)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(l.Found(), "is gone") {
		t.Errorf("what was found: %q", l.Found())
	}
	if got := get(t, url+"/work?n=12"); got != "78" {
		t.Errorf("the server says %q under the second recorder, want 78", got)
	}
	tr, err := l.Detach()
	l.Close()
	if err != nil {
		t.Fatal(err)
	}
	check(t, "second recorder", tr, map[string]int64{"main.work": 1, "main.sum": 13})
	file, err := os.ReadFile(fixtures.Build(t, "server"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(file), text(t, pid)) || ownMappings(t, pid) != 0 {
		t.Errorf("its code is not that of its file, or %d mappings are left", ownMappings(t, pid))
	}
	get(t, url+"/quit")
}
