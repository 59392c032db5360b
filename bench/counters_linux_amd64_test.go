package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace/recordtest"
)

// soak is how often the tests of this package repeat what has to go right every
// time, or otherwise, by default.
func soak(t testing.TB, otherwise int) int {
	t.Helper()
	text := os.Getenv("TRACERAG_SOAK")
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("TRACERAG_SOAK=%s is no number of runs", text)
	}
	return n
}

// TestCounters records a program that counts its calls itself, 50 functions of as
// many kinds, on 1 to 8 processors: with goroutines, growing stacks, panics, a
// garbage collector that never rests, a thousand profiling signals a second, and
// a child that does the same meanwhile. In every run every count must be equal.
func TestCounters(t *testing.T) {
	path := fixtures.Build(t, "counters")
	drivers := fixtures.Want(t, "counters")
	for i := range soak(t, 8) {
		procs := 1 << (i % 4)
		t.Run(fmt.Sprintf("%d-GOMAXPROCS=%d", i+1, procs), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "counters.json")
			r := run{
				args: []string{path, "-profile", "-child", "-counters", file},
				env:  []string{fmt.Sprintf("GOMAXPROCS=%d", procs)},
			}
			rep, o := r.recorded(t, job{Recorder: "probe"}, true)
			if o.code != 0 || o.stdout != "counters: done\n" || o.stderr != "" {
				t.Errorf("exit code %d, standard output %q, standard error %q", o.code, o.stdout, o.stderr)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := maps.Clone(drivers)
			want["main.start"], want["main.writeCounts"] = 1, 1
			if err := json.Unmarshal(text, &want); err != nil { // in the place of the table's
				t.Fatal(err)
			}
			tr := readTrace(t, rep.Path)
			got := recordtest.Generic(recordtest.Counts(tr))
			for _, fn := range slices.Sorted(maps.Keys(want)) {
				if got[fn] != want[fn] {
					t.Errorf("%s: %d calls, want %d", fn, got[fn], want[fn])
				}
			}
			for _, fn := range slices.Sorted(maps.Keys(got)) {
				if _, ok := want[fn]; !ok {
					t.Errorf("%s: %d calls, but the program does not call it", fn, got[fn])
				}
			}
			for _, l := range tr.Losses {
				if l.Kind != "not-hooked" || l.Count != 0 {
					t.Errorf("lost: %+v", l)
				}
			}
		})
	}
}
