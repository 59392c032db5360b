package corpus

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Clone is the directory of a git clone, with or without a work tree.
type Clone string

// FindClone returns the clone of OWNER/NAME below dir, which may be kept as OWNER/NAME,
// NAME, or OWNER+NAME.
func FindClone(dir, repo string) (Clone, error) {
	owner, name, _ := strings.Cut(repo, "/")
	for _, p := range []string{repo, name, owner + "+" + name, owner + "+" + name + "/repo", name + ".git", repo + ".git"} {
		p = filepath.Join(dir, p)
		// git alone would also find the work tree that dir may be within.
		for _, mark := range []string{".git", "HEAD"} {
			if _, err := os.Stat(filepath.Join(p, mark)); err == nil {
				return Clone(p), nil
			}
		}
	}
	return "", fmt.Errorf("no git clone of %s below %s: clone it there as %s", repo, dir, repo)
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
