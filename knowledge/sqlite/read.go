package sqlite

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"tracerag/code"
	"tracerag/code/words"
	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Repositories is of [knowledge.Reader]. They are in the order of their names.
func (s *Store) Repositories(ctx context.Context) ([]knowledge.Repository, error) {
	var list []knowledge.Repository
	err := s.rows(ctx, func(scan func(...any) error) error {
		var r knowledge.Repository
		var newest, updating int64
		var uncommitted, listing, made, now []byte
		if err := scan(&r.ID, &r.Name, &r.Root, &r.URL, &r.Snapshot.Commit, &uncommitted, &newest, &listing, &updating, &made, &now); err != nil {
			return err
		}
		copy(r.Snapshot.Uncommitted[:], uncommitted)
		copy(r.Snapshot.Listing[:], listing)
		if newest != 0 {
			r.Snapshot.Time = time.Unix(0, newest)
		}
		r.Incomplete = updating != 0
		switch {
		case len(made) == 0:
			r.Calls = knowledge.NoCalls
		case string(made) == string(now) && !r.Incomplete:
			r.Calls = knowledge.FreshCalls
		default:
			r.Calls = knowledge.OldCalls
		}
		list = append(list, r)
		return nil
	}, "SELECT id, name, root, url, revision, uncommitted, newest, listing, updating, calls_made, calls_now FROM repository ORDER BY name")
	if err != nil {
		return nil, err
	}
	return list, s.rows(ctx, func(scan func(...any) error) error {
		var id int64
		var detail string
		if err := scan(&id, &detail); err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(r knowledge.Repository) bool { return r.ID == id })
		if i < 0 { // begun since
			return nil
		}
		var m code.Module
		if err := json.Unmarshal([]byte(detail), &m); err != nil {
			return err
		}
		list[i].Modules = append(list[i].Modules, m)
		return nil
	}, "SELECT repository, detail FROM module ORDER BY repository, ord")
}

// declColumns are those that scanDecl reads.
const declColumns = `d.id, f.repository, d.file, ifnull(m.path, ''), p.path, f.clause, f.path, f.class, f.platform,
	d.kind, d.name, u.names, d.nth, d.start, d.end, d.doc_start, d.doc_end, d.line, d.end_line, d.head, d.broken, u.tokens, u.comments, d.unit`

const declTables = ` FROM decl d JOIN file f ON f.id = d.file JOIN package p ON p.id = d.package JOIN unit u ON u.id = d.unit
	LEFT JOIN module m ON m.repository = f.repository AND m.ord = f.module `

const selectDecl = "SELECT " + declColumns + declTables

func scanDecl(scan func(...any) error, d *knowledge.Decl, unit *int64) error {
	var class int
	var platform, names string
	var tokens, comments []byte
	if err := scan(&d.ID, &d.Repository, &d.File, &d.Module, &d.Package, &d.PackageName, &d.Path, &class, &platform,
		&d.Kind, &d.Name, &names, &d.Nth, &d.Start, &d.End, &d.Doc.Start, &d.Doc.End, &d.Line, &d.EndLine, &d.Head, &d.Broken, &tokens, &comments, unit); err != nil {
		return err
	}
	d.Class, d.Generated = rows.BitsClass(class, platform)
	if names != "" {
		d.Names = strings.Split(names, "\n")
	}
	copy(d.Tokens[:], tokens)
	copy(d.Comments[:], comments)
	return nil
}

// decls returns the declarations that a condition holds for, in the order of their places.
func (s *Store) decls(ctx context.Context, where string, args ...any) ([]knowledge.Decl, error) {
	var list []knowledge.Decl
	err := s.rows(ctx, func(scan func(...any) error) error {
		var d knowledge.Decl
		var unit int64
		err := scanDecl(scan, &d, &unit)
		list = append(list, d)
		return err
	}, selectDecl+where+" ORDER BY f.repository, f.path, d.start", args...)
	return list, err
}

// array is a list as a query takes it, with json_each.
func array[T any](list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	b, _ := json.Marshal(list)
	return string(b)
}

// inRepositories limits a query, whose parameter ?2 is the list, to some repositories.
func inRepositories(repositories []int64) string {
	if len(repositories) == 0 {
		return " AND ?2 = '[]'"
	}
	return " AND f.repository IN (SELECT value FROM json_each(?2))"
}

// Named is of [knowledge.Reader].
func (s *Store) Named(ctx context.Context, names []string, repositories []int64) ([]knowledge.Decl, error) {
	shorts := make([]string, len(names))
	for i, n := range names {
		shorts[i] = rows.Short(n)
	}
	// By the short name, which has no case: which of them are meant is looked at below.
	list, err := s.decls(ctx, "WHERE (d.short IN (SELECT value FROM json_each(?1)) OR d.unit IN (SELECT unit FROM member WHERE name IN (SELECT value FROM json_each(?1))))"+inRepositories(repositories),
		array(shorts), array(repositories))
	if err != nil {
		return nil, err
	}
	return rows.Called(list, names), nil
}

