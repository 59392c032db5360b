package sqlite

import (
	"context"
	"errors"
	"slices"
	"time"

	"tracerag/knowledge"
)

// Commits is of [knowledge.Writer].
func (s *Store) Commits(ctx context.Context, repository int64) ([]string, error) {
	var list []string
	err := s.rows(ctx, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		list = append(list, name)
		return err
	}, "SELECT name FROM revision WHERE repository = ? ORDER BY name", repository)
	return list, err
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
	var list []knowledge.Commit
	at := map[int64]int{}
	var ids []int64
	if err := s.rows(ctx, func(scan func(...any) error) error {
		var id, seconds int64
		var c knowledge.Commit
		if err := scan(&id, &c.ID, &seconds, &c.Subject); err != nil {
			return err
		}
		c.Time = time.Unix(seconds, 0).UTC()
		at[id], ids, list = len(list), append(ids, id), append(list, c)
		return nil
	}, "SELECT id, name, time, subject FROM revision WHERE repository = ? ORDER BY time DESC, name LIMIT ?", repository, limit); err != nil {
		return nil, err
	}
	slices.Sort(ids)
	return list, s.rows(ctx, func(scan func(...any) error) error {
		var id int64
		var path string
		if err := scan(&id, &path); err != nil {
			return err
		}
		c := &list[at[id]]
		c.Files = append(c.Files, path)
		return nil
	}, "SELECT revision, path FROM revision_file WHERE revision IN (SELECT value FROM json_each(?)) ORDER BY revision, path", array(ids))
}
