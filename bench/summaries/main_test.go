package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/bench/corpus"
)

// TestReplay replays three commits: the first makes all, the second formats, the third
// edits a function.
func TestReplay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repo")
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Skipf("git: %v: %s", err, out)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "-q")
	for _, text := range []string{"package a\nfunc F() {}\nfunc G() { F() }\n", "package a\n\nfunc F() {}\n\nfunc G() { F() }\n", "package a\n\nfunc F() {}\n\nfunc G() { F(); F() }\n"} {
		for name, text := range map[string]string{"a.go": text, "b.go": "package a\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		git("add", "-A")
		git("commit", "-q", "-m", "x")
	}
	var out strings.Builder
	if err := run(t.Context(), &out, corpus.Clone(dir), 200, "gpt-4o"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"repo, 3 commits", "none 1 0 0 0 ", "1 1 2 2 ", "all 2 "} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
