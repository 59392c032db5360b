package record

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/trace"
	"tracerag/trace/recordtest"
)

var quiet = testRecording{Quiet: true}

// TestGoCommands compares go commands with the same under tracerag.
func TestGoCommands(t *testing.T) {
	dir := recordtest.Module(t)
	for _, test := range []struct {
		args   string   // words separated by |
		runs   []string // working directories of the programs that are recorded
		double []int64  // calls of lib.Double in each
	}{
		{"go|run|./cmd/app|a b|c", []string{"."}, []int64{1}},
		{"go|run|./cmd/app|-exit=3", []string{"."}, []int64{1}},
		{"go|run|./cmd/app|-kill=9", []string{"."}, []int64{1}},
		{"go|run|./cmd/app|-kill=15", []string{"."}, []int64{1}},
		{"go|-C|cmd/app|run|main.go|x", []string{"cmd/app"}, []int64{1}},
		{"go|run|./cmd/broken", nil, nil},
		{"go|test|./lib", []string{"lib"}, []int64{10}},
		{"go|test|-count=2|-v|./lib|-mine|x", []string{"lib"}, []int64{20}},
		{"go|test|-json|./lib|-args|-mine=fail", []string{"lib"}, []int64{10}},
		{"go|test|./lib|./none|./other", []string{"lib", "other"}, []int64{10, 1}},
		{"go|test|-run=None|./none", nil, nil},
	} {
		t.Run(test.args, func(t *testing.T) {
			args := strings.Split(test.args, "|")
			want := recordtest.See(t, dir, args...)
			got := see(t, dir, quiet, args...)
			if got != want {
				t.Errorf("tracerag:\n%v\nthe go command:\n%v", got, want)
			}
			traces := recordtest.Saved(t, dir)
			slices.SortFunc(traces, func(a, b *trace.Trace) int { return strings.Compare(a.Dir, b.Dir) })
			if len(traces) != len(test.runs) {
				t.Fatalf("%d traces, want %d", len(traces), len(test.runs))
			}
			for i, tr := range traces {
				if !slices.Equal(tr.Command, args) {
					t.Errorf("the trace's command is %q", tr.Command)
				}
				if want := filepath.Join(dir, test.runs[i]); tr.Dir != want {
					t.Errorf("the trace's directory is %s, want %s", tr.Dir, want)
				}
				if n := recordtest.Calls(tr, "example.com/m/lib.Double"); n != test.double[i] {
					t.Errorf("%d calls of lib.Double in %s, want %d", n, test.runs[i], test.double[i])
				}
			}
		})
	}
}

// TestGoPackage: a package in place of a program is the go run of it, with the exit
// code of tracerag run.
func TestGoPackage(t *testing.T) {
	dir := recordtest.Module(t)
	plain := recordtest.See(t, dir, "go", "run", "./cmd/app", "x")
	for _, name := range []string{"./cmd/app", "cmd/app", "example.com/m/cmd/app"} {
		if got := see(t, dir, quiet, name, "x"); got != plain {
			t.Errorf("%s:\n%v\nwant:\n%v", name, got, plain)
		}
		if tr := recordtest.Saved(t, dir); len(tr) != 1 || !slices.Equal(tr[0].Command, []string{name, "x"}) {
			t.Errorf("%s: traces %+v", name, tr)
		}
	}
	for args, code := range map[string]int{
		"cmd/app -exit=3":  3,
		"cmd/app -kill=9":  137,
		"cmd/broken":       126,
		"./lib":            126,
		"example.com/none": 127,
	} {
		got := see(t, dir, quiet, strings.Fields(args)...)
		if got.Code != code || strings.Contains(got.Stderr, "exit status") || strings.Contains(got.Stderr, "signal:") {
			t.Errorf("%s:\n%v\nwant exit code %d", args, got, code)
		}
	}
}
