package main

import (
	"fmt"

	"tracerag/memory"
	"tracerag/trace"
	"tracerag/trace/store"
)

// limitVariable is the environment variable by which a user sets what readLimit says.
const limitVariable = "TRACERAG_READ_MEMORY"

// readLimit is the memory that a trace file may take, which may come from anywhere and
// describes more than it weighs: what the user says, or a share of the machine's.
func (a *app) readLimit() (trace.Limit, error) {
	if said := a.getenv(limitVariable); said != "" {
		var n byteSize
		if err := n.Set(said); err != nil {
			return trace.Limit{}, fmt.Errorf("%s=%s: %w", limitVariable, said, err)
		}
		return trace.Limit{Memory: int64(n), Trusted: true}, nil
	}
	return trace.LimitOn(memory.Machine()), nil
}

// openStore opens a directory of traces, each of which may take what readLimit says.
func (a *app) openStore(dir string) (*store.Store, error) {
	limit, err := a.readLimit()
	if err != nil {
		return nil, err
	}
	memory.CollectWithin(limit.Memory)
	s := store.Open(dir)
	s.Limit = limit
	return s, nil
}
