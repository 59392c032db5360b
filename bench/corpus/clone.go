package corpus

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"tracerag/knowledge/index"
)

// Clone is the directory of a git clone, with or without a work tree.
type Clone string

// FindClone returns the clone of OWNER/NAME below dir: see [index.FindClone].
func FindClone(dir, repo string) (Clone, error) {
	clone, err := index.FindClone(dir, repo)
	return Clone(clone), err
}

// File is a file of a commit.
type File struct {
	Name string // within the repository
	Text []byte
}

// Files returns the files of a commit whose names are to be kept, in git's order.
func (c Clone) Files(commit string, keep func(name string) bool) (files []File, err error) {
	err = index.ReadCommit(context.Background(), string(c), commit, func(name string, _ int) bool { return keep(name) }, func(name string, text []byte) error {
		files = append(files, File{name, text})
		return nil
	})
	return files, err
}

// Git returns what git prints.
func (c Clone) Git(stdin io.Reader, args ...string) ([]byte, error) {
	cmd := exec.Command("git", append([]string{"-C", string(c)}, args...)...)
	cmd.Stdin = stdin
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

// Unpack writes the files and links of a commit below a directory, and nothing outside of it.
func (c Clone) Unpack(commit, dir string) error {
	archive, err := c.Git(nil, "archive", "--format=tar", commit)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.FromSlash(h.Name)
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, name)
		case tar.TypeReg:
			var text []byte
			if text, err = io.ReadAll(r); err == nil {
				err = root.WriteFile(name, text, fs.FileMode(h.Mode).Perm())
			}
		}
		if err != nil {
			return err
		}
	}
}
