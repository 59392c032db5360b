package sqlite

import (
	"context"
	"errors"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Repositories is of [knowledge.Reader]. They are in the order of their names.
func (s *Store) Repositories(ctx context.Context) ([]knowledge.Repository, error) {
	return rows.ReadRepositories(
		s.query(ctx, "SELECT id, name, '', root, url, revision, uncommitted, newest, listing, updating, calls_made, calls_now FROM repository ORDER BY name"),
		s.query(ctx, rows.SelectModules),
		func(*knowledge.Repository, string) {})
}

// Begin is of [knowledge.Writer].
func (s *Store) Begin(ctx context.Context, r knowledge.Repository) (id, update int64, err error) {
	update = rows.UpdateNumber()
	err = s.writing(ctx, func(t *transaction) error {
		var known bool
		id, known, err = t.number("SELECT id FROM repository WHERE root = ?", r.Root)
		if err != nil {
			return err
		}
		if !known {
			name, err := rows.FreeName(&r, func(name string) (bool, error) {
				_, taken, err := t.number("SELECT 1 FROM repository WHERE name = ?", name)
				return taken, err
			})
			if err != nil {
				return err
			}
			if id, err = t.insert("INSERT INTO repository (name, root, url) VALUES (?, ?, ?)", name, r.Root, r.URL); err != nil {
				return err
			}
		}
		if err := t.exec("UPDATE repository SET updating = ?, url = ? WHERE id = ?", update, r.URL, id); err != nil {
			return err
		}
		return t.modules(id, r.Modules)
	})
	return id, update, err
}

func (t *transaction) modules(repository int64, modules []code.Module) error {
	if err := t.exec("DELETE FROM module WHERE repository = ?", repository); err != nil {
		return err
	}
	for i, m := range modules {
		detail, err := rows.ModuleDetail(&m)
		if err != nil {
			return err
		}
		if err := t.exec("INSERT INTO module VALUES (?, ?, ?, ?)", repository, i, m.Path, detail); err != nil {
			return err
		}
	}
	return nil
}

// Finish is of [knowledge.Writer].
func (s *Store) Finish(ctx context.Context, repository, update int64, sn knowledge.Snapshot, calls code.Hash) error {
	return s.writing(ctx, func(t *transaction) error {
		_, ours, err := t.number("SELECT 1 FROM repository WHERE id = ? AND updating = ?", repository, update)
		if err != nil || !ours {
			return err
		}
		if err := t.collect(repository); err != nil {
			return err
		}
		return t.exec("UPDATE repository SET revision = ?, uncommitted = ?, newest = ?, listing = ?, calls_now = ?, updating = 0 WHERE id = ?",
			sn.Commit, sn.Uncommitted[:], rows.Nanos(sn.Time), sn.Listing[:], calls[:], repository)
	})
}

// collect removes units and packages of which no declaration, and no file, is left.
func (t *transaction) collect(repository int64) error {
	first, last := rows.Within(repository, 0, rows.Groups)
	gone, err := rows.Values[int64](t.query("SELECT unit FROM orphan WHERE unit BETWEEN ? AND ? AND NOT EXISTS (SELECT 1 FROM decl WHERE decl.unit = orphan.unit)", first, last))
	if err != nil {
		return err
	}
	for _, id := range gone {
		if err := errors.Join(
			t.exec("DELETE FROM unit WHERE id = ?", id),
			t.exec("DELETE FROM member WHERE unit = ?", id),
			t.exec("DELETE FROM literal WHERE unit = ?", id)); err != nil {
			return err
		}
	}
	return errors.Join(
		t.removeUnits(gone),
		t.exec("DELETE FROM orphan WHERE unit BETWEEN ? AND ?", first, last),
		t.exec("DELETE FROM package WHERE repository = ?1 AND id NOT IN (SELECT package FROM file WHERE repository = ?1)", repository))
}

// Counts is of [knowledge.Writer].
func (s *Store) Counts(ctx context.Context, repository int64) (knowledge.Counts, error) {
	return rows.ReadCounts(s.query(ctx, rows.SelectCounts, repository))
}

// Forget is of [knowledge.Writer].
func (s *Store) Forget(ctx context.Context, repository int64) error {
	return s.writing(ctx, func(t *transaction) error {
		paths, err := rows.Values[string](t.query("SELECT path FROM file WHERE repository = ?", repository))
		if err != nil {
			return err
		}
		w := &fileWriter{transaction: t, repository: repository}
		for _, p := range paths {
			if err := w.remove(p); err != nil {
				return err
			}
		}
		if err := t.collect(repository); err != nil {
			return err
		}
		return errors.Join(
			t.exec("DELETE FROM revision_file WHERE revision IN (SELECT id FROM revision WHERE repository = ?)", repository),
			t.exec("DELETE FROM revision WHERE repository = ?", repository),
			t.exec("DELETE FROM subject WHERE repository = ?", repository),
			t.exec("DELETE FROM module WHERE repository = ?", repository),
			t.exec("DELETE FROM repository WHERE id = ?", repository))
	})
}
