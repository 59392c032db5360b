package trial_test

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"tracerag/repair/sandbox"
	"tracerag/repair/trial"
)

// TestWarmCache: of what is in the user's build cache nothing is compiled again, though a trial's own is empty.
// Where it can't be seen, that is said once.
func TestWarmCache(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, sum)
	// The standard library is in the user's: whoever runs this test has just built it.
	tests := exec.Command("go", "vet", "./...")
	tests.Dir = dir
	if out, err := tests.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	o := options(t, dir)
	o.Cache, o.Kept, o.Workers = "", "", 1
	o.Flags = append([]string{"-v"}, quickLink...) // names what is compiled
	var built bytes.Buffer
	var cold, notes []string
	o.Note = func(s string) { notes = append(notes, s) }
	o.Run = func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
		if len(c.Args) > 1 && c.Args[1] == "build" {
			c.Stderr = io.MultiWriter(c.Stderr, &built)
		}
		r, err := boxed().Run(ctx, c)
		cold = append(cold, r.Unlayered...)
		return r, err
	}
	tr := open(t, o)
	if _, err := tr.Baseline(t.Context(), wantedSum); err != nil {
		t.Fatal(err)
	}
	if len(cold) > 0 {
		if len(notes) != 1 || !strings.HasPrefix(notes[0], "your build cache can't be read in the sandbox") {
			t.Errorf("%d commands had a cold cache, and the user sees %q", len(cold), notes)
		}
		t.Skip("this machine lays no directory over another: " + cold[0])
	}
	if len(notes) > 0 {
		t.Errorf("notes: %q", notes)
	}
	// Those of the tree are of another directory than the user's.
	if built.String() != "example.com/sum\nexample.com/sum/use\n" {
		t.Errorf("compiled again:\n%s", built.Bytes())
	}
}

// TestColdCache: that the user's build cache can't be seen is said once, however many commands run.
func TestColdCache(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, sum)
	o := wholeOptions(t, dir)
	var mu sync.Mutex
	var notes []string
	o.Note = func(s string) {
		mu.Lock()
		defer mu.Unlock()
		notes = append(notes, s)
	}
	n := 0
	o.Run = func(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
		if n++; len(c.Layers) != 1 || len(c.Layers[0].Below) != 1 {
			t.Errorf("%q has the layers %v", c.Args, c.Layers)
		}
		return sandbox.Result{Code: 1, Unlayered: []string{"/cache: mounting an overlay: no such device"}}, nil
	}
	o.Cache = ""
	for range 2 {
		_, _ = open(t, o).Baseline(t.Context(), trial.TestID{Package: "./use", Name: "TestTwice"})
	}
	want := "your build cache can't be read in the sandbox, so the first build takes longer: /cache: mounting an overlay: no such device"
	if n < 2 || len(notes) != 2 || notes[0] != want {
		t.Errorf("%d commands in two trials, notes %q", n, notes)
	}
}
