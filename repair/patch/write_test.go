package patch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// content returns a tree's files with their modes.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		info, err := os.Lstat(name)
		if err != nil {
			return err
		}
		text, _ := os.ReadFile(name)
		out[rel] = info.Mode().String() + " " + string(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(a, b map[string]string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(sortedKeys(a), func(k string) bool { return a[k] != b[k] })
}

// All files of a Patch are put in place, with their modes.
func TestWrite(t *testing.T) {
	dir := write(t, map[string]string{"a.go": "a\n", "run.sh": "x\n", "gone.go": "g\n", "sub/b.go": "b\n"})
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o750); err != nil {
		t.Fatal(err)
	}
	p := &Patch{Files: []File{
		{"a.go", []byte("a\n"), []byte("A\n")},
		{"gone.go", []byte("g\n"), nil},
		{"new/deep/c.go", nil, []byte("c\n")},
		{"run.sh", []byte("x\n"), []byte("y\n")},
		{"sub/b.go", []byte("b\n"), []byte{}},
	}}
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, text := range content(t, dir) {
		if !strings.HasPrefix(text, "d") {
			names = append(names, name+"="+text[strings.Index(text, " ")+1:])
		}
	}
	slices.Sort(names)
	if want := []string{"a.go=A\n", filepath.FromSlash("new/deep/c.go") + "=c\n", "run.sh=y\n", filepath.FromSlash("sub/b.go") + "="}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if info, _ := os.Stat(filepath.Join(dir, "run.sh")); runtime.GOOS != "windows" && info.Mode().Perm() != 0o750 {
		t.Errorf("the mode is %v", info.Mode())
	}
}

// A file that is not as the Patch has it, a link, a directory that takes no file: nothing is
// written, and each one is named.
func TestWriteAllOrNone(t *testing.T) {
	for _, c := range []struct {
		what  string
		spoil func(t *testing.T, dir string)
		named []string
	}{
		{"changed", func(t *testing.T, dir string) {
			os.WriteFile(filepath.Join(dir, "b.go"), []byte("other"), 0o666)
			os.WriteFile(filepath.Join(dir, "n.go"), nil, 0o666)
		}, []string{"b.go", "n.go"}},
		{"gone", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "b.go")) }, []string{"b.go"}},
		{"link", func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "b.go"))
			if err := os.Symlink("c.go", filepath.Join(dir, "b.go")); err != nil {
				t.Skip(err)
			}
		}, []string{"b.go"}},
		{"directory link", func(t *testing.T, dir string) {
			os.Rename(filepath.Join(dir, "sub"), filepath.Join(dir, "other"))
			if err := os.Symlink("other", filepath.Join(dir, "sub")); err != nil {
				t.Skip(err)
			}
		}, []string{"sub/d.go"}},
		{"no directory", func(t *testing.T, dir string) { os.WriteFile(filepath.Join(dir, "z"), nil, 0o666) }, []string{"z/n.go"}},
		{"read-only", func(t *testing.T, dir string) {
			if runtime.GOOS == "windows" || os.Getuid() == 0 {
				t.Skip("anybody may write")
			}
			os.Chmod(filepath.Join(dir, "sub"), 0o555)
			t.Cleanup(func() { os.Chmod(filepath.Join(dir, "sub"), 0o755) })
		}, []string{"sub/d.go"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := write(t, map[string]string{"a.go": "a", "b.go": "b", "c.go": "c", "sub/d.go": "d"})
			p := &Patch{Files: []File{{"a.go", []byte("a"), []byte("A")}, {"b.go", []byte("b"), []byte("B")}, {"n.go", nil, []byte("N")}, {"sub/d.go", []byte("d"), nil}, {"z/n.go", nil, []byte("N")}}}
			c.spoil(t, dir)
			before := content(t, dir)
			err := p.Write(dir)
			if err == nil {
				t.Fatal("it was written")
			}
			for _, n := range c.named {
				if !strings.Contains(err.Error(), n) {
					t.Errorf("%v does not name %s", err, n)
				}
			}
			if after := content(t, dir); !same(before, after) {
				t.Errorf("the tree was\n%q\nand is\n%q", before, after)
			}
		})
	}
}

// What fails halfway is undone.
func TestWriteGoesBack(t *testing.T) {
	dir := write(t, map[string]string{"a.go": "a", "b.go": "b", "d.go": "d"})
	before := content(t, dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for stop := range 5 {
		w := &writing{root: root}
		for _, f := range []File{{"a.go", []byte("a"), []byte("A")}, {"b.go", []byte("b"), nil}, {"d.go", []byte("d"), []byte("D")}, {"n/m/n.go", nil, []byte("N")}} {
			if err := w.prepare(f); err != nil {
				t.Fatal(err)
			}
		}
		for i := range stop {
			if err := w.replace(&w.steps[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.back(); err != nil {
			t.Fatal(err)
		}
		if after := content(t, dir); !same(before, after) {
			t.Fatalf("after %d files the tree was\n%q\nand is\n%q", stop, before, after)
		}
	}
}

// No link leads edits out of the tree.
func TestLinks(t *testing.T) {
	outside := write(t, map[string]string{"x.go": "package x\n\nfunc F() {}\n"})
	dir := write(t, map[string]string{"a.go": "package a\n"})
	if err := errors.Join(os.Symlink(outside, filepath.Join(dir, "out")), os.Symlink(filepath.Join(outside, "x.go"), filepath.Join(dir, "l.go")), os.Symlink("a.go", filepath.Join(dir, "m.go"))); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"out/x.go", "l.go", "m.go", "out/new.go"} {
		_, err := Apply(dir, []Edit{{File: name, Text: "func F() { _ = 1 }", New: name == "out/new.go"}})
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != BadName || e.File != name {
			t.Errorf("%s: %v", name, err)
		}
		diff := "--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+x\n"
		if _, err := ReadDiff(dir, []byte(diff)); err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("%s by a diff: %v", name, err)
		}
	}
}
