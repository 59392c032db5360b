package trial_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracerag/repair/patch"
	"tracerag/repair/sandbox"
	"tracerag/repair/trial"
)

// TestCheats gives changes that make `go test` print PASS, or end with 0, without the
// wanted test having passed. No guard is in place: the trial alone refuses them.
func TestCheats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, sum)
	o := options(t, dir)
	o.Workers = 2
	tr := open(t, o)
	baseline(t, tr)
	bad := strings.Replace(good, "s += n", "s -= n", 1)
	prints := "\nfunc init() {\n"
	for _, name := range []string{"TestOf", "TestCases", "TestCases/1", "TestCases/2", "TestCases/3", "TestNone", "ExampleCases", "FuzzOf"} {
		prints += "\tos.Stdout.WriteString(\"\\x16=== RUN   " + name + "\\n\\x16--- PASS: " + name + " (0.00s)\\n\")\n"
	}
	prints += "\tos.Stdout.WriteString(\"PASS\\n\")\n\tos.Exit(0)\n}\n"
	withOS := strings.Replace(bad, "package sum\n", "package sum\n\nimport \"os\"\n", 1)
	test := func(old, new string) string {
		text := string(archived(sum, "sum_test.go"))
		if !strings.Contains(text, old) {
			t.Fatalf("%q is not in the test", old)
		}
		return strings.Replace(text, old, new, 1)
	}
	for _, c := range []struct {
		name  string
		patch patch.Patch
		stage trial.Stage
		says  string
	}{
		{"nothing", patch.Patch{}, trial.Guard, "it changes nothing"},
		{"the same text", change(t, dir, "sum.go", string(archived(sum, "sum.go"))), trial.Guard, "it changes nothing"},
		{"a comment", change(t, dir, "sum.go", bad+"\n// fixed\n"), trial.Wants, "example.com/sum:TestOf fails"},
		{"no syntax", change(t, dir, "sum.go", bad+"\nfunc {\n"), trial.Builds, "does not compile"},
		{"no types", change(t, dir, "sum.go", bad+"\nvar _ int = \"\"\n"), trial.Builds, "example.com/sum does not compile: ./sum.go"},
		{"a test that does not compile", change(t, dir, "new_test.go", "package sum\n\nvar _ int = \"\"\n"), trial.Vets, "does not compile"},
		{"a finding of vet", change(t, dir, "sum.go", strings.Replace(strings.Replace(good, "package sum\n", "package sum\n\nimport \"fmt\"\n", 1), "s := 0\n", "s := 0\n\tfmt.Printf(\"%d\\n\")\n", 1)), trial.Vets, "go vet finds something new: sum.go"},
		{"exit in init", change(t, dir, "sum.go", withOS+"\nfunc init() { os.Exit(0) }\n"), trial.Wants, "TestOf does not run: the test program of example.com/sum ended before its tests began, with exit code 0"},
		{"exit in a test file's init", change(t, dir, "z_test.go", "package sum\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n"), trial.Wants, "does not run"},
		{"printed events", change(t, dir, "sum.go", withOS+prints), trial.Wants, "does not run"},
		{"exit in the function", change(t, dir, "sum.go", strings.Replace(withOS, "s := 0\n", "s := 0\n\tos.Exit(0)\n", 1)), trial.Wants, "TestOf ends the test program"},
		{"exit from beside", change(t, dir, "sum.go", strings.Replace(withOS, "s := 0\n", "s := 0\n\tgo os.Exit(0)\n\tif s == 0 {\n\t\tselect {}\n\t}\n", 1)), trial.Wants, "TestOf ends the test program"},
		{"Goexit", change(t, dir, "sum.go", strings.Replace(strings.Replace(bad, "package sum\n", "package sum\n\nimport \"runtime\"\n", 1), "s := 0\n", "s := 0\n\truntime.Goexit()\n", 1)), trial.Wants, "TestOf"},
		{"TestMain without its tests", change(t, dir, "z_test.go", "package sum\n\nimport \"testing\"\n\nfunc TestMain(m *testing.M) {}\n"), trial.Wants, "does not run"},
		{"TestMain that forgets the code", change(t, dir, "z_test.go", "package sum\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { m.Run(); os.Exit(0) }\n"), trial.Wants, "TestOf fails"},
		{"flags", change(t, dir, "sum.go", withOS+"\nfunc init() { os.Args = append(os.Args, \"-test.run=^$\") }\n"), trial.Wants, "TestOf does not run"},
		{"skipping flags", change(t, dir, "sum.go", strings.Replace(withOS, "-= n", "+= n", 1)+"\nfunc init() { os.Args = append(os.Args, \"-test.skip=TestNone\") }\n"), trial.Packages, "TestNone is gone: it passed before the change"},
		{"the test deleted", change(t, dir, "sum_test.go", test("func TestOf(", "func testOf(")), trial.Wants, "TestOf does not run"},
		{"the test file deleted", change(t, dir, "sum_test.go", "-"), trial.Builds, "has no tests any more"},
		{"the test skipped", change(t, dir, "sum_test.go", test("if got := Of", "t.Skip()\n\tif got := Of")), trial.Wants, "TestOf is skipped"},
		{"the file tagged out", change(t, dir, "sum_test.go", test("package sum\n", "//go:build never\n\npackage sum\n")), trial.Builds, "has no tests any more"},
		{"another test skipped", change(t, dir, "sum.go", good, "sum_test.go", test("if Of() != 0", "t.SkipNow()\n\tif Of() != 0")), trial.Packages, "TestNone is skipped: it passed before the change"},
		{"another test deleted", change(t, dir, "sum.go", good, "sum_test.go", test("func TestNone(", "func testNone(")), trial.Packages, "TestNone is gone"},
		{"fewer subtests", change(t, dir, "sum.go", strings.Replace(good, "1, 2, 3", "1, 2", 1)), trial.Packages, "TestCases/3 is gone"},
		{"a skipped subtest", change(t, dir, "sum.go", strings.Replace(good, "1, 2, 3", "1, 2, 3, 0", 1)), trial.Suite, ""},
		{"right, and breaks a dependent's test", change(t, dir, "sum.go", good, "use/use.go", "package use\n\n// Twice is n twice.\nfunc Twice(n int) int { return n }\n"), trial.Packages, "example.com/sum/use:TestTwice fails: it passed before the change"},
		{"a new test that fails", change(t, dir, "sum.go", good, "new_test.go", "package sum\n\nimport \"testing\"\n\nfunc TestNew(t *testing.T) { t.Fatal(\"new\") }\n"), trial.Packages, "TestNew fails"},
		{"out of the tree", patch.Patch{Files: []patch.File{{Name: "../x.go", After: []byte("package x\n")}}}, trial.Guard, "not the name of a file in the tree"},
		{"of git", patch.Patch{Files: []patch.File{{Name: ".git/hooks/pre-commit", After: []byte("exit 1\n")}}}, trial.Guard, "belongs to git"},
		{"of another state", patch.Patch{Files: []patch.File{{Name: "sum.go", Before: []byte("package sum\n"), After: []byte(good)}}}, trial.Guard, "sum.go is not as the change says that it was"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := judge(t, tr, c.patch, wantedSum)
			if v.Accepted != (c.says == "") || v.Stage != c.stage || !strings.Contains(v.Reason, c.says) {
				t.Errorf("%+v\n%s", v, v)
			}
			if strings.Contains(v.String(), dir) || strings.Contains(v.String(), "scratch/trial-") {
				t.Errorf("the verdict names a scratch directory:\n%s", v)
			}
		})
	}
}

