package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"tracerag/trace"
	"tracerag/trace/breakpoint"
	"tracerag/trace/gocmd"
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
	Rebuild    = "rebuild" // for what a go command builds
)

// probed is whether there is a probe here. Tests change it.
var probed = probe.Supported()

// HasProbe reports whether the probe works on this system.
func HasProbe() bool { return probed }

// rebuilds reports whether what a go command builds is to be built with the recorder: if asked for, if there is no probe, or for values of
// the run itself and windows.
func (s *Spec) rebuilds() (yes, asked bool) {
	name := s.Recorder.Name
	asked = name == Rebuild
	return asked || rebuild.Supported() && (!probed || s.Values.observed() || s.Window) && (name == Auto || name == ""), asked
}

// Rebuilds returns why what the go command builds in a directory cannot be recorded by rebuilding; nil: it can. By default it
// is, where that is the only way to see every call.
func Rebuilds(ctx context.Context, dir string) (byDefault bool, err error) {
	byDefault, _ = (&Spec{}).rebuilds()
	if !rebuild.Supported() {
		return false, fmt.Errorf("it does not work on %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	g, err := gocmd.Parse([]string{"go", "run", "."})
	if err != nil {
		return byDefault, err
	}
	if g == nil {
		return byDefault, errors.New("no go command is in PATH")
	}
	return byDefault, rebuild.Check(g.Goroot(ctx, dir))
}

// one records one run of the target.
func (r *Runner) one(ctx context.Context, tgt *target.Target) (*trace.Trace, error) {
	return r.oneAs(ctx, tgt, nil, nil, func() {})
}

// oneStarted is one of what the Spec is about, which may be recorded with the programs that it starts. It calls started when the
// program is about to run. values, if it is not nil, takes those of the run.
func (r *Runner) oneStarted(ctx context.Context, tgt *target.Target, values *rebuild.Values, started func()) (*trace.Trace, error) {
	if !r.Spec.Children {
		return r.oneAs(ctx, tgt, nil, values, started)
	}
	c := r.children(tgt)
	tr, err := r.oneAs(ctx, tgt, c, values, started)
	if err == nil && tr.Recorder != Probe {
		c.Unfollowed(errOtherRecorder)
	}
	return tr, err
}

func (r *Runner) oneAs(ctx context.Context, tgt *target.Target, children *probe.Children, values *rebuild.Values, started func()) (*trace.Trace, error) {
	o := r.Spec.Recorder
	if o.Name == Rebuild {
		if r.built == nil {
			return nil, ErrNotBuilt
		}
		tr, err := rebuild.Record(ctx, tgt, rebuild.Options{Memory: o.Memory, Values: values, Started: func(int) { started() }})
		if !errors.Is(err, rebuild.ErrPlain) {
			return tr, err
		}
		r.event(NotRebuilt{Subject: tgt.Args[0], Why: err, Asked: true})
	}
	if o.Name != Breakpoint {
		po := o.probe()
		po.Children = children
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
		if r.built != nil && probed && rebuild.Supported() && !gocmd.MayBeStd(r.Spec.Include) {
			if tr, err := r.again(ctx, tgt, unsuitable, started); !errors.Is(err, errNotAgain) {
				return tr, err
			}
		}
		r.event(FallsBack{Program: tgt.Args[0], Why: unsuitable, Rebuild: r.built == nil && rebuild.Supported()})
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
