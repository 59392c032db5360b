package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tracerag/llm/throttle"
)

// Limit is how often, and for how much a day (of UTC), all workers together ask a model. 0 is any.
type Limit struct {
	Model     string  `json:"model"`
	PerMinute float64 `json:"per_minute"`
	Cost      float64 `json:"cost_a_day_usd"`
	Tokens    int64   `json:"tokens_a_day"`
}

// SetLimit sets the limits of a model. They hold for the next question of every worker. What was put off because of a ceiling, or failed without
// one, is done next: which model's it was only the worker knows.
func (q *Queue) SetLimit(ctx context.Context, l Limit) error {
	return q.store.Transaction(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO model (project, model, per_minute, cost_a_day, tokens_a_day) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (project, model) DO UPDATE SET per_minute = excluded.per_minute, cost_a_day = excluded.cost_a_day, tokens_a_day = excluded.tokens_a_day, next = '-infinity'`,
			q.project, l.Model, l.PerMinute, l.Cost, l.Tokens)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, fmt.Sprintf(`UPDATE %s.river_job SET scheduled_at = now() WHERE kind = ANY($1) AND scheduled_at > now()
			AND (state = 'scheduled' OR state = 'retryable' AND errors[array_upper(errors, 1)]->>'error' = $2)`, q.schema),
			[]string{string(Summarise), string(Embed)}, (&NoCeilingError{l.Model}).Error())
		return err
	})
}

// Limits lists the limits by model.
func (q *Queue) Limits(ctx context.Context) ([]Limit, error) {
	rows, err := q.pool.Query(ctx, "SELECT model, per_minute, cost_a_day, tokens_a_day FROM model ORDER BY model")
	if err != nil {
		return nil, q.store.Explain(ctx, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Limit])
	return list, q.store.Explain(ctx, err)
}

// Spent is what a model was asked on a day.
type Spent struct {
	Day       string  `json:"day"` // of UTC
	Model     string  `json:"model"`
	Questions int64   `json:"questions"`
	Tokens    int64   `json:"tokens"`
	Cost      float64 `json:"cost_usd"` // 0 where no price is known
}

// Spent lists what was asked in the last 30 days, the newest first.
func (q *Queue) Spent(ctx context.Context) ([]Spent, error) {
	rows, err := q.pool.Query(ctx, "SELECT day::text, model, questions, tokens, cost FROM spent WHERE day > (now() AT TIME ZONE 'UTC')::date - 30 ORDER BY day DESC, model")
	if err != nil {
		return nil, q.store.Explain(ctx, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Spent])
	return list, q.store.Explain(ctx, err)
}

// pace holds a worker's questions to the limits. Each question is a row while it is under way, with the most that it
// can take: that of a worker that was killed counts as taken.
type pace struct{ s *session }

// slack is what a question may be late after it was let through, in a minute. A server that counts a minute from any
// moment on counts no more questions than it allows.
const slack = time.Second

// Begin is of [throttle.Shared].
func (p pace) Begin(ctx context.Context, j throttle.Job) (end func(cost float64, tokens int), err error) {
	for {
		var id int64
		var wait time.Duration
		if err := p.s.Store.Transaction(ctx, func(tx pgx.Tx) error {
			id, wait, err = p.begin(ctx, tx, j)
			return err
		}); err != nil {
			return nil, err
		}
		if id != 0 {
			return func(cost float64, tokens int) { p.end(context.WithoutCancel(ctx), id, j.Model, cost, tokens) }, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// begin lets a question through, or says when to look again. Who does has the model's row until then.
func (p pace) begin(ctx context.Context, tx pgx.Tx, j throttle.Job) (id int64, wait time.Duration, err error) {
	if _, err := tx.Exec(ctx, "INSERT INTO model (project, model) VALUES ($1, $2) ON CONFLICT DO NOTHING", p.s.queue.project, j.Model); err != nil {
		return 0, 0, err
	}
	var l Limit
	if err := tx.QueryRow(ctx, "SELECT per_minute, cost_a_day, tokens_a_day FROM model WHERE model = $1 FOR UPDATE", j.Model).Scan(&l.PerMinute, &l.Cost, &l.Tokens); err != nil {
		return 0, 0, err
	}
	var spent, held Spent
	if err := tx.QueryRow(ctx, `SELECT coalesce(sum(cost), 0), coalesce(sum(tokens), 0)::bigint FROM spent WHERE model = $1 AND day = (clock_timestamp() AT TIME ZONE 'UTC')::date`, j.Model).Scan(&spent.Cost, &spent.Tokens); err != nil {
		return 0, 0, err
	}
	if err := tx.QueryRow(ctx, "SELECT coalesce(sum(cost), 0), coalesce(sum(tokens), 0)::bigint FROM asking WHERE model = $1", j.Model).Scan(&held.Cost, &held.Tokens); err != nil {
		return 0, 0, err
	}
	over := func(cost float64, tokens int64) bool {
		return l.Cost > 0 && cost+j.Most > l.Cost || l.Tokens > 0 && tokens+int64(j.MostTokens) > l.Tokens
	}
	if over(spent.Cost, spent.Tokens) {
		return 0, 0, fmt.Errorf("%w: of today's $%.4f and %d tokens $%.4f and %d are spent", throttle.ErrCeiling, l.Cost, l.Tokens, spent.Cost, spent.Tokens)
	}
	if over(spent.Cost+held.Cost, spent.Tokens+held.Tokens) {
		return 0, 200 * time.Millisecond, nil // what is under way may take less
	}
	var left float64
	if err := tx.QueryRow(ctx, "SELECT CASE WHEN next > clock_timestamp() THEN extract(epoch FROM next - clock_timestamp())::float8 ELSE 0 END FROM model WHERE model = $1", j.Model).Scan(&left); err != nil {
		return 0, 0, err
	}
	if left > 0 && l.PerMinute > 0 {
		return 0, time.Duration(left*float64(time.Second)) + time.Millisecond, nil
	}
	if l.PerMinute > 0 {
		if _, err := tx.Exec(ctx, "UPDATE model SET next = clock_timestamp() + $2::interval WHERE model = $1", j.Model, time.Duration(float64(time.Minute+slack)/l.PerMinute)); err != nil {
			return 0, 0, err
		}
	}
	err = tx.QueryRow(ctx, "INSERT INTO asking (project, model, worker, cost, tokens) VALUES ($1, $2, $3, $4, $5) RETURNING id", p.s.queue.project, j.Model, p.s.ID, j.Most, j.MostTokens).Scan(&id)
	return id, 0, err
}

// end counts what a question took; 0 tokens: it was not asked. If that fails the row stays, and counts with the most
// until the session is over, and then as taken.
func (p pace) end(ctx context.Context, id int64, model string, cost float64, tokens int) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_ = p.s.Store.Transaction(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "DELETE FROM asking WHERE id = $1", id); err != nil || tokens == 0 {
			return err
		}
		_, err := tx.Exec(ctx, fmt.Sprintf(addSpent, "SELECT $1::int, $2, (now() AT TIME ZONE 'UTC')::date, 1, $3::bigint, $4::float8"), p.s.queue.project, model, tokens, cost)
		return err
	})
}

// addSpent adds to what was spent.
const addSpent = `INSERT INTO spent AS s (project, model, day, questions, tokens, cost) %s
	ON CONFLICT (project, model, day) DO UPDATE SET questions = s.questions + excluded.questions, tokens = s.tokens + excluded.tokens, cost = s.cost + excluded.cost`

// releaseModels counts the questions of a worker that is gone, and frees what it summarised.
func releaseModels(ctx context.Context, tx pgx.Tx, worker int32) error {
	if _, err := tx.Exec(ctx, fmt.Sprintf("WITH gone AS (DELETE FROM asking WHERE worker = $1 RETURNING *) "+addSpent,
		"SELECT project, model, (now() AT TIME ZONE 'UTC')::date, count(*), sum(tokens), sum(cost) FROM gone GROUP BY project, model"), worker); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "DELETE FROM claim WHERE worker = $1", worker)
	return err
}

// untilTomorrow is how long it takes until the next day of UTC, and a little.
func untilTomorrow(now time.Time) time.Duration {
	now = now.UTC()
	return time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 1, 0, time.UTC).Sub(now)
}
