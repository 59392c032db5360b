package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"tracerag/jobs"
	"tracerag/jobs/monitor"
	"tracerag/llm/metered"
	"tracerag/llm/throttle"
	"tracerag/memory"
	"tracerag/phrase"
	"tracerag/prompt/tokens"
	"tracerag/visible"
)

const workerHelp = `
worker works on the jobs of a team's knowledge base: it indexes the git URLs that are followed
(tracerag index --follow URL), and each new commit of theirs. Start as many workers as you like, on
as many machines as you like, and stop or kill them at will: others go on with their jobs.

  tracerag worker --knowledge postgres://me@db/team
  tracerag worker --parallel 4 --refresh 1m
  tracerag worker --jobs summarise --model gpt-5.4     summaries of what is followed with --summaries
  tracerag worker --jobs embed --embed-model nomic-embed-text     vectors of what is followed with --embed
  tracerag worker --jobs try                           what tests make of changes: tracerag jobs try FILE
  tracerag worker --jobs record --keep 20              traces of the tests of what is followed with --record

Ctrl-C or SIGTERM lets it end when its jobs have ended. A second one ends it at once, and its jobs
go back into the queue. While PostgreSQL is down it waits.

It clones with the keys and the credential helper of its user what members of the project name. File URLs
are taken only below --files. Tests of a repository run in a sandbox (docs/sandbox.md), without network and
without your keys.`

// mostParallel is more than any machine has use for: each job may hold a connection and a process.
const mostParallel = 1000

func runWorker(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, workerHelp)
	var k knowledgeFlags
	k.add(f)
	kinds := f.String("jobs", "", "work on these `KINDS` of jobs, with commas between: index, summarise, record, embed, locate, try (default: index)")
	var m meteredFlags
	parallel := f.Int("parallel", 2, "work on `N` jobs at a time")
	refresh := f.Duration("refresh", 5*time.Minute, "look for new commits of followed URLs once in this `TIME`")
	files := f.String("files", "", "take file URLs below `DIR`, too: members of the project can then read the repositories there")
	listen := f.String("listen", "", "serve /healthz and /metrics (Prometheus) at `ADDR`: a port of this machine alone, or HOST:PORT")
	a.section(f, "The model, for --jobs summarise and embed")
	m.addAsked(f)
	e := embedFlags{server: &m.modelFlags}
	e.add(f, "for --jobs embed: make the vectors")
	var r recordingFlags
	a.section(f, "Tests, for --jobs record and try")
	r.add(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() > 0 {
		return a.usage(c, "unexpected argument: worker takes only flags; tracerag index --follow URL names what to index")
	}
	if *parallel < 1 || *parallel > mostParallel || *refresh < time.Second {
		return a.usage(c, fmt.Sprintf("--parallel must be 1 to %d, --refresh at least 1s", mostParallel))
	}
	w := &jobs.Worker{Parallel: *parallel, Refresh: *refresh, Mask: a.masker().Text, Locator: a.workerLocator}
	var err error
	if w.Kinds, err = jobs.ParseKinds(*kinds); err != nil {
		return a.usage(c, "--jobs: "+err.Error())
	}
	if slices.Contains(w.Kinds, jobs.Summarise) {
		if w.Summaries, err = a.workerModel(&m); err != nil {
			return a.fail(err)
		}
	}
	if slices.Contains(w.Kinds, jobs.Embed) {
		if e.model == "" {
			return a.usage(c, "--jobs embed needs a model of the endpoint for embeddings: --embed-model")
		}
		if w.Embeddings, err = a.workerEmbeddings(&e); err != nil {
			return a.fail(err)
		}
	}
	if records, tries := slices.Contains(w.Kinds, jobs.Record), slices.Contains(w.Kinds, jobs.Try); records || tries {
		if err := r.check(); err != nil {
			return a.usage(c, err.Error())
		}
		box, err := a.workerBox(ctx, &r)
		if err != nil {
			return a.fail(err)
		}
		if records {
			if w.Recordings, err = a.workerRecordings(box, &r); err != nil {
				return a.fail(err)
			}
		}
		if tries {
			w.Trials = box
		}
	}
	if *files != "" {
		if w.Files, err = filepath.Abs(a.absolute(*files)); err != nil {
			return a.fail(err)
		}
	}
	place, err := a.database(&k, "jobs")
	if err != nil {
		return a.fail(err)
	}
	w.At, w.Options = place.Database()
	w.Clones = place.Clones()
	var one sync.Mutex // says something at a time
	w.Note = func(format string, args ...any) {
		one.Lock()
		defer one.Unlock()
		a.note(format, args...)
	}
	w.Tell = func(t jobs.Task, took time.Duration, err error) {
		one.Lock()
		defer one.Unlock()
		a.tellJob(t, took, err)
	}
	memory.CollectAt(60) // as index does
	var watched net.Listener
	if *listen != "" {
		if watched, err = monitor.Listen(*listen); err != nil {
			return a.fail(err)
		}
		a.note("metrics: http://%s/metrics", watched.Addr())
	}
	draining, now, stop := draining(ctx, func() { w.Note("ends when its jobs have ended; a second signal ends it at once") })
	defer stop()
	a.note("works on jobs of %s: Ctrl-C ends it", place)
	if watched != nil {
		serving, end := context.WithCancel(ctx) // also while the worker drains
		defer end()
		go func() {
			if err := monitor.Serve(serving, watched, w.Figures); err != nil {
				w.Note("metrics ended: %v", err)
			}
		}()
	}
	if err := w.Run(draining, now); err != nil {
		return a.fail(err)
	}
	return exitOK
}

