package affected

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tracerag/record"
	"tracerag/trace/gocmd"
	"tracerag/trace/store"
)

// Recorder records test programs on this machine, by go test and the probe. It is the default for Options.Record. Unreviewed
// code needs another one, which does the same in a sandbox.
type Recorder struct {
	// Self is a command line of this program that obeys a record.Job, after the job's directory is added.
	Self  []string
	Flags []string      // for go test, such as -tags=x or -skip=TestSlow
	Limit time.Duration // for the tests of one call, building included; 0: 10 minutes
}

// batch is how many packages are recorded at once. What is interrupted loses no more.
const batch = 16

// Record runs the tests of packages once. It is an Options.Record.
func (r *Recorder) Record(ctx context.Context, packages []Package, done func(Recorded)) error {
	type group struct{ dir, include string }
	by := map[group][]string{}
	var groups []group
	for _, p := range packages {
		g := group{p.Dir, p.Include}
		if by[g] == nil {
			groups = append(groups, g)
		}
		by[g] = append(by[g], p.Path)
	}
	for _, g := range groups {
		for some := range slices.Chunk(by[g], batch) {
			if err := r.record(ctx, g.dir, some, g.include, done); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Recorder) record(ctx context.Context, module string, packages []string, include string, done func(Recorded)) error {
	dir, err := os.MkdirTemp("", "tracerag-affected-")
	if err != nil {
		return fmt.Errorf("record tests: %w", err)
	}
	defer os.RemoveAll(dir)
	args := slices.Concat([]string{"go", "test", "-count=1", "-vet=off", "-json"}, r.Flags, packages)
	command, err := gocmd.Parse(args)
	if err != nil {
		return fmt.Errorf("record tests: %w", err)
	}
	limit := r.Limit
	if limit <= 0 {
		limit = 10 * time.Minute
	}
	out := &events{took: map[string]map[string]time.Duration{}, said: map[string]string{}}
	var stderr record.Ends
	runner := &record.Runner{
		Spec: record.Spec{
			Command: args, Dir: module, Store: filepath.Join(dir, store.DirName),
			Recorder: record.Options{Name: record.Probe, NoLines: true}, Limit: limit,
		},
		Store: store.Open(filepath.Join(dir, store.DirName)), Self: r.Self, Stdin: strings.NewReader(""), Stdout: out, Stderr: &stderr,
	}
	if include != "" {
		runner.Spec.Include = []string{include}
	}
	var remarks []string
	runner.Events = func(e record.Event) {
		if said, ok := e.(record.Said); ok {
			remarks = append(remarks, said.Text)
		}
	}
	runner.Spec.Begin()
	res, err := runner.Go(ctx, command)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	made := map[string]bool{}
	if res != nil {
		for _, rec := range res.Recordings {
			pkg := strings.TrimSuffix(rec.Trace.Program.MainPath, ".test")
			made[pkg] = true
			done(Recorded{Package: pkg, Trace: rec.Trace, Took: out.took[pkg]})
		}
	}
	for _, pkg := range packages {
		if made[pkg] {
			continue
		}
		why := errors.New("its tests were not built or not recorded")
		switch text, _ := stderr.Text(); {
		case err != nil:
			why = err
		case out.said[pkg] != "":
			why = fmt.Errorf("%w: %s", why, out.said[pkg])
		case firstLine(text) != "":
			why = fmt.Errorf("%w: %s", why, firstLine(text))
		case firstLine(strings.Join(remarks, "")) != "":
			why = fmt.Errorf("%w: %s", why, firstLine(strings.Join(remarks, "")))
		}
		done(Recorded{Package: pkg, Err: why})
	}
	return nil
}

// events reads what go test -json prints.
type events struct {
	took map[string]map[string]time.Duration
	said map[string]string // by package: the first line of a message of the compiler
	rest []byte
}

func (e *events) Write(p []byte) (int, error) {
	e.rest = append(e.rest, p...)
	for {
		line, rest, ok := bytes.Cut(e.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		e.line(line)
		e.rest = rest
	}
}

func (e *events) line(line []byte) {
	var x struct {
		Action, Package, ImportPath, Test, Output string
		Elapsed                                   float64
	}
	if json.Unmarshal(line, &x) != nil {
		return
	}
	switch {
	case x.Action == "build-output" && !strings.HasPrefix(x.Output, "#"):
		pkg, _, _ := strings.Cut(x.ImportPath, " ")
		if e.said[pkg] == "" {
			e.said[pkg] = strings.TrimSpace(x.Output)
		}
	case x.Test != "" && !strings.Contains(x.Test, "/") && (x.Action == "pass" || x.Action == "fail" || x.Action == "skip"):
		if e.took[x.Package] == nil {
			e.took[x.Package] = map[string]time.Duration{}
		}
		e.took[x.Package][x.Test] = time.Duration(x.Elapsed * float64(time.Second))
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
