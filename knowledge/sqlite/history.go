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
		return t.countSubjects(repository)
	})
}

// subjectsOf is the query of the subjects of repositories' commits.
const subjectsOf = "SELECT repository, subject FROM revision WHERE repository IN (SELECT value FROM json_each(?))"

// countSubjects brings the counts of the terms of a repository's commits up to date.
func (t *transaction) countSubjects(repository int64) error {
	c, err := rows.SubjectChanges(t.query(subjectsOf, array([]int64{repository})), t.query("SELECT term, commits FROM subject WHERE repository = ?", repository))
	if err != nil {
		return err
	}
	for _, term := range c.Gone {
		if err := t.exec("DELETE FROM subject WHERE term = ? AND repository = ?", term, repository); err != nil {
			return err
		}
	}
	for i, term := range c.Terms {
		if err := t.exec("INSERT OR REPLACE INTO subject VALUES (?, ?, ?)", term, repository, c.Counts[i]); err != nil {
			return err
		}
	}
	return t.exec("UPDATE repository SET subjects = ? WHERE id = ?", c.Commits, repository)
}

// History is of [knowledge.Reader].
func (s *Store) History(ctx context.Context, repository int64, limit int) ([]knowledge.Commit, error) {
	return rows.ReadHistory(s.query(ctx, rows.SelectHistory, repository, limit), func(revisions []int64) rows.Query {
		return s.query(ctx, "SELECT revision, path FROM revision_file WHERE revision IN (SELECT value FROM json_each(?)) ORDER BY revision, path", array(revisions))
	})
}
