package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tracerag/knowledge"
	"tracerag/locate"
)

// Locator says which functions a question is about, as JSON without secrets.
type Locator func(ctx context.Context, s knowledge.Store, q locate.Question) (json.RawMessage, error)

// Asking is a report whose places are to be found.
type Asking struct {
	ID     string `json:"id"` // what who asks calls it
	Report string `json:"report"`
	In     string `json:"in,omitempty"` // see [locate.Question]
}

// key names what is asked.
func (a *Asking) key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", a.ID, a.Report, a.In))
	return hex.EncodeToString(sum[:])
}

// Answered is a report, and its answer if there is one.
type Answered struct {
	Asking
	Asked  time.Time       `json:"asked"`
	Made   *time.Time      `json:"made,omitempty"` // when the answer was made
	Answer json.RawMessage `json:"answer,omitempty"`
	// Problem says why there will be none, of those that have none.
	Problem string `json:"problem,omitempty"`
}

// kept is how long answers are kept.
const kept = 28 * 24 * time.Hour

// Locate has workers find the places of reports, all or none. What was asked before is asked again: the code may have changed. Until then
// the old answer stays. It returns how many jobs are new.
func (q *Queue) Locate(ctx context.Context, list []Asking, p Priority) (added int, err error) {
	return q.ask(ctx, "report", len(list), p, func(tx pgx.Tx, i int) (Task, error) {
		a := Asking{postgresText(list[i].ID), postgresText(list[i].Report), postgresText(list[i].In)}
		_, err := tx.Exec(ctx, "INSERT INTO report (project, key, id, text, within) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (project, key) DO UPDATE SET asked = now()", q.project, a.key(), a.ID, a.Report, a.In)
		return Task{Locate, a.ID, a.key()}, err
	})
}

// ask adds jobs whose questions are rows of a table, each with its answer later: all n or none. insert makes the row of one, and says what
// its job is. Rows that were asked long ago are removed.
func (q *Queue) ask(ctx context.Context, table string, n int, p Priority, insert func(tx pgx.Tx, i int) (Task, error)) (added int, err error) {
	err = q.store.Transaction(ctx, func(tx pgx.Tx) error {
		added = 0
		if _, err := tx.Exec(ctx, "DELETE FROM "+table+" WHERE asked < now() - $1::interval", kept); err != nil {
			return err
		}
		for i := range n {
			t, err := insert(tx, i)
			if err != nil {
				return err
			}
			_, isNew, err := q.add(ctx, tx, t, p)
			if err != nil {
				return err
			}
			if isNew {
				added++
			}
		}
		return nil
	})
	return added, err
}

// Answers lists the reports of some IDs, or all, in the order in which they were asked.
func (q *Queue) Answers(ctx context.Context, ids []string) ([]Answered, error) {
	rows, err := q.pool.Query(ctx, q.withProblems(Locate)+`SELECT r.id, r.text, r.within, r.asked, r.made, r.answer, CASE WHEN r.made IS NULL THEN coalesce(p.text, '') ELSE '' END
		FROM report r LEFT JOIN problem p ON p.key = r.key WHERE cardinality($1::text[]) = 0 OR r.id = ANY($1) ORDER BY r.asked, r.id, r.key`, append([]string{}, ids...))
	if err != nil {
		return nil, q.store.Explain(ctx, err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a Answered, err error) {
		var answer *string
		err = row.Scan(&a.ID, &a.Report, &a.In, &a.Asked, &a.Made, &answer, &a.Problem)
		a.Problem = strings.TrimPrefix(a.Problem, finalMark)
		if answer != nil && json.Valid([]byte(*answer)) { // a row may be somebody else's
			a.Answer = json.RawMessage(*answer)
		}
		return a, err
	})
	return list, q.store.Explain(ctx, err)
}

// withProblems begins a query with why jobs of a kind have failed for good, by the key of what was asked: the last job of each.
func (q *Queue) withProblems(k Kind) string {
	return fmt.Sprintf(`WITH problem AS (SELECT DISTINCT ON (key) key, CASE
			WHEN state = 'cancelled' AND metadata ? 'cancel_attempted_at' THEN 'it was cancelled'
			WHEN state IN ('cancelled', 'discarded') THEN errors[array_upper(errors, 1)]->>'error' END AS text
		FROM (SELECT args->>'version' AS key, * FROM %s.river_job WHERE kind = '%s') j ORDER BY key, id DESC)
	`, q.schema, k)
}

// locate finds the places of a report, by what is known now.
func (s *session) locate(ctx context.Context, t Task) error {
	var q locate.Question
	err := s.queue.pool.QueryRow(ctx, "SELECT text, within FROM report WHERE key = $1", t.Version).Scan(&q.Text, &q.In)
	if errors.Is(err, pgx.ErrNoRows) {
		return &FinalError{errors.New("the report was removed meanwhile")}
	}
	if err != nil {
		return s.Store.Explain(ctx, err)
	}
	answer, err := s.Locator(ctx, s.Store, q)
	if _, wrong := errors.AsType[*locate.NoFilesError](err); wrong {
		return &FinalError{err}
	}
	if err != nil {
		return err
	}
	return s.Store.Transaction(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE report SET answer = $2, made = clock_timestamp() WHERE key = $1", t.Version, postgresText(string(answer)))
		return err
	})
}
