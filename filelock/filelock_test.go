package filelock

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// TestWait: the second waits, says so once, and gets the lock when the first lets go; who gives
// up waiting leaves the lock free.
func TestWait(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	first, err := Wait(t.Context(), file, func() { t.Error("nobody has it") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := Wait(ctx, file, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	told := 0
	second, err := Wait(t.Context(), file, func() { told++; first() })
	if err != nil || told != 1 {
		t.Fatal(err, told)
	}
	second()
	third, err := Wait(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	third()
}

func TestTry(t *testing.T) {
	dir := t.TempDir()
	unlock, ok := Try(dir)
	if !ok {
		t.Fatal("nobody has it")
	}
	if Locks {
		if _, ok := Try(dir); ok {
			t.Error("two have it")
		}
	}
	unlock()
	unlock, ok = Try(dir)
	if !ok {
		t.Error("it was let go")
	}
	unlock()
	if _, ok := Try(filepath.Join(dir, "none")); ok && Locks {
		t.Error("it is missing")
	}
}
