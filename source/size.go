package source

import (
	"bytes"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// Whole is the size of the whole source of a program: its main module and
// every module that was built into it, tests left out, the standard library
// left out. It is what would have to be read without a trace (Kamiya 2024,
// table 1).
type Whole struct {
	Modules, Files, Lines int
	Missing               []string // modules whose directory is not on this machine
}

// Whole counts the Go files of all modules of the binary.
func (r *Resolver) Whole() Whole {
	var c Whole
	for i, m := range r.places.modules {
		dir := r.places.moduleDir(i)
		if dir == "" {
			c.Missing = append(c.Missing, m.Path+"@"+m.Version)
			continue
		}
		c.Modules++
		for path := range goFiles(dir) {
			data, err := os.ReadFile(path)
			if err != nil {
				continue // what cannot be read is not counted
			}
			c.Files++
			c.Lines += bytes.Count(data, []byte("\n"))
		}
	}
	sort.Strings(c.Missing)
	return c
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// moduleDir returns the directory of the i-th module of the binary; "" if it is
// not on this machine.
func (p *places) moduleDir(i int) string {
	m := p.modules[i]
	dir := p.replaceDir(m)
	if i == 0 && p.mainDir != "" {
		dir = p.mainDir
	}
	if dir == "" {
		dir = p.cacheDir(m)
	}
	if dir == "" || !isDir(dir) {
		return ""
	}
	return dir
}

// goFiles yields the paths of a module's Go files, tests left out, in the order of their names.
// Nested modules are others; what the go command does not build (vendor, testdata,
// names that begin with a dot or an underscore) is not part of it, and what
// cannot be read is passed over.
func goFiles(root string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if info, err := os.Lstat(root); err == nil && info.IsDir() {
			goFilesIn(filepath.Clean(root), true, yield)
		}
	}
}

// goFilesIn takes less time than [filepath.WalkDir], which would have each directory asked for a
// go.mod that its list of names has or has not.
func goFilesIn(dir string, isRoot bool, yield func(string) bool) (more bool) {
	entries, _ := os.ReadDir(dir) // if it fails, those that could be read
	if !isRoot && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "go.mod" }) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return true
		}
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case e.IsDir():
			if name == "vendor" || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
				continue
			}
			if !goFilesIn(filepath.Join(dir, name), false, yield) {
				return false
			}
		case e.Type().IsRegular() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			if !yield(filepath.Join(dir, name)) {
				return false
			}
		}
	}
	return true
}
