package main

import (
	"context"
	"fmt"

	"tracerag/memory"
	"tracerag/phrase"
	"tracerag/trace/profiles"
)

const importHelp = `
import copies a trace from a file into the store. A pprof profile of another tool,
such as a CPU profile, becomes a sampled trace. It shows which functions ran, but not
how often or in which order, and every output of it says so.

The profiled program names the modules of the functions. import looks for it where
the profile says, and uses it if it is the same build.`

func runImport(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, importHelp)
	sampleType := f.String("sample-type", "", "of a profile with several: take this `TYPE` (default: samples, or the first)")
	std := f.Bool("std", false, "of a profile: keep the standard library's functions")
	program := f.String("program", "", "of a profile: the program is in `FILE` (default: where the profile says)")
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() != 1 {
		return a.usage(c, "name one file: tracerag import cpu.pprof")
	}
	o := profiles.Options{SampleType: *sampleType}
	if *std {
		o.Records = func(string) bool { return true }
	}
	limit, err := a.readLimit()
	if err != nil {
		return a.fail(err)
	}
	memory.CollectWithin(limit.Memory)
	tr, missing, err := profiles.Read(profiles.From{File: f.Arg(0), Program: *program, Dir: a.cwd, Limit: limit}, o)
	if missing != nil {
		a.note("the profile's program cannot tell its modules: %v", missing)
	}
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
	a.note("imported %s with %s as %s", kind, phrase.Plural(len(tr.Nodes), "node", "nodes"), e.ID)
	return exitOK
}
