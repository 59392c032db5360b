package record

import (
	"errors"

	"tracerag/trace"
	"tracerag/trace/probe"
	"tracerag/trace/target"
)

// errOtherRecorder says why a run was recorded without what the program started.
var errOtherRecorder = errors.New("only the probe records these")

// children says how what a program starts is recorded. Its traces are saved as they come: a
// build has hundreds.
func (r *Runner) children(tgt *target.Target) *probe.Children {
	return &probe.Children{
		Save: func(tr *trace.Trace) (string, error) {
			e, err := r.Store.Processes().Save(tr)
			return e.ID, err
		},
		Keeper:     r.Keeper,
		Unfollowed: func(why error) { r.event(NotFollowed{Program: tgt.Args[0], Why: why}) },
	}
}
