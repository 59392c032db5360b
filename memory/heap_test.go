package memory

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// TestStartHeap lets garbage be until there is some, and only then.
func TestStartHeap(t *testing.T) {
	percent := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	before := percent()
	StartHeap()
	if p := percent(); p <= before {
		t.Errorf("at first the heap may grow by %d %%, as by %d before", p, before)
	}
	runtime.GC()
	for end := time.Now().Add(10 * time.Second); percent() != before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a collection it may grow by %d %%, want %d", percent(), before)
		}
	}
	t.Setenv("GOGC", "50")
	if StartHeap(); percent() != before {
		t.Errorf("with GOGC set it may grow by %d %%, want %d", percent(), before)
	}
}

// TestCollectAt stays as it was chosen when the first collection ends StartHeap.
func TestCollectAt(t *testing.T) {
	was := debug.SetGCPercent(100)
	defer debug.SetGCPercent(was)
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	defer chosen.Store(0)
	StartHeap()
	CollectAt(60)
	for range 3 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	if p := debug.SetGCPercent(100); p != 60 {
		t.Errorf("garbage is collected at %d %%, not 60", p)
	}
}
