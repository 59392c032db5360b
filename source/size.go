package source

import (
	"bytes"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
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

// goFiles yields the paths of a module's Go files, tests left out. Nested
// modules are others; what the go command does not build (vendor, testdata,
// names that begin with a dot or an underscore) is not part of it, and what
// cannot be read is passed over.
func goFiles(root string) iter.Seq[string] {
	return func(yield func(string) bool) {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			name := d.Name()
			if d.IsDir() {
				if path == root {
					return nil
				}
				if name == "vendor" || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
					return filepath.SkipDir
				}
				if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
					return filepath.SkipDir
				}
				return nil
			}
			if d.Type().IsRegular() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !yield(path) {
				return filepath.SkipAll
			}
			return nil
		})
	}
}
