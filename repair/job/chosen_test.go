package job

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tracerag/repair/affected"
	"tracerag/repair/patch"
	"tracerag/repair/sandbox"
	"tracerag/repair/trial"
	"tracerag/trace/recordtest"
)

// The test program is the inner step of a sandbox, and records tests in one: job.test tests DIR.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "sandbox" {
		os.Exit(sandbox.Inner())
	}
	if len(os.Args) > 2 && os.Args[1] == "tests" {
		os.Exit(affected.Inner(context.Background(), os.Args[:2], os.Args[2:]))
	}
	os.Exit(m.Run())
}

// twice has a function that two packages run: sum by its own test, use by another one.
const twice = `
-- go.mod --
module example.com/sum

go 1.25
-- sum.go --
package sum

// Of adds two numbers.
func Of(a, b int) int { return a - b }

// Limit is far away.
const Limit = 1000
-- sum_test.go --
package sum

import "testing"

func TestOf(t *testing.T) {
	if got := Of(1, 2); got != 3 {
		t.Errorf("Of(1, 2) = %d", got)
	}
}
-- use/use.go --
package use

import "example.com/sum"

// Twice is n twice.
func Twice(n int) int { return sum.Of(n, n) }
-- use/use_test.go --
package use

import "testing"

func TestTwice(t *testing.T) {
	if n := Twice(500); n > 1000 || n < 0 {
		t.Error(n)
	}
}

func TestNothing(t *testing.T) {}
-- read/read_test.go --
package read

import (
	"os"
	"strings"
	"testing"
)

// TestText runs nothing of sum, and depends on it nevertheless.
func TestText(t *testing.T) {
	text, err := os.ReadFile("../sum.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "func Of(a, b int)") {
		t.Error("Of has other parameters")
	}
}
`

