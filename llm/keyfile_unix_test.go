//go:build unix

package llm

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A named pipe without a writer is an empty file, and not one that is waited for.
func TestKeyFileThatNobodyWritesTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := readKeyFile(path)
		read <- err
	}()
	select {
	case err := <-read:
		if err == nil || !strings.Contains(err.Error(), "is empty") {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits")
	}
}

// The key of a pipe is needed twice: for the request, and to be masked.
func TestKeyFromPipeIsReadOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	const key = "file-key-123"
	if _, err := w.WriteString(key + "\n"); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() { w.Close() })
	for range 2 {
		got, err := readKeyFile(path)
		if got != key || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
}
