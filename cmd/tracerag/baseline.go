package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"tracerag/phrase"
	"tracerag/trace"
	"tracerag/trace/store"
	"tracerag/trace/target"
)

// A baseline that fails is most likely none: the program did not know the arguments, or
// took them for something else, maybe for its work. So nothing is pruned by it unless
// the user names its trace. It may be a start all the same, where --help ends with 2.

// baselineChoice is the value of --baseline, understood.
type baselineChoice struct {
	id    string   // of a trace, of the program in package main of
	main  string   // this import path; or else
	words []string // arguments to run the program with first
}

// findBaseline understands --baseline. A value that names a trace is one; any other is
// arguments.
func (a *app) findBaseline(s *store.Store, value string) (b baselineChoice, err error) {
	if value == "" {
		return b, nil
	}
	tr, e, err := s.LoadBaseline(value)
	if err == nil {
		return baselineChoice{id: e.ID, main: tr.Program.MainPath}, nil
	}
	if strings.HasPrefix(value, "@") || strings.HasSuffix(value, ".gz") {
		return b, fmt.Errorf("--baseline: %w", err)
	}
	if b.words, err = phrase.Split(value); err != nil {
		return b, fmt.Errorf("--baseline=%s: %w", value, err)
	}
	return b, nil
}

// checkStore finds out, before a program runs for nothing, whether traces of it can be
// saved.
func checkStore(s *store.Store, b baselineChoice) error {
	if b.words != nil {
		if err := s.Baselines().Check(); err != nil {
			return err
		}
	}
	return s.Check()
}

// baseline returns the id of the trace that is to be pruned by, "" for none. It runs the
// program if it has to.
func (a *app) baseline(ctx context.Context, s *store.Store, tgt *target.Target, b baselineChoice, r *runFlags) (string, error) {
	if b.words == nil {
		if of := tgt.Binary.MainPath; b.main != "" && of != "" && b.main != of {
			a.note("baseline: trace %s is a run of another program (%s, this is %s): it prunes only what both do", b.id, b.main, of)
		}
		return b.id, nil
	}
	base := *tgt
	base.Args = append([]string{tgt.Args[0]}, b.words...)
	command := base.Args
	if r.program != nil {
		command = slices.Concat(r.program, b.words)
	}
	a.note("baseline: running %s", phrase.CommandLine(command))
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
	var heard [2]*listener
	for i := range heard {
		if heard[i], err = newListener(); err != nil {
			return nil, "", err
		}
		defer heard[i].to.Close()
	}
	base.Silent, base.Output, base.Errors = true, heard[0].to, heard[1].to
	if tr, err = a.recordOne(ctx, base, r); err != nil {
		return nil, "", err
	}
	if said = firstLine(heard[1].end()); said == "" {
		said = firstLine(heard[0].end())
	}
	return tr, said, nil
}

// listener keeps the beginning of what a program prints. That goes through a pipe and not
// into a file, which could fill the disk, and be left there.
type listener struct {
	to    *os.File // the program's end
	ended chan struct{}

	mu   sync.Mutex
	text []byte
}

func newListener() (*listener, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	l := &listener{to: to, ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		// To the end, even if that is the end of what the program has started: for
		// whoever prints into a pipe that nobody reads is ended by that.
		defer from.Close()
		piece := make([]byte, 32<<10)
		for {
			n, err := from.Read(piece)
			l.mu.Lock()
			l.text = append(l.text, piece[:min(n, listened-len(l.text))]...)
			l.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return l, nil
}

// listened is how much a listener keeps.
const listened = 16 << 10

// end returns what was heard when the program has ended.
func (l *listener) end() string {
	l.to.Close()
	select {
	case <-l.ended:
	case <-time.After(interruptDelay): // something that it started has the pipe still
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// saveBaseline saves a baseline and returns its id, or says why it is not to be pruned
// by.
func (a *app) saveBaseline(s *store.Store, tr *trace.Trace, said string) (id string, err error) {
	e, err := s.Baselines().Save(tr)
	if err != nil || !tr.Exit.Known() || !tr.Exit.Failed() {
		return e.ID, err
	}
	why := tr.Exit.String()
	if said != "" {
		why += ": " + a.masker().Text(said)
	}
	a.complain("baseline: %s failed (%s): the tree is not pruned by it\ngive --baseline arguments that only start the program; to prune by this run anyway, name its trace:\n--baseline=%s",
		phrase.CommandLine(tr.Command), why, e.ID)
	return "", nil
}

// firstLine is the first line of a text that is not empty, short enough for a message.
func firstLine(text string) string {
	const most = 200
	for line := range strings.Lines(strings.ToValidUTF8(text, "\uFFFD")) {
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
	list, err := s.Baselines().List()
	if err != nil || tr.Program.BuildID == "" {
		return nil
	}
	for _, e := range slices.Backward(list[max(0, len(list)-baselinesRead):]) {
		b, _, err := s.Baselines().Load(e.Path)
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
		return fmt.Sprintf("%s would leave out what every start does", phrase.Quote("--baseline="+phrase.CommandLine(words)))
	}
	return "to leave out what every start does: --baseline=ARGS, arguments with which it does nothing else"
}
