package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"tracerag/phrase"
	"tracerag/session"
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

// promptMemory is what a node of the call tree takes while a prompt is made of it: its
// line, and the count of its tokens. TestMemoryIsInProportion measures it.
const promptMemory = 4 << 10

// promptFits returns an error if a prompt about the views would take more memory than
// their traces may.
func (a *app) promptFits(views []*session.View) error {
	limit, err := a.readLimit()
	if err != nil {
		return err
	}
	for _, v := range views {
		if err := limit.Fits(v.Entry.Size, v.Tree.Size, promptMemory); err != nil {
			return fmt.Errorf("%s: no prompt of a call tree of %s nodes: %w\nor a part of it: --focus FUNC", v.Entry.Path, phrase.Number(v.Tree.Size), err)
		}
	}
	return nil
}

// collectWithin has garbage collected more often as the memory that one trace may take
// is used up: else the heap may be twice what is in use.
func collectWithin(limit int64) {
	if limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}
