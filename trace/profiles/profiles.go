// Package profiles makes a trace of a profile that another tool took: a CPU, heap,
// goroutine, block or mutex profile of runtime/pprof, or whatever else is
// written in pprof's format.
//
// A sampling profiler interrupts the program, a hundred times a second say, and
// notes the stack. Compared with a recorded run, three things are missing, and
// no amount of care brings them back. The trace says so by Sampled and by its
// losses:
//
//   - Counts. A node's number is that of the samples taken while its function
//     was the innermost recorded one, with the time of what it called outside
//     the recorded packages. One call of a second counts a hundred, a million
//     quick calls may count none.
//   - Order. The nodes are in the order in which the profile lists its
//     samples. Go's profiler lists them as they were first seen, so that it is
//     often the order of the program, but merging tools do not keep it.
//   - Completeness. A function that no sample met is not in the trace, which
//     says nothing about whether it was called.
//
// What is there is the calling context: who called whom, on which line, and what
// was inlined, as far as the stacks reach (64 frames in Go's CPU profiles).
package profiles

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"tracerag/trace"
)

// Recorder is the name that a converted trace bears in trace.Trace.Recorder.
const Recorder = "sample"

// Options say what of a profile becomes the trace.
type Options struct {
	// SampleType names the value to count, such as "alloc_objects". When empty
	// it is the one called "samples", else the first whose unit is "count", else
	// the profile's own default.
	SampleType string

	// Records chooses the packages whose functions are in the trace. When nil
	// they are all those outside the standard library or, in the profile of a
	// program that is not Go, every function.
	Records func(pkg string) bool

	// Fits returns an error if the trace would have too many nodes; nil: it may have any
	// number.
	Fits func(nodes int) error

	// Program is what the profiled binary says of itself, when it is at hand.
	// A profile tells its path and build id at best.
	Program trace.Program
}

// ErrOnlyStandard is for a profile whose samples are all of the standard library, which
// Options.Records leaves out by default.
var ErrOnlyStandard = errors.New("no sample met a function outside the standard library")

// Convert returns p as a sampled trace. Equal profiles give equal traces.
func Convert(p *profile.Profile, o Options) (*trace.Trace, error) {
	if err := p.CheckValid(); err != nil {
		return nil, fmt.Errorf("a damaged pprof profile: %w", err)
	}
	if _, err := trace.FromProfile(p); err != nil && !errors.Is(err, trace.ErrForeign) {
		return nil, err // it was a trace once
	} else if err == nil {
		return nil, errors.New("this is a trace of tracerag already, which needs no import: name its path, as in `tracerag tree ./FILE`")
	}
	value, err := valueIndex(p, o.SampleType)
	if err != nil {
		return nil, err
	}
	if err := checkNames(p); err != nil {
		return nil, err
	}
	t := &trace.Trace{Recorder: Recorder, Sampled: true, Program: o.Program, Duration: max(0, time.Duration(p.DurationNanos))}
	if p.TimeNanos != 0 {
		t.Start = time.Unix(0, p.TimeNanos).UTC()
	}
	if len(p.Mapping) > 0 { // the first is the main binary, by pprof's convention
		if t.Program.Path == "" {
			t.Program.Path = p.Mapping[0].File
		}
		if t.Program.BuildID == "" {
			t.Program.BuildID = p.Mapping[0].BuildID
		}
	}
	c := newConversion(t, p, o)
	if err := c.samples(value); err != nil {
		return nil, err
	}
	t.Losses = c.losses(p.SampleType[value])
	return c.b.Finish(), nil
}

// valueIndex returns which of each sample's values to count.
func valueIndex(p *profile.Profile, name string) (int, error) {
	if len(p.SampleType) == 0 {
		return 0, errors.New("the profile is empty: it has no sample types")
	}
	find := func(ok func(*profile.ValueType) bool) int {
		for i, v := range p.SampleType {
			if ok(v) {
				return i
			}
		}
		return -1
	}
	if name != "" {
		if i := find(func(v *profile.ValueType) bool { return v.Type == name }); i >= 0 {
			return i, nil
		}
		return 0, fmt.Errorf("the profile has no sample type %q: it has %s", name, strings.Join(typeNames(p), ", "))
	}
	for _, ok := range []func(*profile.ValueType) bool{
		func(v *profile.ValueType) bool { return v.Type == "samples" },
		func(v *profile.ValueType) bool { return v.Unit == "count" },
		func(v *profile.ValueType) bool { return v.Type == p.DefaultSampleType },
	} {
		if i := find(ok); i >= 0 {
			return i, nil
		}
	}
	return len(p.SampleType) - 1, nil // pprof's own choice when none is named
}

func typeNames(p *profile.Profile) []string {
	var names []string
	for _, v := range p.SampleType {
		names = append(names, v.Type)
	}
	return names
}

// checkNames refuses a profile of bare addresses: it names no function.
func checkNames(p *profile.Profile) error {
	for _, f := range p.Function {
		if functionName(f) != "" {
			return nil
		}
	}
	if len(p.Sample) == 0 {
		return nil // another error says it better
	}
	return errors.New("the profile has addresses and no function names: `go tool pprof -proto BINARY FILE > NAMED.pb.gz`, with the binary that was profiled, adds them")
}

// functionName returns the name that a person would look for, or "".
func functionName(f *profile.Function) string {
	if f == nil {
		return ""
	}
	if f.Name == "" {
		return f.SystemName
	}
	return f.Name
}

// lineNumber brings a line of a profile, which may be anything, into the range
// of a line.
func lineNumber(n int64) int {
	if n < 0 || n > math.MaxInt32 {
		return 0
	}
	return int(n)
}
