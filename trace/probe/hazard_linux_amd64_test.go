package probe

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace"
	"tracerag/trace/recordtest"
)

// built is the program of a directory, built once.
func built(dir string, flags ...string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		cache, err := fixtures.CacheDir()
		if err != nil {
			return "", err
		}
		// Other processes may be running the one that an earlier test made.
		tmp, err := os.MkdirTemp(cache, "hazards-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(tmp)
		out := filepath.Join(tmp, "program")
		msg, err := exec.Command("go", slices.Concat([]string{"build", "-o", out}, flags, []string{dir})...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%w\n%s", err, msg)
		}
		final := filepath.Join(cache, regexp.MustCompile(`[^a-z]+`).ReplaceAllString("probe "+dir+strings.Join(flags, ""), "-"))
		return final, os.Rename(out, final)
	})
}

var (
	ownHazards   = built("./testdata/hazards")
	otherHazards = built("../breakpoint/testdata/hazards")
	locked       = built("./testdata/locked")
)

func path(t *testing.T, program func() (string, error)) string {
	t.Helper()
	p, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sameRun records a program, and requires that it does what it does without us.
func sameRun(t *testing.T, how recordtest.Run) recordtest.Result {
	t.Helper()
	plain, r := recordtest.Untraced(t, how), recordtest.Record(t, how)
	if r.Code != plain.Code || r.Stdout != plain.Stdout || r.Stderr != plain.Stderr {
		t.Errorf("%q does otherwise under the recorder: exit code %d, want %d; stdout %q, want %q; stderr %q, want %q",
			how.Args, r.Code, plain.Code, r.Stdout, plain.Stdout, r.Stderr, plain.Stderr)
	}
	return r
}

// dropped are the losses that would be a matter of room.
func dropped(tr *trace.Trace) (out []trace.Loss) {
	for _, l := range tr.Losses {
		if l.Kind == trace.LossOverflow {
			out = append(out, l)
		}
	}
	return out
}

// TestHazards runs what is hard on a program whose code was changed. The number is
// that of calls of main.step.
func TestHazards(t *testing.T) {
	tests := []struct {
		program func() (string, error)
		args    string
		steps   int64
		exit    trace.Exit
		env     []string
	}{
		{program: ownHazards, args: "deep", steps: 1},
		{program: ownHazards, args: "goroutines", steps: 100_000},
		{program: ownHazards, args: "storm", steps: 4_000_000},
		{program: ownHazards, args: "storm", steps: 4_000_000, env: []string{"GOMAXPROCS=16", "GODEBUG=asyncpreemptoff=1"}},
		{program: ownHazards, args: "profiled", steps: 4_000_000},
		{program: ownHazards, args: "mapped", steps: -1},
		{program: ownHazards, args: "chain", steps: 1}, // of the first program only
		{program: ownHazards, args: "nils", steps: 13_000},
		{program: ownHazards, args: "nils", steps: 13_000, env: []string{"GOGC=1"}},
		{program: ownHazards, args: "plain", steps: 1000, env: []string{"GODEBUG=gccheckmark=1,gcshrinkstackoff=1"}},

		{program: otherHazards, args: "exec", steps: 1}, // of the program before it replaced itself
		{program: otherHazards, args: "threads", steps: 100},
		{program: otherHazards, args: "signals", steps: 200},
		{program: otherHazards, args: "vfork", steps: 50},
		{program: otherHazards, args: "trap", steps: 1},
		{program: otherHazards, args: "exits", steps: -1, exit: trace.Exit{Code: 7}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(append([]string{tt.args}, tt.env...), " "), func(t *testing.T) {
			r := sameRun(t, recordtest.Run{Job: recordtest.Job{Args: []string{path(t, tt.program), tt.args}}, Env: tt.env})
			if r.Trace.Exit != tt.exit {
				t.Errorf("ended with %v, want %v", r.Trace.Exit, tt.exit)
			}
			if got := recordtest.Counts(r.Trace)["main.step"]; got != tt.steps && (tt.steps >= 0 || got < 1) {
				t.Errorf("main.step %d, want %d\n%s", got, tt.steps, recordtest.Tree(r.Trace))
			}
			if l := dropped(r.Trace); len(l) > 0 {
				t.Errorf("losses: %v", l)
			}
		})
	}
}

// What differs from one run to the next in what the runtime prints at the end:
// addresses, numbers of goroutines and threads, and values of arguments which it
// marks with "?", because they may be no longer what they were.
var unsteady = regexp.MustCompile(`0x[0-9a-f]+\??|goroutine \d+|m=\d+|\[\d+ more frames? .*`)

// TestCrashes has programs end by panics and faults, with the traceback of all that
// was called. It is the one of the program that is not recorded, but for functions
// without a frame that dereferenced nil in an instruction that was displaced: these
// are not in it.
func TestCrashes(t *testing.T) {
	missing := map[string]string{
		"leaf": "main.leaf", "leafStore": "main.leafStore", "leafFar": "main.leafFar", "chained": "main.chained",
		"method": "main.(*point).method", "closure": "main.init.func8.1", "goroutine": "main.leaf",
	}
	for _, kind := range []string{
		"exit", "panic", "repanic", "kill", "deadlock", "goexit", "goroutine", "framed", "indexed", "divided", "asserted", "called", "written",
		"leaf", "leafStore", "leafFar", "chained", "method", "value", "closure", "overflow",
	} {
		t.Run(kind, func(t *testing.T) {
			args := []string{path(t, ownHazards), "crash", kind}
			if kind == "overflow" {
				args = []string{args[0], kind}
			}
			how := recordtest.Run{Job: recordtest.Job{Args: args}}
			plain, r := recordtest.Untraced(t, how), recordtest.Record(t, how)
			want, got := unsteady.ReplaceAllString(plain.Stderr, "*"), unsteady.ReplaceAllString(r.Stderr, "*")
			if got != want && missing[kind] != "" {
				want = withoutFrame(want, missing[kind])
			}
			if r.Code != plain.Code || r.Stdout != plain.Stdout || got != want {
				t.Errorf("exit code %d, want %d; stdout %q, want %q; stderr\n%s\nwant\n%s", r.Code, plain.Code, r.Stdout, plain.Stdout, got, want)
			}
			if n := recordtest.Counts(r.Trace)["main.step"]; n < 1 {
				t.Errorf("the trace does not hold what was called before\n%s", recordtest.Tree(r.Trace))
			}
		})
	}
}

// withoutFrame removes a function's two lines from a traceback.
func withoutFrame(trace, function string) string {
	frame := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(function) + `\(.*\n\t.*\n`)
	return frame.ReplaceAllString(trace, "")
}

