package sqlite

import (
	"context"
	"errors"

	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Commits is of [knowledge.Writer].
func (s *Store) Commits(ctx context.Context, repository int64) ([]string, error) {
	return rows.Values[string](s.query(ctx, "SELECT name FROM revision WHERE repository = ? ORDER BY name", repository))
}

// SetCommits is of [knowledge.Writer].
func (s *Store) SetCommits(ctx context.Context, repository int64, add []knowledge.Commit, remove []string) error {
	return s.writing(ctx, func(t *transaction) error {
		for _, name := range remove {
			if err := errors.Join(
				t.exec("DELETE FROM revision_file WHERE revision = (SELECT id FROM revision WHERE repository = ? AND name = ?)", repository, name),
				t.exec("DELETE FROM revision WHERE repository = ? AND name = ?", repository, name)); err != nil {
				return err
			}
		}
		for _, c := range add {
			if _, known, err := t.number("SELECT id FROM revision WHERE repository = ? AND name = ?", repository, c.ID); err != nil {
				return err
			} else if known { // by another process
				continue
			}
			id, err := t.insert("INSERT INTO revision (repository, name, time, subject) VALUES (?, ?, ?, ?)", repository, c.ID, c.Time.Unix(), c.Subject)
			if err != nil {
				return err
			}
			for _, path := range c.Files {
				if err := t.exec("INSERT OR IGNORE INTO revision_file VALUES (?, ?)", id, path); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// History is of [knowledge.Reader].
func (s *Store) History(ctx context.Context, repository int64, limit int) ([]knowledge.Commit, error) {
	return rows.ReadHistory(s.query(ctx, rows.SelectHistory, repository, limit), func(revisions []int64) rows.Query {
		return s.query(ctx, "SELECT revision, path FROM revision_file WHERE revision IN (SELECT value FROM json_each(?)) ORDER BY revision, path", array(revisions))
	})
}
