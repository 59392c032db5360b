package breakpoint

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/trace"
	"tracerag/trace/recordtest"
	"tracerag/trace/target"
)

var update = flag.Bool("update", false, "write the golden trees")

func TestMain(m *testing.M) {
	recordtest.Main(m, func(ctx context.Context, t *target.Target, j recordtest.Job) (*trace.Trace, error) {
		if j.MaxStops == 0 {
			j.MaxStops = unlimited
		}
		warn := func(format string, args ...any) { fmt.Fprintf(os.Stderr, "warning: "+format+"\n", args...) }
		tr, err := Record(ctx, t, Options{MaxHits: j.MaxHits, MaxStops: j.MaxStops, NoInlined: j.NoInlined, Warn: warn})
		if err != nil || !j.Observe {
			return tr, err
		}
		again := *t
		again.Silent = true
		o := ObserveOptions{Calls: 8, MaxHits: j.MaxHits, MaxStops: j.MaxStops, Limit: j.ObserveLimit, Warn: warn}
		if j.ObserveCalls != 0 {
			o.Calls = j.ObserveCalls
		}
		if j.ObserveMask != "" {
			o.Mask = func(s string) string { return strings.ReplaceAll(s, j.ObserveMask, "[MASKED]") }
		}
		for _, f := range tr.Functions {
			o.Functions = append(o.Functions, f.Name)
		}
		seen, err := Observe(ctx, &again, tr, o)
		if err != nil {
			return nil, err
		}
		tr.Activations = seen.Activations
		fmt.Fprintf(os.Stderr, "timed out: %v, unmatched: %d, not entered: %q, unknown: %q, exit: %v, not called: %q of %d\n",
			seen.TimedOut, seen.Unmatched, seen.NotEntered, seen.Unknown, seen.Exit, seen.NotCalled, seen.Watched)
		return tr, nil
	})
}

// unlimited is a number of stops that no test comes near.
const unlimited = 1 << 40

type (
	job           = recordtest.Job
	recordingTest = recordtest.Run
	result        = recordtest.Result
)

var (
	record    = recordtest.Record
	command   = recordtest.Command
	readTrace = recordtest.ReadTrace
	untraced  = recordtest.Untraced
	counts    = recordtest.Counts
	floors    = recordtest.Floors
	tree      = recordtest.Tree
)

func golden(t *testing.T, name, got string) {
	t.Helper()
	recordtest.Golden(t, filepath.Join("testdata", name+".tree"), got, *update)
}
