package patch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFinish: what a killed process left half written is completed; what it had not begun stays as it was; what
// somebody changed meanwhile is not lost. Nothing is left beside the files.
func TestFinish(t *testing.T) {
	p := &Patch{Files: []File{
		{"a.go", []byte("package a\n"), []byte("package a // 2\n")},
		{"b.go", []byte("package a // b\n"), nil},
		{"new/deep/c.go", nil, []byte("package deep\n")},
	}}
	for _, c := range []struct {
		name  string
		after map[string]string // of the kill; "-" is gone
		want  map[string]string
		says  string // of the error
		done  string
	}{
		{"nothing begun", map[string]string{"a.go.0123abcd.new": "package a\n", "a.go.ffffffff.new": "package a /", "new/deep/c.go.00000000.new": ""}, map[string]string{"a.go": "package a\n", "b.go": "package a // b\n"}, "", ""},
		{"one done", map[string]string{"a.go": "package a // 2\n", "a.go.0123abcd.new": "package a\n", "new/deep/c.go.00000000.new": "package deep\n"}, map[string]string{"a.go": "package a // 2\n", "new/deep/c.go": "package deep\n"}, "", "b.go new/deep/c.go"},
		{"all done", map[string]string{"a.go": "package a // 2\n", "b.go": "-", "new/deep/c.go": "package deep\n", "b.go.01234567.new": "package a // b\n"}, map[string]string{"a.go": "package a // 2\n", "new/deep/c.go": "package deep\n"}, "", ""},
		{"changed meanwhile", map[string]string{"a.go": "package a // 2\n", "b.go": "package mine\n", "a.go.01234567.new": "mine, too\n"}, map[string]string{"a.go": "package a // 2\n", "b.go": "package mine\n", "a.go.01234567.new": "mine, too\n"}, "a.go changed, b.go, new/deep/c.go did not: b.go: it has changed", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, journal := t.TempDir(), filepath.Join(t.TempDir(), "journal")
			for _, f := range p.Files {
				if f.Before != nil {
					writeFile(t, filepath.Join(dir, f.Name), string(f.Before))
				}
			}
			writeFile(t, filepath.Join(dir, "below", "x"), "")
			noted, err := p.journal(dir)
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range c.after {
				if text == "-" {
					_ = os.Remove(filepath.Join(dir, name))
				} else {
					writeFile(t, filepath.Join(dir, name), text)
				}
			}
			writeFile(t, journal, string(noted))
			done, err := Finish(filepath.Join(dir, "below"), journal)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) || strings.Join(done, " ") != c.done {
				t.Errorf("%v %v", done, err)
			}
			got := map[string]string{}
			_ = filepath.WalkDir(dir, func(file string, e os.DirEntry, err error) error {
				name, _ := filepath.Rel(dir, file)
				if e.IsDir() && filepath.ToSlash(name) == "new" && c.want["new/deep/c.go"] == "" && c.says == "" {
					t.Errorf("%s is left", name)
				}
				if !e.IsDir() && e.Name() != "x" {
					text, _ := os.ReadFile(file)
					got[filepath.ToSlash(name)] = string(text)
				}
				return nil
			})
			for name := range got {
				if got[name] != c.want[name] {
					t.Errorf("%s is %q, want %q", name, got[name], c.want[name])
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("files %q, want %q", got, c.want)
			}
			if done, err := Finish(dir, journal); done != nil || err != nil {
				t.Errorf("once more: %v %v", done, err)
			}
		})
	}
	dir, journal := t.TempDir(), filepath.Join(t.TempDir(), "journal")
	if err := (&Patch{Files: p.Files[2:]}).WriteKept(dir, journal); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(journal); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal of what is done is left: %v", err)
	}
	for _, text := range []string{"", "{}", `{"dir":"/elsewhere"}`} {
		writeFile(t, journal, text)
		if _, err := Finish(dir, journal); err == nil || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
