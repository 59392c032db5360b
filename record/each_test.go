package record

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/phrase"
	"tracerag/trace"
	"tracerag/trace/recordtest"
)

// TestEach: one go test, a trace for each test, and the outcome that go test has.
func TestEach(t *testing.T) {
	dir := recordtest.Tests(t)
	const double, half = "example.com/m/each.Double", "example.com/m/each.Half"
	for _, test := range []struct {
		args   string
		traces string // the name of each, and F for one that failed
		calls  string // of Double and Half in each
		code   int
	}{
		{"test ./each", "TestDouble TestHalf:F TestPanic:F TestSkipped FuzzHalf ExampleDouble", "2,0 0,1 0,0 0,0 0,2 1,0", 1},
		{"test -skip Panic|Half ./each", "TestDouble TestSkipped ExampleDouble", "2,0 0,0 1,0", 0},
		{"test -run TestDouble/a -count=3 ./each", "TestDouble", "3,0", 0},
		{"test -run Double ./each ./lib ./none", "TestDouble ExampleDouble TestDouble", "2,0 1,0 0,0", 0},
		{"test -failfast -run ^Test ./each", "TestDouble TestHalf:F", "2,0 0,1", 1},
		{"test -run None -bench . -benchtime 5x ./each", "BenchmarkDouble", "6,0", 0},
		{"test -run None ./each", "", "", 0},
	} {
		t.Run(test.args, func(t *testing.T) {
			got := see(t, dir, testRecording{Spec: Spec{Each: 1}}, append([]string{"go"}, strings.Fields(test.args)...)...)
			if got.Code != test.code {
				t.Errorf("exit code %d, want %d", got.Code, test.code)
			}
			var names, calls []string
			traces := recordtest.Saved(t, dir)
			slices.SortStableFunc(traces, func(a, b *trace.Trace) int { return strings.Compare(a.Dir, b.Dir) }) // packages run side by side
			for _, tr := range traces {
				name := tr.Name
				if tr.Exit.Failed() {
					name += ":F"
				}
				names = append(names, name)
				calls = append(calls, strings.Join([]string{phrase.Number(recordtest.Calls(tr, double)), phrase.Number(recordtest.Calls(tr, half))}, ","))
				if tr.Test.Name != tr.Name || !strings.HasPrefix(tr.Test.Package, "example.com/m/") || tr.Dir != filepath.Join(dir, filepath.Base(tr.Test.Package)) {
					t.Errorf("%s is of the test %+v in %s", tr.Name, tr.Test, tr.Dir)
				}
				if want := "-run=^" + tr.Name + "$"; tr.Baseline == "" || tr.Command[1] != "test" || !strings.HasPrefix(tr.Name, "Bench") && !strings.HasPrefix(tr.Command[2], want) {
					t.Errorf("%s: baseline %q, command %q", tr.Name, tr.Baseline, tr.Command)
				}
			}
			if n, c := strings.Join(names, " "), strings.Join(calls, " "); n != test.traces || c != test.calls {
				t.Errorf("traces %s\n  want %s\n calls %s\n  want %s\n%v", n, test.traces, c, test.calls, got)
			}
		})
	}
}

// TestEachShowsWhatGoTestShows: where nothing runs but the tests themselves, one run
// for each prints what one run of all prints.
func TestEachShowsWhatGoTestShows(t *testing.T) {
	dir := recordtest.Tests(t)
	if err := os.WriteFile(filepath.Join(dir, "other", "more_test.go"), []byte(`package other_test

import (
	"os"
	"testing"
)

func TestY(t *testing.T) {
	t.Run("sub", func(t *testing.T) { t.Log(os.Args[0] != "", os.Getenv("EACH")) })
}

func TestZ(t *testing.T) {
	if os.Getenv("EACH") == "fail" {
		t.Error("as asked for")
	}
}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		each      int
		args, env string
	}{
		{1, "test ./other", ""},
		{3, "test ./other", "fail"},
		{3, "test -v ./lib ./other ./none", ""},
		{1, "test -json ./other", "fail"},
		{1, "test ./other -run=Nothing", ""},
		{1, "test -v -short -count=2 ./lib -args -mine=fail", ""},
	} {
		t.Setenv("EACH", test.env)
		args := append([]string{"go"}, strings.Fields(test.args)...)
		want := recordtest.See(t, dir, args...)
		if got := see(t, dir, testRecording{Quiet: true, Spec: Spec{Each: test.each}}, args...); got != want {
			t.Errorf("tracerag run --each=%d, %s:\n%v\nthe go command:\n%v", test.each, test.args, got, want)
		}
	}
}
