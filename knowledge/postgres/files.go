package postgres

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Begin is of [knowledge.Writer]. A clone is known by its URL: each machine has its own directory for it.
func (s *Store) Begin(ctx context.Context, r knowledge.Repository) (id, update int64, err error) {
	var b [8]byte
	_, _ = rand.Read(b[:])
	update = int64(binary.LittleEndian.Uint64(b[:])>>1) | 1
	err = s.writing(ctx, func(t *transaction) error {
		// A name is looked for and taken: two that do it at once would take the same.
		if _, err := t.exec("SELECT pg_advisory_xact_lock($1, $2)", int32(namesLock), s.project); err != nil {
			return err
		}
		var known bool
		if r.URL != "" {
			id, known, err = t.number("SELECT id FROM repository WHERE url = $1", r.URL)
		}
		if err == nil && !known {
			id, known, err = t.number("SELECT id FROM repository WHERE host = $1 AND root = $2", s.where.Host, r.Root)
		}
		if err != nil {
			return err
		}
		if !known {
			name, err := t.freeName(&r)
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

// Numbers of advisory locks, each with that of a project.
const (
	namesLock = 0x74726101
	runsLock  = 0x74726102
)

// freeName returns a name that no other repository has.
func (t *transaction) freeName(r *knowledge.Repository) (string, error) {
	for _, n := range rows.Names(r, filepath.ToSlash(r.Root)) {
		_, taken, err := t.number("SELECT 1 FROM repository WHERE name = $1", n)
		if err != nil || !taken {
			return n, err
		}
	}
	// Another machine may have all of them.
	n := t.s.where.Host + ":" + r.Root
	_, taken, err := t.number("SELECT 1 FROM repository WHERE name = $1", n)
	if err == nil && taken {
		err = fmt.Errorf("every name for %s is taken", r.Root)
	}
	return n, err
}

func (t *transaction) modules(repository int64, modules []code.Module) error {
	var paths, details []string
	for _, m := range modules {
		detail, err := json.Marshal(m)
		if err != nil {
			return err
		}
		paths, details = append(paths, m.Path), append(details, string(detail))
	}
	return t.do(
		sql("DELETE FROM module WHERE repository = $1", repository),
		sql("INSERT INTO module (project, repository, ord, path, detail) SELECT $1, $2, n - 1, path, detail FROM unnest($3::text[], $4::text[]) WITH ORDINALITY x (path, detail, n)",
			t.s.project, repository, paths, details))
}

// Stored is of [knowledge.Writer].
func (s *Store) Stored(ctx context.Context, repository int64) ([]knowledge.Stored, error) {
	var list []knowledge.Stored
	err := s.rows(ctx, func(scan func(...any) error) error {
		var f knowledge.Stored
		var class int
		var platform string
		var mtime int64
		var hash, blob, calls []byte
		if err := scan(&f.Path, &f.Package, &f.Module, &class, &platform, &f.Size, &mtime, &hash, &blob, &calls, &f.Problem); err != nil {
			return err
		}
		f.Class, _ = rows.BitsClass(class, platform)
		f.Time = instant(mtime)
		copy(f.Hash[:], hash)
		copy(f.Blob[:], blob)
		copy(f.Calls[:], calls)
		list = append(list, f)
		return nil
	}, "SELECT path, directory, module, class, platform, size, mtime, hash, blob, calls, problem FROM file WHERE repository = $1 ORDER BY path", repository)
	return list, err
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func instant(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}

// Write is of [knowledge.Writer]. It asks for all that is there of the files at once, and writes all
// that differs with one statement for each table: a round trip for each row would take as long as all
// the rest.
func (s *Store) Write(ctx context.Context, repository int64, c knowledge.Change) error {
	return s.writing(ctx, func(t *transaction) error {
		if err := t.lock(repository); err != nil {
			return err
		}
		w := &fileWriter{transaction: t, repository: repository, files: map[string]int64{}, packages: map[string]int64{}, units: map[unitKey]int64{}}
		return w.write(&c)
	})
}

// fileWriter writes files of one repository in one transaction.
type fileWriter struct {
	*transaction
	repository int64
	files      map[string]int64               // by path: those that were there, then all
	packages   map[string]int64               // by path
	old        map[int64]map[declName]oldDecl // by file
	units      map[unitKey]int64              // those that were there, then all
	filler     rows.Filler
	orphans    []int64
	gone       []int64 // declarations
	made       struct {
		units    unitRows
		members  memberRows
		literals literalRows
	}
}

// position is all of a declaration's row that is not its name.
type position struct {
	pkg, unit                                                 int64
	start, end, docStart, docEnd, line, endLine, head, broken int64
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

type unitKey struct {
	tokens, comments code.Hash
	pkg, group       int64
}

type unitRows struct {
	id, pkg          []int64
	tokens, comments [][]byte
	names            []string
}

type memberRows struct {
	unit, ord    []int64
	name, folded []string
}

type literalRows struct {
	unit, ord []int64
	text      [][]byte
}

func (w *fileWriter) write(c *knowledge.Change) error {
	put := lastOfEach(c.Put)
	paths := slices.Clone(c.Remove)
	for _, p := range put {
		paths = append(paths, p.Path)
	}
	if err := w.load(paths); err != nil {
		return err
	}
	if err := w.remove(c.Remove); err != nil {
		return err
	}
	if err := w.seen(c.Seen); err != nil {
		return err
	}
	if err := w.findPackages(put); err != nil {
		return err
	}
	if err := w.putFiles(put); err != nil {
		return err
	}
	if err := w.putTexts(put); err != nil {
		return err
	}
	if err := w.findUnits(put); err != nil {
		return err
	}
	w.filler = rows.Filler{Repository: w.repository, Last: w.lastChunk}
	w.filler.Expect(c.Put)
	if err := w.putDecls(put); err != nil {
		return err
	}
	return w.finish()
}

// lastOfEach are files without those that are in the list once more.
func lastOfEach(put []knowledge.Parsed) []*knowledge.Parsed {
	at := map[string]int{}
	var list []*knowledge.Parsed
	for i := range put {
		if n, ok := at[put[i].Path]; ok {
			list[n] = &put[i]
			continue
		}
		at[put[i].Path] = len(list)
		list = append(list, &put[i])
	}
	return list
}

// load finds the files that are there, and their declarations.
func (w *fileWriter) load(paths []string) error {
	var ids []int64
	if err := w.rows(func(scan func(...any) error) error {
		var id int64
		var path string
		err := scan(&id, &path)
		w.files[path], ids = id, append(ids, id)
		return err
	}, "SELECT id, path FROM file WHERE repository = $1 AND path = ANY($2)", w.repository, paths); err != nil {
		return err
	}
	w.old = make(map[int64]map[declName]oldDecl, len(ids))
	if len(ids) == 0 {
		return nil
	}
	return w.rows(func(scan func(...any) error) error {
		var file int64
		var n declName
		var d oldDecl
		if err := scan(&file, &d.id, &n.kind, &n.name, &n.nth, &d.pkg, &d.unit, &d.start, &d.end, &d.docStart, &d.docEnd, &d.line, &d.endLine, &d.head, &d.broken); err != nil {
			return err
		}
		if w.old[file] == nil {
			w.old[file] = map[declName]oldDecl{}
		}
		w.old[file][n] = d
		return nil
	}, `SELECT file, id, kind, name, nth, package, unit, start, "end", doc_start, doc_end, line, end_line, head, broken FROM decl WHERE file = ANY($1)`, ids)
}

func (w *fileWriter) remove(paths []string) error {
	var files []int64
	for _, p := range paths {
		if id, ok := w.files[p]; ok {
			files = append(files, id)
			w.drop(w.old[id])
			delete(w.files, p)
			delete(w.old, id)
		}
	}
	if len(files) == 0 {
		return nil
	}
	return w.do(
		sql("DELETE FROM file WHERE id = ANY($1)", files),
		sql("DELETE FROM source WHERE file = ANY($1)", files))
}

// drop notes declarations that are no more.
func (w *fileWriter) drop(old map[declName]oldDecl) {
	for _, d := range old {
		w.gone, w.orphans = append(w.gone, d.id), append(w.orphans, d.unit)
	}
}

func (w *fileWriter) seen(list []knowledge.Stored) error {
	if len(list) == 0 {
		return nil
	}
	var paths []string
	var sizes, times []int64
	for _, f := range list {
		paths, sizes, times = append(paths, f.Path), append(sizes, f.Size), append(times, nanos(f.Time))
	}
	_, err := w.exec("UPDATE file SET size = x.size, mtime = x.mtime FROM unnest($2::text[], $3::bigint[], $4::bigint[]) x (path, size, mtime) WHERE file.repository = $1 AND file.path = x.path", w.repository, paths, sizes, times)
	return err
}

// findPackages finds the packages of files, and makes new ones.
func (w *fileWriter) findPackages(put []*knowledge.Parsed) error {
	var paths []string
	for _, p := range put {
		paths = append(paths, p.ImportPath())
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	take := func(scan func(...any) error) error {
		var id int64
		var path string
		err := scan(&id, &path)
		w.packages[path] = id
		return err
	}
	if err := w.rows(take, "SELECT id, path FROM package WHERE repository = $1 AND path = ANY($2)", w.repository, paths); err != nil {
		return err
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return w.packages[p] != 0 })
	if len(paths) == 0 {
		return nil
	}
	return w.rows(take, "INSERT INTO package (project, repository, path) SELECT $1, $2, unnest($3::text[]) RETURNING id, path", w.s.project, w.repository, paths)
}

func (w *fileWriter) putFiles(put []*knowledge.Parsed) error {
	if len(put) == 0 {
		return nil
	}
	var texts [8][]string
	var numbers [6][]int64
	var bytes [3][][]byte
	for _, p := range put {
		st := &p.Stored
		for i, s := range []string{p.Path, path.Base(filepath.ToSlash(p.Path)), p.Package, p.PackageName, p.Platform, p.Constraint, strings.Join(p.Imports, "\n"), st.Problem} {
			texts[i] = append(texts[i], s)
		}
		for i, n := range []int64{w.packages[p.ImportPath()], int64(p.Module), int64(rows.ClassBits(p.Class, p.Generated)), int64(p.Broken), st.Size, nanos(st.Time)} {
			numbers[i] = append(numbers[i], n)
		}
		for i, b := range [][]byte{st.Hash[:], st.Blob[:], st.Calls[:]} {
			bytes[i] = append(bytes[i], b)
		}
	}
	args := []any{w.s.project, w.repository}
	for _, t := range texts {
		args = append(args, t)
	}
	for _, n := range numbers {
		args = append(args, n)
	}
	for _, b := range bytes {
		args = append(args, b)
	}
	return w.rows(func(scan func(...any) error) error {
		var id int64
		var path string
		err := scan(&id, &path)
		w.files[path] = id
		return err
	}, `INSERT INTO file (project, repository, path, base, directory, clause, platform, build, imports, problem, package, module, class, broken, size, mtime, hash, blob, calls)
		SELECT $1, $2, * FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
			$11::bigint[], $12::int[], $13::int[], $14::int[], $15::bigint[], $16::bigint[], $17::bytea[], $18::bytea[], $19::bytea[])
		ON CONFLICT (repository, path) DO UPDATE SET base = excluded.base, directory = excluded.directory, clause = excluded.clause, platform = excluded.platform,
			build = excluded.build, imports = excluded.imports, problem = excluded.problem, package = excluded.package, module = excluded.module, class = excluded.class,
			broken = excluded.broken, size = excluded.size, mtime = excluded.mtime, hash = excluded.hash, blob = excluded.blob, calls = excluded.calls
		RETURNING id, path`, args...)
}

// putTexts keeps the texts of files, and none that is not theirs any more.
func (w *fileWriter) putTexts(put []*knowledge.Parsed) error {
	var without, files []int64
	var texts [][]byte
	for _, p := range put {
		if id := w.files[p.Path]; p.Text == nil {
			without = append(without, id)
		} else {
			files, texts = append(files, id), append(texts, p.Text)
		}
	}
	return w.do(
		sql("DELETE FROM source WHERE file = ANY($1)", without),
		sql("INSERT INTO source (project, file, text) SELECT $1, * FROM unnest($2::bigint[], $3::bytea[]) ON CONFLICT (file) DO UPDATE SET text = excluded.text", w.s.project, files, texts))
}

// findUnits finds the units of declarations that are there.
func (w *fileWriter) findUnits(put []*knowledge.Parsed) error {
	var tokens, comments [][]byte
	var packages []int64
	asked := map[unitKey]bool{}
	for _, p := range put {
		pkg := w.packages[p.ImportPath()]
		for i := range p.Decls {
			d := &p.Decls[i]
			k := unitKey{d.Tokens, d.Comments, pkg, 0} // of all groups
			if !asked[k] {
				asked[k] = true
				tokens, comments, packages = append(tokens, d.Tokens[:]), append(comments, d.Comments[:]), append(packages, pkg)
			}
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return w.rows(func(scan func(...any) error) error {
		var id int64
		var k unitKey
		var tokens, comments []byte
		if err := scan(&id, &k.pkg, &tokens, &comments); err != nil {
			return err
		}
		copy(k.tokens[:], tokens)
		copy(k.comments[:], comments)
		k.group = rows.GroupOf(id)
		w.units[k] = id
		return nil
	}, "SELECT u.id, u.package, u.tokens, u.comments FROM unnest($1::bytea[], $2::bytea[], $3::bigint[]) x (tokens, comments, package) JOIN unit u ON u.tokens = x.tokens AND u.comments = x.comments AND u.package = x.package", tokens, comments, packages)
}

// unit returns the unit of a declaration, which it makes if it is new.
func (w *fileWriter) unit(p *knowledge.Parsed, pkg int64, d *knowledge.Facts) (int64, error) {
	k := unitKey{d.Tokens, d.Comments, pkg, rows.Group(&p.File, d.Kind)}
	if id, ok := w.units[k]; ok {
		return id, nil
	}
	id, err := w.filler.Unit(k.group, &d.Terms)
	if err != nil {
		return 0, err
	}
	w.units[k] = id
	u := &w.made.units
	u.id, u.pkg, u.tokens, u.comments, u.names = append(u.id, id), append(u.pkg, pkg), append(u.tokens, d.Tokens[:]), append(u.comments, d.Comments[:]), append(u.names, strings.Join(d.Names, "\n"))
	for i, n := range d.Names {
		m := &w.made.members
		m.unit, m.ord, m.name, m.folded = append(m.unit, id), append(m.ord, int64(i)), append(m.name, n), append(m.folded, fold(n))
	}
	for i, text := range d.Literals {
		l := &w.made.literals
		l.unit, l.ord, l.text = append(l.unit, id), append(l.ord, int64(i)), append(l.text, []byte(text))
	}
	return id, nil
}

// declRows are rows of table decl, by column.
type declRows struct {
	numbers     [14][]int64 // id or file, then the others
	name, short []string
}

func (r *declRows) add(first int64, n declName, at *position) {
	for i, x := range []int64{first, int64(n.kind), int64(n.nth), at.pkg, at.unit, at.start, at.end, at.docStart, at.docEnd, at.line, at.endLine, at.head, at.broken} {
		r.numbers[i] = append(r.numbers[i], x)
	}
	r.name, r.short = append(r.name, n.name), append(r.short, fold(rows.Short(n.name)))
}

// putDecls writes the declarations of files. Those that a file had before keep their numbers, so that
// the calls of and to them stay.
func (w *fileWriter) putDecls(put []*knowledge.Parsed) error {
	var changed, added declRows
	for _, p := range put {
		pkg, file := w.packages[p.ImportPath()], w.files[p.Path]
		old := w.old[file]
		for i := range p.Decls {
			d := &p.Decls[i]
			unit, err := w.unit(p, pkg, d)
			if err != nil {
				return err
			}
			at := position{pkg, unit, int64(d.Start), int64(d.End), int64(d.Doc.Start), int64(d.Doc.End), int64(d.Line), int64(d.EndLine), int64(d.Head), 0}
			if d.Broken {
				at.broken = 1
			}
			name := declName{d.Kind, d.Name, d.Nth}
			was, known := old[name]
			delete(old, name)
			switch {
			case known && was.position == at:
			case known:
				changed.add(was.id, name, &at)
				if was.unit != unit {
					w.orphans = append(w.orphans, was.unit)
				}
			default:
				added.add(file, name, &at)
			}
		}
		w.drop(old)
	}
	if n := &changed.numbers; len(n[0]) > 0 {
		if _, err := w.exec(`UPDATE decl SET package = x.package, unit = x.unit, start = x.start, "end" = x."end", doc_start = x.doc_start, doc_end = x.doc_end, line = x.line, end_line = x.end_line, head = x.head, broken = x.broken
			FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::int[], $6::int[], $7::int[], $8::int[], $9::int[], $10::int[], $11::int[])
			x (id, package, unit, start, "end", doc_start, doc_end, line, end_line, head, broken) WHERE decl.id = x.id`,
			n[0], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12]); err != nil {
			return err
		}
	}
	if n := &added.numbers; len(n[0]) > 0 {
		if _, err := w.exec(`INSERT INTO decl (project, file, kind, nth, package, unit, start, "end", doc_start, doc_end, line, end_line, head, broken, name, short)
			SELECT $1, * FROM unnest($2::bigint[], $3::int[], $4::int[], $5::bigint[], $6::bigint[], $7::int[], $8::int[], $9::int[], $10::int[], $11::int[], $12::int[], $13::int[], $14::int[], $15::text[], $16::text[])`,
			w.s.project, n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12], added.name, added.short); err != nil {
			return err
		}
	}
	return nil
}

// finish removes the declarations that are gone, with the calls of and to them, and writes the new units.
func (w *fileWriter) finish() error {
	if len(w.gone) > 0 {
		from, err1 := w.exec("DELETE FROM edge WHERE caller = ANY($1)", w.gone)
		if err1 != nil {
			return err1
		}
		to, err2 := w.exec("DELETE FROM edge WHERE callee = ANY($1)", w.gone)
		if err2 != nil {
			return err2
		}
		if from+to > 0 {
			// The declaration may come back, and with it the key of the calls that are gone.
			if _, err := w.exec("UPDATE repository SET calls_made = decode(repeat('00', length(calls_made)), 'hex') WHERE id = $1", w.repository); err != nil {
				return err
			}
		}
		if _, err := w.exec("DELETE FROM decl WHERE id = ANY($1)", w.gone); err != nil {
			return err
		}
	}
	if len(w.orphans) > 0 {
		// A unit may have lost its last declaration. It is removed at the end of the update: a declaration
		// that moved to another file of its package keeps it.
		if _, err := w.exec("INSERT INTO orphan (project, unit) SELECT DISTINCT $1::int, unnest($2::bigint[]) ON CONFLICT DO NOTHING", w.s.project, w.orphans); err != nil {
			return err
		}
	}
	if u := &w.made.units; len(u.id) > 0 {
		if _, err := w.exec("INSERT INTO unit (project, id, package, tokens, comments, names) SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[], $6::text[])", w.s.project, u.id, u.pkg, u.tokens, u.comments, u.names); err != nil {
			return err
		}
	}
	if m := &w.made.members; len(m.unit) > 0 {
		if _, err := w.exec("INSERT INTO member (project, unit, ord, name, folded) SELECT $1, * FROM unnest($2::bigint[], $3::int[], $4::text[], $5::text[])", w.s.project, m.unit, m.ord, m.name, m.folded); err != nil {
			return err
		}
	}
	if l := &w.made.literals; len(l.unit) > 0 {
		if _, err := w.exec("INSERT INTO literal (project, unit, ord, text) SELECT $1, * FROM unnest($2::bigint[], $3::int[], $4::bytea[])", w.s.project, l.unit, l.ord, l.text); err != nil {
			return err
		}
	}
	return w.writeChunks()
}

// Finish is of [knowledge.Writer].
func (s *Store) Finish(ctx context.Context, repository, update int64, sn knowledge.Snapshot, calls code.Hash) error {
	return s.writing(ctx, func(t *transaction) error {
		_, ours, err := t.number("SELECT 1 FROM repository WHERE id = $1 AND updating = $2 FOR UPDATE", repository, update)
		if err != nil || !ours {
			return err
		}
		if err := t.collect(repository); err != nil {
			return err
		}
		_, err = t.exec("UPDATE repository SET revision = $1, uncommitted = $2, newest = $3, listing = $4, calls_now = $5, updating = 0 WHERE id = $6",
			sn.Commit, sn.Uncommitted[:], nanos(sn.Time), sn.Listing[:], calls[:], repository)
		return err
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
	}, "SELECT unit FROM orphan WHERE unit BETWEEN $1 AND $2 AND NOT EXISTS (SELECT FROM decl WHERE decl.unit = orphan.unit)", first, last); err != nil {
		return err
	}
	if len(gone) > 0 {
		if err := errors.Join(t.do(
			sql("DELETE FROM unit WHERE id = ANY($1)", gone),
			sql("DELETE FROM member WHERE unit = ANY($1)", gone),
			sql("DELETE FROM literal WHERE unit = ANY($1)", gone)),
			t.removeUnits(gone)); err != nil {
			return err
		}
	}
	return t.do(
		sql("DELETE FROM orphan WHERE unit BETWEEN $1 AND $2", first, last),
		sql("DELETE FROM package WHERE repository = $1 AND NOT EXISTS (SELECT FROM file WHERE file.repository = $1 AND file.package = package.id)", repository))
}

// Counts is of [knowledge.Writer].
func (s *Store) Counts(ctx context.Context, repository int64) (n knowledge.Counts, err error) {
	err = s.rows(ctx, func(scan func(...any) error) error {
		return scan(&n.Modules, &n.Packages, &n.Files, &n.Unread, &n.Declarations, &n.Functions, &n.Static, &n.Interface, &n.Runs, &n.RanCalls, &n.Commits)
	}, `SELECT
		(SELECT count(*) FROM module WHERE repository = $1),
		(SELECT count(*) FROM package WHERE repository = $1),
		(SELECT count(*) FROM file WHERE repository = $1),
		(SELECT count(*) FROM file WHERE repository = $1 AND problem <> ''),
		decls.n, decls.functions, edges.static, edges.interface,
		(SELECT count(*) FROM run),
		(SELECT count(*) FROM ran_call),
		(SELECT count(*) FROM revision WHERE repository = $1)
		FROM (SELECT count(*) AS n, count(*) FILTER (WHERE d.kind IN (1, 2)) AS functions
			FROM decl d WHERE d.file IN (SELECT id FROM file WHERE repository = $1)) decls,
		(SELECT count(*) FILTER (WHERE e.kind = 1) AS static, count(*) FILTER (WHERE e.kind = 2) AS interface
			FROM edge e JOIN decl d ON d.id = e.caller JOIN file f ON f.id = d.file WHERE f.repository = $1) edges`, repository)
	return n, err
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
			sql("DELETE FROM module WHERE repository = $1", repository),
			sql("DELETE FROM repository WHERE id = $1", repository))
	})
}
