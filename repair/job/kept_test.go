package job

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracerag/repair"
	"tracerag/repair/trial"
)

// TestLoad: the last repair is found, or one by the beginning of its ID; what has not come to an end says
// so, and a name that is no ID leads nowhere.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	none := new(NoneError)
	if _, err := Load(dir, ""); !errors.As(err, &none) || err.Error() != "no repair is kept" {
		t.Error(err)
	}
	for i, id := range []string{"aaaa00000001", "bbbb00000002"} {
		j := &Job{dir: filepath.Join(dir, id)}
		if err := j.keep("job.json", Spec{Dir: dir, Report: "report " + id, Package: "./table", Test: "TestBorder"}); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-10) * time.Minute)
		if err := os.Chtimes(filepath.Join(dir, id, "job.json"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	first := &Job{dir: filepath.Join(dir, "aaaa00000001")}
	accepted := &repair.Candidate{Number: 2, Diff: "+b\n", Votes: 2, Verdict: &trial.Verdict{Accepted: true, Stage: trial.Suite}}
	if err := first.keep("result.json", repair.Result{Number: 2, Why: "it is the only one", Candidates: []*repair.Candidate{
		{Number: 1, Diff: "+a\n", Verdict: &trial.Verdict{Stage: trial.Wants, Reason: "TestBorder fails"}}, accepted, {Number: 3, Like: 2}, {Number: 4, Wrong: "no reply was right"},
	}}); err != nil {
		t.Fatal(err)
	}
	k, err := Load(dir, "")
	if err != nil || k.ID != "bbbb00000002" || !strings.Contains(k.String(), "it has not come to an end") {
		t.Errorf("%v %v", k, err)
	}
	if spec, err := Last(dir); err != nil || spec.Report != "report bbbb00000002" {
		t.Error(spec, err)
	}
	k, err = Load(dir, "aaa")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"repair aaaa00000001\ntest ./table:TestBorder\nreport report aaaa00000001\n", "candidate 1: refused (wanted): TestBorder fails\n", "+a\n", "candidate 2: accepted, 2 candidates agree\n+b\n", "candidate 3: as candidate 2\n", "candidate 4: no reply was right\n", "candidate 2 was chosen: it is the only one\n"} {
		if !strings.Contains(k.String(), want) {
			t.Errorf("lacks %q:\n%s", want, k)
		}
	}
	for _, id := range []string{"cccc", "../" + filepath.Base(dir), "aaaa00000001/../bbbb00000002", "."} {
		if _, err := Load(dir, id); !errors.As(err, &none) {
			t.Errorf("%q: %v", id, err)
		}
	}
	// Neither a change that was judged later nor damage hides the last repair.
	judged := &Job{dir: filepath.Join(dir, "cccc00000003")}
	if err := judged.keep("job.json", Spec{Dir: dir, Judged: true}); err != nil {
		t.Fatal(err)
	}
	if k, err := Load(dir, ""); err != nil || k.ID != "bbbb00000002" {
		t.Errorf("%v %v", k, err)
	}
	if k, err := Load(dir, "cccc"); err != nil || !strings.Contains(k.String(), "no repair was begun") {
		t.Errorf("%v %v", k, err)
	}
	for _, name := range []string{"job.json", "result.json"} {
		for _, text := range []string{"", "{", "[]", "{}", "null", "\x00", `{"candidates":[null]}`, `{"dir":3}`} {
			if name == "result.json" && (text == "null" || text == "{}" || text == `{"dir":3}`) {
				continue // no result yet, or one without candidates
			}
			later := &Job{dir: filepath.Join(dir, "dddd00000004")}
			if err := later.keep("job.json", Spec{Dir: dir}); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(later.dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			damaged := new(DamagedError)
			if _, err := Load(dir, "dddd"); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "remove "+later.dir) {
				t.Errorf("%s %q: %v", name, text, err)
			}
			if k, err := Load(dir, ""); err != nil || k.ID != "bbbb00000002" {
				t.Errorf("%s %q: %v %v", name, text, k, err)
			}
			if err := os.RemoveAll(later.dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestPattern: a test's name is itself in a pattern.
func TestPattern(t *testing.T) {
	if got := Pattern("TestX/a.b/c"); got != `^TestX$/^a\.b$/^c$` {
		t.Error(got)
	}
}

// TestTimeless: what go test prints of a failure is the same each time.
func TestTimeless(t *testing.T) {
	got := timeless("--- FAIL: TestX (0.12s)\n    --- FAIL: TestX/a_b (1.00s)\n        x_test.go:7: took 0.12s (0.12s)\nFAIL\nFAIL\texample.com/x\t0.345s\nok  \texample.com/y\t1.2s\n")
	if want := "--- FAIL: TestX\n    --- FAIL: TestX/a_b\n        x_test.go:7: took 0.12s (0.12s)\nFAIL\nFAIL\texample.com/x\nok  \texample.com/y\n"; got != want {
		t.Errorf("%q", got)
	}
}
