package trial_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestLargeFiles: a large file that git does not know is left out, as one without git is: it would be copied, and
// read before each step.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, sum)
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "begin")
	if err := os.WriteFile(filepath.Join(dir, "core"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "core"), 300<<20); err != nil {
		t.Skip(err)
	}
	tr := open(t, options(t, dir))
	if !slices.Contains(tr.Left(), "core: 300 MB") {
		t.Errorf("left out is %q", tr.Left())
	}
	if _, err := os.Stat(filepath.Join(tr.Snapshot(), "core")); err == nil {
		t.Error("core was copied")
	}
	if _, err := os.Stat(filepath.Join(tr.Snapshot(), "sum.go")); err != nil {
		t.Error(err)
	}
}
