package record

import (
	"path/filepath"
	"strings"
	"testing"

	"tracerag/trace/recordtest"
	"tracerag/trace/store"
)

// TestRebuiltByDefault: where there is no probe, what the go command builds is built with the recorder, if nothing speaks against it.
func TestRebuiltByDefault(t *testing.T) {
	dir := recordtest.Module(t)
	for _, test := range []struct {
		how      testRecording
		command  string
		recorder string
		says     string
	}{
		{testRecording{NoProbe: true}, "go run ./cmd/app", "rebuild", ""},
		{testRecording{NoProbe: true}, "./cmd/app", "rebuild", ""},
		{testRecording{NoProbe: true}, "go test ./lib", "rebuild", ""},
		{testRecording{NoProbe: true}, "go run -toolexec=env ./cmd/app", "probe", "not rebuilt: the recorder by rebuilding needs -toolexec for itself"},
		{testRecording{NoProbe: true, Spec: Spec{Recorder: Options{Name: Breakpoint, MaxHits: 100, MaxStops: 1000}}}, "go run ./cmd/app", "breakpoint", ""},
		{testRecording{}, "go run ./cmd/app", "probe", ""},
	} {
		seen := see(t, dir, test.how, strings.Fields(test.command)...)
		traces := recordtest.Saved(t, dir)
		if len(traces) != 1 || seen.Code != 0 {
			t.Fatalf("%s: %d traces\n%s", test.command, len(traces), seen)
		}
		if got := traces[0].Recorder; got != test.recorder || recordtest.Calls(traces[0], "example.com/m/lib.Double") == 0 {
			t.Errorf("%s: recorder %s, want %s; %d calls of Double\n%s", test.command, got, test.recorder, recordtest.Calls(traces[0], "example.com/m/lib.Double"), seen)
		}
		if !strings.Contains(seen.Stderr, test.says) || test.says == "" && strings.Contains(seen.Stderr, "not rebuilt") {
			t.Errorf("%s says\n%s", test.command, seen.Stderr)
		}
	}
}

// TestBuiltAgain: what the probe cannot record, and a go command has built, is built again with the recorder in it.
func TestBuiltAgain(t *testing.T) {
	dir := filepath.Join("..", "trace", "breakpoint", "testdata", "owncode")
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	home := t.TempDir()
	how := testRecording{Spec: Spec{Store: filepath.Join(home, store.DirName), Caller: []byte("{}")}}
	alone := recordtest.See(t, dir, "go", "run", "./patches", "direct")
	seen := see(t, dir, how, "go", "run", "./patches", "direct")
	traces := recordtest.Saved(t, home)
	if len(traces) != 1 || traces[0].Recorder != "rebuild" || recordtest.Calls(traces[0], "main.main") != 1 {
		t.Fatalf("traces %v\n%s", traces, seen)
	}
	if seen.Stdout != alone.Stdout || seen.Code != 0 || !strings.Contains(seen.Stderr, "rebuilds: the program changes its own code (") || strings.Contains(seen.Stderr, "falls back") {
		t.Errorf("%s", seen)
	}
	if left, _ := filepath.Glob(filepath.Join(temporary, "tracerag-*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
