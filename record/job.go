package record

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tracerag/atomicfile"
	"tracerag/trace/gocmd"
)

// Two processes of ours talk by files in a directory of their own, since the environment
// and any further open file would reach the recorded program:
//
//	order.json   from the one that wants a recording: what is recorded
//	PID.json     from each one that records: that it runs, and at its end what became of it
//	PID.log      what that one would have said on standard error, where go test would take
//	             it for the tests' output

// order is what order.json holds.
type order struct {
	Spec Spec     `json:"spec"`
	Go   *goOrder `json:"go,omitempty"` // of programs that a go command builds
}

// goOrder says how the programs that a go command has built are run.
type goOrder struct {
	Args    []string      `json:"args"`    // the go command
	Program []string      `json:"program"` // the part of the typed command that represents the program
	Test    bool          `json:"test"`    // it is go test
	Package bool          `json:"package"` // it is a package, and no go command was typed
	Timeout time.Duration `json:"timeout"` // of each test; 0: none
}

// Report is what PID.json holds.
type Report struct {
	Dir    string   `json:"dir"`    // in which the program runs
	Ended  bool     `json:"ended"`  // the rest means nothing before
	Traces []string `json:"traces"` // names of the saved traces
	Code   int      `json:"code"`   // the exit code of tracerag run
	Failed bool     `json:"failed,omitempty"`

	BaselineFailed *BaselineFailed `json:"baseline_failed,omitempty"`

	Tests []TestRun `json:"tests,omitempty"` // in place of Traces: the tests that are recorded,
	Of    int       `json:"of,omitempty"`    // of so many

	pid int
	log []byte
}

// TestRun is one test that was recorded by itself.
type TestRun struct {
	Package string `json:"package"`
	Name    string `json:"name"`
	Trace   string `json:"trace"` // its name, for commands
	Failed  bool   `json:"failed"`
}

const orderFile = "order.json"

// makeJob makes a directory with an order in it.
func makeJob(o order) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "tracerag-"); err != nil {
		return "", err
	}
	if err = writeJSON(filepath.Join(dir, orderFile), o); err != nil {
		os.RemoveAll(dir)
	}
	return dir, err
}

func writeJSON(path string, v any) error {
	return atomicfile.Write(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(v) })
}

// Child is a process of ours that records by itself.
type Child struct {
	Cmd *exec.Cmd // not started; the Spec's directory is its working directory
	dir string
}

// NewChild makes a process ready that records what a Spec says. self is a command line
// that ends in a [Job] after a directory is added.
func NewChild(ctx context.Context, self []string, spec Spec) (*Child, error) {
	dir, err := makeJob(order{Spec: spec})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self[0], append(slices.Clone(self[1:]), dir)...)
	cmd.Dir = spec.Dir
	return &Child{Cmd: cmd, dir: dir}, nil
}

// Report is what became of the recording, when the process has ended.
func (c *Child) Report() (Report, error) {
	reports, err := readReports(c.dir)
	switch {
	case err != nil:
		return Report{}, err
	case len(reports) == 0 || !reports[0].Ended:
		return Report{}, ErrEnded
	}
	return reports[0], nil
}

// Close forgets the recording.
func (c *Child) Close() { os.RemoveAll(c.dir) }

// Job is an order in the process that is to obey it.
type Job struct {
	Spec Spec

	path   string // of our report, without its extension
	order  order
	report Report
	log    *os.File
	end    *Recording
}

// OpenJob reads the order in a directory, and reports that this process is there.
func OpenJob(dir string) (*Job, error) {
	j := &Job{path: filepath.Join(dir, strconv.Itoa(os.Getpid()))}
	data, err := os.ReadFile(filepath.Join(dir, orderFile))
	if err == nil {
		err = json.Unmarshal(data, &j.order)
	}
	if err == nil {
		j.report.Dir, err = os.Getwd()
	}
	if err == nil {
		err = j.write()
	}
	if err == nil && j.order.Go != nil && j.order.Go.Test {
		j.log, err = os.Create(j.path + ".log")
	}
	j.Spec = j.order.Spec
	return j, err
}

