//go:build unix

package index_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tracerag/knowledge/index"
)

// TestPipes puts a named pipe in the place of each file that is read beside the sources. Who opens
// it waits for a writer that never comes: git and the go command, too.
func TestPipes(t *testing.T) {
	for _, at := range []string{".git/index", ".git/HEAD", ".git/config", ".git/packed-refs", ".git/info/exclude",
		".gitignore", "go.mod", "go.sum", "go.work", "go.work.sum", "vendor/modules.txt", "pipe.go", "ignored/pipe.go", "sub/pipe.s"} {
		t.Run(at, func(t *testing.T) {
			r := newRepo(t)
			r.write("a.go", first)
			r.write(".gitignore", "ignored/\n*.x.go\n")
			r.git("add", ".")
			r.git("commit", "-qm", "first")
			r.write("b.x.go", first) // asks the index
			file := filepath.Join(r.dir, filepath.FromSlash(at))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.RemoveAll(file), syscall.Mkfifo(file, 0o644)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s := open(t)
			done := make(chan error, 1)
			go func() {
				_, err := index.Update(ctx, s, r.dir, index.Options{Calls: index.TypedCalls})
				done <- err
			}()
			select {
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("it waits")
			}
			if d, err := s.Named(ctx, []string{"Greet"}, nil); err != nil || len(d) == 0 {
				t.Errorf("the declarations beside it: %v, %v", d, err)
			}
		})
	}
}
