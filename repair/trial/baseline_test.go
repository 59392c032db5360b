package trial_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tracerag/repair/patch"
	"tracerag/repair/sandbox"
	"tracerag/repair/trial"
)

const states = `
-- go.mod --
module example.com/states

go 1.25
-- a.go --
package states

import "os"

// Half is half of n.
func Half(n int) int { return n / 3 }

// Stop ends the program.
func Stop() { os.Exit(3) }
-- a_test.go --
package states

import (
	"os"
	"strings"
	"testing"
)

func TestHalf(t *testing.T) {
	for _, n := range []int{2, 4} {
		t.Run(strings.Repeat("x", n), func(t *testing.T) {
			if Half(n) != n/2 {
				t.Error(n)
			}
		})
	}
}

func TestPasses(t *testing.T) {}

func TestSkips(t *testing.T) { t.Skip("not here") }

func TestPanics(t *testing.T) {
	var m map[string]int
	m["a"] = 1
}

func TestStops(t *testing.T) { Stop() }

// TestTurns passes every other time.
func TestTurns(t *testing.T) {
	name := os.Getenv("TRIAL_TEST_FILE")
	if _, err := os.Stat(name); err == nil {
		_ = os.Remove(name)
		t.Fatal("the other time")
	}
	_ = os.WriteFile(name, nil, 0o600)
}

func TestAfter(t *testing.T) {}
-- broken/broken.go --
package broken
-- broken/new_test.go --
package broken

import "testing"

func TestNew(t *testing.T) {
	if New() != 1 {
		t.Fatal("not 1")
	}
}
-- broken/old_test.go --
package broken

import "testing"

func TestOld(t *testing.T) {}
`

// TestBaseline: each test's state before any change is known, whatever the others do; the
// wanted test has to fail; what is kept is not made again.
func TestBaseline(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, states)
	o := wholeOptions(t, dir)
	turns := filepath.Join(t.TempDir(), "turns")
	var runs atomic.Int32
	o.Run = func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
		runs.Add(1)
		c.Env = append(c.Env, "TRIAL_TEST_FILE="+turns)
		if !strings.HasSuffix(c.Args[0], "go") {
			c.Write = append(c.Write, filepath.Dir(turns))
		}
		return boxed().Run(ctx, c)
	}
	pkg := "example.com/states"
	id := func(name string) trial.TestID { return trial.TestID{Package: pkg, Name: name} }
	tr := open(t, o)
	b, err := tr.Baseline(t.Context(), id("TestHalf/xx"))
	if err != nil {
		t.Fatal(err)
	}
	got := b.Packages[pkg].Outcomes
	for name, want := range map[string]trial.Outcome{"TestHalf": trial.Failed, "TestHalf/xx": trial.Failed, "TestHalf/xxxx": trial.Failed, "TestPasses": trial.Passed,
		"TestSkips": trial.Skipped, "TestPanics": trial.Failed, "TestStops": trial.Crashed, "TestAfter": trial.Passed} {
		if got[name] != want && !(name == "TestPanics" && got[name] == trial.Crashed) {
			t.Errorf("%s %s, want %s", name, got[name], want)
		}
	}
	if f := b.Flaky(); len(f) != 1 || f[0] != id("TestTurns") {
		t.Errorf("flaky: %v", f)
	}
	broken := b.Packages["example.com/states/broken"]
	if broken == nil || broken.Errors == "" || broken.Outcomes["TestOld"] != trial.Passed || len(broken.Without) != 1 || broken.Without[0] != "broken/new_test.go" {
		t.Errorf("a package with a test file that does not compile: %+v", broken)
	}

	before := runs.Load()
	again := open(t, o)
	for _, c := range []struct {
		wanted trial.TestID
		says   string
	}{
		{id("TestPasses"), "example.com/states:TestPasses passes before any change: name a test that fails"},
		{id("TestSkips"), "example.com/states:TestSkips is skipped here, so it can't show what a change does"},
		{id("TestTurns"), "example.com/states:TestTurns fails at times only: a change can't be proved by it; make it fail each time"},
		{id("TestHalve"), "example.com/states:TestHalve was not found; did you mean TestHalf?"},
		{id("TestPanics"), ""},
		{id("TestStops"), ""},
	} {
		_, err := again.Baseline(t.Context(), c.wanted)
		if c.says == "" && err != nil || c.says != "" && (err == nil || err.Error() != c.says) {
			t.Errorf("%s: %v", c.wanted, err)
		}
	}
	if runs.Load() != before {
		t.Errorf("a kept baseline ran %d commands", runs.Load()-before)
	}
	for _, c := range []struct {
		wanted trial.TestID
		says   string
	}{
		{trial.TestID{Package: "./none", Name: "TestX"}, "package example.com/states/none can't be loaded: "},
		{trial.TestID{Package: "example.com/elsewhere", Name: "TestX"}, "example.com/elsewhere"},
	} {
		_, err := open(t, o).Baseline(t.Context(), c.wanted)
		if e := new(trial.NoSuchTest); !errors.As(err, &e) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.wanted, err)
		}
	}

	// What does not compile yet is wanted, too, and what was seen beside it has to stay.
	wanted := trial.TestID{Package: "./broken", Name: "TestNew"}
	if _, err := tr.Baseline(t.Context(), wanted); err != nil {
		t.Fatal(err)
	}
	if v := judge(t, tr, change(t, dir, "broken/broken.go", "package broken\n\nfunc New() int { return 1 }\n"), wanted); !v.Accepted {
		t.Errorf("%s", v)
	}
	v := judge(t, tr, change(t, dir, "broken/broken.go", "package broken\n\nfunc New() int { return 1 }\n", "broken/old_test.go", "package broken\n"), wanted)
	if v.Accepted || v.Reason != "example.com/states/broken:TestOld is gone: it passed before the change" {
		t.Errorf("%s", v)
	}
}

