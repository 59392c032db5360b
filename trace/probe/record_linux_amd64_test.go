package probe

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace"
	"tracerag/trace/probe/payload"
	"tracerag/trace/recordtest"
	"tracerag/trace/target"
)

var update = flag.Bool("update", false, "write the golden trees")

func TestMain(m *testing.M) {
	if os.Getenv(keeperVariable) != "" {
		if err := Keep(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if what := os.Getenv(killedVariable); what != "" {
		os.Unsetenv(killedVariable)
		if err := recordUntilKilled(what, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	recordtest.Main(m, func(ctx context.Context, t *target.Target, j recordtest.Job) (*trace.Trace, error) {
		o := Options{NoInlined: j.NoInlined, Memory: j.Memory, CacheDir: j.CacheDir}
		if f := j.Full; f != nil {
			o.limit = func(l *payload.Layout) { l.Limit(f.Cells, f.Slots, f.Arena) }
		}
		return Record(ctx, t, o)
	})
}

// TestCounts holds every count against the fixture's own table.
func TestCounts(t *testing.T) {
	programs := []struct {
		name  string
		flags []string // of go build
		env   []string
	}{
		{name: "goroutines"},
		{name: "recursion"},
		{name: "closures"},
		{name: "generics"},
		{name: "interfaces"},
		{name: "panics"},
		{name: "inits"},
		{name: "execchild"},
		{name: "cgocalls"},
		{name: "exits"},
		{name: "stdio"},
		{name: "inlining"},
		{name: "lines"},
		{name: "twice"},
		{name: "values"},
		{name: "deepstack"},
		{name: "counters"},

		// How a program was built, and on how many processors it runs, is
		// not to be seen in what it calls.
		{name: "goroutines", flags: []string{"-ldflags=-s -w"}},
		{name: "goroutines", flags: []string{"-buildmode=pie"}},
		{name: "goroutines", env: []string{"GOMAXPROCS=1"}},
		{name: "goroutines", env: []string{"GOMAXPROCS=128"}},
		{name: "panics", flags: []string{"-trimpath", "-buildmode=pie", "-ldflags=-s -w"}},
		{name: "recursion", flags: []string{"-gcflags=-N -l"}},
		{name: "cgocalls", flags: []string{"-ldflags=-s -w"}},
		{name: "counters", flags: []string{"-race"}},
		{name: "counters", flags: []string{"-buildmode=pie"}},
		{name: "counters", env: []string{"GOMAXPROCS=8", "GOGC=1"}},
		{name: "counters", env: []string{"GODEBUG=asyncpreemptoff=1"}},
	}
	for _, p := range programs {
		t.Run(strings.Join(slices.Concat([]string{p.name}, p.flags, p.env), " "), func(t *testing.T) {
			how := recordtest.Run{Job: recordtest.Job{Args: []string{fixtures.Build(t, p.name, p.flags...)}}, Env: p.env}
			plain := recordtest.Untraced(t, how)
			r := recordtest.Record(t, how)
			if r.Code != plain.Code || r.Stdout != plain.Stdout || r.Stderr != plain.Stderr {
				t.Errorf("the program does otherwise under the recorder: exit code %d, want %d; stdout %q, want %q; stderr %q, want %q",
					r.Code, plain.Code, r.Stdout, plain.Stdout, r.Stderr, plain.Stderr)
			}
			want, inlined := fixtures.Want(t, p.name), fixtures.Inlined(t, p.name)
			got := recordtest.Generic(recordtest.Counts(r.Trace))
			for _, fn := range slices.Sorted(maps.Keys(want)) {
				if got[fn] != want[fn] {
					t.Errorf("%s: %d calls, want %d", fn, got[fn], want[fn])
				}
			}
			for _, fn := range slices.Sorted(maps.Keys(got)) {
				_, called := want[fn]
				_, isInlined := inlined[fn]
				if !called && !isInlined && !strings.HasPrefix(fn, "main._Cfunc_") {
					t.Errorf("%s: %d calls, but the program does not call it", fn, got[fn])
				}
			}
			if t.Failed() {
				t.Logf("the trace:\n%s\nlosses: %v", recordtest.Tree(r.Trace), r.Trace.Losses)
			}
		})
	}
}

// TestTree holds whole trees against the breakpoint recorder's: callers, lines of
// calls, roots and their go statements, and marks. Two recorders that have nothing
// in common but the binary's tables tell the same story.
func TestTree(t *testing.T) {
	for _, name := range []string{"recursion", "closures", "generics", "interfaces", "execchild", "twice"} {
		t.Run(name, func(t *testing.T) { holdTree(t, name, filepath.Join("..", "breakpoint", "testdata", name+".tree")) })
	}
	// Where they differ. Package initialisation is counted to its end here; the
	// call's line is not known where frame pointers do not lead, through C; and what
	// was deferred is called by the caller of a function without a frame that
	// dereferenced nil.
	for _, name := range []string{"inits", "cgocalls", "panics", "inlining"} {
		t.Run(name, func(t *testing.T) { holdTree(t, name, filepath.Join("testdata", name+".tree")) })
	}
}

func holdTree(t *testing.T, name, golden string) {
	t.Helper()
	r := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: []string{fixtures.Build(t, name)}}})
	recordtest.Golden(t, golden, recordtest.Tree(r.Trace), *update)
}
