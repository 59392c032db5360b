package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"tracerag/trace"
	"tracerag/trace/store"
	"tracerag/trace/target"
)

// A baseline that fails is most likely none: the program did not know the arguments, or
// took them for something else, maybe for its work. So nothing is pruned by it unless
// the user names its trace. It may be a start all the same, where --help ends with 2.

// baselineChoice is the value of --baseline, understood.
type baselineChoice struct {
	id    string   // of a trace; or else
	words []string // arguments to run the program with first
}

// findBaseline understands --baseline. A value that names a trace is one; any other is
// arguments.
func (a *app) findBaseline(s *store.Store, value string) (b baselineChoice, err error) {
	if value == "" {
		return b, nil
	}
	_, e, err := loadBaseline(s, value)
	if err == nil {
		return baselineChoice{id: e.ID}, nil
	}
	if strings.HasPrefix(value, "@") || strings.HasSuffix(value, ".gz") {
		return b, fmt.Errorf("--baseline: %w", err)
	}
	if b.words, err = split(value); err != nil {
		return b, fmt.Errorf("--baseline=%s: %w", value, err)
	}
	return b, nil
}

// loadBaseline loads a trace of the store, or by its id one that was made as a baseline.
func loadBaseline(s *store.Store, name string) (*trace.Trace, store.Entry, error) {
	tr, e, err := s.Load(name)
	if err == nil {
		return tr, e, nil
	}
	if tr, e, found := baselines(s).Load(name); found == nil && e.ID == strings.ToLower(name) {
		return tr, e, nil
	}
	return nil, store.Entry{}, err
}

// checkStore finds out, before a program runs for nothing, whether traces of it can be
// saved.
func checkStore(s *store.Store, b baselineChoice) error {
	if b.words != nil {
		if err := baselines(s).Check(); err != nil {
			return err
		}
	}
	return s.Check()
}

// baseline returns the id of the trace that is to be pruned by, "" for none. It runs the
// program if it has to.
func (a *app) baseline(ctx context.Context, s *store.Store, tgt *target.Target, b baselineChoice, r *runFlags) (string, error) {
	if b.words == nil {
		return b.id, nil
	}
	base := *tgt
	base.Args = append([]string{tgt.Args[0]}, b.words...)
	command := base.Args
	if r.program != nil {
		command = slices.Concat(r.program, b.words)
	}
	a.note("baseline: running %s", commandLine(command))
	// Whoever interrupts this run does not want the program to be started after it.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	tr, said, err := a.runBaseline(ctx, &base, r)
	if err == nil && tr.Exit != (trace.Exit{}) {
		// The interrupt key is the program's, too. It may have ended before our
		// own signal has come through to ctx.
		select {
		case <-ctx.Done():
		case <-time.After(interruptDelay):
		}
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return "", errInterrupted
	case err != nil:
		return "", fmt.Errorf("--baseline: %w", err)
	case r.over(ctx) != nil:
		return "", nil // and nothing will be pruned
	}
	tr.Command = command
	id, err := a.saveBaseline(s, tr, said)
	if err != nil {
		return "", fmt.Errorf("--baseline: %w", err)
	}
	return id, nil
}

// runBaseline records a run of which nobody sees the output. said is the first line of
// it: of standard error, if that has any.
func (a *app) runBaseline(ctx context.Context, base *target.Target, r *runFlags) (tr *trace.Trace, said string, err error) {
	var files [2]*os.File
	for i := range files {
		f, err := os.CreateTemp("", "tracerag-*.out")
		if err != nil {
			return nil, "", err
		}
		defer os.Remove(f.Name())
		defer f.Close()
		files[i] = f
	}
	base.Silent, base.Output, base.Errors = true, files[0], files[1]
	if tr, err = a.recordOne(ctx, base, r); err != nil {
		return nil, "", err
	}
	if said = firstLine(files[1]); said == "" {
		said = firstLine(files[0])
	}
	return tr, said, nil
}

// saveBaseline saves a baseline and returns its id, or says why it is not to be pruned
// by.
func (a *app) saveBaseline(s *store.Store, tr *trace.Trace, said string) (id string, err error) {
	e, err := baselines(s).Save(tr)
	if err != nil || !tr.Exit.Known() || !tr.Exit.Failed() {
		return e.ID, err
	}
	why := tr.Exit.String()
	if said != "" {
		why += ": " + a.mask(said)
	}
	a.complain("baseline: %s failed (%s): the tree is not pruned by it\ngive --baseline arguments that only start the program, or the trace of this run to prune by it all the same:\n--baseline=%s",
		commandLine(tr.Command), why, e.ID)
	return "", nil
}

// firstLine is the first line of a file that is not empty, short enough for a message.
func firstLine(f *os.File) string {
	const most = 200
	data, _ := io.ReadAll(io.NewSectionReader(f, 0, 16<<10))
	for line := range strings.Lines(strings.ToValidUTF8(string(data), "\uFFFD")) {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return ' '
			}
			return r
		}, line))
		if runes := []rune(line); len(runes) > most {
			line = string(runes[:most]) + "..."
		}
		if line != "" {
			return line
		}
	}
	return ""
}

// baselinesRead is how many baselines are looked through for one of a program.
const baselinesRead = 8

// knownStart returns arguments with which the program of a run was started as a
// baseline before, and did not fail; nil: none are known.
func knownStart(s *store.Store, tr *trace.Trace) []string {
	list, err := baselines(s).List()
	if err != nil || tr.Program.BuildID == "" {
		return nil
	}
	for _, e := range slices.Backward(list[max(0, len(list)-baselinesRead):]) {
		b, _, err := baselines(s).Load(e.Path)
		if err != nil || b.Program.BuildID != tr.Program.BuildID || b.Program.MainPath != tr.Program.MainPath || b.Exit != (trace.Exit{}) {
			continue
		}
		// What the go command runs has a longer command.
		if len(b.Command) > 1 && len(tr.Command) > 0 && b.Command[0] == tr.Command[0] && tr.Command[0] != "go" && !slices.Equal(b.Command, tr.Command) {
			return b.Command[1:]
		}
	}
	return nil
}

// startHint says how to have less in the tree of a run without a baseline.
func (a *app) startHint(s *store.Store, tr *trace.Trace) string {
	if a.quiet {
		return ""
	}
	if words := knownStart(s, tr); words != nil {
		return fmt.Sprintf("%s would leave out what every start does", quote("--baseline="+commandLine(words)))
	}
	return "to leave out what every start does: --baseline=ARGS, arguments with which it does nothing else"
}
