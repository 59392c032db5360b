package rebuild_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace/recordtest"
)

// Programs for other systems are built here, and run in an emulator of the system or the processor.

// buildFor builds fixtures for another system, and returns their directory. All of them is Go.
func buildFor(t *testing.T, goos, goarch string, names ...string) string {
	t.Helper()
	out := t.TempDir()
	for _, name := range names {
		if name == "tablecat" && len(names) > 1 {
			t.Fatal("tablecat is a module of its own")
		}
	}
	args := slices.Concat([]string{"build", "-o", out + string(filepath.Separator)}, tool(t))
	dir := fixtures.Dir(names[0])
	if len(names) == 1 {
		args = append(args, ".")
	} else {
		dir = filepath.Dir(dir)
		for _, name := range names {
			args = append(args, "./"+name)
		}
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return out
}

// elsewhere are the fixtures that other systems run, too. Not cgocalls, which needs a C compiler for them.
func elsewhere(without ...string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(programs)), func(name string) bool { return name == "cgocalls" || slices.Contains(without, name) })
}

var one = []string{"GOMAXPROCS=1"}

// asHere records a program of another system, and holds its tree against that of the same program on this one. On a busy
// machine goroutines may be interrupted, and run in another order, so it tries three times.
func asHere(t *testing.T, name string, how recordtest.Run, more ...string) (got recordtest.Result) {
	t.Helper()
	here := append([]string{fixtures.Build(t, name, tool(t)...)}, more...)
	want := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: here}, Env: one})
	how.Env = append(how.Env, one...)
	for range 3 {
		got = recordtest.Record(t, how)
		if recordtest.Tree(got.Trace) == recordtest.Tree(want.Trace) {
			return got
		}
	}
	same(t, recordtest.Tree(got.Trace), recordtest.Tree(want.Trace))
	return got
}

// exact holds a trace against the counters that the program wrote.
func exact(t *testing.T, got recordtest.Result, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	want := map[string]int64{}
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	delete(want, "main.nosplit") // it is not rewritten
	counts := recordtest.Generic(recordtest.Counts(got.Trace))
	for name, n := range want {
		if counts[name] != n {
			t.Errorf("%s was called %d times, and has %d", name, n, counts[name])
		}
	}
	if len(want) < 30 || len(got.Trace.Losses) != 1 {
		t.Errorf("%d counters, losses %v", len(want), got.Trace.Losses)
	}
}
