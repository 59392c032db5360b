package probe

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace/recordtest"
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

// TestLittleMemory reserves no more of little memory than the guard allows: it looks now
// and then, and a program may make more nodes meanwhile than there is memory.
func TestLittleMemory(t *testing.T) {
	for _, tt := range []struct{ available, want uint64 }{
		{0, 1},
		{100 << 20, (100 << 20) / 3},
		{3 << 30, 1 << 30},
		{24 << 30, 24 << 30},
		{math.MaxUint64, math.MaxInt64},
	} {
		if got := reservable(tt.available); got != tt.want {
			t.Errorf("of %d bytes %d may be reserved, want %d", tt.available, got, tt.want)
		}
	}
}

// TestSmallGroup runs a program in a control group in which it has enough memory alone.
func TestSmallGroup(t *testing.T) {
	const root = "/sys/fs/cgroup"
	dir := ""
	for _, at := range []struct{ dir, limit string }{{root, "memory.max"}, {root + "/memory", "memory.limit_in_bytes"}} {
		group := filepath.Join(at.dir, fmt.Sprintf("tracerag-test-%d", os.Getpid()))
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		limit, err := os.OpenFile(filepath.Join(group, at.limit), os.O_WRONLY, 0) // it is there if this is a group
		if err == nil {
			_, err = limit.WriteString("100000000")
			limit.Close()
		}
		if err == nil {
			dir = group
			break
		}
		os.Remove(group)
	}
	if dir == "" {
		t.Skip("no control group can be made here")
	}
	defer os.Remove(dir)
	cmd, out := recordtest.Command(t, t.Context(), recordtest.Job{Args: []string{fixtures.Build(t, "orders")}})
	cmd.Args = []string{"sh", "-c", `echo $$ >"$1"/cgroup.procs && exec "$0"`, cmd.Path, dir}
	cmd.Path = "/bin/sh"
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, text)
	}
	recordtest.ReadTrace(t, out, "")
}
