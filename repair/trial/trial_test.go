package trial_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"tracerag/repair/patch"
	"tracerag/repair/sandbox"
	"tracerag/repair/trial"
)

// goCache is that of whoever tests: a new one would have the standard library compiled again.
var goCache = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(out))
})

// boxed is the strongest sandbox of this machine: the test program is its inner step, too.
var boxed = sync.OnceValue(func() *sandbox.Sandbox {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return sandbox.New([]string{self, "inner"})
})

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "inner" {
		os.Exit(sandbox.Inner())
	}
	if v := os.Getenv(childVariable); v != "" {
		if err := judgeOnce(v); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Whatever trials of one test program keep: equal trees have one baseline, which is made once.
	dir, err := os.MkdirTemp("", "trial-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shared = dir
	code := m.Run()
	_ = os.RemoveAll(shared)
	os.Exit(code)
}

// shared is a directory for baselines of trees that several tests judge changes of.
var shared string

// write writes the files of an archive below a directory.
func write(t testing.TB, dir, archive string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// options are those of a trial whose baseline is made once, of one run, and shared with other tests. Tests of
// baselines reset Kept and Runs.
func options(t testing.TB, dir string) trial.Options {
	t.Helper()
	allow := func(patch.Reason) bool { return true } // what is refused is refused by the trial alone
	return trial.Options{Allow: allow, Dir: dir, Scratch: filepath.Join(t.TempDir(), "scratch"), Cache: goCache(), Run: boxed().Run, Kept: shared, Runs: 1, Flags: quickLink}
}

// quickLink leaves out what only debuggers read: most of a test's time is the linker's.
var quickLink = []string{"-ldflags=-s"}

// wholeOptions are those of a trial that makes its own baseline, of as many runs as users have.
func wholeOptions(t testing.TB, dir string) trial.Options {
	t.Helper()
	o := options(t, dir)
	o.Kept, o.Runs = "", 0
	return o
}

func open(t testing.TB, o trial.Options) *trial.Trial {
	t.Helper()
	tr, err := trial.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	return tr
}

// change makes a patch of files below a directory: name and text in turn. "-" removes.
func change(t testing.TB, dir string, pairs ...string) patch.Patch {
	t.Helper()
	var p patch.Patch
	for i := 0; i < len(pairs); i += 2 {
		f := patch.File{Name: pairs[i], After: []byte(pairs[i+1])}
		if before, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Name))); err == nil {
			f.Before = before
		} else if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if pairs[i+1] == "-" {
			f.After = nil
		}
		p.Files = append(p.Files, f)
	}
	return p
}

// making is held while a baseline is made, so that the others that wait for the same one read it.
var making sync.Mutex

// baseline makes the baseline for the wanted test of sum, or reads the shared one.
func baseline(t testing.TB, tr *trial.Trial) {
	t.Helper()
	making.Lock()
	defer making.Unlock()
	if _, err := tr.Baseline(t.Context(), wantedSum); err != nil {
		t.Fatal(err)
	}
}

func judge(t testing.TB, tr *trial.Trial, p patch.Patch, wanted ...trial.TestID) trial.Verdict {
	t.Helper()
	v, err := tr.Judge(t.Context(), p, wanted...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const sum = `
-- go.mod --
module example.com/sum

go 1.25
-- sum.go --
package sum

// Of adds numbers.
func Of(n ...int) int {
	s := 0
	for _, n := range n {
		s -= n
	}
	return s
}

// Cases are what is to be tested.
func Cases() []int { return []int{1, 2, 3} }
-- sum_test.go --
package sum

import (
	"strconv"
	"testing"
)

func TestOf(t *testing.T) {
	if got := Of(1, 2); got != 3 {
		t.Errorf("Of(1, 2) = %d", got)
	}
}

func TestCases(t *testing.T) {
	for _, c := range Cases() {
		t.Run(strconv.Itoa(c), func(t *testing.T) {
			if c == 0 {
				t.Skip("nothing to add")
			}
		})
	}
}

func TestNone(t *testing.T) {
	if Of() != 0 {
		t.Fatal("not 0")
	}
}

func ExampleCases() {
	println(len(Cases()))
	// Output:
}

func FuzzOf(f *testing.F) {
	f.Add(1)
	f.Fuzz(func(t *testing.T, n int) {
		if Of(n, n)%2 != 0 {
			t.Fatal("odd")
		}
	})
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
	if n := Twice(2); n != 4 && n != -4 {
		t.Error(n)
	}
}
`

var wantedSum = trial.TestID{Package: "example.com/sum", Name: "TestOf"}

// good is sum.go as it should be; replacing its parts makes other changes of it.
const good = `package sum

// Of adds numbers.
func Of(n ...int) int {
	s := 0
	for _, n := range n {
		s += n
	}
	return s
}

// Cases are what is to be tested.
func Cases() []int { return []int{1, 2, 3} }
`

func TestAccepts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, sum)
	tr := open(t, wholeOptions(t, dir))
	b, err := tr.Baseline(t.Context(), wantedSum)
	if err != nil {
		t.Fatal(err)
	}
	if f := b.Failing(); len(f) != 1 || f[0] != wantedSum {
		t.Errorf("failing before: %v", f)
	}
	v := judge(t, tr, change(t, dir, "sum.go", good), wantedSum)
	if !v.Accepted || v.Stage != trial.Suite || v.Tests < 9 {
		t.Errorf("the right change: %s %+v", v, v)
	}
}

func TestContextEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, sum)
	tr := open(t, wholeOptions(t, dir))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tr.Baseline(ctx, wantedSum); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func archived(archive, name string) []byte {
	for _, f := range txtar.Parse([]byte(archive)).Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}
