package probe

import "tracerag/trace/probe/payload"

// Options of a recording.
type Options struct {
	NoInlined bool          // leave inlined calls alone
	NoLines   bool          // do not watch which lines of long functions run
	Memory    uint64        // bytes for the tree; 0: by the size of the program
	CacheDir  string        // where plans are kept; empty: nowhere
	Started   func(pid int) // called when the program is about to run; may be nil

	limit func(*payload.Layout) // of tests: makes the tables smaller than any Memory would; may be nil
}