// TestAtOnce judges several changes at one time: each has the verdict that it has alone.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, sum)
	o := options(t, dir)
	o.Workers = 2
	o.Choose = func(context.Context, trial.Choosing) (trial.Choice, error) {
		return trial.Choice{Tests: []trial.Chosen{{TestID: trial.TestID{Package: "example.com/sum/use", Name: "TestTwice"}, Why: "ran Of"}}}, nil
	}
	tr := open(t, o)
	baseline(t, tr)
	patches := []patch.Patch{
		change(t, dir, "sum.go", good),
		change(t, dir, "sum.go", strings.Replace(good, "s := 0", "s := len(n) - len(n)", 1)),
		change(t, dir, "sum.go", strings.Replace(good, "1, 2, 3", "1, 2", 1)),
		change(t, dir, "sum.go", strings.Replace(good, "return s", "if len(n) == 2 && n[0] == n[1] {\n\t\treturn 0\n\t}\n\treturn s", 1)),
	}
	verdicts := make([]trial.Verdict, len(patches))
	var wg sync.WaitGroup
	for i, p := range patches {
		wg.Go(func() { verdicts[i], _ = tr.Judge(t.Context(), p, wantedSum) })
	}
	wg.Wait()
	for i, p := range patches {
		alone := judge(t, tr, p, wantedSum)
		if alone.String() != verdicts[i].String() || alone.Accepted != (i < 2) {
			t.Errorf("at once:\n%s\nalone:\n%s", verdicts[i], alone)
		}
	}
	if v := verdicts[3]; v.Stage != trial.Affects || v.First.Tests != 1 || !strings.Contains(v.String(), "TestTwice failed (before the change: passed); it ran Of") || v.Reason != "example.com/sum/use:TestTwice fails: it passed before the change" {
		t.Errorf("a test chosen by traces: %s", v)
	}
	data, err := json.Marshal(verdicts[3])
	var back trial.Verdict
	if err != nil || json.Unmarshal(data, &back) != nil || back.String() != verdicts[3].String() || len(back.Times) != len(verdicts[3].Times) {
		t.Errorf("%s, %v", data, err)
	}
}

// TestInterrupted: a verdict that is interrupted ends, and the copy is of use again.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, sum)
	o := options(t, dir)
	o.Workers = 1
	ctx, cancel := context.WithCancel(t.Context())
	tr := open(t, o)
	baseline(t, tr)
	endless := change(t, dir, "sum.go", strings.Replace(good, "s := 0\n", "s := 0\n\tfor len(n) > 0 {\n\t}\n", 1))
	go func() {
		// until the wanted test runs
		for {
			if left, _ := filepath.Glob(filepath.Join(o.Scratch, "trial-*", "w0", "out", "reports", "*")); len(left) > 0 {
				break
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
		cancel()
	}()
	if _, err := tr.Judge(ctx, endless, wantedSum); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if v := judge(t, tr, change(t, dir, "sum.go", good), wantedSum); !v.Accepted {
		t.Errorf("after an interruption: %s", v)
	}
}

// TestFirstTest: a change may add the first test of a package, and that test is wanted. One that nobody adds is
// no test of the baseline.
func TestFirstTest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "-- go.mod --\nmodule example.com/bare\n\ngo 1.25\n-- bare.go --\npackage bare\n\n// One is one.\nfunc One() int { return 2 }\n")
	tr := open(t, options(t, dir))
	if _, err := tr.Baseline(t.Context()); err != nil {
		t.Fatal(err)
	}
	wanted := trial.TestID{Package: "example.com/bare", Name: "TestOne"}
	const test = "package bare\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif One() != 1 {\n\t\tt.Fatal(\"not 1\")\n\t}\n}\n"
	for text, accepted := range map[string]bool{"return 1": true, "return 3": false} {
		v := judge(t, tr, change(t, dir, "bare.go", "package bare\n\n// One is one.\nfunc One() int { "+text+" }\n", "bare_test.go", test), wanted)
		if v.Accepted != accepted || !accepted && v.Stage != trial.Wants {
			t.Errorf("%s: %s", text, v)
		}
	}
	alone := change(t, dir, "bare.go", "package bare\n\n// One is one.\nfunc One() int { return 1 }\n")
	if _, err := tr.Judge(t.Context(), alone, wanted); err == nil || !strings.Contains(err.Error(), "example.com/bare:TestOne is in no package of the baseline") {
		t.Error(err)
	}
}
