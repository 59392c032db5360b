package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"tracerag/knowledge/postgres"
)

// Queue has the jobs of a project.
type Queue struct {
	store   *postgres.Store
	pool    *pgxpool.Pool
	schema  string
	project int32
	client  *river.Client[pgx.Tx]
}

// Open returns the queue of a store's project.
func Open(s *postgres.Store) (*Queue, error) {
	q := &Queue{store: s}
	q.pool, q.schema, q.project = s.Queue()
	var err error
	q.client, err = river.NewClient(riverpgxv5.New(q.pool), &river.Config{Schema: q.schema, Logger: slog.New(slog.DiscardHandler)})
	return q, err
}

// State is where a job is.
type State string

// The states of a job.
const (
	Running   State = "running"
	Waiting   State = "waiting"
	Retrying  State = "retrying" // it failed, and is tried again
	Failed    State = "failed"   // it is set aside
	Cancelled State = "cancelled"
	Done      State = "done"
)

// Job is a job as it is now.
type Job struct {
	ID       int64      `json:"id"`
	Kind     Kind       `json:"kind"`
	What     string     `json:"what"`
	Version  string     `json:"version"`
	State    State      `json:"state"`
	Priority Priority   `json:"priority"`
	Try      int        `json:"try"` // how often it was begun
	Created  time.Time  `json:"created"`
	Next     *time.Time `json:"next,omitempty"`  // when it is tried again
	Began    *time.Time `json:"began,omitempty"` // its last try
	Ended    *time.Time `json:"ended,omitempty"`
	Worker   string     `json:"worker,omitempty"` // HOST:PROCESS that works on it
	Error    string     `json:"error,omitempty"`  // of its last try, or why it is put off
}

// Add adds a job, unless an equal one waits or runs: that one then has the higher of the priorities. It
// reports whether the job is new.
func (q *Queue) Add(ctx context.Context, t Task, p Priority) (id int64, added bool, err error) {
	err = q.store.Transaction(ctx, func(tx pgx.Tx) error {
		id, added, err = q.add(ctx, tx, t, p)
		return err
	})
	return id, added, err
}

func (q *Queue) add(ctx context.Context, tx pgx.Tx, t Task, p Priority) (id int64, added bool, err error) {
	args, err := t.args()
	if err != nil {
		return 0, false, err
	}
	// What is done may have to be done again: a branch goes back to a commit that it had.
	open := []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled}
	r, err := q.client.InsertTx(ctx, tx, args, &river.InsertOpts{Priority: int(p), MaxAttempts: tries, UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: open}})
	if err != nil {
		return 0, false, err
	}
	if r.UniqueSkippedAsDuplicate {
		_, err = tx.Exec(ctx, fmt.Sprintf("UPDATE %s.river_job SET priority = least(priority, $2) WHERE id = $1", q.schema), r.Job.ID, int16(p))
	}
	return r.Job.ID, !r.UniqueSkippedAsDuplicate, err
}

// args are a task as river has it.
func (t Task) args() (river.JobArgs, error) {
	switch t.Kind {
	case Index:
		return indexArgs{t}, nil
	case Summarise:
		return summariseArgs{t}, nil
	case Record:
		return recordArgs{t}, nil
	case Embed:
		return embedArgs{t}, nil
	case Locate:
		return locateArgs{t}, nil
	case Try:
		return tryArgs{t}, nil
	}
	return nil, fmt.Errorf("%q is no kind of job", t.Kind)
}

// Jobs lists those that run, wait or have failed, and all, the others too, since a time: in this order, the
// next first.
func (q *Queue) Jobs(ctx context.Context, since time.Time) ([]Job, error) {
	const query = `SELECT j.id, j.kind, j.args, j.state::text, j.metadata ? 'cancel_attempted_at', j.priority, j.attempt, j.created_at, j.scheduled_at, j.attempted_at, j.finalized_at,
			coalesce(CASE WHEN j.state = 'scheduled' THEN j.metadata->>'why' END, j.errors[array_upper(j.errors, 1)]->>'error', ''), coalesce(w.host || ':' || w.process, '')
		FROM %s.river_job j LEFT JOIN worker w ON w.id::text = j.attempted_by[array_upper(j.attempted_by, 1)]
		WHERE j.finalized_at IS NULL OR j.state = 'discarded' OR j.state = 'cancelled' AND NOT j.metadata ? 'cancel_attempted_at' OR j.finalized_at >= $1
		ORDER BY j.finalized_at IS NOT NULL, j.state <> 'running', j.state NOT IN ('available', 'pending'), j.finalized_at DESC, j.priority, j.scheduled_at, j.id`
	rows, err := q.pool.Query(ctx, fmt.Sprintf(query, q.schema), since)
	if err != nil {
		return nil, q.store.Explain(ctx, err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Job, error) {
		var j Job
		var args []byte
		var state string
		var cancelled bool
		var next time.Time
		err := row.Scan(&j.ID, &j.Kind, &args, &state, &cancelled, &j.Priority, &j.Try, &j.Created, &next, &j.Began, &j.Ended, &j.Error, &j.Worker)
		if err != nil {
			return j, err
		}
		var t Task
		_ = json.Unmarshal(args, &t) // of a job that somebody else wrote nothing is known
		j.What, j.Version, j.State = t.What, t.Version, stateOf(state, cancelled)
		j.Error = strings.TrimPrefix(j.Error, finalMark)
		if j.State == Retrying {
			j.Next = &next
		}
		if j.State != Running {
			j.Worker = ""
		}
		return j, nil
	})
	return list, q.store.Explain(ctx, err)
}

func stateOf(river string, cancelled bool) State {
	switch rivertype.JobState(river) {
	case rivertype.JobStateRunning:
		return Running
	case rivertype.JobStateRetryable, rivertype.JobStateScheduled:
		return Retrying
	case rivertype.JobStateDiscarded:
		return Failed
	case rivertype.JobStateCancelled:
		if cancelled {
			return Cancelled
		}
		return Failed // it would fail each time
	case rivertype.JobStateCompleted:
		return Done
	}
	return Waiting
}

// NoJobError says that a project has no job of a number.
type NoJobError struct{ ID int64 }

func (e *NoJobError) Error() string {
	return fmt.Sprintf("no job %d: it was done long ago, or is another project's", e.ID)
}

// Cancel cancels a job, and returns the state that the job had. A running job ends within seconds.
func (q *Queue) Cancel(ctx context.Context, id int64) (State, error) {
	before, err := q.state(ctx, id)
	if err == nil {
		_, err = q.client.JobCancel(ctx, id)
	}
	return before, q.explain(ctx, id, err)
}

// Retry has a job done again that failed, was cancelled or is done; or now, if it waits.
func (q *Queue) Retry(ctx context.Context, id int64) (State, error) {
	before, err := q.state(ctx, id)
	if err == nil && before != Running {
		_, err = q.client.JobRetry(ctx, id)
	}
	return before, q.explain(ctx, id, err)
}

func (q *Queue) state(ctx context.Context, id int64) (State, error) {
	row, err := q.client.JobGet(ctx, id)
	if err != nil {
		return "", err
	}
	var m map[string]any
	_ = json.Unmarshal(row.Metadata, &m)
	return stateOf(string(row.State), m["cancel_attempted_at"] != nil), nil
}

func (q *Queue) explain(ctx context.Context, id int64, err error) error {
	if errors.Is(err, rivertype.ErrNotFound) {
		return &NoJobError{id}
	}
	return q.store.Explain(ctx, err)
}
