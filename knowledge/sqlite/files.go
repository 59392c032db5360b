package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Stored is of [knowledge.Writer].
func (s *Store) Stored(ctx context.Context, repository int64) ([]knowledge.Stored, error) {
	return rows.ReadStored(s.query(ctx, rows.SelectStored, repository))
}

// Write is of [knowledge.Writer].
func (s *Store) Write(ctx context.Context, repository int64, c knowledge.Change) error {
	return s.writing(ctx, func(t *transaction) error {
		w := &fileWriter{transaction: t, repository: repository, packages: map[string]int64{}, units: rows.Filler{Repository: repository, Last: t.lastChunk}}
		w.units.Expect(c.Put)
		for _, path := range c.Remove {
			if err := w.remove(path); err != nil {
				return err
			}
		}
		for _, f := range c.Seen {
			if err := t.exec("UPDATE file SET size = ?, mtime = ? WHERE repository = ? AND path = ?", f.Size, rows.Nanos(f.Time), repository, f.Path); err != nil {
				return err
			}
		}
		for i := range c.Put {
			if err := w.put(&c.Put[i]); err != nil {
				return fmt.Errorf("%s: %w", c.Put[i].Path, err)
			}
		}
		if w.lost {
			// The declaration may come back, and with it the key of the calls that are gone.
			if err := t.exec("UPDATE repository SET calls_made = zeroblob(length(calls_made)) WHERE id = ?", repository); err != nil {
				return err
			}
		}
		return w.writeChunks()
	})
}

// fileWriter writes files of one repository in one transaction.
type fileWriter struct {
	*transaction
	repository int64
	packages   map[string]int64
	lost       bool // calls were removed
	units      rows.Filler
}

func (w *fileWriter) packageID(path string) (int64, error) {
	if id, ok := w.packages[path]; ok {
		return id, nil
	}
	id, known, err := w.number("SELECT id FROM package WHERE path = ? AND repository = ?", path, w.repository)
	if err == nil && !known {
		id, err = w.insert("INSERT INTO package (repository, path) VALUES (?, ?)", w.repository, path)
	}
	if err == nil {
		w.packages[path] = id
	}
	return id, err
}

