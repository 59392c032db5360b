package index_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tracerag/knowledge/index"
)

// TestOperations does to a working tree what people and their tools do, commits little of it, and
// compares the store with a new one after each step: renames that keep times, edits that keep
// sizes, links, directories that become files, modules and .gitignore that come and go.
func TestOperations(t *testing.T) {
	r := newRepo(t)
	random := rand.New(rand.NewPCG(7, 11))
	dirs := []string{"", "a", "a/b", "c", "vendor/x", "testdata", "_d"}
	for i := range 12 {
		r.write(filepath.Join(dirs[i%len(dirs)], fmt.Sprintf("f%d.go", i)), fmt.Sprintf("package p\n\nfunc F%02d() {}\n", i))
	}
	r.commit("begin")
	s := open(t)
	update(t, s, r.dir, index.Options{})
	at := func(path string) string { return filepath.Join(r.dir, path) }
	files := func() []string {
		var list []string
		for _, d := range dirs {
			found, _ := filepath.Glob(filepath.Join(r.dir, d, "*.go"))
			for _, f := range found {
				if info, err := os.Lstat(f); err != nil || !info.Mode().IsRegular() {
					continue
				}
				if rel, err := filepath.Rel(r.dir, f); err == nil && !slices.Contains(list, rel) {
					list = append(list, rel)
				}
			}
		}
		return list
	}
	pick := func() string {
		all := files()
		return all[random.IntN(len(all))]
	}
	somewhere := func() string {
		return filepath.Join(dirs[random.IntN(len(dirs))], fmt.Sprintf("g%d.go", random.IntN(20)))
	}
	old := time.Now().Add(-time.Hour)
	operations := []struct {
		name string
		do   func()
	}{
		{"edit of the same size", func() {
			p := pick()
			r.write(p, fmt.Sprintf("package p\n\nfunc G%02d() {}\n", random.IntN(100)))
			if random.IntN(2) == 0 {
				old = old.Add(time.Second)
				_ = os.Chtimes(at(p), old, old)
			}
		}},
		{"new file", func() { r.write(somewhere(), fmt.Sprintf("package p\n\nfunc N%d() {}\n", random.IntN(1000))) }},
		{"file that does not compile", func() { r.write(somewhere(), "package p\n\nfunc X( {\n\nfunc Y() {}\n") }},
		{"rename that keeps the time", func() {
			to := somewhere()
			_ = os.MkdirAll(filepath.Dir(at(to)), 0o755)
			_ = os.Rename(at(pick()), at(to))
		}},
		{"two files change places", func() {
			a, b := pick(), pick()
			_ = os.Rename(at(a), at("swap"))
			_ = os.Rename(at(b), at(a))
			_ = os.Rename(at("swap"), at(b))
		}},
		{"removed file", func() {
			if len(files()) > 4 {
				_ = os.Remove(at(pick()))
			}
		}},
		{"removed directory", func() {
			if len(files()) > 8 {
				_ = os.RemoveAll(at(dirs[1+random.IntN(len(dirs)-1)]))
			}
		}},
		{"link to a file", func() { _ = os.Symlink(at(pick()), at(fmt.Sprintf("link%d.go", random.IntN(3)))) }},
		{"link to a directory", func() { _ = os.Symlink(r.dir, at("c/loop")) }},
		{"directory named as a file", func() { _ = os.MkdirAll(at(fmt.Sprintf("a/h%d.go", random.IntN(3))), 0o755) }},
		{"ignored", func() { r.write(".gitignore", fmt.Sprintf("g%d.go\n/c/\n!keep.go\n", random.IntN(20))) }},
		{"nothing ignored", func() { _ = os.Remove(at(".gitignore")) }},
		{"nested module", func() { r.write("a/go.mod", "module example.com/nested\n") }},
		{"no nested module", func() { _ = os.Remove(at("a/go.mod")) }},
		{"other module path", func() { r.write("go.mod", fmt.Sprintf("module example.com/app%d\n", random.IntN(3))) }},
		{"unreadable", func() { _ = os.Chmod(at(pick()), 0) }},
		{"readable", func() {
			for _, f := range files() {
				_ = os.Chmod(at(f), 0o644)
			}
		}},
		{"empty file", func() { r.write(pick(), "") }},
		{"commit", func() {
			for _, f := range files() {
				_ = os.Chmod(at(f), 0o644) // git can't add what it can't read
			}
			r.commit("more")
		}},
		{"nothing", func() {}},
	}
	for i := range rounds(t, 60) {
		op := operations[random.IntN(len(operations))]
		if len(files()) == 0 {
			r.write("again.go", "package p\n")
		}
		op.do()
		update(t, s, r.dir, index.Options{})
		t.Logf("%d: %s", i, op.name)
		sameAsFresh(t, s, r.dir, index.Options{})
	}
}