func (j *Job) write() error { return writeJSON(j.path+".json", j.report) }

// Log takes this process's messages; nil: its standard error does.
func (j *Job) Log() io.Writer {
	if j.log == nil {
		return nil
	}
	return j.log
}

// Built reports whether a go command started this process in place of a program that it
// has built.
func (j *Job) Built() bool { return j.order.Go != nil }

// Run records a program that the go command has built: args are it and its arguments.
func (j *Job) Run(ctx context.Context, r *Runner, args []string) (err error) {
	g := j.order.Go
	r.built = &built{args: slices.Clone(args), dir: j.report.Dir, goArgs: g.Args, program: g.Program, tests: g.Test, timeout: g.Timeout}
	defer r.built.forget()
	switch {
	case j.Spec.Window:
		exit, err := r.Windows(ctx)
		j.report.Code = exit.Code
		return err
	case j.Spec.Each == 0:
		j.end, err = r.Run(ctx)
		return err
	}
	command, err := gocmd.Parse(j.Spec.Command)
	if err != nil {
		return err
	}
	r.built.args = append([]string{args[0]}, gocmd.WithTimeout(args[1:], g.Timeout)...)
	j.report.Tests, err = r.each(ctx, command, func(runs []TestRun, of int) {
		j.report.Tests, j.report.Of = runs, of
		_ = j.write() // to show how far it is; the last one counts
	})
	j.report.Code = TestsCode(j.report.Tests)
	return err
}

// Saved adds traces to the report of a recording that was not made by Run.
func (j *Job) Saved(recs ...*Recording) {
	for _, rec := range recs {
		j.report.Traces = append(j.report.Traces, rec.Name)
	}
}

// Note keeps what of an event is for the report.
func (j *Job) Note(e Event) {
	if failed, ok := e.(BaselineFailed); ok {
		j.report.BaselineFailed = &failed
	}
}

// End writes the report and returns the exit code of this process. code is that of
// tracerag run; failed says that it is tracerag's own, and not the program's.
func (j *Job) End(code int, failed bool) (exit int, err error) {
	if j.log != nil {
		defer j.log.Close()
	}
	rec := j.end
	j.report.Ended, j.report.Failed = true, failed
	switch {
	case failed && rec != nil && rec.Trace.Exit.Code != 0: // the program's own, though its trace is lost
		j.report.Code = rec.Trace.Exit.Code
	case failed || !j.Built():
		j.report.Code = code
	case rec != nil:
		j.Saved(rec)
		j.report.Code = rec.Trace.Exit.Code
	}
	if err := j.write(); err != nil {
		return 0, err
	}
	g := j.order.Go
	switch {
	case g == nil:
		return j.report.Code, nil
	case !failed && !g.Package:
		if rec != nil && rec.Trace.Exit.Signal != "" {
			endLike(rec.Trace.Exit)
		}
		return j.report.Code, nil
	case failed && g.Test:
		return j.report.Code, nil // or the tests would count as passed
	}
	return 0, nil // the go command has nothing to add; the outer process has the code
}

// readReports returns the reports in order of their directories, which is nearly
// that in which go test prints its packages.
func readReports(dir string) ([]Report, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "[0-9]*.json"))
	if err != nil {
		return nil, err
	}
	var reports []Report
	for _, path := range paths {
		var r Report
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		base := strings.TrimSuffix(path, ".json")
		if err == nil {
			r.pid, err = strconv.Atoi(filepath.Base(base))
		}
		if err == nil {
			r.log, err = os.ReadFile(base + ".log")
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		if err != nil {
			return reports, err
		}
		reports = append(reports, r)
	}
	slices.SortFunc(reports, func(x, y Report) int {
		return cmp.Or(cmp.Compare(x.Dir, y.Dir), cmp.Compare(x.pid, y.pid))
	})
	return reports, nil
}