// workerModel is how a worker makes summaries.
func (a *app) workerModel(m *meteredFlags) (*jobs.Summaries, error) {
	if _, err := a.modelConfig(&m.modelFlags, m.model); err != nil {
		return nil, fmt.Errorf("summaries are made by a model: %w", err)
	}
	return &jobs.Summaries{Learn: a.masker().LearnTexts, Mask: a.masker().Clean, Model: func(keep metered.Keeper, shared throttle.Shared) (*metered.Model, error) {
		asked := *m
		asked.limits = throttle.Limits{Parallel: 2, Shared: shared}
		return a.metered(&asked, keep, a.masker().Clean, nil)
	}}, nil
}

// workerEmbeddings is how a worker makes vectors.
func (a *app) workerEmbeddings(e *embedFlags) (*jobs.Embeddings, error) {
	client, err := a.embedClient(e)
	if err != nil {
		return nil, fmt.Errorf("vectors are made by a model: %w", err)
	}
	return &jobs.Embeddings{Mask: a.masker(), Model: func(shared throttle.Shared) *metered.Embedder {
		return metered.NewEmbedder(metered.EmbedderOptions{Model: e.model, Embed: client.Embed, Count: tokens.For(e.model).Count, Limits: throttle.Limits{Shared: shared}})
	}}, nil
}

// tellJob says how a job ended.
func (a *app) tellJob(t jobs.Task, took time.Duration, err error) {
	what := fmt.Sprintf("%s %s", t.Kind, visible.Line(t.What))
	switch {
	case errors.Is(err, context.Canceled):
		a.note("%s: ended before it was done", what)
	case err != nil:
		a.complain("%s: %s", what, jobs.Text(err))
	default:
		a.note("%s: done in %s", what, phrase.Duration(took))
	}
}

// draining returns a context that ends with the first Ctrl-C, SIGTERM or SIGHUP, which it tells, and one that ends
// with the second.
func draining(ctx context.Context, tell func()) (first, second context.Context, stop func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	got := make(chan os.Signal, 2)
	signal.Notify(got, signals...)
	first, end := context.WithCancel(ctx)
	second, endNow := context.WithCancel(ctx)
	go func() {
		select {
		case <-got:
			tell()
			end()
		case <-second.Done():
		}
		select {
		case <-got:
			endNow()
		case <-second.Done():
		}
	}()
	return first, second, func() { signal.Stop(got); end(); endNow() }
}
