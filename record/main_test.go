package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/trace"
	"tracerag/trace/gocmd"
	"tracerag/trace/rebuild"
	"tracerag/trace/recordtest"
	"tracerag/trace/store"
)

// Recordings are tested in processes of their own, which are the test binary again: the
// recorded program shares its streams, terminal and signals with anyone who records it.
//
//	record.test record JSON           records what the JSON, a testRecording, says
//	record.test job DIR PROGRAM...    is Runner.Self
//	record.test tool COMMAND...       is Runner.Tool
func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "record":
			os.Exit(recordMain(os.Args[2]))
		case "tool":
			os.Exit(rebuild.Tool(os.Args[2:]))
		case "job":
			os.Exit(jobMain(os.Args[2], os.Args[3:]))
		}
	}
	os.Exit(m.Run())
}

// testRecording is what a test has recorded by a process of its own.
type testRecording struct {
	Spec    Spec
	Quiet   bool // no events on standard error
	Windows bool
	Attach  int
	NoProbe bool // as on a system without it
}

// recording returns the command line that records a command in a directory, into the
// store in that directory unless how says otherwise.
func recording(t *testing.T, dir string, how testRecording, command ...string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if how.Spec.Store == "" {
		how.Spec.Store = filepath.Join(dir, store.DirName)
	}
	how.Spec.Command, how.Spec.Dir = command, dir
	text, err := json.Marshal(how)
	if err != nil {
		t.Fatal(err)
	}
	return []string{self, "record", string(text)}
}

// see records a command in a directory.
func see(t *testing.T, dir string, how testRecording, command ...string) recordtest.Seen {
	t.Helper()
	return recordtest.See(t, dir, recording(t, dir, how, command...)...)
}

func testRunner(spec Spec, events io.Writer) *Runner {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	r := &Runner{Spec: spec, Store: store.Open(spec.Store), Self: []string{self, "job"}, Tool: []string{self, "tool"}, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	r.Choose = func(tr *trace.Trace) (names []string, err error) {
		for _, f := range tr.Functions {
			names = append(names, f.Name)
		}
		return names, nil
	}
	r.Events = func(e Event) {
		switch e := e.(type) {
		case Said:
			fmt.Fprint(os.Stderr, e.Text)
		case Preparing, SettingBreakpoints, Builds, RunsTwice:
		case SavedElsewhere:
			fmt.Fprintf(events, "saved elsewhere: %v: %s\n", e.Err, e.Path)
		case BaselineFailed:
			fmt.Fprintf(events, "baseline failed: %s: %s: %s\n", e.Exit, e.Said, e.ID)
		case BaselineOfOther:
			fmt.Fprintf(events, "baseline of %s\n", filepath.Base(e.Of))
		case NoValuesOf:
			fmt.Fprintf(events, "no values of: %v\n", e.Err)
		case Observed:
			fmt.Fprintf(events, "observed: %d calls; differences: %s\n", len(e.Activations), strings.Join(e.Differences(), "; "))
		case BaselineStarts:
			fmt.Fprintf(events, "baseline: %q\n", e.Command)
		case BuildsAgain:
			fmt.Fprintf(events, "rebuilds: %v\n", e.Why)
		case NotRebuilt:
			fmt.Fprintf(events, "not rebuilt: %v\n", e.Why)
		case FallsBack:
			fmt.Fprintf(events, "falls back: %v\n", e.Why)
		case NoValues:
			fmt.Fprintf(events, "no values: %v\n", e.Err)
		case WindowSaved:
			fmt.Fprintf(events, "window: %s\n", e.Name)
		default:
			fmt.Fprintf(events, "%T\n", e)
		}
	}
	return r
}

func recordMain(text string) int {
	var how testRecording
	if err := json.Unmarshal([]byte(text), &how); err != nil {
		panic(err)
	}
	probed = probed && !how.NoProbe
	r := testRunner(how.Spec, os.Stderr)
	if how.Quiet {
		r = testRunner(how.Spec, io.Discard)
	}
	code, err := runTest(r, how)
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		if code == 0 {
			code = errorCode(err)
		}
	}
	return code
}

func runTest(r *Runner, how testRecording) (code int, err error) {
	ctx := context.Background()
	if how.Attach != 0 {
		return 0, r.Attach(ctx, how.Attach)
	}
	g, err := gocmd.Find(ctx, r.Spec.Command, r.Spec.Dir)
	switch {
	case err != nil:
		return 0, &CannotRunError{Err: err}
	case g != nil:
		res, err := r.Go(ctx, g)
		switch {
		case res == nil:
			return 0, err
		case res.NotBuilt:
			return 126, err
		}
		return res.Code, err
	case how.Windows:
		exit, err := r.Windows(ctx)
		return exit.Code, err
	case r.Spec.Each > 0:
		runs, err := r.Each(ctx)
		return TestsCode(runs), err
	}
	rec, err := r.Run(ctx)
	if rec == nil {
		return 0, err
	}
	fmt.Fprintf(os.Stderr, "%s", map[bool]string{false: "trace: " + rec.Name + "\n"}[how.Quiet || err != nil])
	return rec.Trace.Exit.Code, err
}

// errorCode is an exit code for an error, as tracerag run has it.
func errorCode(err error) int {
	var cannot *CannotRunError
	switch {
	case !errors.As(err, &cannot):
		return 125
	case cannot.Missing:
		return 127
	}
	return 126
}

func jobMain(dir string, args []string) int {
	j, err := OpenJob(dir)
	if err != nil {
		panic(err)
	}
	log := j.Log()
	if log == nil {
		log = os.Stderr
	}
	events := io.Discard
	if err = os.Chdir(j.Spec.Dir); err == nil {
		if len(j.Spec.Caller) > 0 {
			events = log
		}
		err = j.Run(context.Background(), testRunner(j.Spec, events), args)
	}
	code := 0
	if err != nil {
		fmt.Fprintf(log, "error: %v\n", err)
		code = errorCode(err)
	}
	exit, err := j.End(code, err != nil)
	if err != nil {
		panic(err)
	}
	return exit
}
