package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"tracerag/knowledge/postgres"
)

// Worker works on the jobs of a project.
type Worker struct {
	At       *postgres.Location
	Options  postgres.Options
	Kinds    []Kind
	Parallel int    // jobs at a time
	Clones   string // the directory of this machine's clones
	// Files is the directory below which file URLs are taken; "" takes none. Jobs are rows that others of the
	// project write, and who runs the worker may read more than they.
	Files string
	// Refresh is how often a followed URL is looked at.
	Refresh time.Duration
	// Summaries is how summaries are made; nil if Summarise is not among the kinds.
	Summaries *Summaries
	// Embeddings is how vectors are made; nil if Embed is not among the kinds.
	Embeddings *Embeddings
	// Recordings is how tests are recorded; nil if Record is not among the kinds.
	Recordings *Recordings
	// Trials is where changes are tried; nil if Try is not among the kinds.
	Trials *Box
	// Locator is how reports are located; nil if Locate is not among the kinds.
	Locator Locator
	// Mask hides secrets in errors, which are kept; nil hides none.
	Mask func(string) string
	// Note says what happens to the worker, not to its jobs; nil says nothing.
	Note func(format string, args ...any)

	// Tell says how a job ended, and after how long; nil says nothing.
	Tell func(t Task, took time.Duration, err error)

	current atomic.Pointer[session] // nil: none
	counted counted

	pretend func(context.Context, *session, Task) error // in place of what a job does
}

// Run works until ctx ends. It then begins no job any more and waits for those that run, until now ends: what
// runs then goes back into the queue. While PostgreSQL can't be reached it waits.
func (w *Worker) Run(ctx, now context.Context) error {
	if w.Note == nil {
		w.Note = func(string, ...any) {}
	}
	if w.Mask == nil {
		w.Mask = func(s string) string { return s }
	}
	down := false
	for wait := 500 * time.Millisecond; ctx.Err() == nil; {
		s, err := w.join(ctx)
		if err == nil {
			if down {
				w.Note("PostgreSQL is back")
			}
			down, wait = false, 500*time.Millisecond
			w.current.Store(s)
			err = s.work(ctx, now)
			w.current.Store(nil)
		}
		if err == nil || ctx.Err() != nil {
			return nil
		}
		_, lost := errors.AsType[*postgres.LostError](err)
		if !lost && !postgres.IsUnreachable(err) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		if lost {
			w.Note("%s", err)
		} else if !down {
			w.Note("%s\nwaiting for it", w.Mask(err.Error()))
			down = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			wait = min(2*wait, 2*time.Second)
		}
	}
	return nil
}

// session is a worker in a session.
type session struct {
	*Worker
	*postgres.Session
	queue *Queue
	river *river.Client[pgx.Tx]

	refreshing chan struct{} // has one while followed URLs are looked after

	mu      sync.Mutex
	running map[int64]time.Time // jobs that were begun; of those that have ended, when
}

func (w *Worker) join(ctx context.Context) (*session, error) {
	var kinds []string
	for _, k := range w.Kinds {
		kinds = append(kinds, string(k))
	}
	joined, err := postgres.Join(ctx, w.At, w.Options, kinds, w.Parallel)
	if err != nil {
		return nil, err
	}
	s := &session{Worker: w, Session: joined, running: map[int64]time.Time{}, refreshing: make(chan struct{}, 1)}
	if s.queue, err = Open(joined.Store); err == nil {
		s.river, err = s.newClient()
	}
	if err != nil {
		_ = joined.Leave(context.WithoutCancel(ctx), s.release)
		return nil, err
	}
	return s, nil
}

// never is the pause of what river would do and must not: rescue jobs by their age, since a session knows exactly which
// worker is dead; and remake indexes, since the role may not own them.
const never = 20 * 365 * 24 * time.Hour

// longest is how long a job may take.
const longest = 4 * time.Hour

