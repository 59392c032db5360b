package postgres

import (
	"context"
	"slices"

	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Commits is of [knowledge.Writer].
func (s *Store) Commits(ctx context.Context, repository int64) ([]string, error) {
	return rows.Values[string](s.query(ctx, "SELECT name FROM revision WHERE repository = $1 ORDER BY name", repository))
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
			return t.countSubjects(repository)
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
		inserted := t.query("INSERT INTO revision (project, repository, name, subject, time) SELECT $1, $2, * FROM unnest($3::text[], $4::text[], $5::bigint[]) ON CONFLICT DO NOTHING RETURNING id, name",
			s.project, repository, names, subjects, times)
		if err := inserted.Each(func(scan rows.Scan) error {
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
		}); err != nil {
			return err
		}
		if _, err := t.exec("INSERT INTO revision_file (project, revision, path) SELECT $1, * FROM unnest($2::bigint[], $3::text[])", s.project, revisions, paths); err != nil {
			return err
		}
		return t.countSubjects(repository)
	})
}

// subjectsOf is the query of the subjects of repositories' commits.
const subjectsOf = "SELECT repository, subject FROM revision WHERE repository = ANY($1)"

// countSubjects brings the counts of the terms of a repository's commits up to date.
func (t *transaction) countSubjects(repository int64) error {
	c, err := rows.SubjectChanges(t.query(subjectsOf, []int64{repository}), t.query("SELECT term, commits FROM subject WHERE repository = $1", repository))
	if err != nil {
		return err
	}
	return t.do(
		sql("DELETE FROM subject WHERE repository = $1 AND term = ANY($2)", repository, c.Gone),
		sql(`INSERT INTO subject (project, term, repository, commits) SELECT $1, x.term, $2, x.commits FROM unnest($3::text[], $4::bigint[]) x (term, commits)
			ON CONFLICT (project, term, repository) DO UPDATE SET commits = excluded.commits`, t.s.project, repository, c.Terms, c.Counts),
		sql("UPDATE repository SET subjects = $2 WHERE id = $1", repository, c.Commits))
}

// History is of [knowledge.Reader].
func (s *Store) History(ctx context.Context, repository int64, limit int) ([]knowledge.Commit, error) {
	return rows.ReadHistory(s.query(ctx, rows.SelectHistory, repository, limit), func(revisions []int64) rows.Query {
		return s.query(ctx, "SELECT revision, path FROM revision_file WHERE revision = ANY($1) ORDER BY revision, path", revisions)
	})
}
