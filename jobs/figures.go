package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Figures are what is watched of a worker and of its project. They name no repository.
type Figures struct {
	Connected bool // the worker has a session; else nothing is known of the project
	Ended     []Ended

	Jobs    []Counted
	Workers int
	Today   []Spent // what models were asked
}

// Ended counts jobs that this worker began.
type Ended struct {
	Kind    Kind
	Result  string // "done", "failed" or "interrupted"
	Jobs    int
	Seconds float64 // that they took in all
}

// Counted counts jobs of the project.
type Counted struct {
	Kind   Kind
	State  State
	Jobs   int
	Oldest float64 // seconds since the first of them was added
}

// Figures says how this worker and its project are.
func (w *Worker) Figures(ctx context.Context) (*Figures, error) {
	f := &Figures{Ended: w.counted.list()}
	s := w.current.Load()
	if s == nil {
		return f, nil
	}
	rows, err := s.queue.pool.Query(ctx, fmt.Sprintf(`SELECT kind, state::text, metadata ? 'cancel_attempted_at', count(*), extract(epoch FROM now() - min(created_at))::float8
		FROM %s.river_job GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`, s.queue.schema))
	if err != nil {
		return f, s.Store.Explain(ctx, err)
	}
	of := map[[2]string]*Counted{}
	if _, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var kind, state string
		var cancelled bool
		var n int
		var oldest float64
		err := row.Scan(&kind, &state, &cancelled, &n, &oldest)
		if !slices.Contains(Kinds(), Kind(kind)) {
			return struct{}{}, err // that somebody else wrote
		}
		key := [2]string{kind, string(stateOf(state, cancelled))}
		c := of[key]
		if c == nil {
			c = &Counted{Kind: Kind(kind), State: State(key[1])}
			of[key] = c
		}
		c.Jobs += n
		c.Oldest = max(c.Oldest, oldest)
		return struct{}{}, err
	}); err != nil {
		return f, s.Store.Explain(ctx, err)
	}
	for _, c := range of {
		f.Jobs = append(f.Jobs, *c)
	}
	slices.SortFunc(f.Jobs, func(a, b Counted) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.State, b.State)) })
	all, err := s.queue.Workers(ctx)
	if err != nil {
		return f, err
	}
	spent, err := s.queue.Spent(ctx)
	if err != nil {
		return f, err
	}
	today := time.Now().UTC().Format(time.DateOnly)
	f.Connected, f.Workers = true, len(all)
	for _, x := range spent {
		if x.Day == today {
			f.Today = append(f.Today, x)
		}
	}
	return f, nil
}

// counted counts what a worker did.
type counted struct {
	mu sync.Mutex
	of map[[2]string]*Ended
}

func (c *counted) add(k Kind, took time.Duration, err error) {
	result := "done"
	switch {
	case errors.Is(err, context.Canceled):
		result = "interrupted"
	case err != nil:
		result = "failed"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[[2]string]*Ended{}
	}
	key := [2]string{string(k), result}
	e := c.of[key]
	if e == nil {
		e = &Ended{Kind: k, Result: result}
		c.of[key] = e
	}
	e.Jobs++
	e.Seconds += took.Seconds()
}

func (c *counted) list() []Ended {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []Ended
	for _, key := range slices.SortedFunc(maps.Keys(c.of), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		list = append(list, *c.of[key])
	}
	return list
}
