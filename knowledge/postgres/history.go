package postgres

import (
	"context"
	"slices"
	"time"

	"tracerag/knowledge"
)

// Commits is of [knowledge.Writer].
func (s *Store) Commits(ctx context.Context, repository int64) ([]string, error) {
	return column[string](ctx, s, "SELECT name FROM revision WHERE repository = $1 ORDER BY name", repository)
}

// SetCommits is of [knowledge.Writer].
func (s *Store) SetCommits(ctx context.Context, repository int64, add []knowledge.Commit, remove []string) error {
	return s.writing(ctx, func(t *transaction) error {
		if err := t.lock(repository); err != nil {
			return err
		}
		if len(remove) > 0 {
			if err := t.do(
				sql("DELETE FROM revision_file WHERE revision IN (SELECT id FROM revision WHERE repository = $1 AND name = ANY($2))", repository, remove),
				sql("DELETE FROM revision WHERE repository = $1 AND name = ANY($2)", repository, remove)); err != nil {
				return err
			}
		}
		if len(add) == 0 {
			return nil
		}
		var names, subjects []string
		var times []int64
		at := map[string]int{}
		for i, c := range add {
			if _, twice := at[c.ID]; !twice {
				at[c.ID] = i
				names, subjects, times = append(names, c.ID), append(subjects, c.Subject), append(times, c.Time.Unix())
			}
		}
		var revisions []int64
		var paths []string
		if err := t.rows(func(scan func(...any) error) error {
			var id int64
			var name string
			if err := scan(&id, &name); err != nil {
				return err
			}
			files := slices.Clone(add[at[name]].Files)
			slices.Sort(files)
			for _, p := range slices.Compact(files) {
				revisions, paths = append(revisions, id), append(paths, p)
			}
			return nil
		}, "INSERT INTO revision (project, repository, name, subject, time) SELECT $1, $2, * FROM unnest($3::text[], $4::text[], $5::bigint[]) ON CONFLICT DO NOTHING RETURNING id, name",
			s.project, repository, names, subjects, times); err != nil {
			return err
		}
		_, err := t.exec("INSERT INTO revision_file (project, revision, path) SELECT $1, * FROM unnest($2::bigint[], $3::text[])", s.project, revisions, paths)
		return err
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
	}, "SELECT id, name, time, subject FROM revision WHERE repository = $1 ORDER BY time DESC, name LIMIT $2", repository, limit); err != nil {
		return nil, err
	}
	return list, s.rows(ctx, func(scan func(...any) error) error {
		var id int64
		var path string
		if err := scan(&id, &path); err != nil {
			return err
		}
		c := &list[at[id]]
		c.Files = append(c.Files, path)
		return nil
	}, "SELECT revision, path FROM revision_file WHERE revision = ANY($1) ORDER BY revision, path", ids)
}
