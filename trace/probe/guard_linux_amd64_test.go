package probe

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// TestAvailable has control groups in each other. The least of what is left counts,
// without what the kernel takes back at once.
func TestAvailable(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"memory.current":           "100",
		"a/memory.max":             "10000\n",
		"a/memory.current":         "4000\n",
		"a/memory.stat":            "anon 1000\ninactive_file 500\n",
		"a/b/memory.max":           "max\n",
		"a/b/memory.current":       "3000\n",
		"a/b/c/memory.max":         "2000\n",
		"a/b/c/memory.current":     "2500\n", // over its limit, for a moment
		"a/b/c/memory.stat":        "inactive_file 100\n",
		"nonsense/memory.max":      "a lot\n",
		"nonsense/memory.current":  "-1\n",
		"no usage here/memory.max": "77\n",
	} {
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for at, want := range map[string]uint64{
		"/":              math.MaxUint64,
		"/a":             6500,
		"/a/b":           6500,
		"/a/b/c":         0,
		"/a/not/there":   6500,
		"/../../a/b":     6500,
		"/nonsense":      math.MaxUint64,
		"/no usage here": 77,
	} {
		if got := inGroups(root, at, "memory.max", "memory.current", "inactive_file"); got != want {
			t.Errorf("in group %s %d bytes are left, want %d", at, got, want)
		}
	}
	if n := available(os.Getpid()); n == 0 || n > 1<<50 {
		t.Errorf("this process may take %d bytes", n)
	}
}