func (s *session) newClient() (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	for _, k := range s.Kinds {
		switch k {
		case Index:
			river.AddWorker(workers, &work[indexArgs]{s: s, do: s.index, task: func(a indexArgs) Task { return a.Task }})
		case Summarise:
			river.AddWorker(workers, &work[summariseArgs]{s: s, do: s.summarise, task: func(a summariseArgs) Task { return a.Task }, unbounded: true})
		case Record:
			river.AddWorker(workers, &work[recordArgs]{s: s, do: s.record, task: func(a recordArgs) Task { return a.Task }})
		case Embed:
			river.AddWorker(workers, &work[embedArgs]{s: s, do: s.embed, task: func(a embedArgs) Task { return a.Task }, unbounded: true})
		case Locate:
			river.AddWorker(workers, &work[locateArgs]{s: s, do: s.locate, task: func(a locateArgs) Task { return a.Task }})
		case Try:
			river.AddWorker(workers, &work[tryArgs]{s: s, do: s.try, task: func(a tryArgs) Task { return a.Task }})
		}
	}
	const week = 7 * 24 * time.Hour
	return river.NewClient(riverpgxv5.New(s.queue.pool), &river.Config{
		ID: strconv.Itoa(int(s.ID)), Schema: s.queue.schema, Logger: slog.New(slog.DiscardHandler),
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: s.Parallel}}, Workers: workers, FetchOnlyKnownKinds: true,
		JobTimeout: longest, RescueStuckJobsAfter: never, RetryPolicy: policy{}, ReindexerIndexNames: []string{},
		CompletedJobRetentionPeriod: week, CancelledJobRetentionPeriod: 4 * week, DiscardedJobRetentionPeriod: 4 * week,
		// Notifications reach all of a database: another project's role could send one that cancels a job.
		PollOnly: true, FetchPollInterval: 500 * time.Millisecond,
	})
}

// policy says when a job is tried again.
type policy struct{}

// NextRetry is of [river.ClientRetryPolicy].
func (policy) NextRetry(job *rivertype.JobRow) time.Time {
	return time.Now().Add(pause(job.Attempt))
}

// work works until the session is over, or ctx ends and the jobs with it.
func (s *session) work(ctx, now context.Context) error {
	// A job does not end with ctx, and ends with the session.
	jobs, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	if err := s.river.Start(jobs); err != nil {
		_ = s.Leave(jobs, s.release)
		return s.Store.Explain(ctx, err)
	}
	lost := s.keep(ctx, now)
	// River would try to say for seconds what became of its jobs. Who has them next knows it when the session is over.
	patience := 5 * time.Second
	if lost != nil {
		patience = time.Second
	}
	quick, cancel := context.WithTimeout(jobs, patience)
	defer cancel()
	_ = s.river.StopAndCancel(quick)
	left := s.Leave(jobs, s.release)
	if lost != nil {
		return lost
	}
	if now.Err() != nil {
		return nil
	}
	return left
}

// keep beats until the session is lost, or all that ran has ended after ctx did, or now ends.
func (s *session) keep(ctx, now context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	drained, ending := make(chan struct{}), ctx.Done()
	refresh, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		s.refreshing <- struct{}{} // it has ended
	}()
	for n := 0; ; n++ {
		alive := context.WithoutCancel(ctx)
		err := s.Beat(alive)
		if err == nil {
			err = s.Rescue(alive, s.release)
		}
		if err == nil && n%10 == 9 {
			err = s.reclaim(alive)
		}
		if err != nil {
			return err
		}
		s.refreshSome(refresh)
		select {
		case <-tick.C:
		case <-ending:
			ending = nil
			go func() {
				if s.river.Stop(now) == nil {
					close(drained)
				}
			}()
		case <-drained:
			return nil
		case <-now.Done():
			return nil
		}
	}
}

// release makes the running jobs of a worker that is gone available, and what else it had. One that kills its workers is set aside as one
// that fails.
func (s *session) release(ctx context.Context, tx pgx.Tx, worker int32) error {
	const query = `UPDATE %[1]s.river_job SET
			state = CASE WHEN metadata ? 'cancel_attempted_at' THEN 'cancelled' WHEN attempt >= max_attempts THEN 'discarded' ELSE 'available' END::%[1]s.river_job_state,
			finalized_at = CASE WHEN metadata ? 'cancel_attempted_at' OR attempt >= max_attempts THEN now() END,
			scheduled_at = now(),
			errors = array_append(errors, jsonb_build_object('at', now(), 'attempt', attempt, 'error', 'its worker was killed, or lost PostgreSQL', 'trace', ''))
		WHERE state = 'running' AND attempted_by[array_upper(attempted_by, 1)] = $1`
	if _, err := tx.Exec(ctx, fmt.Sprintf(query, s.queue.schema), strconv.Itoa(int(worker))); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "UPDATE followed SET checked = NULL, looking = NULL WHERE looking = $1", worker); err != nil {
		return err
	}
	return releaseModels(ctx, tx, worker)
}

