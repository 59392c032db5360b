package jobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Report is what a project's workers do, and what there is to do.
type Report struct {
	Jobs     []Job      `json:"jobs"`
	Followed []Followed `json:"followed"`
	Workers  []Process  `json:"workers"`
	Limits   []Limit    `json:"limits"`
	Spent    []Spent    `json:"spent"`
	Recorded []Recorded `json:"recorded"` // the newest of each followed URL
}

// Report says what there is to do; since says from when on that counts which was done. See [Queue.Jobs].
func (q *Queue) Report(ctx context.Context, since time.Time) (*Report, error) {
	r := &Report{}
	var err error
	if r.Jobs, err = q.Jobs(ctx, since); err != nil {
		return nil, err
	}
	if r.Followed, err = q.Followed(ctx); err != nil {
		return nil, err
	}
	if r.Workers, err = q.Workers(ctx); err != nil {
		return nil, err
	}
	if r.Limits, err = q.Limits(ctx); err != nil {
		return nil, err
	}
	if r.Spent, err = q.Spent(ctx); err != nil {
		return nil, err
	}
	r.Recorded, err = q.Recorded(ctx)
	return r, err
}

// Process is a worker as its row says.
type Process struct {
	Host     string    `json:"host"`
	Process  int       `json:"process"`
	Kinds    string    `json:"jobs"` // with commas
	Parallel int       `json:"parallel"`
	Started  time.Time `json:"started"`
}

// Workers lists the workers that are there, the oldest first. One that was killed is among them until another one
// takes its jobs.
func (q *Queue) Workers(ctx context.Context) ([]Process, error) {
	rows, err := q.pool.Query(ctx, "SELECT host, process, kinds, parallel, started FROM worker ORDER BY id")
	if err != nil {
		return nil, q.store.Explain(ctx, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Process])
	return list, q.store.Explain(ctx, err)
}
