package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tracerag/trace"
	"tracerag/trace/breakpoint"
	"tracerag/trace/probe"
	"tracerag/trace/rebuild"
	"tracerag/trace/store"
	"tracerag/trace/target"
)

var rounds = flag.Int("rounds", 3, "measure everything `N` times, one after another")

// job is one recording in a process of its own, which is this test binary again:
// a recorder has the standard streams and the children of its process.
type job struct {
	Args      []string
	Dir       string
	Include   []string
	Recorder  string // probe, breakpoint or rebuild
	Values    int    // of rebuild: of so many calls of each node
	NoInlined bool
	CacheDir  string // of plans
	Out       string // directory for the trace
}

// report is what a recording cost, stage by stage.
type report struct {
	Find    time.Duration // reading the program's tables
	Start   time.Duration // planning, starting, patching
	Run     time.Duration // the program itself
	CPU     time.Duration // that it took of all processors
	Convert time.Duration // from the shared memory to a trace
	Save    time.Duration
	Shared  int64  // bytes of shared memory that the tree and the lines took
	Peak    int64  // most bytes that the recorder's process had in memory, shared ones included
	Path    string // of the trace
}

const jobVariable = "TRACERAG_BENCH_RECORD"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "tool" { // the go command starts its tools so
		os.Exit(rebuild.Tool(os.Args[2:]))
	}
	text := os.Getenv(jobVariable)
	if text == "" {
		code := m.Run()
		os.RemoveAll(command.dir)
		os.Exit(code)
	}
	os.Unsetenv(jobVariable)
	code, err := recordJob(text)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		code = 125
	}
	os.Exit(code)
}

func recordJob(text string) (int, error) {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return 0, err
	}
	var r report
	begin := time.Now()
	lap := func(d *time.Duration) { now := time.Now(); *d = now.Sub(begin); begin = now }

	t, err := target.Find(j.Args, j.Dir, j.Include, nil)
	if err != nil {
		return 0, err
	}
	lap(&r.Find)
	var memory []*os.File
	started := func(int) {
		lap(&r.Start)
		memory = sharedMemory()
	}
	var tr *trace.Trace
	switch j.Recorder {
	case "rebuild":
		o := rebuild.Options{Started: started}
		if j.Values > 0 {
			o.Values = &rebuild.Values{Calls: j.Values}
		}
		tr, err = rebuild.Record(context.Background(), t, o)
		if o.Values != nil && err == nil {
			tr.Activations, _ = o.Values.Activations(tr, nil, nil)
		}
	case "breakpoint":
		const all = 1 << 40
		tr, err = breakpoint.Record(context.Background(), t, breakpoint.Options{MaxHits: all, MaxStops: all, NoInlined: j.NoInlined, Started: started})
	default:
		tr, err = probe.Record(context.Background(), t, probe.Options{NoInlined: j.NoInlined, CacheDir: j.CacheDir, Started: started})
	}
	if err != nil {
		return 0, err
	}
	lap(&r.Convert)
	r.CPU = cpuOfChildren()
	r.Run = tr.Duration
	r.Convert -= r.Run
	for _, f := range memory {
		r.Shared += blocks(f)
	}
	begin = time.Now()
	e, err := store.Open(j.Out).Save(tr)
	if err != nil {
		return 0, err
	}
	lap(&r.Save)
	r.Path, r.Peak = e.Path, peak()
	data, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	return tr.Exit.Code, os.WriteFile(filepath.Join(j.Out, "report.json"), data, 0o666)
}

// run is a program and how it is run.
type run struct {
	args  []string
	dir   string
	stdin string
	env   []string
}

func (r run) command(args ...string) *exec.Cmd {
	if args == nil {
		args = r.args
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(r.stdin)
	cmd.Env = append(os.Environ(), r.env...)
	cmd.WaitDelay = 10 * time.Second // for children that hold the streams
	return cmd
}

// output is what a program wrote, and its exit code.
type output struct {
	stdout, stderr string
	code           int
	wall, cpu      time.Duration
}

// patience is how long anything here may take before it counts as hanging.
const patience = 30 * time.Minute

// finish runs a command to its end.
func finish(t testing.TB, cmd *exec.Cmd) output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	cmd.Stderr = &stderr
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	o := output{wall: time.Since(start), code: cmd.ProcessState.ExitCode()}
	o.stdout, o.stderr = stdout.String(), stderr.String()
	o.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if !timer.Stop() {
		t.Fatalf("%q hangs\n%s", cmd.Args, o.stderr)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return o
}

// alone runs the program without a recorder. Its standard output is thrown away
// where keep is false.
func (r run) alone(t testing.TB, keep bool) output {
	t.Helper()
	cmd := r.command()
	if !keep {
		cmd.Stdout = null(t)
	}
	return finish(t, cmd)
}

// null is where unread output goes: a pipe would cost its reader's time.
func null(t testing.TB) *os.File {
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// recorded runs the program under a recorder. j says how, without the program.
func (r run) recorded(t testing.TB, j job, keep bool) (report, output) {
	t.Helper()
	j.Args, j.Dir = r.args, r.dir
	if j.Dir == "" {
		j.Dir = t.TempDir()
	}
	if j.Out == "" {
		j.Out = t.TempDir()
	}
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := r.command(self)
	cmd.Env = append(cmd.Env, jobVariable+"="+string(text))
	if !keep {
		cmd.Stdout = null(t)
	}
	o := finish(t, cmd)
	var rep report
	data, err := os.ReadFile(filepath.Join(j.Out, "report.json"))
	if err != nil {
		if strings.Contains(o.stderr, "not permitted") {
			t.Skipf("ptrace is not permitted here: %s", o.stderr)
		}
		t.Fatalf("%q was not recorded: %v\n%s", r.args, err, o.stderr)
	}
	if err := json.Unmarshal(data, &rep); err != nil {
		t.Fatal(err)
	}
	return rep, o
}

func readTrace(t testing.TB, path string) *trace.Trace {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr, err := trace.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Check(); err != nil {
		t.Fatal(err)
	}
	return tr
}

var command struct {
	once sync.Once
	dir  string
	err  error
}

// tracerag builds the command, once, and returns its path.
func tracerag(t testing.TB) string {
	t.Helper()
	command.once.Do(func() {
		if command.dir, command.err = os.MkdirTemp("", "tracerag-bench-"); command.err != nil {
			return
		}
		out, err := exec.Command("go", "build", "-o", command.dir, "tracerag/cmd/tracerag").CombinedOutput()
		if err != nil {
			command.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if command.err != nil {
		t.Fatal(command.err)
	}
	return filepath.Join(command.dir, "tracerag")
}

func median[T time.Duration | float64](list []T) T {
	s := slices.Sorted(slices.Values(list))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
