package breakpoint

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace"
)

// buildHere builds a program of testdata for one test.
func buildHere(t *testing.T, dir string, env ...string) string {
	t.Helper()
	cache, err := fixtures.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(cache, fmt.Sprintf("%s-%d", filepath.Base(dir), os.Getpid()))
	t.Cleanup(func() { os.Remove(out) })
	cmd := exec.Command("go", "build", "-o", out, dir)
	cmd.Env = append(os.Environ(), env...)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	return out
}

// TestOwnCode records programs that write over their own functions: directly called ones
// and others, methods, very short ones, with a copy of the original's first instructions, by two libraries,
// in threads. No breakpoint is in what they change or copy, whether it is lifted soon or late.
func TestOwnCode(t *testing.T) {
	program := buildHere(t, "./testdata/owncode/patches")
	for _, way := range []string{"direct", "indirect", "method", "tiny", "original", "two", "busy"} {
		for _, hits := range []int{1, 20, 100_000} {
			t.Run(fmt.Sprint(way, " ", hits), func(t *testing.T) {
				if testing.Short() && hits != 20 {
					t.Skip("one limit is enough")
				}
				if way == "busy" && hits > 1000 {
					t.Skip("takes a minute")
				}
				how := recordingTest{Job: job{Args: []string{program, way}, MaxHits: hits}}
				plain, r := untraced(t, how), record(t, how)
				if r.Code != plain.Code || r.Stdout != plain.Stdout || r.Stderr != plain.Stderr {
					t.Errorf("exit code %d, want %d; stdout %q, want %q; stderr %q, want %q", r.Code, plain.Code, r.Stdout, plain.Stdout, r.Stderr, plain.Stderr)
				}
				if counts(r.Trace)["main.main"] != 1 {
					t.Errorf("main.main was not recorded")
				}
				if !hasLoss(r.Trace, "main.tiny", "changes its own code") {
					t.Errorf("main.tiny has no room for a breakpoint, and no loss says so: %v", r.Trace.Losses)
				}
			})
		}
	}
}

func hasLoss(tr *trace.Trace, fn, why string) bool {
	for _, l := range tr.Losses {
		if l.Kind == trace.LossNotHooked && l.Function == fn && strings.Contains(l.Detail, why) {
			return true
		}
	}
	return false
}

// TestSelfChecks records a program in FIPS 140 mode, which compares the code of its
// cryptography with a sum when it starts.
func TestSelfChecks(t *testing.T) {
	program := buildHere(t, "./testdata/owncode/fips", "GOFIPS140=latest")
	how := recordingTest{Job: job{Args: []string{program}, Include: []string{"main", "crypto/..."}, MaxHits: 3}, Env: []string{"GODEBUG=fips140=on"}}
	plain, r := untraced(t, how), record(t, how)
	if r.Code != plain.Code || r.Stdout != plain.Stdout || !strings.HasPrefix(r.Stdout, "FIPS 140: true\n") {
		t.Errorf("exit code %d, want %d; stdout %q, want %q; stderr %q", r.Code, plain.Code, r.Stdout, plain.Stdout, r.Stderr)
	}
}
