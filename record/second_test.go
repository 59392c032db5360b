package record

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace/recordtest"
)

func valuesOf(patterns ...string) testRecording {
	return testRecording{Spec: Spec{Values: Values{Patterns: patterns}}}
}

// fromFile is a command whose standard input is a file.
func fromFile(t *testing.T, text string, args []string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return append([]string{"/bin/sh", "-c", `exec "$@" <"$0"`, file}, args...)
}

// TestValuesOfNames: names that no recorded function has are found before the program
// runs, and the others have their values. Without any other the program does not run.
func TestValuesOfNames(t *testing.T) {
	dir := recordtest.Module(t)
	values := fixtures.Build(t, "values")
	run := func(how testRecording) recordtest.Seen {
		return recordtest.See(t, dir, fromFile(t, "one\ntwo\n", recording(t, dir, how, values))...)
	}
	got := run(valuesOf("nosuch", "resluts", "results"))
	for _, want := range []string{
		"no values of: no function of the program matches \"nosuch\"",
		"no values of: no function of the program matches \"resluts\"; did you mean main.results?\n",
		"observed: ",
	} {
		if got.Code != 0 || !strings.Contains(got.Stderr, want) {
			t.Errorf("no %q in\n%v", want, got)
		}
	}
	if tr := last(t, dir); len(tr.Activations) == 0 {
		t.Error("no values")
	}
	for want, patterns := range map[string][]string{
		"error: no values: no function of the program matches \"resluts\"; did you mean main.results?": {"nosuch", "resluts"},
		"error: no values: no function of the program matches \"*T*\"":                                 {"*T*"},
		"error: no values: calls of strings.Repeat are not recorded\n":                                 {"strings.Repeat"},
	} {
		if got := run(valuesOf(patterns...)); got.Code != 125 || got.Stdout != "" || !strings.Contains(got.Stderr, want) {
			t.Errorf("%q: no %q in\n%v", patterns, want, got)
		}
	}
}

// TestValuesNeedTheSameInput: both runs read the same, and what cannot be read twice is
// refused before the first.
func TestValuesNeedTheSameInput(t *testing.T) {
	dir := recordtest.Module(t)
	stdio := fixtures.Build(t, "stdio")
	line := recording(t, dir, valuesOf(OwnFunctions), stdio)
	got := recordtest.See(t, dir, fromFile(t, "one\ntwo\n", line)...)
	if got.Stdout != "one\ntwo\n" || !strings.Contains(got.Stderr, "; differences: \n") {
		t.Errorf("from a file:\n%v", got)
	}
	if got := recordtest.See(t, dir, line...); got.Code != 125 || got.Stdout != "" || !strings.Contains(got.Stderr, "error: "+errInputOnce.Error()+"\n") {
		t.Errorf("from a pipe:\n%v", got)
	}
}

// TestSecondRunDiffers: what the second run did not do is part of what was observed.
func TestSecondRunDiffers(t *testing.T) {
	dir := recordtest.Module(t)
	line := recording(t, dir, valuesOf(OwnFunctions), fixtures.Build(t, "changes"), "-once", "done")
	got := recordtest.See(t, dir, fromFile(t, "", line)...)
	other := regexp.MustCompile(`differences: it ended with exit status 3, the first with exit status 0; 2 of \d+ functions were not called, first main.doAll \(main.go:\d+\)\n`)
	if got.Code != 0 || strings.Count(got.Stdout, "doing it\n") != 1 || !other.MatchString(got.Stderr) {
		t.Errorf("%v", got)
	}
}
