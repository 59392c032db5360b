package index_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/knowledge/index"
)

// TestRefs follows a branch, a tag and the default branch of a repository: each has a clone of its own, with
// the commit that the server says it has.
func TestRefs(t *testing.T) {
	r := newRepo(t)
	r.write("a.go", first)
	r.commit("Begin")
	r.git("tag", "-a", "-m", "one", "v1")
	r.git("tag", "both")
	r.git("checkout", "-q", "-b", "release/2")
	r.write("a.go", first+"\n// two\n")
	r.commit("Two")
	r.git("branch", "both")
	r.git("checkout", "-q", "-")
	below, dirs := t.TempDir(), map[string]bool{}
	for range 2 {
		for ref, commit := range map[string]string{"": "HEAD", "#v1": "v1^{commit}", "#release/2": "release/2", "#both": "refs/heads/both"} {
			want := r.git("rev-parse", commit)
			url := "file://" + r.dir + ref
			if got, err := index.Remote(t.Context(), url, below); err != nil || got != want {
				t.Errorf("%s has %s, %v, not %s", url, got, err, want)
			}
			place, err := index.Locate(t.Context(), url, below)
			if err != nil || place.URL != url || !strings.HasPrefix(place.Dir, below) {
				t.Fatalf("%s: %+v, %v", url, place, err)
			}
			if got := (&repo{t, place.Dir}).git("rev-parse", "HEAD"); got != want {
				t.Errorf("the clone of %s has %s, not %s", url, got, want)
			}
			dirs[place.Dir] = true
		}
		r.write("b.go", first)
		r.commit("More")
	}
	if len(dirs) != 4 {
		t.Errorf("clones: %v", dirs)
	}
	for _, ref := range []string{"none", "-u", "--upload-pack=x", "a..b", "a b", "x:y", "+x", "a.lock", "@{1}", "^x", "refs/../x", "a//b", ""} {
		url := "file://" + r.dir + "#" + ref
		_, err := index.Remote(t.Context(), url, below)
		if ref == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		var e *index.CloneError
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", url, err)
		}
		if _, err := index.Clone(t.Context(), url, t.TempDir()); !errors.As(err, &e) {
			t.Errorf("%s is cloned: %v", url, err)
		}
	}
}

// TestCheckURL refuses what others could read, and what no clone is made of.
func TestCheckURL(t *testing.T) {
	if err := index.CheckURL("https://example.com/" + strings.Repeat("x", 3000)); err == nil || !strings.Contains(err.Error(), "3020 bytes") || len(err.Error()) > 100 {
		t.Errorf("a URL that no index takes: %v", err)
	}
	for _, url := range []string{"https://example.com/a/b", "https://example.com/a/b#v1", "ssh://git@example.com/a/b", "git@example.com:a/b", "git@example.com:a/b#main", "file:///a/b"} {
		if err := index.CheckURL(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{"https://hunter2@example.com/a", "https://u:hunter2@example.com/a", "ssh://git:hunter2@example.com/a", "https://example.com/a?access_token=hunter2", "https://u:hunter2@example.com/a#main"} {
		err := index.CheckURL(url)
		var e *index.SecretURLError
		if !errors.As(err, &e) || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "credential") {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{"ext::sh -c x", "http://example.com/a", "git://example.com/a", "-x", "ssh://-oProxyCommand=x/y", "https://example.com/a#--upload-pack=x", "dir", "fd::17"} {
		if err := index.CheckURL(url); err == nil {
			t.Errorf("%s is taken", url)
		}
	}
}

// TestFileURL is the directory that git would read, whatever links there are.
func TestFileURL(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"file://" + dir + "/../x":          filepath.Dir(dir) + "/x",
		"file://" + dir + "/link/etc#main": "/etc",
		"file://" + dir + "/%2e%2e/y":      filepath.Dir(dir) + "/y",
		"file://host" + dir:                dir,
		"https://example.com/a":            "",
		"git@example.com:a/b":              "",
	} {
		if got := index.FileURL(url); got != want {
			t.Errorf("%s is %q, not %q", url, got, want)
		}
	}
}

// TestHold has the second wait for who uses a clone.
func TestHold(t *testing.T) {
	below := t.TempDir()
	release, err := index.Hold(t.Context(), "https://example.com/a/b", below, nil)
	if err != nil {
		t.Fatal(err)
	}
	waited := false
	again, err := index.Hold(t.Context(), "https://example.com/a/b.git", below, func() { waited = true; release() })
	if err != nil || !waited {
		t.Fatal(err, waited)
	}
	again()
	other, err := index.Hold(t.Context(), "https://example.com/a/b#v1", below, func() { t.Error("another branch waits") })
	if err != nil {
		t.Fatal(err)
	}
	other()
}
