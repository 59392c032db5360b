package code

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDirIsOSs lists a directory with more names than fit into one answer of the system, and
// compares with package os.
func TestDirIsOSs(t *testing.T) {
	dir := t.TempDir()
	for i := range 900 {
		name := fmt.Sprintf("%s%d.go", strings.Repeat("é", i%60), i)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"sub", "d.go", ".git"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"link.go": "0.go", "lost.go": "nowhere", "dirlink": "sub"} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Skip(err)
		}
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	line := func(e dirEntry) string {
		return fmt.Sprint(e.name, " ", e.kind, " ", e.size, " ", e.time.UnixNano(), " ", e.err)
	}
	for _, d := range all {
		e := dirEntry{name: d.Name(), kind: d.Type()}
		if info, err := d.Info(); err == nil && d.Type().IsRegular() && e.isGo() {
			e.size, e.time = info.Size(), info.ModTime()
		}
		want = append(want, line(e))
	}
	var r dirReader
	for range 2 { // the buffer is used again
		list, err := r.read(dir)
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		for _, e := range list {
			got = append(got, line(e))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("listed\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	for _, what := range []string{"nowhere", "0.go"} {
		if _, err := r.read(filepath.Join(dir, what)); err == nil {
			t.Errorf("%s was listed", what)
		}
	}
}
