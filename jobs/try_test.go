//go:build unix

package jobs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/repair/sandbox"
	"tracerag/repair/trial"
)

// box is where tests of a test run: not in a sandbox, with this user's build cache.
func box(t testing.TB) *Box {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	scratch := t.TempDir()
	if err == nil {
		err = os.Mkdir(filepath.Join(scratch, "build"), 0o700)
	}
	if err == nil {
		err = os.Symlink(strings.TrimSpace(string(cache)), filepath.Join(scratch, "build", "gocache"))
	}
	if err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
		c.Layers = nil // that cache is the one below already
		return sandbox.New(nil).Run(ctx, c)
	}
	return &Box{Run: run, Scratch: scratch, Limits: sandbox.Limits{Time: time.Minute, Output: 1 << 20}}
}

// replaced is a diff of sum.go.
func replaced(was, is string) string {
	return "--- a/sum.go\n+++ b/sum.go\n@@ -3,1 +3,1 @@\n-" + was + "\n+" + is + "\n"
}

// TestTry tries changes of a repository with a test that fails. What is no change, or names a test that can't show what it does, has
// a reason in place of a verdict. Nothing that is kept has a secret that a test prints.
func TestTry(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := postgrestest.Shared(t).Database(t).URL()
	q := opened(t, url)
	s := indexer(t, url, "/")
	s.Trials, s.Mask = box(t), func(s string) string { return strings.ReplaceAll(s, "hunter2", "[REDACTED]") }
	r := newRepo(t)
	const was, other = "func Sum(a, b int) int { return a - b }", "func Other() int { return 1 }"
	write(t, r.dir, "sum.go", "package app\n\n"+was+"\n\n"+other+"\n")
	write(t, r.dir, "sum_test.go", "package app\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Fatal(\"no sum, hunter2\")\n\t}\n}\n\nfunc TestOther(t *testing.T) {\n\tif Other() != 1 {\n\t\tt.Fatal()\n\t}\n}\n")
	commit := r.commit("F")
	right := replaced(was, "func Sum(a, b int) int { return a + b }")
	list := []Candidate{
		{"right", r.url(""), "./:TestSum", right},
		{"wrong", r.url(""), ".:TestSum", replaced(was, "func Sum(a, b int) int { return a * b }")},
		{"breaks", r.url(""), "example.com/app:TestSum", "FILE: sum.go\n```go\nfunc Sum(a, b int) int { return a + b }\n\nfunc Other() int { return 2 }\n```\n"},
		{"prose", r.url(""), "", "I would use a plus."},
		{"elsewhere", r.url(""), "", replaced("func Sum() {}", "func Sum() int {}")},
		{"passes", r.url(""), ".:TestOther", right},
		{"unknown", r.url(""), ".:TestNone", right},
	}
	tried := func() map[string]Tried {
		t.Helper()
		all, err := q.Tried(ctx, nil)
		if err != nil || len(all) != len(list) {
			t.Fatalf("%+v, %v", all, err)
		}
		out := map[string]Tried{}
		for _, x := range all {
			out[x.ID] = x
		}
		return out
	}
	if added, err := q.Try(ctx, list, Asked); err != nil || added != len(list) {
		t.Fatalf("%d, %v", added, err)
	}
	if added, err := q.Try(ctx, list[:2], Night); err != nil || added > 0 {
		t.Errorf("asked twice: %d, %v", added, err)
	}
	for _, x := range tried() {
		if x.Made != nil || x.Verdict != nil || x.Change != "" {
			t.Errorf("before it was tried: %+v", x)
		}
	}
	for i := range list {
		if err := s.try(ctx, Task{Try, list[i].ID, list[i].key()}); err != nil {
			t.Errorf("%s: %v", list[i].ID, err)
		}
	}
	got := tried()
	for id, want := range map[string]string{
		"right":     "accepted: the wanted tests pass three times, and 2 tests end as before the change",
		"wrong":     "refused at wanted: example.com/app:TestSum fails",
		"breaks":    "refused at package: example.com/app:TestOther fails: it passed before the change",
		"prose":     "the text has no diff",
		"elsewhere": "sum.go",
		"passes":    "example.com/app:TestOther passes before any change: name a test that fails",
		"unknown":   "example.com/app:TestNone was not found",
	} {
		x := got[id]
		text := x.Problem
		if x.Verdict != nil {
			text += x.Verdict.String()
			if len(x.Verdict.Times) > 0 {
				t.Errorf("%s: times are kept", id)
			}
		}
		if x.Made == nil || x.Commit != commit || !strings.Contains(text, want) || strings.Contains(text, "hunter2") || (x.Problem == "") != (x.Verdict != nil) {
			t.Errorf("%s: %q, want %q: %+v", id, text, want, x)
		}
	}
	if v := got["wrong"].Verdict; v == nil || len(v.Failures) != 1 || !strings.Contains(v.Failures[0].Output, "no sum, [REDACTED]") || v.Failures[0].Was != trial.Failed {
		t.Errorf("what failed: %+v", v)
	}

	// The same change of another commit.
	write(t, r.dir, "sum.go", "package app\n\n"+other+"\n\nfunc Sum(a, b int) int { return -a - b }\n")
	newer := r.commit("F")
	if added, err := q.Try(ctx, list[:1], Asked); err != nil || added > 0 { // no worker has taken the job: it was called here
		t.Errorf("%d, %v", added, err)
	}
	if err := s.try(ctx, Task{Try, list[0].ID, list[0].key()}); err != nil {
		t.Error(err)
	}
	if x := tried()["right"]; x.Commit != newer || x.Verdict != nil || x.Problem == "" {
		t.Errorf("a change that does not fit: %+v", x)
	}
}

