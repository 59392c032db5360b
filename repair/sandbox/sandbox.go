// Package sandbox runs unreviewed code within limits.
//
// A candidate's tests may do anything: write outside their tree, fork without end, fill
// the disk or the memory, open connections, read keys. Which of these are stopped, and how, depends
// on the machine: [Sandbox.Check] says it.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	Read  []string // below Hide, directories that it sees: Go's, sources. Dir and Write are always seen

	Layers []Layer

	Stdout, Stderr io.Writer
	Limits
}

// Layer is a directory below Write that shows what is in others, too, where the machine
// can lay it over them; elsewhere it shows what is in itself, and the Result says so. What is
// written goes into Dir alone. So a build cache is warm, and a candidate can't write into the user's.
type Layer struct {
	Dir   string
	Below []string // the first that has a file counts
	Work  string   // Run sets it: a directory for the kernel, of this command alone
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
	// Unlayered names the Layers that show only what is in themselves, each with the reason.
	Unlayered []string
}

// unlayered names all layers that have something to show, with one reason.
func unlayered(layers []Layer, why string) (list []string) {
	for _, l := range layers {
		if slices.ContainsFunc(l.Below, func(dir string) bool { _, err := os.Stat(dir); return err == nil }) {
			list = append(list, l.Dir+": "+why)
		}
	}
	return list
}

// Sandbox runs commands.
type Sandbox struct {
	self []string
	only string // a test's choice of mechanism

	mu    sync.Mutex
	tried []tried
}

// New returns a sandbox. self is a command line that ends in the inner step: this
// program again, which prepares the limits from inside and starts the command.
func New(self []string) *Sandbox { return &Sandbox{self: self} }

// Run runs a command and waits until nothing of it is left. An error means that it
// could not be run; a command that fails has a Result.
func (s *Sandbox) Run(ctx context.Context, c Command) (Result, error) {
	if len(c.Args) == 0 {
		return Result{}, errors.New("sandbox: no command")
	}
	c, err := c.resolve()
	if err != nil {
		return Result{}, fmt.Errorf("sandbox: %w", err)
	}
	return s.run(ctx, c)
}

// resolve returns the command with the paths that the system knows: without links.
func (c Command) resolve() (Command, error) {
	one := func(path string) (string, error) {
		path, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		return filepath.EvalSymlinks(path)
	}
	var err error
	if c.Temp != "" {
		if c.Temp, err = one(c.Temp); err != nil {
			return c, err
		}
	}
	c.Write = slices.Clone(c.Write)
	for i := range c.Write {
		if c.Write[i], err = one(c.Write[i]); err != nil {
			return c, err
		}
	}
	c.Layers = slices.Clone(c.Layers)
	for i := range c.Layers {
		if c.Layers[i].Dir, err = one(c.Layers[i].Dir); err != nil {
			return c, err
		}
		// What the kernel needs for it is beside it, in the same mount.
		if !slices.ContainsFunc(c.Write, func(dir string) bool { return dir != c.Layers[i].Dir && within(c.Layers[i].Dir, dir) }) || slices.Contains(c.Write, c.Layers[i].Dir) {
			return c, fmt.Errorf("%s is not below a directory that may be written, or is one itself", c.Layers[i].Dir)
		}
	}
	var read []string
	for _, dir := range c.Read {
		if dir, err := one(dir); err == nil {
			read = append(read, dir)
		}
	}
	c.Read = read
	return c, nil
}

func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}