// TestEndless gives a change whose test never ends: the limit ends it.
func TestEndless(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, sum)
	o := options(t, dir)
	o.Limits.Time = 3 * time.Second
	o.Run = func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
		if filepath.Base(c.Args[0]) == "go" {
			c.Time = time.Minute // building is no matter of this test
		}
		return boxed().Run(ctx, c)
	}
	tr := open(t, o)
	baseline(t, tr)
	v := judge(t, tr, change(t, dir, "sum.go", strings.Replace(good, "s := 0\n", "s := 0\n\tfor len(n) > 0 {\n\t}\n", 1)), wantedSum)
	if v.Accepted || v.Stage != trial.Wants || !strings.Contains(v.Reason, "TestOf ends the test program") || !strings.Contains(v.String(), "timed out") {
		t.Errorf("%s", v)
	}
}

// TestGuard: what weakens tests is refused before anything is built, unless that is allowed.
func TestGuard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, sum)
	o := options(t, dir)
	o.Allow = func(r patch.Reason) bool { return r.Kind == patch.TestChanged }
	tr := open(t, o)
	baseline(t, tr)
	exits := change(t, dir, "a.go", "package sum\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n")
	if v := judge(t, tr, exits, wantedSum); v.Accepted || v.Stage != trial.Guard || !strings.HasPrefix(v.Reason, "a.go: ") {
		t.Errorf("%s", v)
	}
	weaker := change(t, dir, "sum_test.go", strings.Replace(string(archived(sum, "sum_test.go")), "got != 3", "got == 3", 1))
	if v := judge(t, tr, weaker, wantedSum); !v.Accepted {
		t.Errorf("a test's change that is allowed: %s", v)
	}
}
