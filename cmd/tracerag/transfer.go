package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"tracerag/trace"
	"tracerag/trace/export"
	"tracerag/trace/sample"
)

const exportHelp = `
export writes a trace in another tool's format, to standard output or to a file:

  folded   folded stacks, for flame graphs
  jsonl    JSON Lines: the whole trace (docs/trace-format.md)
  pprof    the trace itself, which go tool pprof opens`

func runExport(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, exportHelp)
	var format string
	addChoice(f, &format, "format", "the `FORMAT`: folded, jsonl or pprof", "folded", "jsonl", "pprof")
	out := f.StringP("output", "o", "-", "write to `FILE`")
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	name := "@last"
	switch f.NArg() {
	case 0:
	case 1:
		name = f.Arg(0)
	default:
		return a.usage(c, "one trace at a time")
	}
	write := map[string]func(io.Writer, *trace.Trace) error{
		"folded": export.Folded,
		"jsonl":  export.JSONLines,
		"pprof":  func(w io.Writer, t *trace.Trace) error { return t.Write(w) },
	}[format]
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	tr, _, err := s.Load(name)
	if err != nil {
		return a.fail(err)
	}
	if format == "pprof" && *out == "-" && terminal(a.stdout) {
		return a.usage(c, "a pprof file is binary: name a file with -o, or pipe it")
	}
	if err := a.writeTo(*out, func(w io.Writer) error { return write(w, tr) }); err != nil {
		return a.fail(err)
	}
	return exitOK
}

// writeTo writes to standard output or to a file, which is whole or not there.
func (a *app) writeTo(name string, write func(io.Writer) error) error {
	if name == "-" {
		w := bufio.NewWriter(a.stdout)
		return errors.Join(write(w), w.Flush())
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	if err := errors.Join(write(w), w.Flush(), file.Close()); err != nil {
		os.Remove(name)
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

const importHelp = `
import takes a trace from a file into the store. A pprof profile of another tool,
such as a CPU profile, becomes a sampled trace: which functions ran is known, how
often and in which order is not, and everything made of it says so.`

func runImport(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, importHelp)
	sampleType := f.String("sample-type", "", "of a profile with several: take this `TYPE` (default: samples, or the first)")
	std := f.Bool("std", false, "of a profile: keep the standard library's functions")
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() != 1 {
		return a.usage(c, "one file")
	}
	tr, err := readAny(f.Arg(0), sample.Options{SampleType: *sampleType}, *std)
	if err != nil {
		return a.fail(fmt.Errorf("%s: %w", f.Arg(0), err))
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	e, err := s.Save(tr)
	if err != nil {
		return a.fail(err)
	}
	kind := "a recorded trace"
	if tr.Sampled {
		kind = "a sampled trace"
	}
	a.note("imported %s with %s as %s", kind, plural(len(tr.Nodes), "node", "nodes"), e.ID)
	return exitOK
}

// readAny reads a trace, or turns a profile into one.
func readAny(path string, o sample.Options, std bool) (*trace.Trace, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p, err := trace.ReadProfile(file)
	if err != nil {
		return nil, err
	}
	tr, err := trace.FromProfile(p)
	if !errors.Is(err, trace.ErrForeign) {
		return tr, err
	}
	if std {
		o.Records = func(string) bool { return true }
	}
	return sample.Convert(p, o)
}
