// Package recordtest runs recorders in tests: it records the fixtures in
// processes of their own, and prints what came of it. It imports testing and is
// for tests only.
package recordtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"tracerag/trace"
	"tracerag/trace/target"
)

// Job is what is to be recorded, and how.
type Job struct {
	Args             []string
	Dir              string
	Include, Exclude []string
	NoInlined        bool
	Silent           bool
	MaxHits          int      // of package breakpoint
	MaxStops         int      // of package breakpoint
	Memory           uint64   // of packages probe and rebuild
	Through          []string // of package rebuild: a command that runs the program
	CacheDir         string   // of package probe
	Full             *Full    // of package probe
	Observe          bool     // of package breakpoint: run it again for values of all that was called,
	ObserveCalls     int      // of each node; 0: 8
	ObserveLimit     time.Duration
	ObserveMask      string // is masked in strings that are cut
	Out              string // file for the trace, as JSON
}

// Full is how small the recorder's tables are to be, so that they are full: so many
// cells for the calls of the tree, slots to find them by, and bytes for shadow stacks,
// where these two are not 0.
type Full struct {
	Cells, Slots, Arena uint64
}

const jobVariable = "TRACERAG_TEST_RECORD"

// Recorder is what is tested.
type Recorder func(ctx context.Context, t *target.Target, j Job) (*trace.Trace, error)

// Main is the body of a recorder's TestMain.
//
// Every recording is made by a process of its own, which is the test binary
// again: delve waits for any child of its process, among them those of other
// tests; and the streams, the terminal and the signals are a process's, too.
func Main(m *testing.M, r Recorder) {
	if text := os.Getenv(jobVariable); text != "" {
		os.Unsetenv(jobVariable) // the target's environment is to be the test's
		code, err := recordJob(text, r)
		if err != nil {
			fmt.Fprintln(os.Stderr, "recorder:", err)
			code = 125
		}
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// recordJob records, writes the trace, and returns the code that the recorder's
// process is to end with: the target's, 128 and the signal's number if one ended it.
func recordJob(text string, r Recorder) (code int, err error) {
	var j Job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return 0, err
	}
	t, err := target.Find(j.Args, j.Dir, j.Include, j.Exclude)
	if err != nil {
		return 0, err
	}
	t.Silent = j.Silent
	tr, err := r(context.Background(), t, j)
	if err != nil {
		return 0, err
	}
	data, err := json.Marshal(tr)
	if err != nil {
		return 0, err
	}
	return tr.Exit.Code, os.WriteFile(j.Out, data, 0o666)
}

// Run is how a test's target is run.
type Run struct {
	Job
	Stdin   io.Reader
	Env     []string      // in addition to ours
	By      []string      // the recorder's command, where that is not this test binary
	Started func(pid int) // called with the recorder's process, not the target's
}

// Result is what came of a recording.
type Result struct {
	Trace          *trace.Trace
	Stdout, Stderr string
	Code           int // exit code of the recorder's process
}

// Timeout is how long a recording may take before it counts as hanging.
const Timeout = 90 * time.Second

// Record runs a target under the recorder and requires a well-formed trace.
func Record(t *testing.T, how Run) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	cmd, out := Command(t, ctx, how.Job)
	if how.By != nil {
		by := exec.CommandContext(ctx, how.By[0], how.By[1:]...)
		by.Env, by.WaitDelay = cmd.Env, cmd.WaitDelay
		cmd = by
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = how.Stdin, &stdout, &stderr
	cmd.Env = append(cmd.Env, how.Env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if how.Started != nil {
		how.Started(cmd.Process.Pid)
	}
	err := cmd.Wait()
	if ctx.Err() != nil {
		t.Fatalf("%q hangs under the recorder\nstdout: %s\nstderr: %s", how.Args, &stdout, &stderr)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := Result{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
	r.Trace = ReadTrace(t, out, r.Stderr)
	return r
}

// Command is the recorder's process, not yet started, and the file to which it
// will write the trace.
func Command(t *testing.T, ctx context.Context, j Job) (cmd *exec.Cmd, out string) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "trace.json")
	j.Out = out
	if j.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		j.Dir = dir
	}
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	cmd.WaitDelay = 5 * time.Second // for a grandchild that holds the streams
	return cmd, out
}

// ReadTrace reads the file that Command's process wrote, and requires a
// well-formed trace.
func ReadTrace(t *testing.T, path, stderr string) *trace.Trace {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		if strings.Contains(stderr, "ptrace") && strings.Contains(stderr, "not permitted") {
			t.Skip("ptrace is not permitted here")
		}
		t.Fatalf("no trace was written: %v\nstderr: %s", err, stderr)
	}
	tr := new(trace.Trace)
	if err := json.Unmarshal(data, tr); err != nil {
		t.Fatal(err)
	}
	if err := tr.Check(); err != nil {
		t.Fatalf("%v\n%s", err, Tree(tr))
	}
	return tr
}

