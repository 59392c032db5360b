package parallel

import (
	"errors"
	"sync/atomic"
	"testing"
)

// TestTry does each thing once, and returns the error of the first one, whichever was first
// to fail.
func TestTry(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		var done atomic.Int64
		if err := Try(n, func(i int) error { done.Add(int64(i) + 1); return nil }); err != nil || done.Load() != int64(n*(n+1)/2) {
			t.Errorf("of %d things were done %d, %v", n, done.Load(), err)
		}
	}
	one, two := errors.New("one"), errors.New("two")
	err := Try(100, func(i int) error {
		switch i {
		case 3:
			return one
		case 50:
			return two
		}
		return nil
	})
	if err != one {
		t.Errorf("failed with %v", err)
	}
}
