package probe

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/fixtures/random"
	"tracerag/trace/recordtest"
)

// How full the recorder's memory gets: each kind of it, from nothing on.
var fulls = []struct {
	name string
	full *recordtest.Full
}{
	{"0 cells", &recordtest.Full{Cells: 0}},
	{"1 cell", &recordtest.Full{Cells: 1}},
	{"2 cells", &recordtest.Full{Cells: 2}},
	{"3 cells", &recordtest.Full{Cells: 3}},
	{"5 cells", &recordtest.Full{Cells: 5}},
	{"8 cells", &recordtest.Full{Cells: 8}},
	{"13 cells", &recordtest.Full{Cells: 13}},
	{"21 cells", &recordtest.Full{Cells: 21}},
	{"34 cells", &recordtest.Full{Cells: 34}},
	{"64 cells", &recordtest.Full{Cells: 64}},
	{"300 cells", &recordtest.Full{Cells: 300}},
	{"2000 cells", &recordtest.Full{Cells: 2000}},
	{"20000 cells", &recordtest.Full{Cells: 20000}},
	{"1024 slots", &recordtest.Full{Cells: noLimit, Slots: 1 << 10}},
	{"8192 slots", &recordtest.Full{Cells: noLimit, Slots: 1 << 13}},
	{"no stacks", &recordtest.Full{Cells: noLimit, Arena: 4 << 10}},
	{"few stacks", &recordtest.Full{Cells: noLimit, Arena: 24 << 10}},
	{"few stacks and 40 cells", &recordtest.Full{Cells: 40, Arena: 16 << 10}},
	{"few stacks and slots", &recordtest.Full{Cells: noLimit, Slots: 1 << 10, Arena: 32 << 10}},
	{"enough", nil},
}

const noLimit = math.MaxInt32

// How the programs are built and recorded.
var randomBuilds = []struct {
	name    string
	flags   []string
	include []string
}{
	{name: "inlined"},
	{name: "all calls", flags: []string{"-gcflags=-l"}},
	{name: "pie", flags: []string{"-buildmode=pie", "-ldflags=-s -w"}},
	{name: "all calls, unoptimised", flags: []string{"-gcflags=-N -l"}},
	{name: "standard library", include: []string{"main", "std"}},
}

// TestRandomFull records random programs with tables that are full, as often as
// TRACERAG_SOAK says: twenty arguments for each program, each with other tables. What
// they print, and how they end, is the same as alone; they count their calls
// themselves, and no call is counted twice or forgotten.
func TestRandomFull(t *testing.T) {
	runs := 20
	if text := os.Getenv("TRACERAG_SOAK"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("TRACERAG_SOAK=%s is no number of runs", text)
		}
		runs = n
	}
	programs := max(runs/20, 5)
	plans := t.TempDir()
	passed := 0
	for i := range runs {
		seed, full := i%programs, fulls[(i/programs+i%programs*4)%len(fulls)]
		b := randomBuilds[seed%len(randomBuilds)]
		name := fmt.Sprintf("%d: seed %d, %s, %s", i, seed, b.name, full.name)
		if t.Run(name, func(t *testing.T) {
			path := random.Build(t, uint64(seed), b.flags...)
			how := recordtest.Run{Job: recordtest.Job{
				Args:    []string{path, strconv.Itoa(i), strconv.Itoa(2000 + i*7919%30000)},
				Include: b.include, Full: full.full, CacheDir: plans,
			}}
			r := sameRun(t, how)
			if !t.Failed() {
				holdRandom(t, r, slices.Contains(b.flags, "-gcflags=-l") || slices.Contains(b.flags, "-gcflags=-N -l"), b.include != nil, full.full)
			}
		}) {
			passed++
		}
	}
	t.Logf("%d of %d runs of %d random programs were the same as alone", passed, runs, programs)
}

// TestFullOrders records the program with the most contexts, which has hosts of all
// sizes, as anybody would, and with less memory.
func TestFullOrders(t *testing.T) {
	want := fixtures.Want(t, "orders")
	for _, memory := range []uint64{0, 1, 3 << 20, 16 << 20} {
		t.Run(fmt.Sprintf("%d bytes", memory), func(t *testing.T) {
			r := sameRun(t, recordtest.Run{Job: recordtest.Job{Args: []string{fixtures.Build(t, "orders")}, Memory: memory}})
			lost := len(dropped(r.Trace)) > 0
			got := recordtest.Counts(r.Trace)
			for fn, n := range want {
				if got[fn] > n || got[fn] < n && !lost {
					t.Errorf("%s: %d calls, want %d; losses %v", fn, got[fn], n, dropped(r.Trace))
				}
			}
		})
	}
}

// holdRandom compares a random program's trace with its own counts.
func holdRandom(t *testing.T, r recordtest.Result, all, std bool, full *recordtest.Full) {
	t.Helper()
	calls, goroutines, err := random.Counts(r.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for fn, n := range recordtest.Counts(r.Trace) {
		if strings.HasPrefix(fn, "main.") {
			got[random.Name(fn)] += n
		}
	}
	lost := int64(0)
	for _, l := range dropped(r.Trace) {
		if l.Count < 0 {
			t.Errorf("%d calls are lost", l.Count)
		}
		lost += l.Count
	}
	if lost == 0 && full != nil && full.Cells <= 64 {
		t.Errorf("no call is lost: the tables were not full")
	}
	partial := map[string]bool{} // they may be called unseen
	for _, l := range r.Trace.Losses {
		partial[random.Name(l.Function)] = true
	}
	var want, seen int64
	for _, fn := range slices.Sorted(maps.Keys(calls)) {
		want, seen = want+calls[fn], seen+got[fn]
		if !all && inlined(fn) {
			continue // how often that was is not always exact, and closures may be in others then
		}
		switch {
		case got[fn] > calls[fn]:
			t.Errorf("%s: %d calls were counted, but only %d made", fn, got[fn], calls[fn])
		case got[fn] < calls[fn] && lost == 0 && !partial[fn]:
			t.Errorf("%s: %d calls, want %d, and nothing is said to be lost", fn, got[fn], calls[fn])
		}
		delete(got, fn)
	}
	if !all {
		return
	}
	for _, fn := range slices.Sorted(maps.Keys(got)) {
		t.Errorf("%s: %d calls, but the program does not call it", fn, got[fn])
	}
	if len(partial) > 1 { // the one without a name is of the calls that are lost
		return
	}
	if seen+lost < want {
		t.Errorf("%d calls are in the trace and %d lost, but %d were made", seen, lost, want)
	}
	// Go statements, the beginnings of goroutines and what the compiler makes around
	// calls (of a method by a method value, of what is deferred) take cells, too.
	if most := 2*want + 2*goroutines + 16; seen+lost > most && (full == nil || full.Arena == 0) && !std {
		t.Errorf("%d calls are in the trace and %d lost, which is more than the %d that were made, with %d go statements", seen, lost, want, goroutines)
	}
}

// inlined tells the functions that may be, and closures.
func inlined(fn string) bool {
	return strings.HasPrefix(fn, "main.in") || strings.HasPrefix(fn, "main.pick") || strings.HasPrefix(fn, "main.upTo") || strings.HasSuffix(fn, ".*")
}
