package main

import (
	"errors"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"tracerag/memory"
	"tracerag/repair/sandbox"
)

// sandboxArg makes this program the inner step of a sandbox.
const sandboxArg = "__sandbox"

// sandboxFlags limit the commands that build and test.
type sandboxFlags struct {
	time         time.Duration
	memory, disk byteSize
	processes    int
	network      bool
}

func (s *sandboxFlags) add(f *pflag.FlagSet) {
	f.DurationVar(&s.time, "test-time", 10*time.Minute, "end a command that builds or tests after this `TIME`")
	f.Var(&s.memory, "test-memory", "let it have this `SIZE` of memory (default: half of the machine's)")
	f.IntVar(&s.processes, "test-processes", 200*runtime.NumCPU(), "let it have `N` processes and threads")
	f.Var(&s.disk, "test-disk", "let it write this `SIZE` (default 4GiB)")
	f.BoolVar(&s.network, "network", false, "let it reach other machines")
}

func (s *sandboxFlags) limits() sandbox.Limits {
	l := sandbox.Limits{Time: s.time, Memory: int64(s.memory), Disk: int64(s.disk), Processes: s.processes, Output: 64 << 20, Network: s.network}
	if l.Memory == 0 {
		l.Memory = memory.Machine() / 2
	}
	if l.Disk == 0 {
		l.Disk = 4 << 30
	}
	return l
}

func (s *sandboxFlags) check() error {
	if s.time <= 0 || s.processes < 1 {
		return errors.New("--test-time and --test-processes must be positive")
	}
	return nil
}
