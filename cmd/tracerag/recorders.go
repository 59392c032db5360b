package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"tracerag/phrase"
	"tracerag/trace"
	"tracerag/trace/breakpoint"
	"tracerag/trace/probe"
	"tracerag/trace/target"
)

// recorderFlags choose the recorder and say how it is to record.
type recorderFlags struct {
	name      string // auto, probe or breakpoint
	noInlined bool
	noLines   bool
	memory    byteSize
	maxHits   int
	maxStops  int
}

func (r *recorderFlags) add(f *pflag.FlagSet) {
	f.StringVar(&r.name, "recorder", "auto", "`NAME` of the recorder: probe counts every call at full speed (linux/amd64);\nbreakpoint is slow, and works wherever delve does; auto takes the first that can")
	r.addProbe(f)
	f.IntVar(&r.maxHits, "max-hits", breakpoint.DefaultMaxHits, "breakpoint: stop counting a function after this many `CALLS`: its count is then\na floor. The limit falls as all functions together use up --max-stops")
	f.IntVar(&r.maxStops, "max-stops", breakpoint.DefaultMaxStops, "breakpoint: after this many `CALLS` in all, count only the first call of each function")
}

func (r *recorderFlags) addProbe(f *pflag.FlagSet) {
	f.BoolVar(&r.noInlined, "no-inlined", false, "do not look for calls that the compiler inlined")
	f.BoolVar(&r.noLines, "no-lines", false, "do not watch which lines of long functions run")
	f.Var(&r.memory, "memory", "memory limit for the probe's call tree, such as 1GiB (default: up to a third of\nthe free memory)")
}

func (r *recorderFlags) check() error {
	switch r.name {
	case "auto", "probe", "breakpoint":
	default:
		return fmt.Errorf("--recorder=%s: the recorders are auto, probe and breakpoint", r.name)
	}
	if r.maxHits < 1 || r.maxStops < 1 {
		return errors.New("--max-hits and --max-stops must be at least 1")
	}
	return nil
}

// recordOne records one run of the target by the recorder that was chosen.
func (a *app) recordOne(ctx context.Context, tgt *target.Target, r *runFlags) (*trace.Trace, error) {
	return a.recordStarted(ctx, tgt, r, func() {})
}

// recordStarted is recordOne, and calls started when the program is about to run.
func (a *app) recordStarted(ctx context.Context, tgt *target.Target, r *runFlags, started func()) (*trace.Trace, error) {
	if r.recorder.name != "breakpoint" {
		o := r.probeOptions()
		prepared := func() {}
		if tgt.Output == nil || tgt.Silent { // several may be recorded at a time otherwise
			prepared = a.wait("preparing " + phrase.Quote(tgt.Args[0]))
		}
		o.Started = func(int) { prepared(); started() }
		tr, err := probe.Record(ctx, tgt, o)
		prepared()
		var unsuitable *probe.Unsuitable
		if !errors.As(err, &unsuitable) || r.recorder.name == "probe" {
			return tr, err
		}
		a.note("recording by breakpoints, which is slow and counts only the first calls: the probe can't handle %s: %v", tgt.Args[0], unsuitable)
	}
	bar := a.progress("setting breakpoints")
	o := breakpoint.Options{
		MaxHits: r.recorder.maxHits, MaxStops: r.recorder.maxStops, NoInlined: r.recorder.noInlined, Warn: a.note,
		Progress: bar.set,
		Started:  func(int) { bar.close(); started() },
	}
	tr, err := breakpoint.Record(ctx, tgt, o)
	bar.close()
	return tr, err
}

// probeOptions are those of a recording by the probe.
func (r *runFlags) probeOptions() probe.Options {
	return probe.Options{NoInlined: r.recorder.noInlined, NoLines: r.recorder.noLines, Memory: uint64(r.recorder.memory), CacheDir: planCache()}
}

// planCache is the directory where the probe keeps what it planned for a
// program; "" where there is none.
func planCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "tracerag", "plans")
}

// byteSize is a flag's number of bytes: 1073741824, 1GiB, 512M.
type byteSize uint64

func (b *byteSize) Type() string { return "SIZE" }

func (b *byteSize) String() string {
	if b == nil || *b == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(*b), 10)
}

func (b *byteSize) Set(s string) error {
	number := strings.TrimRight(s, "KMGTiB")
	shift, ok := map[string]int{"": 0, "B": 0, "K": 10, "M": 20, "G": 30, "T": 40}[strings.TrimSuffix(s[len(number):], "iB")]
	n, err := strconv.ParseUint(number, 10, 63-shift)
	if err != nil || !ok {
		return errors.New("not a size such as 512MiB or 2GiB")
	}
	*b = byteSize(n << shift)
	return nil
}
