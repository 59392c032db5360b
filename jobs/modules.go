package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
)

// What the go command reads of a repository that somebody else wrote, before its tests are in a sandbox: the files that
// say which modules it needs.

// moduleFiles are their names.
var moduleFiles = []string{"go.mod", "go.sum", "go.work", "go.work.sum"}

// largestModuleFile is how large one may be.
const largestModuleFile = 16 << 20

// modulesBelow returns the directories of the modules in a tree, as slash paths, the outer ones first. A link or a device in
// the place of one of their files is an error: it would be read as the worker's user.
func modulesBelow(root string) ([]string, error) {
	var modules []string
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := e.Name()
		if e.IsDir() {
			if name != root && (base == "vendor" || base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains(moduleFiles, base) {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		info, err := e.Info()
		if err == nil && (!info.Mode().IsRegular() || info.Size() > largestModuleFile) {
			err = fmt.Errorf("%s is no ordinary file", rel)
		}
		if base == "go.mod" {
			modules = append(modules, path.Dir(rel))
		}
		return err
	})
	slices.SortFunc(modules, func(a, b string) int {
		if a == "." || b == "." {
			return strings.Compare(strings.TrimPrefix(a, "."), strings.TrimPrefix(b, "."))
		}
		return strings.Compare(a, b)
	})
	return modules, err
}

// workspace returns the modules that a tree's go.work uses.
func workspace(root string) (map[string]bool, error) {
	data, err := os.ReadFile(filepath.Join(root, "go.work"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w, err := modfile.ParseWork("go.work", data, nil)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, u := range w.Use {
		used[path.Clean(filepath.ToSlash(u.Path))] = true
	}
	return used, nil
}

// download fetches the modules that one needs into the user's module cache, as go mod download does: by the proxy, never
// by version control, and checked by go.sum. It sees a copy of the module files alone.
func download(ctx context.Context, goCommand, root, module string) error {
	if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(module), "vendor", "modules.txt")); err == nil {
		return nil
	}
	alone, err := os.MkdirTemp("", "tracerag-modules-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(alone)
	if err := copyModuleFiles(root, alone); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, goCommand, "mod", "download")
	cmd.Dir = filepath.Join(alone, filepath.FromSlash(module))
	cmd.Env = append(environment(), "GOVCS=*:off", "PWD="+cmd.Dir)
	if used, _ := workspace(alone); !used[module] {
		cmd.Env = append(cmd.Env, "GOWORK=off")
	}
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("go mod download: %w: %s", err, lastLines(string(bytes.ReplaceAll(out, []byte(alone), []byte("."))), 3))
	}
	return nil
}

func copyModuleFiles(from, to string) error {
	return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && e.Name() == "vendor" {
			return filepath.SkipDir
		}
		if !e.Type().IsRegular() || !slices.Contains(moduleFiles, e.Name()) {
			return nil
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o600)
	})
}

// onlyFiles removes from a directory that tests could write to what is no ordinary file: who opens a pipe waits for ever, and a
// link names a file of the worker's user.
func onlyFiles(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
