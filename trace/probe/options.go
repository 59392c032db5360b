package probe

import (
	"tracerag/trace"
	"tracerag/trace/probe/payload"
)

// Options of a recording.
type Options struct {
	NoInlined bool          // leave inlined calls alone
	NoLines   bool          // do not watch which lines of long functions run
	Memory    uint64        // bytes for the tree; 0: by the size of the program
	CacheDir  string        // where plans are kept; empty: nowhere
	Started   func(pid int) // called when the program is about to run; may be nil
	Children  *Children     // also record what the program starts; nil: do not

	limit func(*payload.Layout) // of tests: makes the tables smaller than any Memory would; may be nil
}

// Children says how the programs are recorded that the target, or one of these, starts. They
// have the packages to record in common.
type Children struct {
	// Save keeps the trace of one, and returns its id. Calls are concurrent.
	Save func(*trace.Trace) (id string, err error)
	// Keeper is a command line that runs [Keep].
	Keeper []string
	// Unfollowed is called if they cannot be recorded here, which is no reason not to
	// record the target.
	Unfollowed func(why error)
}
