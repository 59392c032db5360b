package index

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/code"
)

// NoCloneError says that a repository has no clone below a directory.
type NoCloneError struct{ Repository, Below string }

func (e *NoCloneError) Error() string {
	return fmt.Sprintf("no git clone of %s below %s: clone it there as %s", e.Repository, e.Below, e.Repository)
}

// FindClone returns the git clone of OWNER/NAME below a directory, which may be kept as OWNER/NAME,
// NAME or OWNER+NAME, with or without a work tree.
func FindClone(below, repository string) (string, error) {
	owner, name, _ := strings.Cut(repository, "/")
	for _, p := range []string{repository, name, owner + "+" + name, owner + "+" + name + "/repo", name + ".git", repository + ".git"} {
		if p == "" || !filepath.IsLocal(p) {
			continue
		}
		p = filepath.Join(below, p)
		// git alone would also find the work tree that the directory may be within.
		for _, mark := range []string{".git", "HEAD"} {
			if exists(filepath.Join(p, mark)) {
				return p, nil
			}
		}
	}
	return "", &NoCloneError{repository, below}
}

// NoCommitError says that a clone has no commit of that name.
type NoCommitError struct{ Clone, Commit string }

func (e *NoCommitError) Error() string { return fmt.Sprintf("%s has no commit %s", e.Clone, e.Commit) }

// WriteCommit makes an empty directory a repository of one commit of a git clone: with what [Update]
// reads of the commit's files, and the history up to it. The clone stays as it is. No filter and no
// hook is run, and no link of the commit is made. The directory reads objects out of the clone: it is
// of use as long as the clone is there.
func WriteCommit(ctx context.Context, clone, commit, dir string) error {
	from, to := openGit(clone), openGit(dir)
	if from.waits() {
		return fmt.Errorf("%s is no git clone: a file of git's is a pipe or a device", clone)
	}
	out, err := from.run(ctx, "", "rev-parse", "--verify", "-q", "--end-of-options", commit+"^{commit}")
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &NoCommitError{clone, commit}
	}
	commit = strings.TrimSpace(string(out))
	common, err := from.run(ctx, "", "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return err
	}
	git := strings.TrimSuffix(string(common), "\n")
	format := "sha1"
	if len(commit) > 40 {
		format = "sha256"
	}
	if _, err := to.run(ctx, "", "init", "-q", "--object-format="+format); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ".git", "objects", "info", "alternates"), []byte(filepath.Join(git, "objects")+"\n"), 0o600); err != nil {
		return err
	}
	// A history that was cut off ends there in the copy, too.
	if shallow, err := os.ReadFile(filepath.Join(git, "shallow")); err == nil {
		if err := os.WriteFile(filepath.Join(dir, ".git", "shallow"), shallow, 0o600); err != nil {
			return err
		}
	}
	// The index says which files are in the commit though .gitignore has them.
	for _, args := range [][]string{{"update-ref", "--no-deref", "HEAD", commit}, {"read-tree", commit}} {
		if _, err := to.run(ctx, "", args...); err != nil {
			return err
		}
	}
	return to.writeFiles(ctx, commit)
}

// writeFiles writes the files of a commit that an update reads.
func (g *git) writeFiles(ctx context.Context, commit string) error {
	root, err := os.OpenRoot(g.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return g.readFiles(ctx, commit, func(name string, size int) bool { return isRead(name) && size <= code.Large },
		func(name string, text []byte) error { return writeBelow(root, name, text) })
}

func isRead(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, ".go") || base == "go.mod" || base == "go.work" || base == ".gitignore"
}

// writeBelow writes a file. A name that this system cannot have, or that is git's own, is left out.
func writeBelow(root *os.Root, name string, text []byte) error {
	local := filepath.FromSlash(name)
	if !fs.ValidPath(name) || !filepath.IsLocal(local) || slices.ContainsFunc(strings.Split(name, "/"), func(p string) bool { return strings.EqualFold(p, ".git") }) {
		return nil
	}
	if err := root.MkdirAll(filepath.Dir(local), 0o700); err != nil {
		return err
	}
	return root.WriteFile(local, text, 0o600)
}
