// Package sandbox runs a command of code that nobody has read, within limits.
//
// A candidate's tests may do anything: write outside their tree, fork without end, fill
// the disk or the memory, open connections, read keys. What of that is stopped, and by
// what means, depends on the machine; [Check] says it.
package sandbox

import (
	"context"
	"io"
	"time"
)

// Limits is what a command may use; 0 is no limit.
type Limits struct {
	Time      time.Duration
	Memory    int64 // bytes of all its processes together
	Processes int   // at one time
	Disk      int64 // bytes by which what is below Write and Temp may grow
	Output    int64 // bytes of standard output and standard error together
	Network   bool  // other machines may be reached; a sandbox has a loopback of its own otherwise
}

// Command is what runs.
type Command struct {
	Args []string
	Dir  string
	Env  []string // the whole environment; see Environment

	Write []string // directories that may be written; all else is read-only
	Temp  string   // a directory on disk that it sees as the system's temporary directory; may be written
	Hide  []string // directories whose contents it does not see: the user's home. See Homes
	Read  []string // below Hide, what it sees nevertheless. Dir, Write and the directories that Env names need not be listed

	Stdout, Stderr io.Writer
	Limits
}

// Reason is a limit that ended a command.
type Reason string

const (
	Time        Reason = "time"
	Memory      Reason = "memory"
	Processes   Reason = "processes"
	Disk        Reason = "disk"
	Output      Reason = "output"
	Interrupted Reason = "interrupted" // the context was done
)

// Result is how a command ended.
type Result struct {
	Code    int      // its exit code; 128 and the signal's number if a signal ended it
	Stopped Reason   // the limit that ended it, if one did
	Refused []string // what it tried and was denied, where that is known
	Wall    time.Duration
	CPU     time.Duration // of all its processes, where that is known
	Memory  int64         // the most bytes that were seen in use at one time
}

// Sandbox runs commands.
type Sandbox struct {
	self []string
}

// New returns a sandbox. self is a command line that ends in the inner step: this
// program again, which prepares the limits from inside and starts the command.
func New(self []string) *Sandbox { return &Sandbox{self: self} }

// Run runs a command and waits until nothing of it is left. An error means that it
// could not be run; a command that fails has a Result.
func (s *Sandbox) Run(ctx context.Context, c Command) (Result, error) {
	return s.plain(ctx, c)
}

// Enforced is a limit, and what enforces it on this machine.
type Enforced struct {
	Limit string // "time", "memory", "writes", "network", ...
	By    string // what enforces it; "" where nothing does
	Holds bool   // it can't be evaded
	Lacks string // what isn't covered, and what would help
}
