package index

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ReadCommit calls each with the files of a commit of a git clone that are to be kept, in git's
// order. It says the size before a file is read. Links and submodules are no files. The clone stays
// as it is, and nothing of it is run.
func ReadCommit(ctx context.Context, clone, commit string, keep func(name string, size int) bool, each func(name string, text []byte) error) error {
	g := openGit(clone)
	if g.waits() {
		return fmt.Errorf("%s is no git clone: a file of git's is a pipe or a device", clone)
	}
	return g.readFiles(ctx, commit, keep, each)
}

func (g *git) readFiles(ctx context.Context, commit string, keep func(name string, size int) bool, each func(name string, text []byte) error) error {
	files, err := g.list(ctx, commit, true)
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(f treeFile) bool { return !keep(f.name, f.size) })
	for part := range slices.Chunk(files, 500) { // of which all texts are in memory
		var ids strings.Builder
		for _, f := range part {
			fmt.Fprintln(&ids, f.id)
		}
		objects, err := g.run(ctx, ids.String(), "cat-file", "--batch")
		if err != nil {
			return err
		}
		r := bufio.NewReader(bytes.NewReader(objects))
		for _, f := range part {
			text, err := nextObject(r)
			if err != nil {
				return fmt.Errorf("git cat-file, %q: %w", f.name, err)
			}
			if err := each(f.name, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// treeFile is a file of a commit.
type treeFile struct {
	name, id string
	size     int // 0 without sizes
}

// list lists the files of a commit below the directory. Sizes take git a look at each.
func (g *git) list(ctx context.Context, commit string, sizes bool) ([]treeFile, error) {
	args := []string{"ls-tree", "-r", "-z"}
	if sizes {
		args = append(args, "-l")
	}
	out, err := g.run(ctx, "", append(args, "--end-of-options", commit)...)
	if err != nil {
		return nil, err
	}
	var files []treeFile
	for line := range strings.SplitSeq(string(out), "\x00") {
		about, name, _ := strings.Cut(line, "\t")
		f := strings.Fields(about) // mode, type, id, and the size
		// A link is a blob, too, whose text is another name.
		if len(f) < 3 || !strings.HasPrefix(f[0], "100") {
			continue
		}
		x := treeFile{name: name, id: f[2]}
		if sizes {
			if x.size, err = strconv.Atoi(f[len(f)-1]); err != nil {
				continue // git does not have it
			}
		}
		files = append(files, x)
	}
	return files, nil
}

// nextObject reads a line with id, type and size, the text, and a line end.
func nextObject(r *bufio.Reader) ([]byte, error) {
	var id, kind string
	var size int
	if _, err := fmt.Fscanf(r, "%s %s %d\n", &id, &kind, &size); err != nil {
		return nil, errors.New("it is not in the clone")
	}
	text := make([]byte, size+1)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, err
	}
	return text[:size], nil
}
