package trial_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracerag/repair/patch"
	"tracerag/repair/trial"
)

// childVariable makes the test program judge a change: directory, scratch directory and build cache.
const childVariable = "TRACERAG_TEST_TRIAL"

func judgeOnce(args string) error {
	dir, rest, _ := strings.Cut(args, "\n")
	scratch, cache, _ := strings.Cut(rest, "\n")
	ctx := context.Background()
	tr, err := trial.Open(ctx, trial.Options{Dir: dir, Scratch: scratch, Cache: cache, Runs: 1, Run: boxed().Run, Flags: quickLink})
	if err != nil {
		return err
	}
	defer tr.Close()
	if _, err := tr.Baseline(ctx, wantedSum); err != nil {
		return err
	}
	p := patch.Patch{Files: []patch.File{{Name: "sum.go", Before: archived(sum, "sum.go"), After: []byte(good)}}}
	v, err := tr.Judge(ctx, p, wantedSum)
	if err == nil && !v.Accepted {
		err = fmt.Errorf("%s", v)
	}
	return err
}

// TestKilled kills a process that judges, at random moments, while another one judges in the
// same scratch directory. The user's tree stays; the next one removes what was left, and
// what the other one uses stays.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, sum)
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "begin")
	before := state(t, dir)
	scratch := filepath.Join(t.TempDir(), "scratch")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := func() *exec.Cmd {
		c := exec.Command(self)
		c.Env = append(os.Environ(), childVariable+"="+dir+"\n"+scratch+"\n"+goCache())
		c.Stderr = os.Stderr
		return c
	}
	start := time.Now()
	if err := child().Run(); err != nil {
		t.Fatal(err)
	}
	// The first one also made the baseline, which took half of its time.
	whole := time.Since(start) / 2
	other := open(t, trial.Options{Dir: dir, Scratch: scratch, Cache: goCache(), Runs: 1, Run: boxed().Run, Flags: quickLink})
	killed, n := 0, 6
	for range n {
		c := child()
		c.Stderr = nil
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(whole))))
		_ = c.Process.Kill()
		if c.Wait() != nil {
			killed++
		}
	}
	if killed == 0 {
		t.Error("no process was killed while it ran")
	}
	// What a killed process started writes on for a moment.
	time.Sleep(2 * time.Second)
	next := child()
	if err := next.Run(); err != nil {
		t.Fatalf("after the kills: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(scratch, "trial-*")); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	if _, err := other.Baseline(t.Context(), wantedSum); err != nil {
		t.Errorf("the other trial: %v", err)
	}
	if v := judge(t, other, change(t, dir, "sum.go", good), wantedSum); !v.Accepted {
		t.Errorf("the other trial: %s", v)
	}
	if after := state(t, dir); after != before {
		t.Errorf("the user's tree was\n%s\nand is\n%s", before, after)
	}
}
