package patch

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What Diff writes git apply and ReadDiff understand, whatever the files are.
func TestDiffRoundTrips(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	lines := []string{"a\n", "b\n", "}\n", "\n", "c\r\n", "func x() {\n", "\\ No newline\n", "-- a\n", "++ b\n", "é\n"}
	random := func() []byte {
		b := []byte{}
		for range r.IntN(30) {
			b = append(b, lines[r.IntN(len(lines))]...)
		}
		if r.IntN(3) == 0 {
			b = append(b, "end"...)
		}
		return b
	}
	for i := range 60 {
		p := &Patch{}
		dir := t.TempDir()
		for _, name := range []string{"a b.go", "c.go", "sub/d\"e.go", "sub/é.go", "z.go"} {
			f := File{Name: name, Before: random(), After: random()}
			switch r.IntN(6) {
			case 0:
				f.Before = nil
			case 1:
				f.After = nil
			case 2: // a few lines of many
				f.Before = bytes.Repeat([]byte("x\ny\nz\n"), 20)
				f.After = bytes.Replace(f.Before, []byte("y\n"), []byte("Y\n"), 1+r.IntN(3))
			}
			if bytes.Equal(f.Before, f.After) && f.Before != nil && f.After != nil {
				continue
			}
			if f.Before != nil {
				file := filepath.Join(dir, name)
				os.MkdirAll(filepath.Dir(file), 0o777)
				if err := os.WriteFile(file, f.Before, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			p.Files = append(p.Files, f)
		}
		diff := p.Diff()
		got, err := ReadDiff(dir, diff)
		if err != nil {
			t.Fatalf("%d: %v\n%s", i, err, diff)
		}
		if !equal(p, got) {
			t.Fatalf("%d: another patch came back from\n%s\n%v\n%v", i, diff, p, got)
		}
		if i < 15 {
			apply(t, dir, diff)
			for _, f := range p.Files {
				text, err := os.ReadFile(filepath.Join(dir, f.Name))
				if f.After == nil != errors.Is(err, os.ErrNotExist) || !bytes.Equal(text, f.After) {
					t.Fatalf("git apply made %q, %v of %s, not %q:\n%s", text, err, f.Name, f.After, diff)
				}
			}
		}
	}
}

func equal(a, b *Patch) bool {
	if len(a.Files) != len(b.Files) {
		return false
	}
	for i, f := range a.Files {
		g := b.Files[i]
		if f.Name != g.Name || !bytes.Equal(f.Before, g.Before) || !bytes.Equal(f.After, g.After) || (f.Before == nil) != (g.Before == nil) || (f.After == nil) != (g.After == nil) {
			return false
		}
	}
	return true
}

func git(t *testing.T, dir string, stdin []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "core.autocrlf=false"}, args...)...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := cmd.Output()
	if err != nil {
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("git %v: %v\n%s\n%s", args, err, e.Stderr, stdin)
		}
		t.Skip("git: ", err)
	}
	return out
}

func apply(t *testing.T, dir string, diff []byte) {
	if len(diff) > 0 {
		git(t, dir, diff, "apply", "--whitespace=nowarn")
	}
}

