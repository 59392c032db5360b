package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tracerag/phrase"
	"tracerag/trace"
)

// eachModule has tests of every kind, of which one fails, in two packages.
var eachModule = map[string]string{
	"each/each.go": "package each\n\nfunc Start() {}\n\nfunc Double(x int) int { return x + x }\n\nfunc Half(x int) int { return x / 2 }\n",
	"each/each_test.go": `package each

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	fmt.Fprintln(os.Stderr, "TestMain was here")
	Start()
	os.Exit(m.Run())
}

func TestDouble(t *testing.T) {
	for _, name := range []string{"a", "b"} {
		t.Run(name, func(t *testing.T) { Double(1) })
	}
}

func TestHalf(t *testing.T) {
	if Half(3) != 2 {
		t.Error("half of three")
	}
}

func TestPanic(t *testing.T) { panic("so there") }

func TestSkipped(t *testing.T) { t.Skip() }

func ExampleDouble() {
	fmt.Println(Double(2))
	// Output: 4
}

func FuzzHalf(f *testing.F) {
	f.Add(4)
	f.Add(6)
	f.Fuzz(func(t *testing.T, x int) { Half(x) })
}

func BenchmarkDouble(b *testing.B) {
	for range b.N {
		Double(3)
	}
}
`,
}

func eachDir(t *testing.T) string {
	dir := goDir(t)
	for name, text := range eachModule {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestEach: one go test, a trace for each test, and the outcome that go test has.
func TestEach(t *testing.T) {
	dir := eachDir(t)
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
			got := see(t, dir, append([]string{"tracerag", "run", "--each", "--", "go"}, strings.Fields(test.args)...)...)
			if got.code != test.code {
				t.Errorf("exit code %d, want %d", got.code, test.code)
			}
			var names, calls []string
			traces := saved(t, dir)
			slices.SortStableFunc(traces, func(a, b *trace.Trace) int { return strings.Compare(a.Dir, b.Dir) }) // packages run side by side
			for _, tr := range traces {
				name := tr.Name
				if tr.Exit.Failed() {
					name += ":F"
				}
				names = append(names, name)
				calls = append(calls, strings.Join([]string{phrase.Number(callsOf(tr, double)), phrase.Number(callsOf(tr, half))}, ","))
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
	dir := eachDir(t)
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
	for _, test := range []struct{ each, args, env string }{
		{"--each", "test ./other", ""},
		{"--each=3", "test ./other", "fail"},
		{"--each=3", "test -v ./lib ./other ./none", ""},
		{"--each", "test -json ./other", "fail"},
		{"--each", "test ./other -run=Nothing", ""},
		{"--each", "test -v -short -count=2 ./lib -args -mine=fail", ""},
	} {
		t.Setenv("EACH", test.env)
		args := append([]string{"go"}, strings.Fields(test.args)...)
		want := see(t, dir, args...)
		if got := see(t, dir, append([]string{"tracerag", "run", "--quiet", test.each, "--"}, args...)...); got != want {
			t.Errorf("tracerag run %s:\n%v\nthe go command:\n%v", test.each, got, want)
		}
	}
}

// TestEachMessages: what is said of the tests, and what is refused.
func TestEachMessages(t *testing.T) {
	dir := eachDir(t)
	got := see(t, dir, "tracerag", "run", "--each", "go", "test", "-run", "Half|Skipped", "./each")
	for _, want := range []string{
		`(?m)^tracerag: [0-9a-f]{8}  FAIL  TestHalf  \d+ calls of \d+ functions \(exit status 1,`,
		`(?m)^tracerag: [0-9a-f]{8}  ok    TestSkipped  `,
		`(?m)^tracerag: example.com/m/each: 3 tests recorded, 1 failed \(baseline: [0-9a-f]{8}\)$`,
	} {
		if !regexp.MustCompile(want).MatchString(got.stderr) {
			t.Errorf("no %s in:\n%v", want, got)
		}
	}
	failed := regexp.MustCompile(`([0-9a-f]{8})  FAIL`).FindStringSubmatch(got.stderr)
	if failed == nil || !strings.HasSuffix(got.stderr, "\n  tracerag tree "+failed[1]+"\n  tracerag ask "+failed[1]+" \"your question\"\n") {
		t.Errorf("the failed test is not what is to be looked at next:\n%v", got)
	}

	// What every test does, TestMain that is, is no part of its tree.
	tree := see(t, dir, "tracerag", "tree", "--quiet", "TestHalf")
	if !strings.Contains(tree.stdout, "each.TestHalf ") || strings.Contains(tree.stdout, "TestMain") || strings.Contains(tree.stdout, "Start") {
		t.Errorf("the tree of TestHalf:\n%v", tree)
	}

	// A test program that was built before is as good as the go command.
	saved(t, dir)
	if out := see(t, dir, "go", "test", "-c", "-o", "each/each.test", "./each"); out.code != 0 {
		t.Fatal(out)
	}
	got = see(t, filepath.Join(dir, "each"), "tracerag", "run", "--each", "./each.test", "-test.run=Double")
	if names := namesOf(saved(t, dir)); got.code != 0 || !slices.Equal(names, []string{"TestDouble", "ExampleDouble"}) || strings.Count(got.stdout, "PASS") != 1 {
		t.Errorf("a test program: traces %q\n%v", names, got)
	}

	for line, want := range map[string]string{
		"--each go run ./cmd/app":                     "go run has no tests",
		"--each ./cmd/app":                            "go run has no tests",
		"--each go test -coverprofile=c ./each":       "leave -coverprofile out",
		"--each=0 go test ./each":                     "--each=0: --each must be at least 1",
		"--each -q Why? go test ./each":               "ask about the traces afterwards",
		"--each --include x.org/... -- go test ./lib": "matches x.org/...",
		"--each go": "has no tests\n  --each takes go test",
	} {
		got := see(t, dir, append([]string{"tracerag", "run"}, strings.Fields(line)...)...)
		if code := got.code; code != 125 && code != 126 || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: want %q in\n%v", line, want, got)
		}
	}
	if names := namesOf(saved(t, dir)); names != nil {
		t.Errorf("what was refused left traces: %q", names)
	}
}

func namesOf(traces []*trace.Trace) (names []string) {
	for _, tr := range traces {
		names = append(names, tr.Name)
	}
	return names
}
