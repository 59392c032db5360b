package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"tracerag/repair/patch"
	"tracerag/repair/sandbox"
)

// without has no model.
func (r *repairs) without() *repairs {
	r.env = append(r.env, "TRACERAG_MODEL=", "OPENAI_API_KEY=", "OPENAI_BASE_URL=")
	return r
}

// candidate writes a change to a file, and returns the flag that judges it.
func (r *repairs) candidate(text string) string {
	file := filepath.Join(r.t.TempDir(), "change")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return "--candidate=" + file
}

// TestFixFlags: what is judged, by which tests and within which limits is as the flags say.
func TestFixFlags(t *testing.T) {
	t.Parallel()
	r := newRepairs(t).without()
	r.write("table/tagged_test.go", "//go:build special\n\npackage table\n\nimport \"testing\"\n\nfunc TestTagged(t *testing.T) {\n\tif Border(4) != \"----\" {\n\t\tt.Fail()\n\t}\n}\n")
	r.write("other/other_test.go", "package other\n\nimport (\n\t\"testing\"\n\n\t\"example.com/app/table\"\n)\n\nfunc TestOther(t *testing.T) {\n\tif table.Border(3) != \"--\" {\n\t\tt.Fail()\n\t}\n}\n")
	right := r.candidate(edit("return line(n)"))
	weak := r.candidate(patch.Format([]patch.Edit{{File: "table/a_test.go", Text: "func TestBorder(t *testing.T) {}\n"}}))
	const border, tagged, suite = "--test=./table:TestBorder", "--test=./table:TestTagged", "--suite=./table"
	for _, x := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"another package's test", []string{border, right}, 1, "example.com/app/other:TestOther fails"},
		{"its own package alone", []string{border, suite, right}, 0, "accepted: "},
		{"no tags", []string{tagged, suite, right}, 1, "TestTagged was not found"},
		{"tags", []string{tagged, suite, "--tags=special", right}, 0, "accepted: "},
		{"a weak test", []string{border, suite, weak}, 1, "refused at guard: table/a_test.go"},
		{"a weak test is allowed", []string{border, suite, "--allow-test-changes", weak}, 0, "accepted: "},
		{"no time", []string{border, suite, "--test-time=1ms", right}, 1, "stopped by the limit on time"},
	} {
		if out, said := r.run(x.code, x.args...); !strings.Contains(out+said, x.want) {
			t.Errorf("%s: %s%s", x.name, said, out)
		}
	}
}

// TestFixLimits: each flag of a limit bounds the trial.
func TestFixLimits(t *testing.T) {
	var x fixFlags
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	x.limits.add(f)
	if err := f.Parse([]string{"--test-time=7s", "--test-memory=8MiB", "--test-processes=9", "--test-disk=10MiB", "--network"}); err != nil {
		t.Fatal(err)
	}
	r := &repairing{app: &app{cwd: t.TempDir(), noRedact: true, getenv: func(string) string { return "" }}, fixFlags: &x}
	o, err := r.options()
	want := sandbox.Limits{Time: 7 * time.Second, Memory: 8 << 20, Processes: 9, Disk: 10 << 20, Output: 64 << 20, Network: true}
	if err != nil || o.Trial.Limits != want {
		t.Errorf("%v: %+v", err, o.Trial.Limits)
	}
}

// TestFixMasks: no question and no transcript has a secret of the report. A declaration that holds one is not shown, and
// the user sees why.
func TestFixMasks(t *testing.T) {
	t.Parallel()
	r := newRepairs(t)
	r.change = func(string) string { return "I can't help with that." }
	transcript := filepath.Join(t.TempDir(), "transcript")
	_, said := r.run(1, "--test=./table:TestBorder", "--candidates=1", "--rounds=0", "--how=words", "--transcript="+transcript,
		"login with password=mule-paddock-battery-9 draws no border")
	text, err := os.ReadFile(transcript)
	if err != nil || !strings.Contains(string(text), "I can't help with that.") {
		t.Errorf("the transcript: %v\n%s", err, text)
	}
	questions := strings.Join(r.asked, "\n")
	if !strings.Contains(questions, "login with password=") || !strings.Contains(questions, "<<<PLACES") {
		t.Errorf("the report was not asked about:\n%s", questions)
	}
	for _, secret := range []string{"mule-paddock-battery-9", "correct-horse-battery-7"} {
		if strings.Contains(questions+string(text)+said, secret) {
			t.Errorf("%s was sent or shown", secret)
		}
	}
	if want := "login in table/secret.go can't be shown: it holds a secret"; !strings.Contains(said, want) {
		t.Errorf("the messages lack %q: %s", want, said)
	}
}

// TestTryChange: an agent has a change judged, by the test that it names.
func TestTryChange(t *testing.T) {
	t.Parallel()
	r := newRepairs(t).without()
	a := startAgent(t, r.dir, r.env, "--allow-run")
	a.has(a.ask("try_change", args{"change": edit("return line(n)"), "test": "./table:TestBorder"}), "accepted: ")
	a.has(a.ask("try_change", args{"change": edit("return line(n + 1)"), "test": "./table:TestBorder"}), "refused at wanted: ", "TestBorder fails")
	if text, failed := a.call("try_change", args{"change": edit("return line(n)"), "test": "./table:TestNone"}); !failed || !strings.Contains(text, "TestNone was not found") {
		t.Error(text)
	}
	r.clean()
}

// TestStepsBesideEachOther: candidates are judged beside each other, and each says what it does. The race
// detector finds what is not locked.
func TestStepsBesideEachOther(t *testing.T) {
	r := &repairing{app: &app{quiet: true}, fixFlags: &fixFlags{}}
	done := make(chan bool)
	for range 4 {
		go func() {
			for range 100 {
				r.step("testing")
				r.hear("a message")
				runtime.Gosched()
			}
			done <- true
		}()
	}
	for range 4 {
		<-done
	}
	if r.stepped(); r.done != nil {
		t.Error("the last step has not ended")
	}
}