// Diffs of git, of diff -u and by hand.
func TestReadDiff(t *testing.T) {
	dir := write(t, map[string]string{"a.go": "package a\n\nfunc A() {}\n\nfunc B() {}\n", "sub/b.go": "package b\n", "img.png": "\x00\x01", "twice.go": "x\ny\nx\ny\n"})
	git(t, dir, nil, "init", "-q")
	git(t, dir, nil, "add", ".")
	git(t, dir, nil, "commit", "-qm", "one")
	commit := func(do func()) []byte {
		do()
		git(t, dir, nil, "add", "-A")
		d := git(t, dir, nil, "diff", "--cached", "--binary")
		git(t, dir, nil, "reset", "-q", "--hard")
		return d
	}
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	rename := commit(func() { os.Rename(filepath.Join(dir, "a.go"), filepath.Join(dir, "c.go")) })
	p, err := ReadDiff(dir, rename)
	if err != nil || len(p.Files) != 2 || p.Files[0].Name != "a.go" || p.Files[0].After != nil || p.Files[1].Name != "c.go" || p.Files[1].Before != nil || len(p.Files[1].After) == 0 {
		t.Errorf("a rename is %+v, %v", p, err)
	}
	change := "@@ -3 +3 @@\n-func A() {}\n+func A() { _ = 1 }\n"
	want := "package a\n\nfunc A() { _ = 1 }\n\nfunc B() {}\n"
	for _, head := range []string{"--- a/a.go\n+++ b/a.go\n", "--- a.go\n+++ a.go\n", "--- a.go.orig\t2026-01-01 00:00:00\n+++ a.go\t2026-01-01 00:00:00\n", "some words\n\ndiff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n", "--- ./a.go\n+++ ./a.go\n"} {
		p, err := ReadDiff(dir, []byte(head+change))
		if err != nil || len(p.Files) != 1 || p.Files[0].Name != "a.go" || string(p.Files[0].After) != want {
			t.Errorf("%q: %+v, %v", head, p, err)
		}
	}
	if p, err := ReadDiff(dir, []byte("--- a.go\n+++ a.go\n"+strings.Replace(change, "-3 +3", "-30 +30", 1))); err != nil || string(p.Files[0].After) != want {
		t.Errorf("a hunk of which the lines moved: %+v, %v", p, err)
	}
	for _, c := range []struct {
		kind Kind
		file string
		diff string
	}{
		{Conflict, "a.go", "--- a.go\n+++ a.go\n@@ -1 +1 @@\n-package x\n+package y\n"},
		{Conflict, "twice.go", "--- twice.go\n+++ twice.go\n@@ -9 +9 @@\n-x\n+z\n"},
		{Conflict, "none.go", "--- a/none.go\n+++ b/none.go\n@@ -1 +1 @@\n-x\n+z\n"},
		{Conflict, "a.go", "--- /dev/null\n+++ b/a.go\n@@ -0,0 +1 @@\n+x\n"},
		{BadName, "../a.go", "--- a/../a.go\n+++ b/../a.go\n@@ -1 +1 @@\n-x\n+z\n"},
		{BadName, ".git/config", "--- /dev/null\n+++ b/.git/config\n@@ -0,0 +1 @@\n+x\n"},
		{BadName, "/etc/passwd", "--- /dev/null\n+++ /etc/passwd\n@@ -0,0 +1 @@\n+x\n"},
		{BadDiff, "", "--- a.go\n+++ a.go\n@@ -1,5 +1 @@\n-x\n+z\n"},
		{BadDiff, "", "nothing"},
		{BadDiff, "img.png", string(commit(func() { put("img.png", "\x00\x02") }))},
		{BadDiff, "a.go", string(commit(func() { os.Chmod(filepath.Join(dir, "a.go"), 0o755) }))},
		{BadDiff, "x.sh", string(commit(func() { put("x.sh", "x\n"); os.Chmod(filepath.Join(dir, "x.sh"), 0o755) }))},
		{BadDiff, "link", string(commit(func() { os.Symlink("a.go", filepath.Join(dir, "link")) }))},
		{BadDiff, "a.go", "--- a.go\n+++ a.go\n" + change + "--- a.go\n+++ a.go\n" + change},
	} {
		p, err := ReadDiff(dir, []byte(c.diff))
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Kind != c.kind || e.File != c.file {
			t.Errorf("%q\nis %+v, %v: want kind %v of %q", c.diff, p, err, c.kind, c.file)
		}
	}
}

// Diffs that git writes by other settings, and those that lost or won carriage returns on their way.
func TestReadDiffDialects(t *testing.T) {
	text, want := "package b\n\nvar b = 1\n", "package b\n\nvar b = 2\n"
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	names := []string{"a/b.go", "deep/sub/b.go", "with space/b.go", "é/b.go"}
	for _, name := range names {
		dir := write(t, map[string]string{name: text})
		git(t, dir, nil, "init", "-q")
		git(t, dir, nil, "add", ".")
		git(t, dir, nil, "commit", "-qm", "one")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		diffs := map[string]string{}
		for _, flag := range []string{"--no-prefix", "--src-prefix=i/", "-U0", "--full-index"} {
			diffs[flag] = string(git(t, dir, nil, "diff", flag))
		}
		git(t, dir, nil, "reset", "-q", "--hard")
		for flag, diff := range diffs {
			for _, d := range []string{diff, crlf(diff)} {
				if p, err := ReadDiff(dir, []byte(d)); err != nil || len(p.Files) != 1 || p.Files[0].Name != name || string(p.Files[0].After) != want {
					t.Errorf("%s of %s: %+v, %v\n%s", flag, name, p, err, d)
				}
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(crlf(text)), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, d := range []string{diffs["--no-prefix"], crlf(diffs["-U0"])} {
			if p, err := ReadDiff(dir, []byte(d)); err != nil || len(p.Files) != 1 || string(p.Files[0].After) != crlf(want) {
				t.Errorf("a file with carriage returns: %+v, %v\n%s", p, err, d)
			}
		}
	}
	if _, err := ReadDiff(t.TempDir(), []byte("\x1b[1mdiff --git a/a b/a\x1b[m\n")); err == nil || !strings.Contains(err.Error(), "--no-color") {
		t.Error(err)
	}
}

// No text makes it fail in another way than by an error.
func FuzzReadDiff(f *testing.F) {
	dir := write(f, map[string]string{"a.go": "package a\n\nfunc A() {}\n"})
	f.Add([]byte("--- a.go\n+++ a.go\n@@ -3 +3 @@\n-func A() {}\n+func A() { _ = 1 }\n"))
	f.Add([]byte("diff --git a/a.go b/c.go\nsimilarity index 100%\nrename from a.go\nrename to c.go\n"))
	f.Fuzz(func(t *testing.T, diff []byte) {
		p, err := ReadDiff(dir, diff)
		if err != nil {
			return
		}
		again, err := ReadDiff(dir, p.Diff())
		if len(p.Files) > 0 && (err != nil || !equal(p, again)) {
			t.Errorf("%v: %+v and %+v", err, p, again)
		}
	})
}
