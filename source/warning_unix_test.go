//go:build unix

package source

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestNamedPipe: to open one would wait for a writer.
func TestNamedPipe(t *testing.T) {
	const pkg = "example.com/m/p"
	c := newModule(t, map[string]string{"p/f.go": "package p\n"})
	if err := syscall.Mkfifo(filepath.Join(c.Dir, "p", "pipe.go"), 0o666); err != nil {
		t.Skip(err)
	}
	if got := New(c).Find(Func{pkg + ".F", pkg, pkg + "/pipe.go", 1}); got.Kind != Missing {
		t.Errorf("got %+v", got)
	}
}