// put writes a file. Declarations that it had before keep their numbers, so that the
// calls of and to them stay.
func (w *fileWriter) put(p *knowledge.Parsed) error {
	pkg, err := w.packageID(p.ImportPath())
	if err != nil {
		return err
	}
	file, err := w.file(p, pkg)
	if err != nil {
		return err
	}
	old, err := w.declsOf(file)
	if err != nil {
		return err
	}
	changes, err := rows.DeclChanges(p, pkg, old, func(d *knowledge.Facts) (int64, error) { return w.unit(p, pkg, d) })
	if err != nil {
		return err
	}
	for _, c := range changes {
		if c.ID != 0 {
			err = w.exec("UPDATE decl SET package = ?, unit = ?, start = ?, end = ?, doc_start = ?, doc_end = ?, line = ?, end_line = ?, head = ?, broken = ? WHERE id = ?",
				pkg, c.Unit, c.Start, c.End, c.DocStart, c.DocEnd, c.Line, c.EndLine, c.Head, c.Broken, c.ID)
		} else {
			err = w.exec("INSERT INTO decl (file, package, unit, kind, name, short, nth, start, end, doc_start, doc_end, line, end_line, head, broken) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				file, pkg, c.Unit, int(c.Name.Kind), c.Name.Name, rows.Short(c.Name.Name), c.Name.Nth, c.Start, c.End, c.DocStart, c.DocEnd, c.Line, c.EndLine, c.Head, c.Broken)
		}
		if err == nil && c.Moved() {
			err = w.orphan(c.Was)
		}
		if err != nil {
			return err
		}
	}
	return w.drop(old)
}

func (w *fileWriter) file(p *knowledge.Parsed, pkg int64) (int64, error) {
	st := &p.Stored
	values := []any{filepath.Base(p.Path), pkg, p.Package, p.Module, p.PackageName, rows.ClassBits(p.Class, p.Generated), p.Platform, p.Constraint, p.Broken,
		strings.Join(p.Imports, "\n"), st.Problem, st.Size, rows.Nanos(st.Time), st.Hash[:], st.Blob[:], st.Calls[:], w.repository, p.Path}
	id, known, err := w.number("SELECT id FROM file WHERE repository = ? AND path = ?", w.repository, p.Path)
	switch {
	case err != nil:
		return 0, err
	case known:
		return id, w.exec("UPDATE file SET base = ?, package = ?, directory = ?, module = ?, clause = ?, class = ?, platform = ?, build = ?, broken = ?, imports = ?, problem = ?, size = ?, mtime = ?, hash = ?, blob = ?, calls = ? WHERE repository = ? AND path = ?", values...)
	}
	return w.insert("INSERT INTO file (base, package, directory, module, clause, class, platform, build, broken, imports, problem, size, mtime, hash, blob, calls, repository, path) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values...)
}

func (w *fileWriter) declsOf(file int64) (map[rows.DeclName]rows.DeclRow, error) {
	of, err := rows.ReadDeclRows(w.query(rows.SelectDeclRows+"file = ?", file))
	return of[file], err
}

// drop removes declarations, and the calls of and to them.
func (w *fileWriter) drop(old map[rows.DeclName]rows.DeclRow) error {
	for _, d := range old {
		from, err1 := w.removed("DELETE FROM edge WHERE caller = ?", d.ID)
		to, err2 := w.removed("DELETE FROM edge WHERE callee = ?", d.ID)
		w.lost = w.lost || from || to
		if err := errors.Join(err1, err2, w.exec("DELETE FROM decl WHERE id = ?", d.ID), w.orphan(d.Unit)); err != nil {
			return err
		}
	}
	return nil
}

func (w *fileWriter) remove(path string) error {
	id, known, err := w.number("SELECT id FROM file WHERE repository = ? AND path = ?", w.repository, path)
	if err != nil || !known {
		return err
	}
	old, err := w.declsOf(id)
	if err != nil {
		return err
	}
	if err := w.drop(old); err != nil {
		return err
	}
	return w.exec("DELETE FROM file WHERE id = ?", id)
}

// orphan notes that a unit may have lost its last declaration. It is removed at the end of the update:
// a declaration that moved to another file of its package keeps it.
func (w *fileWriter) orphan(unit int64) error {
	return w.exec("INSERT OR IGNORE INTO orphan VALUES (?)", unit)
}

// unit returns the unit of a declaration, which it makes if it is new.
func (w *fileWriter) unit(p *knowledge.Parsed, pkg int64, d *knowledge.Facts) (int64, error) {
	g := rows.Group(&p.File, d.Kind)
	first, last := rows.Within(w.repository, g, g+1)
	id, known, err := w.number("SELECT id FROM unit WHERE tokens = ? AND comments = ? AND package = ? AND id BETWEEN ? AND ?", d.Tokens[:], d.Comments[:], pkg, first, last)
	if err != nil || known {
		return id, err
	}
	if id, err = w.units.Unit(g, &d.Terms); err != nil {
		return 0, err
	}
	if err := w.exec("INSERT INTO unit VALUES (?, ?, ?, ?, ?)", id, pkg, d.Tokens[:], d.Comments[:], strings.Join(d.Names, "\n")); err != nil {
		return 0, err
	}
	for i, n := range d.Names {
		if err := w.exec("INSERT INTO member (unit, name, ord) VALUES (?, ?, ?)", id, n, i); err != nil {
			return 0, err
		}
	}
	for i, text := range d.Literals {
		if err := w.exec("INSERT INTO literal VALUES (?, ?, ?)", id, i, text); err != nil {
			return 0, err
		}
	}
	return id, nil
}