// TestSignalled has a signal end the program at once or by a traceback of all
// registers, which holds what no two runs have in common.
func TestSignalled(t *testing.T) {
	for _, kind := range []string{"abort", "segv"} {
		how := recordtest.Run{Job: recordtest.Job{Args: []string{path(t, ownHazards), "crash", kind}}}
		plain, r := recordtest.Untraced(t, how), recordtest.Record(t, how)
		first := func(s string) string {
			lines := strings.SplitN(s, "\n", 5)
			return unsteady.ReplaceAllString(strings.Join(lines[:min(4, len(lines))], "\n"), "*")
		}
		if r.Code != plain.Code || first(r.Stderr) != first(plain.Stderr) {
			t.Errorf("%s: exit code %d, want %d; stderr\n%s\nwant\n%s", kind, r.Code, plain.Code, r.Stderr, plain.Stderr)
		}
	}
}

// TestOwnBreakpoint has a program meet a breakpoint of its own: it dies of it, as
// always.
func TestOwnBreakpoint(t *testing.T) {
	how := recordtest.Run{Job: recordtest.Job{Args: []string{path(t, otherHazards), "breakpoint"}}}
	plain, r := recordtest.Untraced(t, how), recordtest.Record(t, how)
	if r.Code != plain.Code || r.Code == 0 || strings.SplitN(r.Stderr, "\n", 2)[0] != strings.SplitN(plain.Stderr, "\n", 2)[0] {
		t.Errorf("exit code %d, want %d\n%s", r.Code, plain.Code, r.Stderr)
	}
}
