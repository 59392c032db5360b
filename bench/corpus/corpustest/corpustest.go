// Package corpustest makes a small corpus for tests, and a clone of its repository.
package corpustest

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Corpus is one of the split "dev", about one repository.
type Corpus struct {
	Cases    string            // dev.jsonl; BASE stands for the commit before the fix, FIXED for that of the fix
	Executed string            // dev-executed.jsonl.gz, unpacked
	Base     map[string]string // the repository's files before the fix
	Fixed    map[string]string // those that the fix changes
	Subject  string            // of the fix's commit
}

// Write makes the corpus and a clone of its repository, example/app, with the fix checked out.
func (c Corpus) Write(t *testing.T) (corpus, clones string) {
	t.Helper()
	corpus, clones = t.TempDir(), t.TempDir()
	repo := filepath.Join(clones, "example", "app")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	for name, text := range c.Base {
		write(t, filepath.Join(repo, name), text)
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "base")
	base := git("rev-parse", "HEAD")
	for name, text := range c.Fixed {
		write(t, filepath.Join(repo, name), text)
	}
	git("commit", "-qam", c.Subject)

	write(t, filepath.Join(corpus, "dev.jsonl"), strings.NewReplacer("BASE", base, "FIXED", git("rev-parse", "HEAD")).Replace(c.Cases))
	var z bytes.Buffer
	g := gzip.NewWriter(&z)
	g.Write([]byte(c.Executed))
	g.Close()
	write(t, filepath.Join(corpus, "dev-executed.jsonl.gz"), z.String())
	return corpus, clones
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
