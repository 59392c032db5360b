package index_test

import (
	"errors"
	"os"
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
	for _, raw := range []string{"http://x/y", "ext::sh -c x", "git://x/y", "https:///y", "file:///a/../../b", "https://x/-y", "https://user:hunter2@127.0.0.1:1/a/b", "file:///nowhere/at/all", "ssh://-oProxyCommand=x/y"} {
		_, err := index.Clone(t.Context(), raw, t.TempDir())
		var e *index.CloneError
		if !errors.As(err, &e) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
