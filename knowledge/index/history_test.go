package index_test

import (
	"os/exec"
	"strings"
	"testing"

	"tracerag/knowledge/index"
)

// TestHistoryOfAnyBytes takes in commits whose subjects have control characters or nothing at all,
// another encoding, a date that is none, and file names with control characters.
func TestHistoryOfAnyBytes(t *testing.T) {
	r := newRepo(t)
	r.write("a.go", first)
	r.write("b\x01c.go", "package app\n")
	r.commit("one\x01two")
	r.write("a.go", first+"\n")
	r.commit("normal")
	r.git("config", "i18n.logOutputEncoding", "UTF-16")
	r.git("commit", "-q", "--allow-empty", "--allow-empty-message", "-m", "")
	raw := strings.Replace(r.git("cat-file", "commit", "HEAD"), "1767323045 +0000", "never", 2)
	c := exec.Command("git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally")
	c.Dir, c.Stdin = r.dir, strings.NewReader(raw+"\n\ndamaged\n")
	name, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	r.git("update-ref", "HEAD", strings.TrimSpace(string(name)))
	s := open(t)
	got := update(t, s, r.dir, index.Options{})
	if got.Commits != 3 || len(got.Gaps) > 0 {
		t.Errorf("%d commits of 3, gaps %v", got.Commits, got.Gaps)
	}
	text := dump(t, s)
	for _, want := range []string{`"one\x01two"`, `"normal"`, `"damaged"`, `"b\x01c.go"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}
