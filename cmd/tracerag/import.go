package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"tracerag/memory"
	"tracerag/phrase"
	"tracerag/trace"
	"tracerag/trace/profiles"
	"tracerag/trace/store"
)

const importHelp = `
import copies a trace from a file into the store, with those of the processes that the
run started if they are beside it in a directory "processes", as in a store. A pprof profile of another tool,
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
	missing, err = importProcesses(s, tr, f.Arg(0))
	if missing != nil {
		a.note("%v", missing)
	}
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

// importProcesses saves the traces of the processes that a run started, which are looked for beside its file. The first one
// that is missing is returned, too.
func importProcesses(s *store.Store, tr *trace.Trace, file string) (missing, err error) {
	from := s.Group(store.Entry{Path: file})
	saved := map[string]string{}
	for i := range tr.Processes {
		p := &tr.Processes[i]
		if p.Trace == "" {
			continue
		}
		if saved[p.Trace] == "" {
			process, err := from.Load(p.Trace)
			if err != nil {
				missing = cmp.Or(missing, fmt.Errorf("the trace of process %s is not imported: %w", phrase.Quote(filepath.Base(p.Program)), err))
				continue
			}
			e, _ := from.Entry(p.Trace)
			if filepath.Dir(e.Path) != s.Processes().Dir() {
				if e, err = s.Processes().Save(process); err != nil {
					return missing, err
				}
			}
			saved[p.Trace] = e.ID
		}
		p.Trace = saved[p.Trace] // another version of tracerag wrote it in another way
	}
	return missing, nil
}
