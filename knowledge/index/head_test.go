package index

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStill holds what is read of git's files against what git says: never another commit, and in the
// usual states of a clone without asking it.
func TestStill(t *testing.T) {
	run := func(t *testing.T, dir string, args ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		make    func(t *testing.T, dir string) (tree string)
		unasked bool // git need not be asked
	}{
		{"a branch", func(_ *testing.T, dir string) string { return dir }, true},
		{"packed", func(t *testing.T, dir string) string { run(t, dir, "pack-refs", "--all"); return dir }, true},
		{"packed, and moved since", func(t *testing.T, dir string) string {
			run(t, dir, "pack-refs", "--all")
			run(t, dir, "commit", "-q", "--allow-empty", "-m", "c")
			return dir
		}, true},
		{"detached", func(t *testing.T, dir string) string { run(t, dir, "checkout", "-q", "--detach", "HEAD~1"); return dir }, true},
		{"a branch with a slash", func(t *testing.T, dir string) string { run(t, dir, "checkout", "-q", "-b", "x/y"); return dir }, true},
		{"below the clone", func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "sub/dir/a.go"), "package dir\n")
			return filepath.Join(dir, "sub/dir")
		}, true},
		{"no git", func(t *testing.T, _ string) string { return t.TempDir() }, true},
		{"no commit yet", func(t *testing.T, dir string) string { run(t, dir, "checkout", "-q", "--orphan", "new"); return dir }, false},
		{"a linked tree", func(t *testing.T, dir string) string {
			run(t, dir, "worktree", "add", "-q", "--detach", dir+"-linked", "HEAD~1")
			return dir + "-linked"
		}, false},
		{"a bare repository", func(t *testing.T, dir string) string { return filepath.Join(dir, ".git") }, false},
		{"no objects", func(t *testing.T, dir string) string {
			if err := os.RemoveAll(filepath.Join(dir, ".git/objects")); err != nil {
				t.Fatal(err)
			}
			return dir
		}, false},
		{"a link for HEAD", func(t *testing.T, dir string) string {
			head := filepath.Join(dir, ".git/HEAD")
			if err := os.Remove(head); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("refs/heads/main", head); err != nil {
				t.Skip(err)
			}
			return dir
		}, false},
		{"a reference out of the clone", func(t *testing.T, dir string) string {
			write(t, dir+"-out", run(t, dir, "rev-parse", "HEAD")+"\n")
			write(t, filepath.Join(dir, ".git/HEAD"), "ref: refs/heads/../../../../"+filepath.Base(dir)+"-out\n")
			return dir
		}, false},
		{"a reference to a reference", func(t *testing.T, dir string) string {
			run(t, dir, "symbolic-ref", "refs/heads/other", "refs/heads/main")
			run(t, dir, "checkout", "-q", "other")
			return dir
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "clone")
			write(t, filepath.Join(dir, "a.go"), "package a\n")
			run(t, dir, "init", "-q", "-b", "main")
			run(t, dir, "add", ".")
			run(t, dir, "commit", "-q", "-m", "a")
			run(t, dir, "commit", "-q", "--allow-empty", "-m", "b")
			commits := append(strings.Fields(run(t, dir, "rev-list", "--all")), "", strings.Repeat("0", 40), "x")
			tree := c.make(t, dir)
			if _, err := os.Stat(filepath.Join(dir, ".git/objects")); err == nil {
				commits = append(commits, strings.Fields(run(t, dir, "rev-list", "--all"))...)
			}
			now := Head(context.Background(), tree)
			for _, commit := range commits {
				if still := openGit(tree).still(commit); still && commit != now {
					t.Errorf("still %q, but git has %q", commit, now)
				}
				if got := openGit(tree).head(context.Background(), &commit); got != now {
					t.Errorf("head with %q known is %q, want %q", commit, got, now)
				}
			}
			if c.unasked && !openGit(tree).still(now) {
				t.Errorf("git is asked for %q", now)
			}
		})
	}
}