// reclaim gives jobs back that this worker has by the rows, and not in fact: a connection that broke between lost
// the answer. River's own attempts to say that a job has ended take less than a minute.
func (s *session) reclaim(ctx context.Context) error {
	const query = `UPDATE %s.river_job SET state = 'available', scheduled_at = now()
		WHERE state = 'running' AND attempted_by[array_upper(attempted_by, 1)] = $1 AND attempted_at < now() - interval '2 minutes' AND NOT id = ANY($2)`
	s.mu.Lock()
	mine := []int64{}
	for id, ended := range s.running {
		if !ended.IsZero() && time.Since(ended) > 2*time.Minute {
			delete(s.running, id)
			continue
		}
		mine = append(mine, id)
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	_, err := s.queue.pool.Exec(ctx, fmt.Sprintf(query, s.queue.schema), strconv.Itoa(int(s.ID)), mine)
	return s.Store.Explain(context.WithoutCancel(ctx), err)
}

// work is one kind of jobs for river.
type work[T river.JobArgs] struct {
	river.WorkerDefaults[T]
	s    *session
	do   func(context.Context, Task) error
	task func(T) Task
	// unbounded says that it takes what a model's rate allows.
	unbounded bool
}

// Timeout is of [river.Worker].
func (w *work[T]) Timeout(*river.Job[T]) time.Duration {
	if w.unbounded {
		return -1
	}
	return longest
}

// Work is of [river.Worker].
func (w *work[T]) Work(ctx context.Context, job *river.Job[T]) (err error) {
	s := w.s
	s.mu.Lock()
	s.running[job.ID] = time.Time{}
	s.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = &keptError{s.Mask(fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))}
		}
		s.mu.Lock()
		s.running[job.ID] = time.Now()
		s.mu.Unlock()
	}()
	began, t := time.Now(), w.task(job.Args)
	t.Kind = Kind(job.Kind)
	if s.pretend != nil {
		err = s.pretend(ctx, s, t)
	} else {
		err = w.do(ctx, t)
	}
	err = s.verdict(ctx, job.ID, err)
	if _, snoozed := errors.AsType[*rivertype.JobSnoozeError](err); !snoozed {
		s.counted.add(t.Kind, time.Since(began), err)
		if s.Tell != nil {
			s.Tell(t, time.Since(began), err)
		}
	}
	return err
}

// FinalError marks an error of a job that it would have each time.
type FinalError struct{ Err error }

func (e *FinalError) Error() string { return e.Err.Error() }

func (e *FinalError) Unwrap() error { return e.Err }

// laterError says that a job can't be done now, and when to look again. That is no failure.
type laterError struct {
	after time.Duration
	why   string // for those who see it wait; "": it is not for long
}

func (e *laterError) Error() string { return "later" }

// keptError is an error as it is kept: without secrets.
type keptError struct{ text string }

func (e *keptError) Error() string { return e.text }

// Text is an error of [Worker.Tell] as a person reads it.
func Text(err error) string {
	return strings.TrimPrefix(err.Error(), finalMark)
}

// finalMark is how river begins the text of an error after which nothing is tried again.
const finalMark = "JobCancelError: "

// verdict is what river is to make of a job's end.
func (s *session) verdict(ctx context.Context, id int64, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err() // cancelled, or back into the queue: river knows
	}
	if later, ok := errors.AsType[*laterError](err); ok {
		if later.why != "" {
			// Without it the job is put off nevertheless.
			_, _ = s.queue.pool.Exec(ctx, fmt.Sprintf("UPDATE %s.river_job SET metadata = metadata || jsonb_build_object('why', $2::text) WHERE id = $1", s.queue.schema), id, s.Mask(later.why))
		}
		return river.JobSnooze(later.after)
	}
	if _, lost := errors.AsType[*postgres.LostError](err); lost || postgres.IsUnreachable(err) {
		return river.JobSnooze(0) // not the job's fault: if PostgreSQL is back already
	}
	text := err.Error()
	if ctx.Err() != nil {
		text = fmt.Sprintf("it took longer than %v: %s", longest, text)
	}
	kept := &keptError{s.Mask(text)}
	if _, ok := errors.AsType[*FinalError](err); ok {
		return river.JobCancel(kept)
	}
	return kept
}
