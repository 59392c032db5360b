package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"tracerag/record"
	"tracerag/trace"
	"tracerag/trace/breakpoint"
)

// toolArg makes this program stand in for a tool of the go command.
const toolArg = "__tool"

// addRecorder adds the flags that choose the recorder.
func addRecorder(f *pflag.FlagSet, o *record.Options) {
	f.StringVar(&o.Name, "recorder", record.Auto, "`NAME` of the recorder: probe counts every call at full speed (linux/amd64);\nrebuild compiles it into what go run and go test build; breakpoint is slow, and\nworks wherever delve does; auto takes the first that can")
	addProbe(f, o)
	f.IntVar(&o.MaxHits, "max-hits", breakpoint.DefaultMaxHits, "breakpoint: stop counting a function after this many `CALLS`: its count is then\na floor. The limit falls as all functions together use up --max-stops")
	f.IntVar(&o.MaxStops, "max-stops", breakpoint.DefaultMaxStops, "breakpoint: after this many `CALLS` in all, count only the first call of each function")
}

func addProbe(f *pflag.FlagSet, o *record.Options) {
	f.BoolVar(&o.NoInlined, "no-inlined", false, "do not look for calls that the compiler inlined")
	f.BoolVar(&o.NoLines, "no-lines", false, "do not watch which lines run")
	f.Var((*byteSize)(&o.Memory), "memory", "memory limit for the probe's call tree, such as 1GiB (default: up to a third of\nthe free memory)")
}

func checkRecorderFlags(o *record.Options) error {
	switch o.Name {
	case record.Auto, record.Probe, record.Breakpoint, record.Rebuild:
	default:
		return fmt.Errorf("--recorder=%s: must be one of auto, probe, breakpoint or rebuild", o.Name)
	}
	if o.MaxHits < 1 || o.MaxStops < 1 {
		return errors.New("--max-hits and --max-stops must be at least 1")
	}
	return nil
}

func addPackages(f *pflag.FlagSet, s *record.Spec) {
	f.StringSliceVar(&s.Include, "include", nil, "record only the packages that match these `PATTERNS`")
	f.StringSliceVar(&s.Exclude, "exclude", nil, "do not record the packages that match these `PATTERNS`")
}

// addValues adds the flags that say of which functions values are observed.
func addValues(f *pflag.FlagSet, v *record.Values) {
	f.StringSliceVar(&v.Patterns, "values", nil, "record arguments and results of these functions, too: `FUNC`,... as in --focus; all; or\nown, those of the program's own module (with --budget, those that the prompt keeps in\nfull). A program that is built already runs a second time for it")
	f.Lookup("values").NoOptDefVal = record.OwnFunctions
	f.IntVar(&v.Calls, "values-calls", breakpoint.DefaultCalls, "of the first `N` calls of each function by each caller")
}

func checkValues(v *record.Values) error {
	if v.Calls < 1 || v.Calls > trace.MaxActivations {
		return fmt.Errorf("--values-calls=%d: 1 to %d", v.Calls, trace.MaxActivations)
	}
	return nil
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
