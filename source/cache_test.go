package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// publish writes version v1.0.0 of the modules in dir to a directory that the
// go command takes as a proxy.
func publish(t *testing.T, dir string, modules map[string]string) (proxy string) {
	t.Helper()
	root := t.TempDir()
	for name, path := range modules {
		src := filepath.Join(dir, name)
		// Replacements are for working copies; a main module that has
		// them cannot be installed by version.
		gomod, err := os.ReadFile(filepath.Join(src, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(string(gomod), "replace")
		write(t, filepath.Join(src, "go.mod"), text)

		escaped, err := module.EscapePath(path)
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(root, filepath.FromSlash(escaped), "@v")
		write(t, filepath.Join(at, "list"), "v1.0.0\n")
		write(t, filepath.Join(at, "v1.0.0.info"), `{"Version":"v1.0.0","Time":"2026-01-02T03:04:05Z"}`)
		write(t, filepath.Join(at, "v1.0.0.mod"), text)
		f, err := os.Create(filepath.Join(at, "v1.0.0.zip"))
		if err != nil {
			t.Fatal(err)
		}
		if err := zip.CreateFromDir(f, module.Version{Path: path, Version: "v1.0.0"}, src); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return "file://" + filepath.ToSlash(root)
}

// TestInstalledProgram installs a program by version, with and without
// -trimpath, and resolves it from the module cache.
func TestInstalledProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	t.Parallel()
	dir := unpack(t)
	proxy := publish(t, dir, map[string]string{
		"here": "example.com/here",
		"dep":  "example.com/Dep",
		"app":  "example.com/app",
	})
	if filepath.Separator == '\\' {
		proxy = strings.Replace(proxy, "file://", "file:///", 1)
	}
	cache, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"-trimpath=false", "-trimpath=true"} {
		t.Run(mode, func(t *testing.T) {
			bin := t.TempDir()
			goTool(t, bin, []string{
				"GOPROXY=" + proxy, "GOMODCACHE=" + cache, "GOBIN=" + bin, "GONOSUMDB=*",
				"GOFLAGS=-buildvcs=false -modcacherw",
			}, "install", mode, "example.com/app/cmd/app@v1.0.0")
			exes, err := filepath.Glob(filepath.Join(bin, "app*"))
			if err != nil || len(exes) != 1 {
				t.Fatal(exes, err)
			}
			c := configOf(t, exes[0])
			c.GOMODCACHE = cache
			funcs := calls(t, exes[0])
			check(t, c, funcs, "example.com/Dep@v1.0.0")

			// The module cache is read-only and immutable: its files are
			// not compared with the age of the binary.
			c.Built = c.Built.AddDate(-1, 0, 0)
			check(t, c, funcs, "example.com/Dep@v1.0.0")

			// A working copy is no match for the version installed.
			c.GOMODCACHE, c.Dir = t.TempDir(), filepath.Join(dir, "app")
			if mode == "-trimpath=true" {
				got := New(c).Find(funcs["main"])
				if got.Kind != Declared || !strings.Contains(got.Warning, "working copy") {
					t.Errorf("from a working copy: %+v", got)
				}
				c.Dir = ""
				got = New(c).Find(funcs["main"])
				if got.Kind != Missing || !strings.Contains(got.Warning, `"go mod download example.com/app@v1.0.0"`) {
					t.Errorf("without any source: %+v", got)
				}
			}
		})
	}
}
