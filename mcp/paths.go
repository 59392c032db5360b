package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const traceSuffix = ".pb.gz"

// traceName returns the name of a trace as the backend takes it: one of the store as
// it is, a file by its absolute path, symbolic links resolved.
func (s *server) traceName(name string) (string, error) {
	if name == "" {
		return "@last", nil
	}
	if !strings.ContainsAny(name, `/\`) && !strings.HasSuffix(name, traceSuffix) {
		return name, nil
	}
	if !strings.HasSuffix(name, traceSuffix) {
		return "", fmt.Errorf("%s is not a trace: name one by its id (list_traces has them), or a %s file below the working directory", name, traceSuffix)
	}
	return s.inside(name)
}

// dirName returns the absolute path of a directory to run a command in.
func (s *server) dirName(name string) (string, error) {
	path, err := s.inside(name)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", name)
	}
	return path, nil
}

// inside resolves a path, which must lie in the server's directory or below, and be
// there. Symbolic links are followed before the answer is given, so that one that leads
// out is refused.
func (s *server) inside(name string) (string, error) {
	root, err := filepath.EvalSymlinks(s.Dir)
	if err != nil {
		return "", err
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	outside := fmt.Errorf("%s lies outside of the server's working directory: only what is below that may be used", name)
	// Outside, the answer does not say either whether it exists.
	if !below(s.Dir, path) && !below(root, path) {
		return "", outside
	}
	resolved, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s not found in the server's working directory", name)
	case err != nil:
		return "", fmt.Errorf("%s cannot be read", name) // the reason may name what a link leads to
	case !below(root, resolved):
		return "", outside
	}
	return resolved, nil
}

// below reports whether path is dir or lies below it. Both are absolute.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
