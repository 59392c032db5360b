package trial_test

import (
	"strings"
	"testing"

	"tracerag/repair/trial"
)

const wants = `-- go.mod --
module example.com/wants

go 1.25
-- wants_test.go --
package wants

import (
	"os"
	"testing"
)

func TestPlain(t *testing.T) { t.Error("wrong") }

// TestEarly ends before its subtests.
func TestEarly(t *testing.T) {
	if os.Getenv("NEVER") == "" {
		t.Fatal("too early")
	}
	t.Run("late one", func(t *testing.T) {})
	t.Run("files", func(t *testing.T) {
		entries, _ := os.ReadDir("testdata")
		for _, e := range entries {
			t.Run(e.Name(), func(t *testing.T) {})
		}
	})
}

func TestParts(t *testing.T) {
	t.Run("first", func(t *testing.T) { t.Error("wrong") })
}
-- testdata/case.txt --
x
-- other/other_test.go --
package other

import "testing"

func TestOther(t *testing.T) { t.Error("wrong") }
-- nested/go.mod --
module example.com/nested

go 1.25
-- nested/x/x_test.go --
package x

import "testing"

func TestY(t *testing.T) { t.Error("wrong") }
`

// TestWanted: a wanted test is refused with a reason before anybody pays for a change; tests outside of the suite
// may be wanted one after another.
func TestWanted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, wants)
	o := options(t, dir)
	o.Suite = []string{"."}
	tr := open(t, o)
	for _, c := range []struct{ pkg, name, says string }{
		{".", "TestPlain", ""},
		{".", "TestPlain/nosuch", "example.com/wants:TestPlain/nosuch was not found; TestPlain fails, and may be named itself"},
		{".", "TestParts/firts", "example.com/wants:TestParts/firts was not found; did you mean TestParts/first, or TestParts?"},
		{".", "TestEarly/late_one", ""},
		{".", "TestEarly/late_one#01", ""},
		{".", "TestEarly/files/case.txt", ""},
		{".", "TestEarly/files/none.txt", "example.com/wants:TestEarly/files/none.txt was not found; TestEarly fails, and may be named itself"},
		{"./other", "TestOther", ""}, // not in the suite, and not wanted until now
		{"./other", "TestOthers", "example.com/wants/other:TestOthers was not found; did you mean TestOther?"},
		{".", "TestPlain", ""},
		{"./nested/x", "TestY", "package example.com/nested/x belongs to another module: run it in that module's directory, nested, or name both modules in a go.work file"},
		{"example.com/nested/x", "TestY", "package example.com/nested/x belongs to another module: run it in that module's directory, nested, or name both modules in a go.work file"},
	} {
		_, err := tr.Baseline(t.Context(), trial.TestID{Package: c.pkg, Name: c.name})
		if got := errorText(err); got != c.says {
			t.Errorf("%s:%s: %s\nwant %s", c.pkg, c.name, got, c.says)
		}
	}
	// Both are known now: a change of either is judged.
	for _, w := range []trial.TestID{{Package: ".", Name: "TestPlain"}, {Package: "./other", Name: "TestOther"}} {
		v, err := tr.Judge(t.Context(), change(t, dir, "new.go", "package wants\n"), w)
		if err != nil || v.Accepted || v.Stage != trial.Wants {
			t.Errorf("%s: %v %s", w, err, v)
		}
	}
	within := options(t, dir+"/nested")
	if _, err := open(t, within).Baseline(t.Context(), trial.TestID{Package: "./x", Name: "TestY"}); err != nil {
		t.Errorf("in the nested module: %v", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestHomeless: without a home directory the error says what to do.
func TestHomeless(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, "")
	}
	dir := t.TempDir()
	write(t, dir, wants)
	if _, err := trial.Open(t.Context(), trial.Options{Dir: dir, Run: boxed().Run}); !strings.Contains(errorText(err), "set HOME, or XDG_CACHE_HOME") {
		t.Error(err)
	}
}
