package session

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestKept: what is kept is found again, by this build alone, and only in a file that
// nobody else may write.
func TestKept(t *testing.T) {
	k := kept{filepath.Join(t.TempDir(), "words")}
	if k.Load("a.words") != nil {
		t.Error("there is a file before one was kept")
	}
	k.Save("a.words", []byte("counted"))
	if got := k.Load("a.words"); string(got) != "counted" {
		t.Errorf("%q is kept", got)
	}
	if info, err := os.Stat(k.path("a.words")); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
	if err := os.Rename(k.path("a.words"), filepath.Join(k.dir, "1-1-a.words")); err != nil {
		t.Fatal(err)
	}
	if k.Load("a.words") != nil {
		t.Error("another build's file is used")
	}
	k.Save("b.words", []byte("counted"))
	if err := os.Chmod(k.path("b.words"), 0o666); err != nil {
		t.Fatal(err)
	}
	if k.Load("b.words") != nil {
		t.Error("a file is used that all may write")
	}
	if err := os.Remove(k.path("b.words")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(k.dir, "1-1-a.words"), k.path("b.words")); err != nil {
		t.Fatal(err)
	}
	if k.Load("b.words") != nil {
		t.Error("a link is followed")
	}
}

// TestKeptIsBounded: the files that were not used for the longest time are removed, and no
// others.
func TestKeptIsBounded(t *testing.T) {
	k := kept{t.TempDir()}
	notes := filepath.Join(k.dir, "notes")
	if err := os.WriteFile(notes, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("x"), mostKept)
	for i, name := range []string{"a.words", "b.words", "c.words", "d.words"} {
		k.Save(name, large)
		at := time.Now().Add(time.Duration(i-10) * time.Minute)
		if err := os.Chtimes(k.path(name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	k.Load("a.words") // used
	k.Save("e.words", large)
	for name, want := range map[string]bool{"a.words": true, "b.words": false, "c.words": true, "e.words": true} {
		if got := k.Load(name) != nil; got != want {
			t.Errorf("%s is there: %v, want %v", name, got, want)
		}
	}
	if _, err := os.Stat(notes); err != nil {
		t.Error(err)
	}
}
