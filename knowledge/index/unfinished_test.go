package index_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tracerag/knowledge/index"
)

// silent is the URL of a server that takes connections and says nothing. Its channel is closed when
// git has connected.
func silent(t *testing.T) (url string, asked <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := make(chan struct{})
	go func() {
		conn, err := l.Accept()
		if err == nil {
			close(c)
			_, _ = conn.Read(make([]byte, 1<<16))
			<-t.Context().Done()
			conn.Close()
		}
	}()
	return "https://" + l.Addr().String() + "/owner/app", c
}

func unfinished(t *testing.T, below string) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{".clone-*", "*/.clone-*", "*/*/.clone-*"} {
		list, err := filepath.Glob(filepath.Join(below, pattern))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, list...)
	}
	return found
}

// TestUnfinishedClones interrupts a clone, which leaves nothing; and makes another one, which
// removes what killed processes left, and not what others are making.
func TestUnfinishedClones(t *testing.T) {
	below := t.TempDir()
	url, asked := silent(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := index.Locate(ctx, url, below)
		done <- err
	}()
	<-asked
	running := unfinished(t, below)
	if len(running) != 1 {
		t.Fatalf("while it runs: %v", running)
	}
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(running[0], old, old); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(below, "example.com", "owner", ".clone-123")
	fresh := filepath.Join(below, "example.com", ".clone-456")
	mine := filepath.Join(below, "example.com", "owner", "app", "sub", ".clone-789") // of a clone's files
	for _, dir := range []string{filepath.Join(left, "tree"), fresh, mine, filepath.Join(below, "example.com", "owner", "app", ".git")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chtimes(left, old, old), os.Chtimes(mine, old, old)); err != nil {
		t.Fatal(err)
	}
	r := newRepo(t)
	r.write("a.go", first)
	r.commit("Begin")
	if _, err := index.Locate(t.Context(), "file://"+r.dir, below); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{left: false, fresh: true, mine: true, running[0]: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", dir, err == nil, want)
		}
	}
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
	if _, err := os.Stat(running[0]); err == nil {
		t.Errorf("left: %s", running[0])
	}
}
