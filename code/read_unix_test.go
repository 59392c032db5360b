//go:build unix

package code_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tracerag/code"
)

// TestRead reads files of a repository, and nothing that it leads to: a link out of it, a
// named pipe, a device, a file of any size.
func TestRead(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(root, "sub", "a.go"), "package sub\n")
	write(filepath.Join(outside, "secret.go"), "package secret\n")
	write(filepath.Join(root, "large.go"), strings.Repeat("x", code.Large+1))
	for link, to := range map[string]string{
		"inside.go": "sub/a.go", "absolute.go": filepath.Join(root, "sub", "a.go"), "dir": "sub",
		"out.go": filepath.Join(outside, "secret.go"), "outdir": outside, "null.go": "/dev/null", "loop.go": "loop.go",
	} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "pipe.go"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("pipe.go", filepath.Join(root, "topipe.go")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"sub/a.go": "package sub\n", "inside.go": "package sub\n", "absolute.go": "package sub\n", "dir/a.go": "package sub\n",
		"out.go": "", "outdir/secret.go": "", "../" + filepath.Base(outside) + "/secret.go": "", "null.go": "", "loop.go": "",
		"pipe.go": "", "topipe.go": "", "large.go": "", "sub": "", "missing.go": "",
	} {
		text, err := code.Read(root, path)
		if string(text) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v; want %q", path, text, err, want)
		}
	}
	if _, err := code.ReadRegular(filepath.Join(root, "pipe.go"), 1); err == nil {
		t.Error("a named pipe anywhere is read")
	}
}
