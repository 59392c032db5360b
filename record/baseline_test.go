package record

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace"
	"tracerag/trace/recordtest"
	"tracerag/trace/store"
)

// last is the trace that was saved last in a directory.
func last(t *testing.T, dir string) *trace.Trace {
	t.Helper()
	tr, _, err := store.Open(filepath.Join(dir, store.DirName)).Load("@last")
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func baseline(value string) testRecording { return testRecording{Spec: Spec{Baseline: value}} }

// TestBaselineThatFails: the user learns why it failed by the first line that it printed,
// of standard error if it has any, and nothing is pruned by it.
func TestBaselineThatFails(t *testing.T) {
	recordtest.Module(t) // it skips where nothing can be recorded
	changes, twice := fixtures.Build(t, "changes"), fixtures.Build(t, "twice")
	dir := t.TempDir()
	failed := regexp.MustCompile(`(?m)^baseline failed: (.*): ([0-9a-f]+)$`)
	id := ""
	for _, test := range []struct{ value, tmp, want string }{
		// Nothing that a terminal would take for orders is left in it.
		{"-say -exit 5", "", "exit status 5: [31mto standard error"},
		{"-nosuch", "", "exit status 2: flag provided but not defined: -nosuch"},
		{"-exit 7", "", "exit status 7: working"},
		{"-say -exit 5", "/nonexistent", "exit status 5: [31mto standard error"}, // it goes into no file
	} {
		if test.tmp != "" {
			t.Setenv("TMPDIR", test.tmp)
		}
		got := see(t, dir, baseline(test.value), changes, "-say")
		m := failed.FindStringSubmatch(got.Stderr)
		if m == nil || m[1] != test.want || got.Code != 0 || strings.Count(got.Stdout, "to standard output") != 1 {
			t.Fatalf("%s: want %q\n%v", test.value, test.want, got)
		}
		if tr := last(t, dir); tr.Baseline != "" {
			t.Errorf("%s: pruned by %s", test.value, tr.Baseline)
		}
		id = m[2]
	}
	// Its trace prunes if the user names it.
	if got := see(t, dir, baseline(id), changes); strings.Contains(got.Stderr, "baseline") || last(t, dir).Baseline != id {
		t.Errorf("by its name: baseline %q\n%v", last(t, dir).Baseline, got)
	}
	if got := see(t, dir, baseline(id), twice); !strings.Contains(got.Stderr, "baseline of changes\n") || last(t, dir).Baseline != id {
		t.Errorf("of another program:\n%v", got)
	}
	if got := see(t, dir, baseline("@lsat"), twice); got.Code != 125 || !strings.Contains(got.Stderr, "error: baseline: no trace @lsat") {
		t.Errorf("of a trace that is not there:\n%v", got)
	}
}

// TestKnownStart: arguments are proposed if the same program has taken them before.
func TestKnownStart(t *testing.T) {
	recordtest.Module(t)
	twice, dir := fixtures.Build(t, "twice"), t.TempDir()
	known := func() string {
		return strings.Join(KnownStart(store.Open(filepath.Join(dir, store.DirName)), last(t, dir)), " ")
	}
	see(t, dir, quiet, twice)
	if got := known(); got != "" {
		t.Errorf("before any baseline: %q", got)
	}
	see(t, dir, baseline("-nosuch"), fixtures.Build(t, "changes"))
	see(t, dir, baseline("-version"), twice)
	see(t, dir, quiet, twice, "name")
	if got := known(); got != "-version" {
		t.Errorf("known is %q", got)
	}
	see(t, dir, quiet, twice, "-version")
	if got := known(); got != "" {
		t.Errorf("of that run itself: %q", got)
	}
	see(t, dir, quiet, fixtures.Build(t, "changes"))
	if got := known(); got != "" {
		t.Errorf("a baseline that failed: %q", got)
	}
}
