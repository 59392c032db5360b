package postgres

import (
	"context"
	"errors"
	"os"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Repositories is of [knowledge.Reader]. They are in the order of their names.
func (s *Store) Repositories(ctx context.Context) ([]knowledge.Repository, error) {
	return rows.ReadRepositories(
		s.query(ctx, "SELECT id, name, host, root, url, revision, uncommitted, newest, listing, updating, calls_made, calls_now FROM repository ORDER BY name"),
		s.query(ctx, rows.SelectModules),
		func(r *knowledge.Repository, host string) {
			if s.place(r, host); r.Elsewhere {
				id := r.ID
				// It may be read when the context is over, and has none of its own.
				r.Text = func(path string) ([]byte, error) { return s.Text(context.WithoutCancel(ctx), id, path) }
			}
		})
}

// place says where a repository is for this machine.
func (s *Store) place(r *knowledge.Repository, host string) {
	if r.URL != "" && s.where.Clone != nil {
		if dir := s.where.Clone(r.URL); dir != "" {
			_, err := os.Stat(dir)
			r.Root, r.Elsewhere = dir, err != nil
			return
		}
	}
	if host != s.where.Host {
		r.Root, r.Elsewhere = host+":"+r.Root, true
	}
}

// Begin is of [knowledge.Writer]. A clone is known by its URL: each machine has its own directory for it.
func (s *Store) Begin(ctx context.Context, r knowledge.Repository) (id, update int64, err error) {
	update = rows.UpdateNumber()
	err = s.writing(ctx, func(t *transaction) error {
		// A name is looked for and taken: two that do it at once would take the same.
		if err := t.lockProject(namesLock); err != nil {
			return err
		}
		var known bool
		var err error
		if id, known, err = t.repository(&r); err != nil {
			return err
		}
		if !known {
			name, err := rows.FreeName(&r, func(name string) (bool, error) {
				_, taken, err := t.number("SELECT 1 FROM repository WHERE name = $1", name)
				return taken, err
			}, s.where.Host+":"+r.Root) // another machine may have all of the others
			if err != nil {
				return err
			}
			if id, _, err = t.number("INSERT INTO repository (project, name, host, root, url) VALUES ($1, $2, $3, $4, $5) RETURNING id", s.project, name, s.where.Host, r.Root, r.URL); err != nil {
				return err
			}
		}
		if _, err := t.exec("UPDATE repository SET updating = $1, url = $2, host = $3, root = $4 WHERE id = $5", update, r.URL, s.where.Host, r.Root, id); err != nil {
			return err
		}
		return t.modules(id, r.Modules)
	})
	return id, update, err
}

// repository returns the number of a repository that was begun before.
func (t *transaction) repository(r *knowledge.Repository) (id int64, known bool, err error) {
	if r.URL != "" {
		if id, known, err = t.number("SELECT id FROM repository WHERE url = $1", r.URL); err != nil || known {
			return id, known, err
		}
	}
	return t.number("SELECT id FROM repository WHERE host = $1 AND root = $2", t.s.where.Host, r.Root)
}

// modules writes the modules of a repository.
func (t *transaction) modules(repository int64, modules []code.Module) error {
	var paths, details []string
	for _, m := range modules {
		detail, err := rows.ModuleDetail(&m)
		if err != nil {
			return err
		}
		paths, details = append(paths, m.Path), append(details, detail)
	}
	return t.do(
		sql("DELETE FROM module WHERE repository = $1", repository),
		sql("INSERT INTO module (project, repository, ord, path, detail) SELECT $1, $2, n - 1, path, detail FROM unnest($3::text[], $4::text[]) WITH ORDINALITY x (path, detail, n)",
			t.s.project, repository, paths, details))
}

// Finish is of [knowledge.Writer].
func (s *Store) Finish(ctx context.Context, repository, update int64, sn knowledge.Snapshot, calls code.Hash) error {
	err := s.writing(ctx, func(t *transaction) error {
		_, ours, err := t.number("SELECT 1 FROM repository WHERE id = $1 AND updating = $2 FOR UPDATE", repository, update)
		if err != nil || !ours {
			return err
		}
		if err := t.collect(repository); err != nil {
			return err
		}
		_, err = t.exec("UPDATE repository SET revision = $1, uncommitted = $2, newest = $3, listing = $4, calls_now = $5, updating = 0 WHERE id = $6",
			sn.Commit, sn.Uncommitted[:], rows.Nanos(sn.Time), sn.Listing[:], calls[:], repository)
		return err
	})
	if err == nil {
		s.analyze(ctx)
	}
	return err
}

// collect removes units and packages of which no declaration, and no file, is left.
func (t *transaction) collect(repository int64) error {
	first, last := rows.Within(repository, 0, rows.Groups)
	gone, err := rows.Values[int64](t.query("SELECT unit FROM orphan WHERE unit BETWEEN $1 AND $2 AND NOT EXISTS (SELECT FROM decl WHERE decl.unit = orphan.unit)", first, last))
	if err != nil {
		return err
	}
	if len(gone) > 0 {
		if err := t.do(
			sql("DELETE FROM unit WHERE id = ANY($1)", gone),
			sql("DELETE FROM member WHERE unit = ANY($1)", gone),
			sql("DELETE FROM literal WHERE unit = ANY($1)", gone)); err != nil {
			return err
		}
		if err := t.removeUnits(gone); err != nil {
			return err
		}
	}
	return t.do(
		sql("DELETE FROM orphan WHERE unit BETWEEN $1 AND $2", first, last),
		sql("DELETE FROM package WHERE repository = $1 AND NOT EXISTS (SELECT FROM file WHERE file.repository = $1 AND file.package = package.id)", repository))
}

// Counts is of [knowledge.Writer].
func (s *Store) Counts(ctx context.Context, repository int64) (knowledge.Counts, error) {
	return rows.ReadCounts(s.query(ctx, rows.SelectCounts, repository))
}

// Forget is of [knowledge.Writer].
func (s *Store) Forget(ctx context.Context, repository int64) error {
	return s.writing(ctx, func(t *transaction) error {
		err := t.lock(repository)
		if _, gone := errors.AsType[*GoneError](err); gone {
			return nil
		}
		if err != nil {
			return err
		}
		// All that is of it goes: there is no need to look at files one by one.
		first, last := rows.Within(repository, 0, rows.Groups)
		const files = "(SELECT id FROM file WHERE repository = $1)"
		const decls = "(SELECT id FROM decl WHERE file IN " + files + ")"
		return t.do(
			sql("DELETE FROM edge WHERE caller IN "+decls, repository),
			sql("DELETE FROM edge WHERE callee IN "+decls, repository),
			sql("DELETE FROM decl WHERE file IN "+files, repository),
			sql("DELETE FROM source WHERE file IN "+files, repository),
			sql("DELETE FROM file WHERE repository = $1", repository),
			sql("DELETE FROM package WHERE repository = $1", repository),
			sql("DELETE FROM unit WHERE id BETWEEN $1 AND $2", first, last),
			sql("DELETE FROM member WHERE unit BETWEEN $1 AND $2", first, last),
			sql("DELETE FROM literal WHERE unit BETWEEN $1 AND $2", first, last),
			sql("DELETE FROM orphan WHERE unit BETWEEN $1 AND $2", first, last),
			sql("DELETE FROM chunk WHERE id BETWEEN $1 AND $2", first>>rows.ChunkShift, last>>rows.ChunkShift),
			sql("DELETE FROM posting WHERE chunk BETWEEN $1 AND $2", first>>rows.ChunkShift, last>>rows.ChunkShift),
			sql("DELETE FROM revision_file WHERE revision IN (SELECT id FROM revision WHERE repository = $1)", repository),
			sql("DELETE FROM revision WHERE repository = $1", repository),
			sql("DELETE FROM subject WHERE repository = $1", repository),
			sql("DELETE FROM module WHERE repository = $1", repository),
			sql("DELETE FROM repository WHERE id = $1", repository))
	})
}