// TestTryHostile refuses what a row may say: a directory that the worker was not told to take, a change that is gone, a repository
// that needs what is outside of it.
func TestTryHostile(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := postgrestest.Shared(t).Database(t).URL()
	q := opened(t, url)
	s := indexer(t, url, "")
	s.Trials = box(t)
	r := newRepo(t)
	write(t, r.dir, "go.work", "go 1.26\n\nuse (\n\t.\n\t../outside\n)\n")
	r.commit("F")
	try := func(c Candidate) error {
		t.Helper()
		if _, err := q.Try(ctx, []Candidate{c}, Asked); err != nil {
			t.Fatal(err)
		}
		return s.try(ctx, Task{Try, c.ID, c.key()})
	}
	var final *FinalError
	c := Candidate{"a", r.url(""), "", replaced("x", "y")}
	if err := try(c); !errors.As(err, &final) || !strings.Contains(err.Error(), "directory of a worker's machine") {
		t.Errorf("a directory: %v", err)
	}
	s.Files = "/"
	if err := try(c); !errors.As(err, &final) || !strings.Contains(err.Error(), "outside of the repository") {
		t.Errorf("a workspace with others: %v", err)
	}
	if err := s.try(ctx, Task{Try, "a", "none"}); !errors.As(err, &final) || !strings.Contains(err.Error(), "removed") {
		t.Errorf("a change that is gone: %v", err)
	}
	for _, c := range []Candidate{{}, {"a", r.url(""), "", " \n"}, {"", r.url(""), "", "x"}, {"a", "https://joe:s3cret@example.com/a", "", "x"}, {"a", "dir", "", "x"}, {"a", r.url(""), "TestX", "x"}, {"a", r.url(""), "./x:", "x"}} {
		if err := c.Check(); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := q.pool.Exec(ctx, "UPDATE candidate SET asked = now() - interval '29 days'"); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Try(ctx, []Candidate{{"b", r.url(""), "", "x"}}, Asked); err != nil {
		t.Fatal(err)
	}
	if all, err := q.Tried(ctx, nil); err != nil || len(all) != 1 || all[0].ID != "b" {
		t.Errorf("after four weeks: %+v, %v", all, err)
	}
}
