package trial_test

import (
	"slices"
	"strings"
	"testing"

	"tracerag/repair/patch"
	"tracerag/repair/trial"
)

// cased is a module whose test reads what is right from a file with a name like any other, and whose code
// embeds one.
const cased = `
-- go.mod --
module example.com/sum

go 1.26
-- sum.go --
package sum

import _ "embed"

//go:embed add.txt
var add string

// Of is the sum.
func Of(a, b int) int {
	if add == "yes\n" {
		return a + b
	}
	return a - b
}
-- add.txt --
no
-- cases.txt --
2 1 3
-- README.md --
It adds.
-- sum_test.go --
package sum

import (
	"fmt"
	"os"
	"testing"
)

func TestOf(t *testing.T) {
	text, err := os.ReadFile("cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	var a, b, want int
	fmt.Sscan(string(text), &a, &b, &want)
	if got := Of(a, b); got != want {
		t.Errorf("got %d", got)
	}
}
`

// TestData: a change of a file that tests may read has no effect on the verdict; one that the code embeds, and one
// that is allowed, has.
func TestData(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, cased)
	allow := false
	o := options(t, dir)
	o.Runs = 1
	o.Allow = func(r patch.Reason) bool { return allow && r.Kind == patch.TestData }
	tr := open(t, o)
	if _, err := tr.Baseline(t.Context(), wantedSum); err != nil {
		t.Fatal(err)
	}
	source := string(archived(cased, "sum.go"))
	right, layout := strings.Replace(source, "a - b", "a + b", 1), source+"\n// Of is.\n"
	for _, c := range []struct {
		name  string
		patch patch.Patch
		allow bool
		stage trial.Stage // "": it is accepted
		kept  []string
	}{
		{"what is right", change(t, dir, "cases.txt", "2 1 1\n"), false, trial.Guard, []string{"cases.txt"}},
		{"what is right, and a comment", change(t, dir, "cases.txt", "2 1 1\n", "sum.go", layout), false, trial.Wants, []string{"cases.txt"}},
		{"what is right is gone", change(t, dir, "cases.txt", "-", "sum.go", layout), false, trial.Wants, []string{"cases.txt"}},
		{"allowed", change(t, dir, "cases.txt", "2 1 1\n"), true, "", nil},
		{"what the code embeds", change(t, dir, "add.txt", "yes\n"), false, "", nil},
		{"the code and a document", change(t, dir, "README.md", "It adds two.\n", "sum.go", right), false, "", []string{"README.md"}},
		{"the code and a new file", change(t, dir, "more.txt", "2 1 1\n", "sum.go", right), false, "", nil},
	} {
		allow = c.allow
		v := judge(t, tr, c.patch, wantedSum)
		if v.Accepted != (c.stage == "") || !v.Accepted && v.Stage != c.stage || !slices.Equal(v.Kept, c.kept) {
			t.Errorf("%s: %s", c.name, v)
		}
	}
}
