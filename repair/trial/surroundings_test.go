package trial

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestLookSkips: modules in vendor and testdata directories are skipped, and no others.
func TestLookSkips(t *testing.T) {
	root := filepath.Join(t.TempDir(), "repo")
	var files []string
	for dir, replaced := range map[string]string{"myvendor": "seen", "vendor/x": "vendored", "testdata": "tested"} {
		name := filepath.Join(root, dir, "go.mod")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		text := "module example.com/m\n\nreplace example.com/other => ../../../../" + replaced + "\n"
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, dir+"/go.mod")
	}
	s, err := look(root, files, "")
	if err != nil {
		t.Fatal(err)
	}
	var linked []string
	for target := range maps.Values(s.links) {
		linked = append(linked, filepath.Base(target))
	}
	if !slices.Equal(linked, []string{"seen"}) {
		t.Errorf("linked: %q", linked)
	}
}