// Untraced runs the target without a recorder.
func Untraced(t *testing.T, how Run) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, how.Args[0], how.Args[1:]...)
	cmd.Dir = how.Dir
	cmd.Env = append(os.Environ(), how.Env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = how.Stdin, &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	code := cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		code = 128 + int(ws.Signal())
	}
	return Result{Stdout: stdout.String(), Stderr: stderr.String(), Code: code}
}

// Counts are the calls of each function.
func Counts(tr *trace.Trace) map[string]int64 {
	m := map[string]int64{}
	for i := range tr.Nodes {
		if n := tr.Nodes[i].Calls; n > 0 {
			m[tr.Func(trace.NodeID(i)).Name] += n
		}
	}
	return m
}

// Floors are the functions whose counts may be too low.
func Floors(tr *trace.Trace) map[string]bool {
	m := map[string]bool{}
	for i := range tr.Nodes {
		if tr.Nodes[i].Flags.Has(trace.Floor) {
			m[tr.Func(trace.NodeID(i)).Name] = true
		}
	}
	return m
}

// Tree prints a trace, a node a line:
//
//	name calls :line marks
//
// with the calls below their callers, roots with their kind, and goroutines with
// their go statement and, in parentheses, its node's function.
func Tree(tr *trace.Trace) string {
	children := map[trace.NodeID][]trace.NodeID{}
	for i := range tr.Nodes {
		id := trace.NodeID(i)
		children[tr.Nodes[i].Parent] = append(children[tr.Nodes[i].Parent], id)
	}
	var b strings.Builder
	var walk func(id trace.NodeID, depth int)
	walk = func(id trace.NodeID, depth int) {
		n := &tr.Nodes[id]
		b.WriteString(strings.Repeat("  ", depth))
		if n.Parent == trace.NoNode {
			fmt.Fprintf(&b, "[%s", n.Root)
			if n.Root == trace.RootGoroutine {
				fmt.Fprintf(&b, " %s:%d", n.Go.Func, n.Go.Line)
				if n.Go.Creator != 0 {
					fmt.Fprintf(&b, " (%s)", tr.Func(n.Go.Creator.Node()).Name)
				}
			}
			b.WriteString("] ")
		}
		fmt.Fprintf(&b, "%s %d", tr.Func(id).Name, n.Calls)
		if n.Parent != trace.NoNode {
			fmt.Fprintf(&b, " :%d", n.CallLine)
		}
		for _, m := range []struct {
			mark trace.Flags
			name string
		}{{trace.Inlined, "inlined"}, {trace.Recursive, "recursive"}, {trace.Via, "via"}, {trace.Floor, "floor"}, {trace.Approximate, "approximate"}} {
			if n.Flags.Has(m.mark) {
				b.WriteString(" " + m.name)
			}
		}
		b.WriteString("\n")
		for _, k := range children[id] {
			walk(k, depth+1)
		}
	}
	for _, id := range children[trace.NoNode] {
		walk(id, 0)
	}
	return b.String()
}

// Instance is the part of a linker name by which the copies of a generic
// function differ; the fixtures' tables write [...].
var Instance = regexp.MustCompile(`\[[^\]]*(\[[^\]]*\][^\]]*)*\]`)

// Generic merges the counts of a generic function's copies, under the name that
// the fixtures' tables have.
func Generic(counts map[string]int64) map[string]int64 {
	out := map[string]int64{}
	for fn, n := range counts {
		out[Instance.ReplaceAllString(fn, "[...]")] += n
	}
	return out
}

// Golden holds a text against a file of testdata, or writes it there to update it.
func Golden(t *testing.T, path, got string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the tree is\n%s\nwant (%s)\n%s", got, path, want)
	}
}
