package index

import (
	"context"
	"slices"

	"tracerag/code"
	"tracerag/knowledge"
)

// CallsFunc returns the static and interface calls of a repository's own code, and a line for
// each part of it whose calls are not known.
type CallsFunc func(ctx context.Context, l *code.Listing) (calls []knowledge.Call, gaps []string, err error)

// updateCalls makes the calls anew if anything changed that they depend on.
func (p *plan) updateCalls(ctx context.Context, w Store, id int64, make CallsFunc, r *Result) error {
	files, err := w.Stored(ctx, id)
	if err != nil {
		return err
	}
	key := callKey(p.listing, files)
	was, err := w.CallKey(ctx, id)
	if err != nil || was == key {
		return err
	}
	calls, gaps, err := make(ctx, p.listing)
	if err != nil {
		return err
	}
	r.CallGaps, r.CallsMade = gaps, true
	known := map[string]bool{}
	for _, f := range files {
		known[f.Path] = true
	}
	calls = slices.DeleteFunc(calls, func(c knowledge.Call) bool { return !known[c.Caller.Path] || !known[c.Callee.Path] })
	return w.SetCalls(ctx, id, key, calls)
}
