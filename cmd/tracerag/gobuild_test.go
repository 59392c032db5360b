package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tracerag/trace/recordtest"
)

// TestGoFlags: the flags of tracerag run mean what they mean where they are typed,
// wherever the program runs.
func TestGoFlags(t *testing.T) {
	dir := recordtest.Module(t)
	run := func(args ...string) recordtest.Seen {
		return recordtest.See(t, dir, append([]string{"tracerag", "run"}, args...)...)
	}

	got := run("--include", "./lib", "--dir", "traces", "go", "test", "./lib")
	traces, err := filepath.Glob(filepath.Join(dir, "traces", "*.pb.gz"))
	if err != nil || len(traces) != 1 {
		t.Errorf("--dir: traces %v, %v\n%v", traces, err, got)
	}

	got = run("--baseline=-version", "go", "run", "./cmd/app", "x")
	if want := "tracerag: baseline: running go run ./cmd/app -version\n"; !strings.Contains(got.Stderr, want) {
		t.Errorf("no %q in:\n%v", want, got)
	}
	if n := strings.Count(got.Stdout, "\n"); n != 1 {
		t.Errorf("the program ran %d times for all to see:\n%v", n, got)
	}
	recordtest.Saved(t, dir)

	// The exit code is the package's, or says that it was not built.
	for args, code := range map[string]int{"cmd/app -exit=3": 3, "cmd/broken": 126, "example.com/none": 127} {
		if got := run(append([]string{"--quiet", "--"}, strings.Fields(args)...)...); got.Code != code {
			t.Errorf("%s: want exit code %d\n%v", args, code, got)
		}
	}
	recordtest.Saved(t, dir)

	// What cannot be recorded is reported once, by tracerag alone.
	got = run("--include", "x.org/...", "go", "run", "./cmd/app")
	if got.Code != 126 || got.Stdout != "" || strings.Count(got.Stderr, "tracerag: ") != 1 || !strings.Contains(got.Stderr, " matches x.org/... ") {
		t.Errorf("nothing to record:\n%v", got)
	}
	got = run("--include", "x.org/...", "go", "test", "./lib")
	if got.Code != 126 || !strings.Contains(got.Stdout, "FAIL\texample.com/m/lib") || !strings.Contains(got.Stderr, " matches x.org/... ") {
		t.Errorf("nothing to record in tests:\n%v", got)
	}
	got = run("go", "test", "-exec=sudo", "./lib")
	if got.Code != 126 || got.Stdout != "" || !strings.Contains(got.Stderr, "go test -exec cannot be recorded") {
		t.Errorf("-exec:\n%v", got)
	}
	got = run("go", "test", "./none")
	if got.Code != 0 || !strings.Contains(got.Stderr, "go test ran no program: nothing is recorded") {
		t.Errorf("no tests:\n%v", got)
	}

	// No arguments make tests only start.
	for args, advice := range map[string]bool{"test ./lib": false, "run ./cmd/app": true} {
		got = run(append([]string{"go"}, strings.Fields(args)...)...)
		if strings.Contains(got.Stderr, "--baseline=ARGS") != advice || !strings.Contains(got.Stderr, "call tree: ") {
			t.Errorf("go %s: the advice of a baseline is %t:\n%v", args, !advice, got)
		}
	}
	recordtest.Saved(t, dir)

	// Several traces: each is named.
	got = run("go", "test", "./other", "./lib")
	if n := len(regexp.MustCompile(`(?m)^tracerag: trace [0-9a-f]+: example.com/m/(lib|other).test, `).FindAllString(got.Stderr, -1)); n != 2 {
		t.Errorf("%d of two traces are named:\n%v", n, got)
	}
	got = run("--quiet", "-q", "what for?", "go", "test", "./other", "./lib")
	if got.Code != 125 || !regexp.MustCompile(`^tracerag: go test ran 2 programs, and a question is about one run\n  tracerag ask [0-9a-f]+ 'what for\?'\n$`).MatchString(got.Stderr) {
		t.Errorf("a question about two runs:\n%v", got)
	}
}
