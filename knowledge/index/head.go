package index

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// still reports whether the commit that is checked out is one that is known, as far as git's files say it
// without git: to start it takes longer than all else that is asked of a repository in which nothing
// changed. In doubt the answer is false.
func (g *git) still(commit string) bool {
	at, ok := g.directory()
	if !ok || at == "" {
		return ok && commit == ""
	}
	if !isCommit(commit) {
		return false
	}
	head, ok := small(filepath.Join(at, "HEAD"))
	if !ok {
		return false
	}
	ref, isRef := strings.CutPrefix(head, "ref: ")
	if !isRef {
		return head == commit
	}
	if !strings.HasPrefix(ref, "refs/heads/") || !filepath.IsLocal(ref) {
		return false
	}
	if _, err := os.Lstat(filepath.Join(at, filepath.FromSlash(ref))); err == nil {
		loose, ok := small(filepath.Join(at, filepath.FromSlash(ref)))
		return ok && loose == commit
	}
	packed, ok := small(filepath.Join(at, "packed-refs"))
	return ok && slices.Contains(strings.Split(packed, "\n"), commit+" "+ref)
}

// directory returns git's directory of the working tree, "" if it is in none. It is not ok if git would
// not take the one that was found, or would look elsewhere: a tree of another user, of another file
// system, a linked tree, a bare repository.
func (g *git) directory() (at string, ok bool) {
	for dir := g.dir; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err == nil {
			return "", false
		}
		at := filepath.Join(dir, ".git")
		if _, err := os.Lstat(at); err == nil {
			return at, (dir == g.dir || sameDevice(dir, g.dir) && os.Getenv("GIT_CEILING_DIRECTORIES") == "") && owned(dir) && owned(at) && plainGit(at)
		}
		if dir == filepath.Dir(dir) {
			return "", true
		}
	}
}

// plainGit reports whether a directory is one that git takes for its own, with nothing elsewhere.
func plainGit(at string) bool {
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Lstat(filepath.Join(at, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	_, err := os.Lstat(filepath.Join(at, "commondir"))
	return os.IsNotExist(err)
}

// small reads a file of git's without the line's end: no link, no pipe, and not more than git packs of some
// thousand branches.
func small(path string) (text string, ok bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return "", false
	}
	b, err := os.ReadFile(path)
	return strings.TrimRight(string(b), "\n"), err == nil
}

func isCommit(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && (len(b) == sha1.Size || len(b) == sha256.Size)
}
