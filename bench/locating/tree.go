package main

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

// findClone returns the clone of owner/name, which may be kept as owner/name,
// name, or owner+name, a work tree or a bare repository.
func findClone(dir, repo string) (string, error) {
	owner, name, _ := strings.Cut(repo, "/")
	for _, p := range []string{repo, name, owner + "+" + name, owner + "+" + name + "/repo", name + ".git", repo + ".git"} {
		p = filepath.Join(dir, p)
		for _, mark := range []string{".git", "HEAD"} {
			if _, err := os.Stat(filepath.Join(p, mark)); err == nil {
				return p, nil
			}
		}
	}
	return "", fmt.Errorf("no git clone of %s below %s: clone it there as %s", repo, dir, repo)
}

// file is a file of a commit.
type file struct {
	name string
	text []byte
}

// readTree returns the files of a commit that belong to a Go repository: *.go, go.mod
// and go.work.
func readTree(clone, commit string) ([]file, error) {
	list, err := git(clone, nil, "ls-tree", "-r", commit)
	if err != nil {
		return nil, err
	}
	var files []file
	var ids bytes.Buffer
	for line := range strings.Lines(string(list)) {
		// mode, type and id, a tab, the name
		about, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		fields := strings.Fields(about)
		base := filepath.Base(name)
		if len(fields) == 3 && fields[1] == "blob" && (strings.HasSuffix(name, ".go") || base == "go.mod" || base == "go.work") {
			files = append(files, file{name: name})
			fmt.Fprintln(&ids, fields[2])
		}
	}
	objects, err := git(clone, &ids, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(bytes.NewReader(objects))
	for i := range files {
		// a line with id, type and size, the text, a line end
		var id, kind string
		var size int
		if _, err := fmt.Fscanf(r, "%s %s %d\n", &id, &kind, &size); err != nil {
			return nil, fmt.Errorf("git cat-file, %s: %w", files[i].name, err)
		}
		text := make([]byte, size+1)
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, fmt.Errorf("git cat-file, %s: %w", files[i].name, err)
		}
		files[i].text = text[:size]
	}
	return files, nil
}

func git(clone string, stdin io.Reader, args ...string) ([]byte, error) {
	cmd := exec.Command("git", append([]string{"-C", clone}, args...)...)
	cmd.Stdin = stdin
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
