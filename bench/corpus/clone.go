package corpus

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"

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
