package breakpoint

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
		return Record(ctx, t, Options{
			MaxHits: j.MaxHits, MaxStops: j.MaxStops, NoInlined: j.NoInlined,
			Warn: func(format string, args ...any) { fmt.Fprintf(os.Stderr, "warning: "+format+"\n", args...) },
		})
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
