package postgres

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Stored is of [knowledge.Writer].
func (s *Store) Stored(ctx context.Context, repository int64) ([]knowledge.Stored, error) {
	return rows.ReadStored(s.query(ctx, rows.SelectStored, repository))
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
	files      map[string]int64                         // by path: those that were there, then all
	packages   map[string]int64                         // by path
	old        map[int64]map[rows.DeclName]rows.DeclRow // by file
	units      map[unitKey]int64                        // those that were there, then all
	filler     rows.Filler
	orphans    []int64
	gone       []int64 // declarations
	made       struct {
		units    unitRows
		members  memberRows
		literals literalRows
	}
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
	if err := w.query("SELECT id, path FROM file WHERE repository = $1 AND path = ANY($2)", w.repository, paths).Each(func(scan rows.Scan) error {
		var id int64
		var path string
		err := scan(&id, &path)
		w.files[path], ids = id, append(ids, id)
		return err
	}); err != nil || len(ids) == 0 {
		return err
	}
	old, err := rows.ReadDeclRows(w.query(rows.SelectDeclRows+"file = ANY($1)", ids))
	w.old = old
	return err
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
func (w *fileWriter) drop(old map[rows.DeclName]rows.DeclRow) {
	for _, d := range old {
		w.gone, w.orphans = append(w.gone, d.ID), append(w.orphans, d.Unit)
	}
}

func (w *fileWriter) seen(list []knowledge.Stored) error {
	if len(list) == 0 {
		return nil
	}
	var paths []string
	var sizes, times []int64
	for _, f := range list {
		paths, sizes, times = append(paths, f.Path), append(sizes, f.Size), append(times, rows.Nanos(f.Time))
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
	take := func(scan rows.Scan) error {
		var id int64
		var path string
		err := scan(&id, &path)
		w.packages[path] = id
		return err
	}
	if err := w.query("SELECT id, path FROM package WHERE repository = $1 AND path = ANY($2)", w.repository, paths).Each(take); err != nil {
		return err
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return w.packages[p] != 0 })
	if len(paths) == 0 {
		return nil
	}
	return w.query("INSERT INTO package (project, repository, path) SELECT $1, $2, unnest($3::text[]) RETURNING id, path", w.s.project, w.repository, paths).Each(take)
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
		for i, n := range []int64{w.packages[p.ImportPath()], int64(p.Module), int64(rows.ClassBits(p.Class, p.Generated)), int64(p.Broken), st.Size, rows.Nanos(st.Time)} {
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
	return w.query(`INSERT INTO file (project, repository, path, base, directory, clause, platform, build, imports, problem, package, module, class, broken, size, mtime, hash, blob, calls)
		SELECT $1, $2, * FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
			$11::bigint[], $12::int[], $13::int[], $14::int[], $15::bigint[], $16::bigint[], $17::bytea[], $18::bytea[], $19::bytea[])
		ON CONFLICT (project, repository, path) DO UPDATE SET base = excluded.base, directory = excluded.directory, clause = excluded.clause, platform = excluded.platform,
			build = excluded.build, imports = excluded.imports, problem = excluded.problem, package = excluded.package, module = excluded.module, class = excluded.class,
			broken = excluded.broken, size = excluded.size, mtime = excluded.mtime, hash = excluded.hash, blob = excluded.blob, calls = excluded.calls
		RETURNING id, path`, args...).Each(func(scan rows.Scan) error {
		var id int64
		var path string
		err := scan(&id, &path)
		w.files[path] = id
		return err
	})
}
