package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tracerag/jobs"
	"tracerag/knowledge"
	"tracerag/phrase"
	"tracerag/repair/sandbox"
	"tracerag/session"
	"tracerag/trace/store"
	"tracerag/visible"
)

// recordingFlags are a worker's for tests that it records.
type recordingFlags struct {
	limits    sandboxFlags
	each      time.Duration
	keep      int
	noSandbox bool
}

func (r *recordingFlags) add(f *pflag.FlagSet) {
	f.DurationVar(&r.each, "each-time", time.Minute, "end a single test after this `TIME`")
	f.IntVar(&r.keep, "keep", 0, "then remove from the database all but the newest `TRACES` of each test or program, this many")
	f.BoolVar(&r.noSandbox, "no-sandbox", false, "run tests also where no sandbox works: they can do all that this user can")
	r.limits.add(f)
}

func (r *recordingFlags) check() error {
	if r.each <= 0 || r.keep < 0 {
		return errors.New("--each-time must be positive, --keep not negative")
	}
	return r.limits.check()
}

// NoSandboxError says that tests which nobody has read can't be kept from the user's files here.
type NoSandboxError struct{ Lacks []string }

func (e *NoSandboxError) Error() string {
	return "tests of a repository are code that nobody has read, and no sandbox works here:\n" + strings.Join(e.Lacks, "\n") + "\n--no-sandbox runs them with all that this user can do; tracerag doctor says more"
}

// workerBox is where a worker runs tests. Where the sandbox can't keep them from files and keys it is
// refused, unless the user wants it nevertheless.
func (a *app) workerBox(ctx context.Context, r *recordingFlags) (*jobs.Box, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	box := sandbox.New([]string{self, sandboxArg})
	if _, limits, refused := box.Check(ctx); !r.noSandbox {
		if lacks := unenforced(limits); len(lacks) > 0 {
			for _, err := range refused {
				lacks = append(lacks, err.Error())
			}
			return nil, &NoSandboxError{lacks}
		}
	}
	return &jobs.Box{Run: box.Run, Limits: r.limits.limits()}, nil
}

// workerRecordings is how a worker records tests.
func (a *app) workerRecordings(box *jobs.Box, r *recordingFlags) (*jobs.Recordings, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &jobs.Recordings{Program: self, Box: *box, Each: r.each, Keep: r.keep,
		Command: func(program, traces string, test []string) []string {
			return append([]string{program, "run", "--quiet", "--dir=" + traces, "--each", "--"}, test...)
		},
		Reader: func(traces *store.Store) func(store.Entry, string) (knowledge.KeptTrace, []byte, knowledge.Executed, error) {
			// What a repository's traces teach is not masked in another one's.
			s := &session.Session{Store: traces, Mask: session.NewMasker(a.newRedactor)}
			return func(e store.Entry, commit string) (knowledge.KeptTrace, []byte, knowledge.Executed, error) {
				k, file, executed, _, err := kept(s, e, commit, "") // tests are recorded without what they start
				return k, file, executed, err
			}
		}}, nil
}

// unenforced says which limits that tests of others need do not hold.
func unenforced(limits []sandbox.Enforced) (lacks []string) {
	for _, l := range limits {
		if !l.Holds && (l.Limit == "files" || l.Limit == "keys") {
			lacks = append(lacks, fmt.Sprintf("  %s: %s", l.Limit, l.Lacks))
		}
	}
	return lacks
}

// recordedLine says what became of a commit's tests.
func recordedLine(r *jobs.Recorded) string {
	line := fmt.Sprintf("    recorded %s at %s", phrase.Plural(r.Tests, "test", "tests"), visible.Line(r.Commit[:min(len(r.Commit), 12)]))
	if r.Failed > 0 {
		line += fmt.Sprintf(", %d failed", r.Failed)
	}
	line += "\n"
	if r.Problem != "" {
		first, _, _ := strings.Cut(r.Problem, "\n")
		line += "    " + visible.Line(first) + "\n"
	}
	return line
}
