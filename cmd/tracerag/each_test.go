package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tracerag/trace/recordtest"
)

// TestEachMessages: what is reported of the tests, and what is refused.
func TestEachMessages(t *testing.T) {
	dir := recordtest.Tests(t)
	got := recordtest.See(t, dir, "tracerag", "run", "--each", "go", "test", "-run", "Half|Skipped", "./each")
	for _, want := range []string{
		`(?m)^tracerag: [0-9a-f]{8}  FAIL  TestHalf  \d+ calls of \d+ functions \(exit status 1,`,
		`(?m)^tracerag: [0-9a-f]{8}  ok    TestSkipped  `,
		`(?m)^tracerag: example.com/m/each: 3 tests recorded, 1 failed \(baseline: [0-9a-f]{8}\)$`,
	} {
		if !regexp.MustCompile(want).MatchString(got.Stderr) {
			t.Errorf("no %s in:\n%v", want, got)
		}
	}
	failed := regexp.MustCompile(`([0-9a-f]{8})  FAIL`).FindStringSubmatch(got.Stderr)
	if failed == nil || !strings.HasSuffix(got.Stderr, "\n  tracerag tree "+failed[1]+"\n  tracerag ask "+failed[1]+" \"your question\"\n") {
		t.Errorf("the failed test is not what is to be looked at next:\n%v", got)
	}

	// What every test does, TestMain that is, is no part of its tree.
	tree := recordtest.See(t, dir, "tracerag", "tree", "--quiet", "TestHalf")
	if !strings.Contains(tree.Stdout, "each.TestHalf ") || strings.Contains(tree.Stdout, "TestMain") || strings.Contains(tree.Stdout, "Start") {
		t.Errorf("the tree of TestHalf:\n%v", tree)
	}

	// A test program that was built before is as good as the go command.
	recordtest.Saved(t, dir)
	if out := recordtest.See(t, dir, "go", "test", "-c", "-o", "each/each.test", "./each"); out.Code != 0 {
		t.Fatal(out)
	}
	got = recordtest.See(t, filepath.Join(dir, "each"), "tracerag", "run", "--each", "./each.test", "-test.run=Double")
	if names := recordtest.Names(recordtest.Saved(t, dir)); got.Code != 0 || !slices.Equal(names, []string{"TestDouble", "ExampleDouble"}) || strings.Count(got.Stdout, "PASS") != 1 {
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
		got := recordtest.See(t, dir, append([]string{"tracerag", "run"}, strings.Fields(line)...)...)
		if code := got.Code; code != 125 && code != 126 || !strings.Contains(got.Stderr, want) {
			t.Errorf("%s: want %q in\n%v", line, want, got)
		}
	}
	if names := recordtest.Names(recordtest.Saved(t, dir)); names != nil {
		t.Errorf("what was refused left traces: %q", names)
	}
}

// TestEachMasksNames: a test's name and a module's path are others' text, too.
func TestEachMasksNames(t *testing.T) {
	t.Parallel()
	letters := make([]byte, 36)
	for i := range letters {
		letters[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[rand.IntN(62)]
	}
	token := "ghp_" + string(letters)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":     "module example.com/" + strings.ToLower(token) + "\n\ngo 1.24\n",
		"it_test.go": "package it\n\nimport \"testing\"\n\nfunc Test_" + token + "(t *testing.T) {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := recordtest.See(t, dir, "tracerag", "run", "--each", "go", "test")
	if got.Code != 0 || !strings.Contains(got.Stderr, "1 test recorded") || strings.Contains(strings.ToLower(got.Stderr), strings.ToLower(token)) {
		t.Errorf("messages with the secret:\n%v", got)
	}
}
