package results

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tracerag/eval"
)

var cell = eval.Cell{Experiment: "x", Inquiry: "look", Variant: "ordered@50%", Model: "vendor/m:1", Repetition: 2}

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestIDs: an answer is found again if and only if the same was sent in the same cell.
func TestIDs(t *testing.T) {
	other := cell
	other.Repetition++
	ids := []string{ID(cell, "prompt"), ID(cell, "prompt "), ID(other, "prompt"), ID(cell, "prompt", "temperature 0"), ID(cell, "promp", "t")}
	if ID(cell, "prompt") != ids[0] {
		t.Error("the ID is another each time")
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 5 {
		t.Errorf("different questions have the same ID: %v", ids)
	}
}

func TestAnswersAreThereAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	d := open(t, path)
	id := ID(cell, "prompt")
	if err := d.Begin(id, Asking{What: "it", Most: 0.5}); err != nil {
		t.Fatal(err)
	}
	cost := 0.125
	want := eval.Answer{Cell: cell, Text: "<because> & so\u2028on", Cost: &cost, Asked: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Usage: &eval.Usage{Prompt: 3}}
	if err := d.SaveAnswer(id, want); err != nil {
		t.Fatal(err)
	}
	d.Close()

	d = open(t, path)
	defer d.Close()
	got, err := d.Answers("x")
	if err != nil || len(got) != 1 || got[id].Text != want.Text || *got[id].Cost != cost || !got[id].Asked.Equal(want.Asked) || got[id].Cell != cell {
		t.Errorf("%+v, %v", got, err)
	}
	if others, err := d.Answers("y"); err != nil || len(others) != 0 {
		t.Errorf("another experiment has %v, %v", others, err)
	}
	if lost, err := d.Lost(); err != nil || len(lost) != 0 {
		t.Errorf("an answer that was saved counts as lost: %v, %v", lost, err)
	}
	for _, name := range []string{".", "answers/x/" + id + ".json"} {
		if info, err := os.Stat(d.Path(name)); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v: others can read it", name, info.Mode(), err)
		}
	}
}

// TestLost: what a question may have cost whose answer never came is counted, once.
func TestLost(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	for _, id := range []string{"a", "b", "c"} {
		if err := d.Begin(id, Asking{What: id, Most: 0.25}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.End("b"); err != nil { // a refusal: it cost nothing
		t.Fatal(err)
	}
	d.Close() // the process ends
	for range 2 {
		d = open(t, path)
		lost, err := d.Lost()
		if err != nil {
			t.Fatal(err)
		}
		if err := d.SaveLost(lost); err != nil {
			t.Fatal(err)
		}
		if spent, err := d.Spent(); err != nil || spent != 0.5 {
			t.Errorf("lost %v: spent %g, %v, want 0.5", lost, spent, err)
		}
		d.Close()
	}
}

// TestSpent: the costs of all that is saved are added up, and an answer is not counted
// as lost that was saved in the moment in which the process ended.
func TestSpent(t *testing.T) {
	d := open(t, t.TempDir())
	defer d.Close()
	cost := func(usd float64) *float64 { return &usd }
	other := cell
	other.Experiment = "y"
	for _, err := range []error{
		d.Begin("a", Asking{What: "a", Most: 100}),
		d.SaveAnswer("a", eval.Answer{Cell: cell, Cost: cost(0.5)}),
		d.Begin("a", Asking{What: "a", Most: 100}),
		d.SaveAnswer("b", eval.Answer{Cell: other, Cost: cost(0.25)}),
		d.SaveAnswer("c", eval.Answer{Cell: other}), // its price is not known
		d.SaveJudged("x", "j", Judged{Cost: cost(0.125)}),
		d.Begin("j", Asking{What: "j", Most: 100}),
		d.Save("answers/.DS_Store", []byte("not ours")),
		d.SaveLost(map[string]Asking{"l": {What: "l", Most: 1}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if lost, err := d.Lost(); err != nil || len(lost) != 0 {
			t.Errorf("lost: %v, %v", lost, err)
		}
	}
	if entries, err := os.ReadDir(d.Path("asking")); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v are still under way", entries, err)
	}
	if spent, err := d.Spent(); err != nil || spent != 1.875 {
		t.Errorf("spent %g, %v, want 1.875", spent, err)
	}
}

// TestDamagedFile: it is named, with the way out, and hides no other.
func TestDamagedFile(t *testing.T) {
	d := open(t, t.TempDir())
	defer d.Close()
	for _, id := range []string{"a", "b"} {
		if err := d.SaveAnswer(id, eval.Answer{Cell: cell, Text: id}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(d.Path("answers", "x", "a.json"), []byte(`{"text": "ha`), 0o600); err != nil {
		t.Fatal(err)
	}
	// What a process leaves that ends while it writes is no file of ours.
	if err := os.WriteFile(d.Path("answers", "x", ".new-1"), []byte(`{`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := d.Answers("x")
	if err == nil || !strings.Contains(err.Error(), filepath.Join("x", "a.json")) || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("error %v", err)
	}
	if len(got) != 1 || got["b"].Text != "b" {
		t.Errorf("answers %v", got)
	}
}

// TestOneAtATime: the second waits, says so, and finds what the first has done.
func TestOneAtATime(t *testing.T) {
	path := t.TempDir()
	first := open(t, path)
	waits := make(chan bool, 1)
	done := make(chan error)
	go func() {
		d, err := Open(path, func() { waits <- true })
		if err == nil {
			defer d.Close()
			if got, _ := d.Answers("x"); len(got) != 1 {
				err = errors.New("the first one's answer is not there")
			}
		}
		done <- err
	}()
	<-waits
	if err := first.SaveAnswer("a", eval.Answer{Cell: cell}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		t.Fatalf("the second did not wait (%v)", err)
	default:
	}
	first.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRuns(t *testing.T) {
	d := open(t, t.TempDir())
	defer d.Close()
	if r, err := d.Run("x", "csv"); err != nil || r != (Run{}) {
		t.Errorf("%+v, %v before there is one", r, err)
	}
	want := Run{Trace: "ab12cd34", Of: "hash"}
	if err := d.SaveRun("x", "csv", want); err != nil {
		t.Fatal(err)
	}
	if r, err := d.Run("x", "csv"); err != nil || r != want {
		t.Errorf("%+v, %v", r, err)
	}
}
