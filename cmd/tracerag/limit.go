package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"tracerag/trace"
	"tracerag/trace/store"
)

// A trace file may come from anywhere, and describes more than it weighs. readLimit is
// the memory that one may take: half of the machine's, or what the user says.

// leastLimit is what a trace may have on the smallest machine.
const leastLimit = 512 << 20

func (a *app) readLimit() (trace.Limit, error) {
	if said := a.getenv(trace.LimitVariable); said != "" {
		var n byteSize
		if err := n.Set(said); err != nil {
			return trace.Limit{}, fmt.Errorf("%s=%s: %w", trace.LimitVariable, said, err)
		}
		return trace.Limit{Memory: int64(n), Trusted: true}, nil
	}
	return defaultLimit(machineMemory()), nil
}

// defaultLimit is the limit on a machine with that much memory; 0: not known.
func defaultLimit(memory int64) trace.Limit {
	if memory <= 0 {
		return trace.Limit{}
	}
	return trace.Limit{Memory: max(leastLimit, memory/2)}
}

// openStore opens a directory of traces, each of which may take what readLimit says.
func (a *app) openStore(dir string) (*store.Store, error) {
	limit, err := a.readLimit()
	if err != nil {
		return nil, err
	}
	collectWithin(limit.Memory)
	s := store.Open(dir)
	s.Limit = limit
	return s, nil
}

// collectWithin has garbage collected more often as the memory that one trace may take
// is used up: else the heap may be twice what is in use.
func collectWithin(limit int64) {
	if limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}
