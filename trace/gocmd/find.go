package gocmd

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Find is [Parse] for a command line typed in dir that may also begin with a
// package instead of a program:
//
//   - a directory with Go files (./cmd/app, cmd/app, .), or a Go file,
//   - if no such program exists, an import path (example.com/app/cmd/x) of a
//     package main that the module in dir knows, or a package at a version
//     (example.com/x@latest).
//
// It is then the go run of that package. A program always wins over an import path,
// and one in PATH over a directory of the same name.
func Find(ctx context.Context, args []string, dir string) (*Command, error) {
	c, err := Parse(args)
	if c != nil || err != nil || len(args) == 0 {
		return c, err
	}
	pkg := packageOf(ctx, args[0], dir)
	if pkg == "" {
		return nil, nil
	}
	c, err = Parse(append([]string{"go", "run", pkg}, args[1:]...))
	if c != nil {
		c.Package = true
	}
	return c, err
}

// packageOf returns what go run calls the package that name means, "" for none.
func packageOf(ctx context.Context, name, dir string) string {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, name)
	}
	slash := strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator)
	if !slash && name != "." && name != ".." {
		if _, err := exec.LookPath(name); err == nil || errors.Is(err, exec.ErrDot) {
			return ""
		}
	}
	if info, err := os.Stat(path); err == nil {
		if !info.IsDir() && strings.HasSuffix(name, ".go") {
			return name
		}
		if !info.IsDir() || !hasGoFiles(path) {
			return ""
		}
		if local(name) || filepath.IsAbs(name) {
			return name
		}
		return "./" + filepath.ToSlash(name)
	}
	if local(name) || filepath.IsAbs(name) || strings.HasPrefix(name, "-") || strings.HasSuffix(name, ".go") {
		return ""
	}
	if p, version, ok := strings.Cut(name, "@"); ok {
		if strings.Contains(p, "/") && version != "" {
			return name
		}
		return ""
	}
	if strings.Contains(name, "...") || !isMain(ctx, name, dir) {
		return ""
	}
	return name
}

func local(name string) bool {
	name = filepath.ToSlash(name)
	return name == "." || name == ".." || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../")
}

// hasGoFiles reports whether a directory holds a package. Whether it is a main
// package that builds here is for the go command to say.
func hasGoFiles(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && name[0] != '.' && name[0] != '_' {
			return true
		}
	}
	return false
}

func isMain(ctx context.Context, pkg, dir string) bool {
	cmd := exec.CommandContext(ctx, "go", "list", "-f", "{{.Name}}", pkg)
	cmd.Dir = dir
	out, err := cmd.Output()
	return err == nil && strings.TrimSpace(string(out)) == "main"
}

// Goflags returns the value of GOFLAGS that the go command of c sees, which may
// come from the environment or from its own configuration. It is "" when the
// command cannot tell; then it will say why itself.
func (c *Command) Goflags(ctx context.Context, dir string) string { return c.env(ctx, dir, "GOFLAGS") }

// Goroot returns where the Go is that builds, which the module may choose.
func (c *Command) Goroot(ctx context.Context, dir string) string { return c.env(ctx, dir, "GOROOT") }

func (c *Command) env(ctx context.Context, dir, name string) string {
	args := append(append([]string{}, c.Args[1:c.verb]...), "env", "-json=false", name) // GOFLAGS may have -json, for builds
	cmd := exec.CommandContext(ctx, c.Args[0], args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(out), "\r\n")
}
