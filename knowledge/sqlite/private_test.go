//go:build unix

package sqlite

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tracerag/knowledge/knowledgetest"
)

// TestPrivate says that nobody else can read a store, and that git does not see it.
func TestPrivate(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	file := filepath.Join(t.TempDir(), ".tracerag", "knowledge.db")
	s, err := Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	knowledgetest.Fill(t, s, "a.go", "F")
	for _, f := range []string{file, file + "-wal", filepath.Dir(file)} {
		if fi, err := os.Stat(f); err != nil || fi.Mode().Perm()&0o77 != 0 {
			t.Errorf("%s: %v, %v", f, fi.Mode(), err)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(file), ".gitignore")); err != nil {
		t.Error(err)
	}
}