// Quoting is of [knowledge.Reader].
func (s *Store) Quoting(ctx context.Context, texts []string, repositories []int64) ([]knowledge.Decl, error) {
	var units []int64
	for _, text := range texts {
		if text == "" {
			continue
		}
		// The words of a text are in the index. Looking through all literals takes ten
		// times as long, and is for texts without words.
		query, args := "SELECT DISTINCT unit FROM literal WHERE instr(text, ?1)", []any{text}
		if terms := words.Terms(text); len(terms) > 0 {
			having, err := rows.Quoting(s.source(ctx), terms, repositories)
			if err != nil {
				return nil, err
			}
			query, args = query+" AND unit IN (SELECT value FROM json_each(?2))", append(args, array(having))
		}
		if err := s.rows(ctx, func(scan func(...any) error) error {
			var id int64
			err := scan(&id)
			units = append(units, id)
			return err
		}, query, args...); err != nil {
			return nil, err
		}
	}
	return s.decls(ctx, "WHERE d.unit IN (SELECT value FROM json_each(?1)) AND d.kind IN (1, 2)"+inRepositories(repositories), array(units), array(repositories))
}

// ids returns the repositories asked for: all if none are.
func (s *Store) ids(ctx context.Context, repositories []int64) ([]int64, error) {
	if len(repositories) > 0 {
		return slices.Compact(slices.Sorted(slices.Values(repositories))), nil
	}
	var list []int64
	err := s.rows(ctx, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		list = append(list, id)
		return err
	}, "SELECT id FROM repository ORDER BY id")
	return list, err
}

// Decls is of [knowledge.Reader]. They are in the order asked for.
func (s *Store) Decls(ctx context.Context, ids []int64) ([]knowledge.Decl, error) {
	list, err := s.decls(ctx, "WHERE d.id IN (SELECT value FROM json_each(?1))", array(ids))
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]knowledge.Decl, len(list))
	for _, d := range list {
		byID[d.ID] = d
	}
	list = list[:0]
	for _, id := range ids {
		if d, ok := byID[id]; ok {
			list = append(list, d)
		}
	}
	return list, nil
}

// Holds is of [knowledge.Reader].
func (s *Store) Holds(ctx context.Context, pattern string) (holds bool, err error) {
	err = s.rows(ctx, func(scan func(...any) error) error {
		var file, pkg string
		err := scan(&file, &pkg)
		holds = holds || knowledge.Within(pattern, file, pkg)
		return err
	}, "SELECT f.path, p.path FROM file f JOIN package p ON p.id = f.package")
	return holds, err
}

// Hashes is of [knowledge.Reader].
func (s *Store) Hashes(ctx context.Context, files []int64) (map[int64]code.Hash, error) {
	hashes := make(map[int64]code.Hash, len(files))
	err := s.rows(ctx, func(scan func(...any) error) error {
		var id int64
		var b []byte
		err := scan(&id, &b)
		var h code.Hash
		copy(h[:], b)
		hashes[id] = h
		return err
	}, "SELECT id, hash FROM file WHERE id IN (SELECT value FROM json_each(?))", array(files))
	return hashes, err
}

// In is of [knowledge.Reader].
func (s *Store) In(ctx context.Context, files []int64) ([]knowledge.Decl, error) {
	return s.decls(ctx, "WHERE d.file IN (SELECT value FROM json_each(?1))", array(files))
}

// Files is of [knowledge.Reader].
func (s *Store) Files(ctx context.Context, paths []string, repositories []int64) ([]knowledge.File, error) {
	list, err := s.fileRows(ctx, "f.base IN (SELECT value FROM json_each(?1))"+inRepositories(repositories), array(rows.Bases(paths)), array(repositories))
	return rows.Files(list, paths), err
}

// Product is of [knowledge.Reader].
func (s *Store) Product(ctx context.Context, repository int64) ([]knowledge.File, error) {
	list, err := s.fileRows(ctx, "f.repository = ?", repository)
	return slices.DeleteFunc(list, func(f knowledge.File) bool { return !f.Product() }), err
}

// fileRows returns the files for which a condition holds, by repository and path.
func (s *Store) fileRows(ctx context.Context, where string, args ...any) ([]knowledge.File, error) {
	var list []knowledge.File
	err := s.rows(ctx, func(scan func(...any) error) error {
		var f knowledge.File
		var class int
		var mtime int64
		var platform, imports string
		var hash []byte
		if err := scan(&f.ID, &f.Repository, &f.Path, &f.Entry.Package, &f.Module, &f.PackageName, &class, &platform, &f.Constraint, &f.Broken, &imports, &f.Problem, &f.Size, &mtime, &hash); err != nil {
			return err
		}
		f.Class, f.Generated = rows.BitsClass(class, platform)
		if mtime != 0 {
			f.Time = time.Unix(0, mtime)
		}
		if imports != "" {
			f.Imports = strings.Split(imports, "\n")
		}
		copy(f.Hash[:], hash)
		list = append(list, f)
		return nil
	}, "SELECT f.id, f.repository, f.path, f.directory, f.module, f.clause, f.class, f.platform, f.build, f.broken, f.imports, f.problem, f.size, f.mtime, f.hash FROM file f WHERE "+where+" ORDER BY f.repository, f.path", args...)
	return list, err
}
