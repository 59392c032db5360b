package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/trace/recordtest"
)

// TestGateAcrossMachines: a baseline that was made of tests in one place holds in
// another, with sources elsewhere and moved within their files, until what the tests
// call changes.
func TestGateAcrossMachines(t *testing.T) {
	here := recordtest.Module(t)
	there := filepath.Join(t.TempDir(), "other place")
	if err := os.CopyFS(there, os.DirFS(here)); err != nil {
		t.Fatal(err)
	}
	baseline := filepath.Join(here, "double.pb.gz")
	gate := func(dir string, args ...string) recordtest.Seen {
		t.Helper()
		return recordtest.See(t, dir, append([]string{"tracerag", "compare", "--gate", baseline}, args...)...)
	}
	test := []string{"--", "go", "test", "-run", "Double", "./lib"}
	if got := gate(here, append([]string{"--include=./...", "--update"}, test...)...); got.Code != 0 || got.Stdout != "" || !strings.Contains(got.Stderr, "ok  \texample.com/m/lib") {
		t.Fatal(got)
	}
	edit := func(file, old, new string) {
		t.Helper()
		path := filepath.Join(there, file)
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), old) {
			t.Fatalf("%s: no %q: %v", file, old, err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	edit("lib/lib.go", "package lib\n", "package lib\n\n// A comment\n// moves lines.\n")
	if got := gate(there, test...); got.Code != 0 || !strings.Contains(got.Stdout, " unchanged\n") {
		t.Errorf("elsewhere, with lines moved:\n%v", got)
	}

	edit("lib/lib.go", "{ return x + x }", "{ return add(x, x) }\n\nfunc add(a, b int) int { return a + b }")
	got := gate(there, test...)
	for _, want := range []string{"1 added, ", "b: lib.TestDouble > lib.Double > lib.add\n", "+     lib.add x10 lib/lib.go:"} {
		if got.Code != 1 || !strings.Contains(got.Stdout, want) {
			t.Errorf("another call: want exit code 1 and %q:\n%v", want, got)
		}
	}
	if got := gate(there, append([]string{"--ignore=counts"}, test...)...); got.Code != 1 {
		t.Errorf("another call is no other count:\n%v", got)
	}

	edit("lib/lib_test.go", "t.Log(Double(21)", "t.Error(Double(21)")
	if got := gate(there, append([]string{"--update"}, test...)...); got.Code != 0 || !strings.Contains(got.Stderr, "(exit status 1)") {
		t.Errorf("a baseline of a test that fails is said to be one:\n%v", got)
	}

	edit("lib/lib.go", "return add(x, x)", "return add(x)")
	if got := gate(there, test...); got.Code != 2 || got.Stdout != "" || !strings.Contains(got.Stderr, "go test -run Double ./lib: nothing was recorded (exit code 1)") {
		t.Errorf("what does not build:\n%v", got)
	}
	if got := gate(here, "--", "go", "test", "./lib", "./other"); got.Code != 2 || !strings.Contains(got.Stderr, "ran 2 programs: a gate compares one run") {
		t.Errorf("two packages:\n%v", got)
	}
}
