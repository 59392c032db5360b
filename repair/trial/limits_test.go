package trial_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tracerag/repair/sandbox"
	"tracerag/repair/trial"
)

// TestStopped: a go command that a limit ends is a failure, even if what it printed until then can be read.
func TestStopped(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ command, wants string }{
		{"list", "go list ./... example.com/sum failed: stopped by the limit on output"},
		{"test", "stopped by the limit on output"},
	} {
		dir := t.TempDir()
		write(t, dir, sum)
		o := options(t, dir)
		o.Kept = ""
		o.Run = func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
			stop := len(c.Args) > 1 && c.Args[1] == x.command
			if stop && x.command == "test" {
				c.Args = []string{"true"} // nothing is compiled
			}
			r, err := boxed().Run(ctx, c)
			if stop {
				r.Stopped, r.Code = sandbox.Output, 137
			}
			return r, err
		}
		b, err := open(t, o).Baseline(t.Context(), wantedSum)
		got := ""
		if failed := new(trial.GoFailed); errors.As(err, &failed) {
			got = err.Error()
		} else if err == nil {
			got = b.Packages["example.com/sum"].Errors
		}
		if !strings.Contains(got, x.wants) {
			t.Errorf("go %s: %v, %q", x.command, err, got)
		}
	}
}

// TestRefusedTold: if a test fails, the verdict says what the sandbox refused its program; else nothing.
func TestRefusedTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, sum)
	tr := open(t, options(t, dir))
	baseline(t, tr)
	const said = "println(\"dial tcp 192.0.2.1:80: connect: network is unreachable\")\n\ts := "
	v := judge(t, tr, change(t, dir, "sum.go", strings.Replace(good, "s := 0", said+"1", 1)), wantedSum)
	if want := "the sandbox refused: its output: dial tcp 192.0.2.1:80: connect: network is unreachable\n"; v.Accepted || strings.Count(v.String(), want) != 1 {
		t.Errorf("%s\nlacks %s", v, want)
	}
	v = judge(t, tr, change(t, dir, "sum.go", strings.Replace(good, "s := 0", said+"0", 1)), wantedSum)
	if !v.Accepted || strings.Contains(v.String(), "refused") {
		t.Errorf("%s", v)
	}
}
