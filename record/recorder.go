package record

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"tracerag/trace"
	"tracerag/trace/breakpoint"
	"tracerag/trace/probe"
	"tracerag/trace/rebuild"
	"tracerag/trace/target"
)

// Options choose the recorder and say how it is to record.
type Options struct {
	Name      string `json:"name"` // Auto, Probe, Breakpoint or Rebuild; "" is Auto
	NoInlined bool   `json:"no_inlined,omitempty"`
	NoLines   bool   `json:"no_lines,omitempty"`
	Memory    uint64 `json:"memory,omitempty"` // of the probe; 0: by what is free
	MaxHits   int    `json:"max_hits,omitempty"`
	MaxStops  int    `json:"max_stops,omitempty"`
}

// Names of recorders.
const (
	Auto       = "auto" // the first of the others that can
	Probe      = "probe"
	Breakpoint = "breakpoint"
	Rebuild    = "rebuild" // for what a go command builds; Auto does not choose it
)

// one records one run of the target.
func (r *Runner) one(ctx context.Context, tgt *target.Target) (*trace.Trace, error) {
	return r.oneStarted(ctx, tgt, func() {})
}

// oneStarted is one, and calls started when the program is about to run.
func (r *Runner) oneStarted(ctx context.Context, tgt *target.Target, started func()) (*trace.Trace, error) {
	o := r.Spec.Recorder
	if o.Name == Rebuild {
		if r.built == nil {
			return nil, ErrNotBuilt
		}
		tr, err := rebuild.Record(ctx, tgt, rebuild.Options{Memory: o.Memory, Started: func(int) { started() }})
		if !errors.Is(err, rebuild.ErrPlain) {
			return tr, err
		}
		r.event(NotRebuilt{Subject: tgt.Args[0], Why: err})
	}
	if o.Name != Breakpoint {
		po := o.probe()
		prepared := func() {}
		if tgt.Output == nil || tgt.Silent { // several may be recorded at a time otherwise
			r.event(Preparing{Program: tgt.Args[0]})
			prepared = func() { r.event(Preparing{Program: tgt.Args[0], Done: true}) }
		}
		po.Started = func(int) { prepared(); started() }
		tr, err := probe.Record(ctx, tgt, po)
		prepared()
		var unsuitable *probe.Unsuitable
		if !errors.As(err, &unsuitable) || o.Name == Probe {
			return tr, err
		}
		r.event(FallsBack{Program: tgt.Args[0], Why: unsuitable})
	}
	done := func() { r.event(SettingBreakpoints{Ended: true}) }
	tr, err := breakpoint.Record(ctx, tgt, breakpoint.Options{
		MaxHits: o.MaxHits, MaxStops: o.MaxStops, NoInlined: o.NoInlined, Warn: r.remark,
		Progress: func(done, total int) { r.event(SettingBreakpoints{Done: done, Total: total}) },
		Started:  func(int) { done(); started() },
	})
	done()
	return tr, err
}

// probe are the options of a recording by the probe.
func (o Options) probe() probe.Options {
	return probe.Options{NoInlined: o.NoInlined, NoLines: o.NoLines, Memory: o.Memory, CacheDir: PlanCache()}
}

// ErrNotBuilt says that a program is given as it is, and not as something that a go command builds.
var ErrNotBuilt = errors.New("a program that is built already is not built again")

// PlanCache is the directory where the probe keeps what it planned for a program; ""
// where the user has no cache directory.
func PlanCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "tracerag", "plans")
}
