package rebuild_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"tracerag/trace"
	"tracerag/trace/breakpoint"
	"tracerag/trace/executable"
	"tracerag/trace/probe"
	"tracerag/trace/rebuild"
	"tracerag/trace/recordtest"
	"tracerag/trace/target"
)

// The test binary is the tool of the go command, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "tool" {
		os.Exit(rebuild.Tool(os.Args[2:]))
	}
	recordtest.Main(m, func(ctx context.Context, t *target.Target, j recordtest.Job) (*trace.Trace, error) {
		if err := t.Ready(); err != nil {
			return nil, err
		}
		rebuilt := slices.ContainsFunc(t.Binary.Funcs, func(f executable.Func) bool { return f.Name == "runtime.tracerag_enter" })
		if j.Observe {
			return recordValues(ctx, t, rebuilt)
		}
		if !rebuilt {
			return probe.Record(ctx, t, probe.Options{NoLines: true})
		}
		return rebuild.Record(ctx, t, rebuild.Options{Memory: j.Memory, Through: j.Through})
	})
}

const calls = trace.MaxActivations

// recordValues records a program with the values of all calls: in the run itself, or under a debugger.
func recordValues(ctx context.Context, t *target.Target, rebuilt bool) (*trace.Trace, error) {
	if rebuilt {
		v := &rebuild.Values{Calls: calls}
		tr, err := rebuild.Record(ctx, t, rebuild.Options{Values: v})
		if err != nil {
			return nil, err
		}
		if v.Missing > 0 {
			fmt.Fprintln(os.Stderr, v.Missing, "calls have no room for their values")
		}
		tr.Activations, _ = v.Activations(tr, nil, nil)
		return tr, nil
	}
	tr, err := breakpoint.Record(ctx, t, breakpoint.Options{MaxHits: 10000, MaxStops: 1 << 30})
	if err != nil {
		return nil, err
	}
	o := breakpoint.ObserveOptions{Calls: calls, MaxHits: 10000, MaxStops: 1 << 30}
	for _, f := range tr.Functions {
		o.Functions = append(o.Functions, f.Name)
	}
	again := *t
	again.Silent = true
	seen, err := breakpoint.Observe(ctx, &again, tr, o)
	if err == nil {
		tr.Activations = seen.Activations
	}
	return tr, err
}
