package index_test

import (
	"bytes"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/knowledge/index"
)

// TestNothingOfARepositoryRuns indexes and clones a repository whose configuration, hooks and
// attributes name a program wherever git takes one. It is not run.
func TestNothingOfARepositoryRuns(t *testing.T) {
	r := newRepo(t)
	r.write("a.go", first)
	r.commit("Begin")
	ran := filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$0 $@\" >>"+ran+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.write(".gitattributes", "*.go filter=lfs diff=evil\n")
	r.write(".gitmodules", "[submodule \"s\"]\n\tpath = s\n\turl = ext::"+script+"\n")
	r.commit("Attributes")
	for _, hook := range []string{"post-checkout", "post-merge", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc", "post-index-change"} {
		if err := os.MkdirAll(filepath.Join(r.dir, ".git", "hooks"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(script, filepath.Join(r.dir, ".git", "hooks", hook)); err != nil {
			t.Fatal(err)
		}
	}
	configure := func(dir string) {
		in := &repo{t, dir}
		for name, value := range map[string]string{
			"core.fsmonitor": script, "core.pager": script, "core.sshCommand": script, "core.hooksPath": filepath.Dir(script), "core.askPass": script,
			"diff.external": script, "diff.evil.textconv": script, "diff.evil.command": script, "log.showSignature": "true", "gpg.program": script,
			"filter.lfs.smudge": script, "filter.lfs.clean": script, "filter.lfs.process": script, "filter.lfs.required": "true",
			"protocol.ext.allow": "always", "core.gitProxy": script, "uploadpack.packObjectsHook": script, "core.alternateRefsCommand": script,
		} {
			in.git("config", name, value)
		}
	}
	configure(r.dir)
	s := open(t)
	if got := update(t, s, r.dir, index.Options{}); len(got.Gaps) > 0 || got.Commits != 2 {
		t.Errorf("indexing: %+v", got)
	}
	below := t.TempDir()
	dir, err := index.Clone(t.Context(), "file://"+r.dir, below)
	if err != nil {
		t.Fatal(err)
	}
	configure(dir)
	r.git("-c", "core.hooksPath="+os.DevNull, "-c", "core.fsmonitor=false", "-c", "filter.lfs.smudge=", "-c", "filter.lfs.clean=", "-c", "filter.lfs.process=", "-c", "filter.lfs.required=false", "commit", "-q", "--allow-empty", "-m", "More")
	again, err := index.Clone(t.Context(), "file://"+r.dir, below)
	if err != nil || again != dir {
		t.Fatalf("bringing the clone up to date: %s, %v", again, err)
	}
	if got := update(t, s, dir, index.Options{}); got.Commits != 3 {
		t.Errorf("indexing the clone: %+v", got)
	}
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("git ran\n%s", text)
	}
	entries, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".clone-*"))
	if len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestURLs says which URLs are taken, and that no error shows a password.
func TestURLs(t *testing.T) {
	for arg, want := range map[string]bool{"https://x/y": true, "git@example.com:a/b": true, "example.com:a/b": true, "dir": false, "./a/b": false, `C:\x`: false, "/abs": false} {
		if index.IsURL(arg) != want {
			t.Errorf("%s is a URL: %v, want %v", arg, !want, want)
		}
	}
	for _, raw := range []string{"http://x/y", "ext::sh -c x", "git://x/y", "https:///y", "file:///a/../../b", "https://x/-y", "https://user:hunter2@127.0.0.1:1/a/b", "https://hunter2@127.0.0.1:1/a/b", "ssh://user:hunter2@-x/y", "file:///nowhere/at/all", "ssh://-oProxyCommand=x/y"} {
		_, err := index.Clone(t.Context(), raw, t.TempDir())
		var e *index.CloneError
		if !errors.As(err, &e) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", raw, err)
		}
		if strings.Contains(index.Shown(raw), "hunter2") {
			t.Errorf("%s is shown as %s", raw, index.Shown(raw))
		}
	}
}

// TestCloneKeepsNoPassword clones from a URL with a password, which is then in no file of the clone.
func TestCloneKeepsNoPassword(t *testing.T) {
	r := newRepo(t)
	r.write("a.go", first)
	r.commit("Begin")
	r.git("update-server-info")
	server := httptest.NewTLSServer(http.FileServer(http.Dir(r.dir)))
	defer server.Close()
	certificate := filepath.Join(t.TempDir(), "certificate")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(certificate, block, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_SSL_CAINFO", certificate)
	raw := strings.Replace(server.URL, "https://", "https://joe:hunter2@", 1) + "/app"
	if err := os.Symlink(".git", filepath.Join(r.dir, "app")); err != nil {
		t.Fatal(err)
	}
	below := t.TempDir()
	for range 2 {
		place, err := index.Locate(t.Context(), raw, below)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(place.URL, "joe") {
			t.Errorf("the store gets the password in %s", place.URL)
		}
	}
	files := 0
	err := filepath.WalkDir(below, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		if text, err := os.ReadFile(path); err != nil || bytes.Contains(text, []byte("hunter2")) {
			t.Errorf("%s: %v\n%s", path, err, text)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
}

// TestOldGitFetchesNothing indexes a repository that lacks a commit, and says where to fetch it:
// from a program. A git that does not know GIT_NO_LAZY_FETCH would run it.
func TestOldGitFetchesNothing(t *testing.T) {
	r := newRepo(t)
	r.write("a.go", first)
	r.commit("Begin")
	lost := r.git("rev-parse", "HEAD")
	r.write("a.go", first+"\n")
	r.commit("More")
	if err := os.Remove(filepath.Join(r.dir, ".git", "objects", lost[:2], lost[2:])); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	script := filepath.Join(dir, "script")
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{script: "touch " + ran, filepath.Join(dir, "git"): "unset GIT_NO_LAZY_FETCH\nexec " + real + ` "$@"`} {
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"core.repositoryFormatVersion": "1", "extensions.partialClone": "origin", "remote.origin.promisor": "true",
		"protocol.ext.allow": "always", "protocol.file.allow": "always", "remote.origin.uploadpack": script, "remote.origin.url": "ext::" + script,
	} {
		r.git("config", name, value)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, url := range []string{"ext::" + script, r.dir} {
		r.git("config", "remote.origin.url", url)
		if got := update(t, open(t), r.dir, index.Options{}); len(got.Gaps) != 1 {
			t.Errorf("indexing: %+v", got)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Fatalf("git ran the program of %s", url)
		}
	}
}
