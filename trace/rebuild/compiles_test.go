package rebuild

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// checker type-checks packages that import the standard library.
type checker struct {
	exports map[string]string // files, by import path
	listed  []checked
	left    int // packages that were not rewritten, in each way
}

// checked is a package as the go command lists it.
type checked struct {
	ImportPath, Dir, Export string
	GoFiles, CgoFiles       []string
	ImportMap               map[string]string
}

// newChecker lists packages with all that they import.
func newChecker(t *testing.T, patterns ...string) *checker {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,CgoFiles,ImportMap"}, patterns...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{exports: map[string]string{}}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p checked
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		c.exports[p.ImportPath] = p.Export
		c.listed = append(c.listed, p)
	}
	return c
}

// check type-checks a package, whose files have these texts.
func (c *checker) check(p checked, names []string, texts map[string][]byte) error {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(fset, name, texts[name], parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	config := types.Config{
		Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
			if mapped := p.ImportMap[path]; mapped != "" {
				path = mapped
			}
			if c.exports[path] == "" {
				return nil, errors.New("there is no such package")
			}
			return os.Open(c.exports[path])
		}),
		Sizes: types.SizesFor("gc", runtime.GOARCH), GoVersion: "go1.26",
	}
	_, err := config.Check(p.ImportPath, fset, files, nil)
	return err
}

// holds type-checks a package as it is, and rewritten in all ways. It reports whether it could be checked at all.
func (c *checker) holds(t *testing.T, p checked, names []string) bool {
	t.Helper()
	plain := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		plain[name] = text
	}
	if c.check(p, names, plain) != nil {
		return false
	}
	for _, w := range []struct{ lines, values, detected bool }{{false, false, false}, {true, true, false}, {true, true, true}} {
		rewritten, err := rewriteAll(names, p.ImportPath, map[string]bool{MarkLines: w.lines, MarkValues: w.values}, w.detected)
		if err == nil && rewritten == nil {
			c.left++
			continue
		}
		if err == nil {
			err = c.check(p, names, rewritten)
		}
		if err != nil {
			t.Errorf("%s, %+v: %v", p.ImportPath, w, err)
		}
	}
	return true
}

// TestRewrittenStd: what type-checks in the standard library does so when it is rewritten. By default these are a few packages
// with much of the language in them.
func TestRewrittenStd(t *testing.T) {
	patterns, least := []string{"go/types", "slices", "iter", "sync/atomic"}, 4
	all := os.Getenv("TRACERAG_REAL") == "all"
	if all {
		patterns, least = []string{"std"}, 200
	}
	c := newChecker(t, patterns...)
	n, files := 0, 0
	for _, p := range c.listed {
		if !all && !slices.Contains(patterns, p.ImportPath) || p.ImportPath == "unsafe" || len(p.GoFiles) == 0 || len(p.CgoFiles) > 0 {
			continue
		}
		var names []string
		for _, name := range p.GoFiles {
			names = append(names, filepath.Join(p.Dir, name))
		}
		if !c.holds(t, p, names) {
			t.Errorf("%s does not type-check as it is", p.ImportPath)
			continue
		}
		n, files = n+1, files+len(names)
	}
	t.Logf("%d packages, %d files", n, files)
	if n < least || c.left > 0 {
		t.Errorf("%d packages were checked, want %d, and %d left as they are", n, least, c.left)
	}
}

// goroot is where the go command has its sources.
func goroot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// toolchainTests are the files of the toolchain's own test directory, one in so many.
func toolchainTests(t *testing.T, one int) (names []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(goroot(t), "test", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"typeparam", "fixedbugs", "ken", "chan", "interface", "escape", "abi"} {
		more, err := filepath.Glob(filepath.Join(goroot(t), "test", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, more...)
	}
	if len(all) == 0 {
		t.Skip("this installation of Go has no test directory")
	}
	for i := 0; i < len(all); i += one {
		names = append(names, all[i])
	}
	return names
}

// TestRewrittenTests does the same with the files of the toolchain's own tests.
func TestRewrittenTests(t *testing.T) {
	one := 60
	if os.Getenv("TRACERAG_REAL") == "all" {
		one = 1
	}
	names := toolchainTests(t, one)
	redeclares := filepath.Join(goroot(t), "test", "rename.go")
	if _, err := os.Stat(redeclares); err == nil && !slices.Contains(names, redeclares) {
		names = append(names, redeclares)
	}
	c := newChecker(t, "std")
	n := 0
	for _, name := range names {
		if c.holds(t, checked{ImportPath: "main"}, []string{name}) {
			n++
		}
	}
	t.Logf("%d of %d files", n, len(names))
	if n < len(names)/2 {
		t.Errorf("of %d files only %d type-check as they are", len(names), n)
	}
	if c.left > n/10 { // those that give types of the language another meaning
		t.Errorf("of %d files %d were not rewritten", n, c.left/3)
	}
}
