package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Begin is of [knowledge.Writer].
func (s *Store) Begin(ctx context.Context, r knowledge.Repository) (id, update int64, err error) {
	var b [8]byte
	_, _ = rand.Read(b[:])
	update = int64(binary.LittleEndian.Uint64(b[:])>>1) | 1
	err = s.writing(ctx, func(t *transaction) error {
		var known bool
		id, known, err = t.number("SELECT id FROM repository WHERE root = ?", r.Root)
		if err != nil {
			return err
		}
		if !known {
			name, err := t.freeName(r)
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

// freeName returns a name that no other repository has: the wanted one, or the directory's
// with as many of those above it as it takes.
func (t *transaction) freeName(r knowledge.Repository) (string, error) {
	for _, n := range rows.Names(&r, filepath.ToSlash(r.Root)) {
		_, taken, err := t.number("SELECT 1 FROM repository WHERE name = ?", n)
		if err != nil || !taken {
			return n, err
		}
	}
	return "", fmt.Errorf("every name for %s is taken", r.Root)
}

func (t *transaction) modules(repository int64, modules []code.Module) error {
	if err := t.exec("DELETE FROM module WHERE repository = ?", repository); err != nil {
		return err
	}
	for i, m := range modules {
		detail, err := json.Marshal(m)
		if err != nil {
			return err
		}
		if err := t.exec("INSERT INTO module VALUES (?, ?, ?, ?)", repository, i, m.Path, string(detail)); err != nil {
			return err
		}
	}
	return nil
}

// Stored is of [knowledge.Writer].
func (s *Store) Stored(ctx context.Context, repository int64) ([]knowledge.Stored, error) {
	var list []knowledge.Stored
	err := s.rows(ctx, func(scan func(...any) error) error {
		var f knowledge.Stored
		var class int
		var mtime int64
		var hash, blob, calls []byte
		if err := scan(&f.Path, &f.Package, &f.Module, &class, &f.Platform, &f.Size, &mtime, &hash, &blob, &calls, &f.Problem); err != nil {
			return err
		}
		platform := f.Platform
		f.Class, _ = rows.BitsClass(class, platform)
		if mtime != 0 {
			f.Time = time.Unix(0, mtime)
		}
		copy(f.Hash[:], hash)
		copy(f.Blob[:], blob)
		copy(f.Calls[:], calls)
		list = append(list, f)
		return nil
	}, "SELECT path, directory, module, class, platform, size, mtime, hash, blob, calls, problem FROM file WHERE repository = ? ORDER BY path", repository)
	return list, err
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
			if err := t.exec("UPDATE file SET size = ?, mtime = ? WHERE repository = ? AND path = ?", f.Size, nanos(f.Time), repository, f.Path); err != nil {
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

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
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

// position is all of a declaration's row that is not its name.
type position struct {
	pkg, unit                                                 int64
	start, end, docStart, docEnd, line, endLine, head, broken int
}

type declName struct {
	kind code.Kind
	name string
	nth  int
}

type oldDecl struct {
	id int64
	position
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
	for i := range p.Decls {
		d := &p.Decls[i]
		unit, err := w.unit(p, pkg, d)
		if err != nil {
			return err
		}
		at := position{pkg, unit, d.Start, d.End, d.Doc.Start, d.Doc.End, d.Line, d.EndLine, d.Head, 0}
		if d.Broken {
			at.broken = 1
		}
		name := declName{d.Kind, d.Name, d.Nth}
		was, known := old[name]
		delete(old, name)
		if known && was.position == at {
			continue
		}
		if known {
			err = w.exec("UPDATE decl SET package = ?, unit = ?, start = ?, end = ?, doc_start = ?, doc_end = ?, line = ?, end_line = ?, head = ?, broken = ? WHERE id = ?",
				pkg, unit, at.start, at.end, at.docStart, at.docEnd, at.line, at.endLine, at.head, at.broken, was.id)
			if err == nil && was.unit != unit {
				err = w.orphan(was.unit)
			}
		} else {
			_, err = w.insert("INSERT INTO decl (file, package, unit, kind, name, short, nth, start, end, doc_start, doc_end, line, end_line, head, broken) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				file, pkg, unit, int(d.Kind), d.Name, rows.Short(d.Name), d.Nth, at.start, at.end, at.docStart, at.docEnd, at.line, at.endLine, at.head, at.broken)
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
		strings.Join(p.Imports, "\n"), st.Problem, st.Size, nanos(st.Time), st.Hash[:], st.Blob[:], st.Calls[:], w.repository, p.Path}
	id, known, err := w.number("SELECT id FROM file WHERE repository = ? AND path = ?", w.repository, p.Path)
	switch {
	case err != nil:
		return 0, err
	case known:
		return id, w.exec("UPDATE file SET base = ?, package = ?, directory = ?, module = ?, clause = ?, class = ?, platform = ?, build = ?, broken = ?, imports = ?, problem = ?, size = ?, mtime = ?, hash = ?, blob = ?, calls = ? WHERE repository = ? AND path = ?", values...)
	}
	return w.insert("INSERT INTO file (base, package, directory, module, clause, class, platform, build, broken, imports, problem, size, mtime, hash, blob, calls, repository, path) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values...)
}

func (w *fileWriter) declsOf(file int64) (map[declName]oldDecl, error) {
	old := map[declName]oldDecl{}
	err := w.rows(func(scan func(...any) error) error {
		var n declName
		var d oldDecl
		if err := scan(&d.id, &n.kind, &n.name, &n.nth, &d.pkg, &d.unit, &d.start, &d.end, &d.docStart, &d.docEnd, &d.line, &d.endLine, &d.head, &d.broken); err != nil {
			return err
		}
		old[n] = d
		return nil
	}, "SELECT id, kind, name, nth, package, unit, start, end, doc_start, doc_end, line, end_line, head, broken FROM decl WHERE file = ?", file)
	return old, err
}

// drop removes declarations, and the calls of and to them.
func (w *fileWriter) drop(old map[declName]oldDecl) error {
	for _, d := range old {
		from, err1 := w.removed("DELETE FROM edge WHERE caller = ?", d.id)
		to, err2 := w.removed("DELETE FROM edge WHERE callee = ?", d.id)
		w.lost = w.lost || from || to
		if err := errors.Join(err1, err2, w.exec("DELETE FROM decl WHERE id = ?", d.id), w.orphan(d.unit)); err != nil {
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
			sn.Commit, sn.Uncommitted[:], nanos(sn.Time), sn.Listing[:], calls[:], repository)
	})
}

// collect removes units and packages of which no declaration, and no file, is left.
func (t *transaction) collect(repository int64) error {
	first, last := rows.Within(repository, 0, rows.Groups)
	var gone []int64
	if err := t.rows(func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		gone = append(gone, id)
		return err
	}, "SELECT unit FROM orphan WHERE unit BETWEEN ? AND ? AND NOT EXISTS (SELECT 1 FROM decl WHERE decl.unit = orphan.unit)", first, last); err != nil {
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
func (s *Store) Counts(ctx context.Context, repository int64) (n knowledge.Counts, err error) {
	// Declarations and calls are many: each of them is looked at once.
	err = s.read.QueryRowContext(ctx, `SELECT
		(SELECT count(*) FROM module WHERE repository = ?1),
		(SELECT count(*) FROM package WHERE repository = ?1),
		(SELECT count(*) FROM file WHERE repository = ?1),
		(SELECT count(*) FROM file WHERE repository = ?1 AND problem <> ''),
		decls.n, decls.functions, edges.static, edges.interface,
		(SELECT count(*) FROM run),
		(SELECT count(*) FROM ran_call),
		(SELECT count(*) FROM revision WHERE repository = ?1)
		FROM (SELECT count(*) AS n, count(*) FILTER (WHERE d.kind IN (1, 2)) AS functions
			FROM decl d WHERE d.file IN (SELECT id FROM file WHERE repository = ?1)) decls,
		(SELECT count(*) FILTER (WHERE e.kind = 1) AS static, count(*) FILTER (WHERE e.kind = 2) AS interface
			FROM edge e JOIN decl d ON d.id = e.caller JOIN file f ON f.id = d.file WHERE f.repository = ?1) edges`, repository).
		Scan(&n.Modules, &n.Packages, &n.Files, &n.Unread, &n.Declarations, &n.Functions, &n.Static, &n.Interface, &n.Runs, &n.RanCalls, &n.Commits)
	return n, s.explain(err)
}

// Forget is of [knowledge.Writer].
func (s *Store) Forget(ctx context.Context, repository int64) error {
	var paths []string
	if err := s.rows(ctx, func(scan func(...any) error) error {
		var p string
		err := scan(&p)
		paths = append(paths, p)
		return err
	}, "SELECT path FROM file WHERE repository = ?", repository); err != nil {
		return err
	}
	return s.writing(ctx, func(t *transaction) error {
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
			t.exec("DELETE FROM module WHERE repository = ?", repository),
			t.exec("DELETE FROM repository WHERE id = ?", repository))
	})
}
