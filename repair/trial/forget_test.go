package trial_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestBaselinesAreForgotten removes baselines of a month ago when one is made, and nothing else that is beside them.
func TestBaselinesAreForgotten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "-- go.mod --\nmodule example.com/small\n\ngo 1.21\n-- a.go --\npackage small\n")
	o := wholeOptions(t, dir)
	o.Kept = t.TempDir()
	for name, age := range map[string]int{"old.json": 31, "new.json": 29, "old.txt": 31} {
		file := filepath.Join(o.Kept, name)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().AddDate(0, 0, -age)
		if err := os.Chtimes(file, then, then); err != nil {
			t.Fatal(err)
		}
	}
	tr := open(t, o)
	if _, err := tr.Baseline(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(o.Kept)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if len(names) != 3 || !slices.Contains(names, "new.json") || !slices.Contains(names, "old.txt") {
		t.Errorf("left: %v, want new.json, old.txt and that of the tree", names)
	}
}
