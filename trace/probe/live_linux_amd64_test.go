package probe

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tracerag/fixtures"
	"tracerag/trace"
	"tracerag/trace/recordtest"
	"tracerag/trace/target"
)

// serve starts the web server of the fixtures by start, which must give it this
// standard output, and returns its address.
func serve(t *testing.T, start func(stdout *os.File)) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	start(w)
	w.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(body))
}

func snapshot(t *testing.T, l *Live) *Snapshot {
	t.Helper()
	s, err := l.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// check requires a well-formed trace with these counts, and none of main's other
// functions.
func check(t *testing.T, what string, tr *trace.Trace, want map[string]int64) {
	t.Helper()
	if err := tr.Check(); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	got := recordtest.Counts(tr)
	for fn, n := range want {
		if got[fn] != n {
			t.Errorf("%s: %s: %d calls, want %d", what, fn, got[fn], n)
		}
	}
	for fn, n := range got {
		if _, ok := want[fn]; !ok && strings.HasPrefix(fn, "main.") {
			t.Errorf("%s: %s: %d calls, want none", what, fn, n)
		}
	}
	if t.Failed() {
		t.Log(recordtest.Tree(tr))
	}
}

// A window holds what ran in it, and what ran before is apart.
func TestWindows(t *testing.T) {
	tgt, err := target.Find([]string{fixtures.Build(t, "server")}, t.TempDir(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var l *Live
	url := serve(t, func(stdout *os.File) {
		// The program's output is ours; for this moment ours is the pipe.
		ours := os.Stdout
		os.Stdout = stdout
		defer func() { os.Stdout = ours }()
		if l, err = Start(t.Context(), tgt, Options{NoInlined: true}); err != nil {
			t.Fatal(err)
		}
	})
	defer l.Close()
	get(t, url+"/work?n=2")
	first := snapshot(t, l)
	if got := get(t, url+"/work?n=12"); got != "78" {
		t.Errorf("the server says %q under the recorder, want 78", got)
	}
	second := snapshot(t, l)
	third := snapshot(t, l)
	get(t, url+"/work?n=3")
	fourth := snapshot(t, l)

	check(t, "before", l.Window(nil, first), map[string]int64{"main.main": 1, "main.serve": 1, "main.routes": 1, "main.work": 1, "main.sum": 3, "main.serve.func1": 1})
	window := l.Window(first, second)
	check(t, "first window", window, map[string]int64{"main.work": 1, "main.sum": 13})
	if window.Nodes[0].Root != trace.RootGoroutine || !window.Start.Equal(first.at) || window.Duration <= 0 {
		t.Errorf("the window's root is %q, it starts at %v and lasts %v", window.Nodes[0].Root, window.Start, window.Duration)
	}
	if window.Goroutines != 1 {
		t.Errorf("%d goroutines called something in the window, want 1, which began before it", window.Goroutines)
	}
	check(t, "empty window", l.Window(second, third), nil)
	check(t, "second window", l.Window(third, fourth), map[string]int64{"main.work": 1, "main.sum": 4})

	// Somebody may ask for a window while the program ends.
	asked := make(chan bool)
	go func() {
		defer close(asked)
		for range 20 {
			l.Window(nil, fourth)
		}
	}()
	get(t, url+"/quit")
	whole, err := l.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	if whole.Exit != (trace.Exit{}) {
		t.Errorf("it ended by %v", whole.Exit)
	}
	check(t, "whole run", whole, map[string]int64{"main.main": 1, "main.serve": 1, "main.routes": 1, "main.work": 3, "main.sum": 20,
		"main.quit": 1, "main.routes.func1": 1, "main.serve.func1": 1})
}

// A process that runs is recorded from then on, let go unchanged, and can be
// recorded again.
func TestAttach(t *testing.T) {
	for _, flags := range [][]string{nil, {"-buildmode=pie", "-ldflags=-s -w"}} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			cmd := exec.Command(fixtures.Build(t, "server", flags...), "arg")
			url := serve(t, func(stdout *os.File) {
				cmd.Stdout = stdout
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
			})
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
			get(t, url+"/work?n=5")
			before := text(t, cmd.Process.Pid)
			for round := range 3 {
				tgt, err := target.Of(cmd.Process.Pid, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				l, err := Attach(t.Context(), tgt, cmd.Process.Pid, Options{NoInlined: true})
				if err != nil {
					t.Fatal(err)
				}
				if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.Pid())); err != nil || !strings.Contains(string(status), "TracerPid:\t0\n") {
					t.Errorf("somebody is still attached (%v)", err)
				}
				if got := get(t, url+"/work?n=12"); got != "78" {
					t.Errorf("the server says %q under the recorder, want 78", got)
				}
				tr, err := l.Detach()
				l.Close()
				if err != nil {
					t.Fatal(err)
				}
				check(t, fmt.Sprint("round ", round), tr, map[string]int64{"main.work": 1, "main.sum": 13})
				if tr.Command[1] != "arg" || strings.HasPrefix(tr.Program.Path, "/proc") {
					t.Errorf("the trace is of %q, %s", tr.Command, tr.Program.Path)
				}
				get(t, url+"/work?n=4")
			}
			if text(t, cmd.Process.Pid) != before {
				t.Error("the code is not what it was before")
			}
			get(t, url+"/quit")
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// text is a process's code.
func text(t *testing.T, pid int) string {
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
		var from, to int64
		if _, err := fmt.Sscanf(line, "%x-%x r-xp", &from, &to); err != nil || !strings.Contains(line, "/") {
			continue
		}
		b := make([]byte, to-from)
		if _, err := mem.ReadAt(b, from); err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	t.Fatal("no code is mapped")
	return ""
}

// Attaching to a program under load, again and again, does not disturb it.
func TestAttachUnderLoad(t *testing.T) {
	cmd := exec.Command(fixtures.Build(t, "server"))
	url := serve(t, func(stdout *os.File) {
		cmd.Stdout, cmd.Stderr = stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	})
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	stop, failed := make(chan bool), make(chan string, 8)
	for range 4 {
		go func() {
			for {
				select {
				case <-stop:
					failed <- ""
					return
				default:
				}
				resp, err := http.Get(url + "/work?n=100")
				if err != nil {
					failed <- err.Error()
					return
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || strings.TrimSpace(string(body)) != "5050" {
					failed <- fmt.Sprintf("%q %v", body, err)
					return
				}
			}
		}()
	}
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		tgt, err := target.Of(cmd.Process.Pid, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		l, err := Attach(t.Context(), tgt, cmd.Process.Pid, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 500 { // until a request was served: on a busy machine that may take a while
			time.Sleep(20 * time.Millisecond)
			if n := recordtest.Counts(l.Window(nil, snapshot(t, l))); n["main.sum"] > 0 && n["main.work"] > 0 || len(l.busy) > 0 {
				break
			}
		}
		tr, err := l.Detach()
		l.Close()
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Check(); err != nil {
			t.Error(err)
		}
		// A goroutine may just then be preempted in the prologue of one of them.
		left := slices.ContainsFunc(tr.Losses, func(l trace.Loss) bool { return strings.HasPrefix(l.Detail, "places in the code") })
		if n := recordtest.Counts(tr); (n["main.sum"] == 0 || n["main.work"] == 0) && !left || len(n) == 0 {
			t.Errorf("not all was seen, and nothing is said of it: %v %v", n, tr.Losses)
		}
	}
	close(stop)
	for range 4 {
		if msg := <-failed; msg != "" {
			t.Error(msg)
		}
	}
	if err := unix.Kill(cmd.Process.Pid, 0); err != nil {
		t.Error("the server has ended")
	}
}
