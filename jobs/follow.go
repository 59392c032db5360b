package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tracerag/knowledge/index"
)

// Followed is a git URL that workers look after: each new commit of it is indexed.
type Followed struct {
	URL       string     `json:"url"`              // with a branch or tag after "#"
	Commit    string     `json:"commit,omitempty"` // the newest that was seen
	Summaries bool       `json:"summaries"`
	Record    bool       `json:"record"`  // its tests are recorded
	Vectors   bool       `json:"vectors"` // those of its functions are made
	Checked   *time.Time `json:"checked,omitempty"`
	Problem   string     `json:"problem,omitempty"` // of the last look
}

// Wanted is what is to be done for a followed URL beside indexing it.
type Wanted struct{ Summaries, Record, Vectors bool }

// Follow has workers look after a URL. It reports whether that is new. What was wanted before still is. The URL has no
// secret: see [Check].
func (q *Queue) Follow(ctx context.Context, url string, w Wanted) (added bool, err error) {
	if err := Check(url); err != nil {
		return false, err
	}
	err = q.store.Transaction(ctx, func(tx pgx.Tx) error {
		// One that is followed already is looked at again, at once.
		return tx.QueryRow(ctx, `INSERT INTO followed (project, url, summaries, record, vectors) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (project, url) DO UPDATE SET checked = NULL,
			summaries = excluded.summaries OR followed.summaries, record = excluded.record OR followed.record, vectors = excluded.vectors OR followed.vectors,
			revision = CASE WHEN excluded.summaries > followed.summaries OR excluded.record > followed.record OR excluded.vectors > followed.vectors THEN '' ELSE followed.revision END RETURNING xmax = 0`,
			q.project, index.Shown(url), w.Summaries, w.Record, w.Vectors).Scan(&added)
	})
	return added, err
}

// Unfollow has workers leave a URL alone: its open jobs are cancelled. What is known of it stays. It reports
// whether they looked after it.
func (q *Queue) Unfollow(ctx context.Context, url string) (was bool, err error) {
	err = q.store.Transaction(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "DELETE FROM followed WHERE url = $1", index.Shown(url))
		if err != nil {
			return err
		}
		was = tag.RowsAffected() > 0
		rows, err := tx.Query(ctx, fmt.Sprintf("SELECT id FROM %s.river_job WHERE args->>'what' = $1 AND finalized_at IS NULL ORDER BY id", q.schema), index.Shown(url))
		if err != nil {
			return err
		}
		open, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		for _, id := range open {
			if err == nil {
				_, err = q.client.JobCancelTx(ctx, tx, id)
			}
		}
		return err
	})
	return was, err
}

// Followed lists the followed URLs by name.
func (q *Queue) Followed(ctx context.Context) ([]Followed, error) {
	rows, err := q.pool.Query(ctx, "SELECT url, revision, summaries, record, vectors, checked, problem FROM followed ORDER BY url")
	if err != nil {
		return nil, q.store.Explain(ctx, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Followed])
	return list, q.store.Explain(ctx, err)
}

// superseded reports whether a job is of an older commit of a followed URL than the newest, which has a job of its
// own. A job that failed and is tried again late would else bring an old commit back.
func (q *Queue) superseded(ctx context.Context, t Task) (bool, error) {
	var newest string
	err := q.pool.QueryRow(ctx, "SELECT revision FROM followed WHERE url = $1", t.What).Scan(&newest)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil && newest != "" && newest != t.Version, q.store.Explain(ctx, err)
}

// addWanted adds the jobs for what else is wanted of a URL that was indexed.
func (q *Queue) addWanted(ctx context.Context, t Task) error {
	return q.store.Transaction(ctx, func(tx pgx.Tx) error {
		var w Wanted
		err := tx.QueryRow(ctx, "SELECT summaries, record, vectors FROM followed WHERE url = $1", t.What).Scan(&w.Summaries, &w.Record, &w.Vectors)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err == nil && w.Summaries {
			_, _, err = q.add(ctx, tx, Task{Summarise, t.What, t.Version}, Derived)
		}
		if err == nil && w.Record {
			_, _, err = q.add(ctx, tx, Task{Record, t.What, t.Version}, Derived)
		}
		if err == nil && w.Vectors {
			_, _, err = q.add(ctx, tx, Task{Embed, t.What, t.Version}, Derived)
		}
		return err
	})
}

// refreshSome looks at the followed URLs that are due, beside the jobs, until ctx ends.
func (s *session) refreshSome(ctx context.Context) {
	if !slices.Contains(s.Kinds, Index) {
		return
	}
	select {
	case s.refreshing <- struct{}{}:
	default:
		return // it goes on
	}
	go func() {
		defer func() { <-s.refreshing }()
		for ctx.Err() == nil {
			// An error of PostgreSQL ends the session, or is over in a second.
			if due, err := s.refreshOne(ctx); !due || err != nil {
				return
			}
		}
	}()
}

// looks is how long a server may take to say which commits it has.
const looks = time.Minute

// refreshOne looks at the followed URL that is due for longest. It is marked before, so that each is looked at by
// one worker. If that is killed meanwhile another one looks at once: see release.
func (s *session) refreshOne(ctx context.Context) (due bool, err error) {
	var url, known string
	err = s.Store.Transaction(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `UPDATE followed SET checked = now(), looking = $2 WHERE url = (
				SELECT url FROM followed WHERE checked IS NULL OR checked < now() - $1::interval ORDER BY checked NULLS FIRST, url LIMIT 1 FOR UPDATE SKIP LOCKED)
			RETURNING url, revision`, s.Refresh, s.ID).Scan(&url, &known)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	commit, looked := "", s.allowed(url)
	if looked == nil {
		looking, cancel := context.WithTimeout(ctx, looks)
		commit, looked = index.Remote(looking, url, s.Clones)
		cancel()
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
	problem := ""
	if looked != nil {
		problem, commit = s.Mask(looked.Error()), known
	}
	return true, s.Store.Transaction(ctx, func(tx pgx.Tx) error {
		// It may be followed no more, or another worker was faster.
		tag, err := tx.Exec(ctx, "UPDATE followed SET revision = $2, problem = $3, looking = NULL WHERE url = $1 AND revision = $4", url, commit, problem, known)
		if err != nil || tag.RowsAffected() == 0 || commit == known {
			return err
		}
		_, _, err = s.queue.add(ctx, tx, Task{Index, url, commit}, Changed)
		return err
	})
}
