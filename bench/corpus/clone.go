package corpus

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"

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
func (c Clone) Files(commit string, keep func(name string) bool) ([]File, error) {
	list, err := c.Git(nil, "ls-tree", "-r", commit)
	if err != nil {
		return nil, err
	}
	var files []File
	var ids bytes.Buffer
	for line := range strings.Lines(string(list)) {
		// mode, type and id, a tab, the name
		about, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		fields := strings.Fields(about)
		if len(fields) == 3 && fields[1] == "blob" && keep(name) {
			files = append(files, File{Name: name})
			fmt.Fprintln(&ids, fields[2])
		}
	}
	objects, err := c.Git(&ids, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(bytes.NewReader(objects))
	for i := range files {
		// a line with id, type and size, the text, a line end
		var id, kind string
		var size int
		if _, err := fmt.Fscanf(r, "%s %s %d\n", &id, &kind, &size); err != nil {
			return nil, fmt.Errorf("git cat-file, %s: %w", files[i].Name, err)
		}
		text := make([]byte, size+1)
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, fmt.Errorf("git cat-file, %s: %w", files[i].Name, err)
		}
		files[i].Text = text[:size]
	}
	return files, nil
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
