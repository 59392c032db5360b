package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"

	"tracerag/bench/corpus"
	"tracerag/repair/patch"
)

// tree is the commit before a fix with the tests of the fix, and the fix.
type tree struct {
	dir  string
	base map[string][]byte // Go files that the fix changes, and test files
	gold patch.Patch
}

// checkOut writes the files of a case below dir.
func checkOut(clone corpus.Clone, c *corpus.Case, dir string) (*tree, error) {
	t := &tree{dir: dir, base: map[string][]byte{}}
	if err := clone.Unpack(c.Base, dir); err != nil {
		return nil, err
	}
	tests := map[string]bool{}
	for _, f := range c.TestFiles {
		tests[f[1]] = true
		name := filepath.Join(dir, filepath.FromSlash(f[1]))
		text, err := clone.Git(nil, "show", c.Fix+":"+f[1])
		if err != nil { // the fix removes it
			err = os.Remove(name)
		} else {
			t.base[f[1]] = text
			if err = os.MkdirAll(filepath.Dir(name), 0o755); err == nil {
				err = os.WriteFile(name, text, 0o644)
			}
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	for _, name := range c.Changed {
		if tests[name] {
			continue
		}
		f := patch.File{Name: name}
		before, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		switch {
		case err == nil:
			f.Before, t.base[name] = before, before
		case !errors.Is(err, os.ErrNotExist):
			return nil, err
		}
		if f.After, err = clone.Git(nil, "show", c.Fix+":"+name); err != nil {
			f.After = nil
		}
		t.gold.Files = append(t.gold.Files, f)
	}
	return t, nil
}

// moduleDirectory is that of the module of a directory of the tree.
func moduleDirectory(dir, below string) string {
	for d := below; ; d = path.Dir(d) {
		if _, err := os.Stat(filepath.Join(dir, d, "go.mod")); err == nil || d == "." {
			return filepath.Join(dir, filepath.FromSlash(d))
		}
	}
}

// suite is the packages of the fix's files and some of those that import them. What they
// depend on is downloaded.
func (t *tree) suite(ctx context.Context, module string, importers int) ([]string, error) {
	var stderr bytes.Buffer
	command := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Stderr = module, &stderr
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOWORK=off")
		return cmd.Output()
	}
	out, err := command("list", "-e", "-json=ImportPath,Dir,Imports,TestImports,XTestImports", "./...")
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.Bytes())
	}
	type listed struct {
		ImportPath, Dir                    string
		Imports, TestImports, XTestImports []string
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	suite := map[string]bool{}
	for name := range t.base {
		for _, p := range all {
			if p.Dir == filepath.Join(t.dir, filepath.FromSlash(path.Dir(name))) {
				suite[p.ImportPath] = true
			}
		}
	}
	var importing []string
	for _, p := range all {
		if !suite[p.ImportPath] && slices.ContainsFunc(slices.Concat(p.Imports, p.TestImports, p.XTestImports), func(i string) bool { return suite[i] }) {
			importing = append(importing, p.ImportPath)
		}
	}
	// evenly over the names, not those that begin with a
	for i := range min(importers, len(importing)) {
		suite[importing[i*len(importing)/min(importers, len(importing))]] = true
	}
	list := slices.Sorted(maps.Keys(suite))
	if _, err := command(append([]string{"list", "-e", "-deps", "-test"}, list...)...); err != nil {
		return nil, fmt.Errorf("downloading dependencies: %w: %s", err, stderr.Bytes())
	}
	return list, nil
}
