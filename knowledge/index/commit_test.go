package index_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/code"
	"tracerag/knowledge/index"
)

// TestWriteCommit: a commit is indexed as it was, with the history up to it, from a clone that
// stays as it is.
func TestWriteCommit(t *testing.T) {
	r := newRepo(t)
	clone, git, put := r.dir, r.git, r.write
	put("go.mod", "module example.com/m\n\ngo 1.26\n")
	put("a/a.go", "package a\n\nfunc Old() {}\n")
	put("a/kept.go", "package a\n\nfunc Kept() {}\n")
	put(".gitignore", "kept.go\n")
	put(".gitattributes", "*.go export-ignore\n*.go filter=bad\n")
	put("README", "no Go\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(clone, "link.go")); err != nil {
		t.Fatal(err)
	}
	git("add", "-f", ".")
	git("commit", "-qm", "first")
	first := git("rev-parse", "HEAD")
	put("a/a.go", "package a\n\nfunc New() {}\n")
	git("commit", "-qam", "second")
	second := git("rev-parse", "HEAD")

	// Neither a filter nor a hook of the clone is run.
	ran := filepath.Join(t.TempDir(), "ran")
	git("config", "filter.bad.smudge", "touch "+ran)
	put(".git/hooks/post-checkout", "#!/bin/sh\ntouch "+ran+"\n")
	if err := os.Chmod(filepath.Join(clone, ".git/hooks/post-checkout"), 0o700); err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	if err := index.WriteCommit(t.Context(), clone, first, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("something of the repository was run")
	}
	for _, name := range []string{"link.go", "README"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	s := open(t)
	got := update(t, s, dir, index.Options{Name: "m"})
	if at := got.Repository.Snapshot.Commit; at != first {
		t.Errorf("the snapshot is %s, not %s", at, first)
	}
	for name, there := range map[string]bool{"Old": true, "Kept": true, "New": false} {
		found, err := s.Named(t.Context(), []string{name}, nil)
		if err != nil || (len(found) == 1) != there {
			t.Errorf("%s: %v %v", name, found, err)
		}
	}
	if history, err := s.History(t.Context(), got.Repository.ID, 10); err != nil || len(history) != 1 || history[0].Subject != "first" {
		t.Errorf("the history is %v: %v", history, err)
	}
	if at := git("rev-parse", "HEAD"); at != second {
		t.Errorf("the clone is at %s", at)
	}
	if changed := git("status", "--porcelain"); changed != "" {
		t.Errorf("the clone has changed: %s", changed)
	}
	for _, commit := range []string{"0123456789012345678901234567890123456789", "--all", "nothing"} {
		if err := index.WriteCommit(t.Context(), clone, commit, t.TempDir()); err == nil {
			t.Errorf("commit %s was written", commit)
		}
	}
}

// TestWriteCommitOfAShallowClone: a history that was cut off is indexed as far as it goes.
func TestWriteCommitOfAShallowClone(t *testing.T) {
	r := newRepo(t)
	for _, subject := range []string{"first", "second", "third"} {
		r.write("a/a.go", "package a\n\n// "+subject+"\nfunc A() {}\n")
		r.git("add", ".")
		r.git("commit", "-qm", subject)
	}
	clone := &repo{t, t.TempDir()}
	clone.git("clone", "-q", "--depth=2", "file://"+filepath.ToSlash(r.dir), ".")
	dir := t.TempDir()
	if err := index.WriteCommit(t.Context(), clone.dir, "HEAD", dir); err != nil {
		t.Fatal(err)
	}
	s := open(t)
	got := update(t, s, dir, index.Options{Name: "m"})
	history, err := s.History(t.Context(), got.Repository.ID, 10)
	if err != nil || len(history) != 2 || history[0].Subject != "third" {
		t.Errorf("the history is %v: %v", history, err)
	}
	if len(got.Gaps) > 0 {
		t.Errorf("gaps: %v", got.Gaps)
	}
}

// TestReadCommit: a commit's files are those that it has a text of. A link's text is a name; one that
// leads out of the tree is no change that has not been committed either.
func TestReadCommit(t *testing.T) {
	r := newRepo(t)
	r.write("b.go", "package b\n")
	r.write("a/a.go", "package a\n\nvar A = 1\n")
	r.write("a/odd name.go", "package a\n")
	r.write("large.go", "package b\n"+strings.Repeat("\n", 100))
	for name, to := range map[string]string{"link.go": "b.go", "out.go": "/etc/passwd"} {
		if err := os.Symlink(to, filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	r.git("add", ".")
	r.git("update-index", "--add", "--cacheinfo", "160000,0123456789012345678901234567890123456789,module.go")
	r.git("commit", "-qm", "first")
	r.write("b.go", "package changed\n")
	var got []string
	err := index.ReadCommit(t.Context(), r.dir, "HEAD", func(name string, size int) bool { return strings.HasSuffix(name, ".go") && size < 100 },
		func(name string, text []byte) error {
			got = append(got, name+": "+string(text))
			return nil
		})
	if want := []string{"a/a.go: package a\n\nvar A = 1\n", "a/odd name.go: package a\n", "b.go: package b\n"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q: %v", got, want, err)
	}
	stop := errors.New("enough")
	if err := index.ReadCommit(t.Context(), r.dir, "HEAD", func(string, int) bool { return true }, func(string, []byte) error { return stop }); err != stop {
		t.Errorf("%v", err)
	}
	if err := index.ReadCommit(t.Context(), r.dir, "--help", nil, nil); err == nil {
		t.Error("an option is a commit")
	}
	r.write("b.go", "package b\n")
	r.git("rm", "-qf", "link.go") // what leads to a file of the tree is read
	r.git("commit", "-qm", "second")
	if in := update(t, open(t), r.dir, index.Options{}).Repository.Snapshot; in.Uncommitted != (code.Hash{}) {
		t.Errorf("nothing is changed, and the snapshot is %+v", in)
	}
}

func TestFindClone(t *testing.T) {
	below := t.TempDir()
	for _, dir := range []string{"one/a/.git", "b/.git", "three+c/.git"} {
		if err := os.MkdirAll(filepath.Join(below, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for repo, want := range map[string]string{"one/a": "one/a", "two/b": "b", "three/c": "three+c"} {
		if got, err := index.FindClone(below, repo); err != nil || got != filepath.Join(below, filepath.FromSlash(want)) {
			t.Errorf("%s: %s %v", repo, got, err)
		}
	}
	for _, repo := range []string{"one/b/c", "four/d", "", "../a", "x/../../y"} {
		_, err := index.FindClone(below, repo)
		if none := (*index.NoCloneError)(nil); !errors.As(err, &none) {
			t.Errorf("%q: %v", repo, err)
		}
	}
}
