package memory

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestLargePages asks for large pages for a part of the heap, and touches nothing of it.
func TestLargePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil {
		t.Skip("this kernel has no large pages for programs")
	}
	const size = 32 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	largePages(size)
	runtime.ReadMemStats(&after)
	if after.HeapInuse > before.HeapInuse+size/4 {
		t.Errorf("%d bytes of the heap are in use, before %d", after.HeapInuse, before.HeapInuse)
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	asked := false
	for line := range strings.Lines(string(smaps)) {
		flags, ok := strings.CutPrefix(line, "VmFlags:")
		asked = asked || ok && strings.Contains(flags+" ", " hg ")
	}
	if !asked {
		t.Error("no memory is to have large pages")
	}
}