// choosing opens a repair of a module, in which each recording is counted.
func choosing(t *testing.T, dir string, recordings *atomic.Int32, more func(*Options)) (j *Job, end func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Spec: Spec{Dir: dir, Package: "example.com/sum", Test: "TestOf", Candidates: 2},
		Kept: filepath.Join(dir, ".kept"),
		Trial: trial.Options{Scratch: filepath.Join(t.TempDir(), "scratch"), Cache: strings.TrimSpace(string(cache)), Runs: 1, Workers: 2,
			Run: sandbox.New([]string{self, "sandbox"}).Run, Limits: sandbox.Limits{Time: 5 * time.Minute}},
		Choosing: Choosing{Suite: 1, Share: 1, Record: func(ctx context.Context, c *trial.Copy, dir string) (string, error) {
			recordings.Add(1)
			tool, err := c.Tool(self)
			if err != nil {
				return "", err
			}
			_, said, err := c.Run(ctx, ".", []string{tool, "tests", dir}, nil, dir)
			return said, err
		}},
	}
	if more != nil {
		more(&o)
	}
	j, err = Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	end = func() {
		if !closed {
			closed = true
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(end)
	if _, err := j.Baseline(t.Context()); err != nil {
		t.Fatal(err)
	}
	j.chooser.several.Store(true) // as Fix says
	return j, end
}

func module(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// of is a change of Of.
func of(j *Job, text string) *patch.Patch {
	before, err := os.ReadFile(filepath.Join(j.trial.Snapshot(), "sum.go"))
	if err != nil {
		panic(err)
	}
	after := strings.Replace(string(before), "func Of(a, b int) int { return a - b }", text, 1)
	return &patch.Patch{Files: []patch.File{{Name: "sum.go", Before: before, After: []byte(after)}}}
}

func judged(t *testing.T, j *Job, text string) trial.Verdict {
	t.Helper()
	v, err := j.Judge(t.Context(), of(j, text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// recorded skips a test where the probe can't record.
func recorded(t *testing.T, v trial.Verdict) {
	t.Helper()
	if v.First == nil {
		t.Fatalf("nobody chose: %s", v)
	}
	if v.First.Left != "" {
		if v.First.Tests > 0 || recordtest.Recordable() {
			t.Fatalf("tests were not recorded: %s", v.First.Left)
		}
		t.Skipf("nothing can be recorded here: %s", v.First.Left)
	}
}

// TestChosen: nothing is recorded before the suite has refused a candidate. From then on, a change that breaks a test of another package that ran the changed function is refused by it before the
// suite; one that breaks a test that never ran it is refused by the suite; the tests are recorded once, whichever
// candidates come when.
func TestChosen(t *testing.T) {
	dir := module(t, twice)
	var recordings atomic.Int32
	var notes []string
	note := func(o *Options) { o.Trial.Note = func(text string) { notes = append(notes, text) } }
	j, end := choosing(t, dir, &recordings, note)
	if v := judged(t, j, "func Of(a, b int) int {\n\tif a > 50 {\n\t\treturn -1\n\t}\n\treturn a + b\n}"); v.Stage != trial.Suite || v.First != nil || recordings.Load() > 0 {
		t.Errorf("before any candidate broke tests %d recordings were made: %s", recordings.Load(), v)
	}
	var all sync.WaitGroup
	var breaks, right trial.Verdict
	all.Go(func() {
		breaks = judged(t, j, "func Of(a, b int) int {\n\tif a > 100 {\n\t\treturn -1\n\t}\n\treturn a + b\n}")
	})
	all.Go(func() { right = judged(t, j, "func Of(a, b int) int { return a + b }") })
	all.Wait()
	recorded(t, right)
	if want := "example.com/sum/use:TestTwice fails: it passed before the change"; breaks.Accepted || breaks.Stage != trial.Affects || breaks.Reason != want {
		t.Errorf("a change that breaks a test that ran it: %s", breaks)
	}
	if len(breaks.Failures) != 1 || breaks.Failures[0].Why != "ran Of" {
		t.Errorf("why it was chosen: %+v", breaks.Failures)
	}
	if !right.Accepted || right.First.Tests != 1 {
		t.Errorf("the right change: %s %+v", right, right.First)
	}
	read := judged(t, j, "func Of(first, second int) int { return first + second }")
	if want := "example.com/sum/read:TestText fails: it passed before the change"; read.Accepted || read.Stage != trial.Suite || read.Reason != want || read.First.Tests != 1 {
		t.Errorf("a change that breaks a test that never ran it: %s", read)
	}
	if n := recordings.Load(); n != 1 {
		t.Errorf("the tests were recorded %d times", n)
	}
	end()
	// What is kept is of use to one who would record nothing, and to the next repair.
	again, _ := choosing(t, dir, &recordings, note)
	again.chooser.several.Store(false)
	if v := judged(t, again, "func Of(a, b int) int {\n\tif a > 200 {\n\t\treturn -1\n\t}\n\treturn a + b\n}"); v.Stage != trial.Affects || recordings.Load() != 1 {
		t.Errorf("%s, recorded %d times", v, recordings.Load())
	}
	if len(notes) > 0 {
		t.Errorf("said %q", notes)
	}
}

// TestNotChosen: where nothing can be recorded, or it would not pay, the verdict is as without the step. The first is said once.
func TestNotChosen(t *testing.T) {
	dir := module(t, twice)
	const breaking, breaking2 = "func Of(a, b int) int {\n\tif a > 100 {\n\t\treturn -1\n\t}\n\treturn a + b\n}", "func Of(a, b int) int {\n\tif a > 200 {\n\t\treturn -1\n\t}\n\treturn a + b\n}"
	for _, x := range []struct {
		name  string
		more  func(*Options)
		alone bool
		left  string
	}{
		{"a short suite", func(o *Options) { o.Choosing.Suite = time.Hour }, false, ""},
		{"one candidate", nil, true, ""},
		{"no recorder", func(o *Options) {
			o.Choosing.Record = func(context.Context, *trial.Copy, string) (string, error) { return "no probe\nhere\n", nil }
		}, false, "example.com/sum was not recorded: nothing was recorded: here (and 1 other package)"},
		{"a pipe", func(o *Options) {
			o.Choosing.Record = func(_ context.Context, c *trial.Copy, dir string) (string, error) {
				return "", os.Symlink("/dev/zero", filepath.Join(dir, "recorded.jsonl"))
			}
		}, false, "example.com/sum was not recorded: recorded.jsonl is no file (and 1 other package)"},
	} {
		t.Run(x.name, func(t *testing.T) {
			var recordings atomic.Int32
			var notes []string
			j, _ := choosing(t, dir, &recordings, func(o *Options) {
				o.Kept = filepath.Join(t.TempDir(), "kept")
				o.Trial.Note = func(text string) { notes = append(notes, text) }
				if x.more != nil {
					x.more(o)
				}
			})
			j.chooser.several.Store(!x.alone)
			j.chooser.broke.Store(true)
			for _, text := range []string{breaking, breaking2} {
				v := judged(t, j, text)
				if v.Stage != trial.Suite || v.Reason != "example.com/sum/use:TestTwice fails: it passed before the change" {
					t.Errorf("%s", v)
				}
				if x.left == "" && v.First != nil || x.left != "" && (v.First == nil || v.First.Left != x.left) {
					t.Errorf("the step: %+v, want %q", v.First, x.left)
				}
			}
			if x.left != "" && (len(notes) != 1 || !strings.HasSuffix(notes[0], x.left)) || x.left == "" && len(notes) > 0 {
				t.Errorf("said %q", notes)
			}
			if recordings.Load() > 0 {
				t.Error("tests were recorded")
			}
		})
	}
}

// TestChoosingInterrupted: an interruption while tests are recorded ends the verdict, leaves the user's files as they were, and
// the next candidate is judged.
func TestChoosingInterrupted(t *testing.T) {
	dir := module(t, strings.Replace(twice, "func TestNothing(t *testing.T) {}", "func TestNothing(t *testing.T) {\n\tfor i := 0; os.Getenv(\"HANG\") != \"\"; i++ {\n\t}\n}", 1))
	file := filepath.Join(dir, "use", "use_test.go")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "import \"testing\"", "import (\n\t\"os\"\n\t\"testing\"\n)", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	var recordings atomic.Int32
	hang := true
	j, _ := choosing(t, dir, &recordings, func(o *Options) {
		o.Kept = filepath.Join(t.TempDir(), "kept")
		o.Trial.Workers = 1
		record := o.Choosing.Record
		o.Choosing.Record = func(ctx context.Context, c *trial.Copy, dir string) (string, error) {
			if !hang {
				return record(ctx, c, dir)
			}
			time.AfterFunc(time.Second, cancel)
			_, said, err := c.Run(ctx, "use", []string{c.Go(), "test", "."}, []string{"HANG=1"})
			return said, err
		}
	})
	j.chooser.broke.Store(true)
	const right = "func Of(a, b int) int { return a + b }"
	begun := time.Now()
	if v, err := j.Judge(ctx, of(j, right)); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v: %s", err, v)
	}
	if d := time.Since(begun); d > 2*time.Minute {
		t.Errorf("it ended after %s", d)
	}
	if after := files(t, dir); after != before {
		t.Errorf("the user's files:\n%s\nbefore:\n%s", after, before)
	}
	hang = false
	if v := judged(t, j, right); !v.Accepted {
		t.Errorf("after an interruption: %s", v)
	}
}

// files lists a tree's files with their sizes and times.
func files(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			b.WriteString(name + " " + info.ModTime().String() + " " + info.Mode().String() + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
