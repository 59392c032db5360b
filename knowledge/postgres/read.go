package postgres

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

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
		var host string
		var newest, updating int64
		var uncommitted, listing, made, now []byte
		if err := scan(&r.ID, &r.Name, &host, &r.Root, &r.URL, &r.Snapshot.Commit, &uncommitted, &newest, &listing, &updating, &made, &now); err != nil {
			return err
		}
		copy(r.Snapshot.Uncommitted[:], uncommitted)
		copy(r.Snapshot.Listing[:], listing)
		r.Snapshot.Time = instant(newest)
		r.Incomplete = updating != 0
		switch {
		case len(made) == 0:
			r.Calls = knowledge.NoCalls
		case string(made) == string(now) && !r.Incomplete:
			r.Calls = knowledge.FreshCalls
		default:
			r.Calls = knowledge.OldCalls
		}
		if s.place(&r, host); r.Elsewhere {
			r.Text = func(path string) ([]byte, error) { return s.text(context.WithoutCancel(ctx), r.ID, path) }
		}
		list = append(list, r)
		return nil
	}, "SELECT id, name, host, root, url, revision, uncommitted, newest, listing, updating, calls_made, calls_now FROM repository ORDER BY name")
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

// text returns the text of a file as it was indexed.
func (s *Store) text(ctx context.Context, repository int64, path string) ([]byte, error) {
	list, err := column[[]byte](ctx, s, "SELECT t.text FROM file f JOIN source t ON t.file = f.id WHERE f.repository = $1 AND f.path = $2", repository, path)
	if err == nil && len(list) == 0 {
		err = &TextError{s.server, path}
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// SetTexts keeps texts of files that were written without. The reader returns nil for a file whose text
// is not the one that was indexed.
func (s *Store) SetTexts(ctx context.Context, repository int64, read func(path string, hash code.Hash) []byte) error {
	type file struct {
		id   int64
		path string
		hash code.Hash
	}
	var files []file
	if err := s.rows(ctx, func(scan func(...any) error) error {
		var f file
		var hash []byte
		err := scan(&f.id, &f.path, &hash)
		copy(f.hash[:], hash)
		files = append(files, f)
		return err
	}, "SELECT f.id, f.path, f.hash FROM file f WHERE f.repository = $1 AND f.problem = '' AND NOT EXISTS (SELECT FROM source t WHERE t.file = f.id) ORDER BY f.path", repository); err != nil {
		return err
	}
	for some := range slices.Chunk(files, 200) {
		var ids []int64
		var texts [][]byte
		for _, f := range some {
			if text := read(f.path, f.hash); text != nil {
				ids, texts = append(ids, f.id), append(texts, text)
			}
		}
		if err := s.writing(ctx, func(t *transaction) error {
			if err := t.lock(repository); err != nil {
				return err
			}
			// Who wrote a file since has its text.
			_, err := t.exec("INSERT INTO source (project, file, text) SELECT $1, x.* FROM unnest($2::bigint[], $3::bytea[]) x (file, text) WHERE EXISTS (SELECT FROM file f WHERE f.id = x.file) ON CONFLICT DO NOTHING", s.project, ids, texts)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

const selectDecl = `SELECT d.id, f.repository, d.file, coalesce(m.path, ''), p.path, f.clause, f.path, f.class, f.platform,
	d.kind, d.name, u.names, d.nth, d.start, d."end", d.doc_start, d.doc_end, d.line, d.end_line, d.head, d.broken <> 0, u.tokens, u.comments, d.unit ` + declTables

const declTables = ` FROM decl d JOIN file f ON f.id = d.file JOIN package p ON p.id = d.package JOIN unit u ON u.id = d.unit
	LEFT JOIN module m ON m.repository = f.repository AND m.ord = f.module `

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

// Conditions for repositories, the first parameter, or all if it is empty.
const (
	inRepositories   = " (cardinality($1::bigint[]) = 0 OR f.repository = ANY($1)) "
	productFunctions = "WHERE d.unit >> 32 & 255 = 0 AND " + inRepositories // rows.ProductFunctions
)

// Named is of [knowledge.Reader].
func (s *Store) Named(ctx context.Context, names []string, repositories []int64) ([]knowledge.Decl, error) {
	if len(names) == 0 {
		return nil, nil
	}
	shorts, members := make([]string, len(names)), make([]string, len(names))
	for i, n := range names {
		shorts[i], members[i] = fold(rows.Short(n)), fold(n)
	}
	// By the short name, which has no case: which of them are meant is looked at below.
	list, err := s.decls(ctx, `WHERE d.id IN (
		SELECT id FROM decl WHERE project = $4 AND short = ANY($2)
		UNION ALL SELECT e.id FROM member n JOIN decl e ON e.unit = n.unit WHERE n.project = $4 AND n.folded = ANY($3)) AND`+inRepositories,
		repositories, shorts, members, s.project)
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
		query, args := "SELECT DISTINCT unit FROM literal WHERE position($1::bytea IN text) > 0", []any{[]byte(text)}
		if terms := words.Terms(text); len(terms) > 0 {
			having, err := rows.Quoting(s.source(ctx), terms, repositories)
			if err != nil {
				return nil, err
			}
			query, args = query+" AND unit = ANY($2)", append(args, having)
		}
		found, err := column[int64](ctx, s, query, args...)
		if err != nil {
			return nil, err
		}
		units = append(units, found...)
	}
	if len(units) == 0 {
		return nil, nil
	}
	return s.decls(ctx, "WHERE d.unit = ANY($2) AND d.kind IN (1, 2) AND"+inRepositories, repositories, units)
}

// Search is of [knowledge.Reader].
func (s *Store) Search(ctx context.Context, q knowledge.Query) ([]knowledge.Hit, error) {
	return rows.Search(s.source(ctx), &q)
}

// Rarity is of [knowledge.Reader].
func (s *Store) Rarity(ctx context.Context, terms []string, repositories []int64) (knowledge.Rarity, error) {
	return rows.Rarity(s.source(ctx), terms, repositories)
}

func (s *Store) source(ctx context.Context) rows.Source {
	return rows.Source{
		IDs:    func(repositories []int64) ([]int64, error) { return s.ids(ctx, repositories) },
		Chunks: func(in rows.Scope, terms []string) ([]*rows.Chunk, error) { return s.chunks(ctx, &in, terms) },
		Decls: func(units []int64, each func(*knowledge.Decl, int64)) error {
			return s.rows(ctx, func(scan func(...any) error) error {
				var d knowledge.Decl
				var unit int64
				err := scanDecl(scan, &d, &unit)
				if err == nil {
					each(&d, unit)
				}
				return err
			}, selectDecl+"WHERE d.unit = ANY($1)", units)
		},
	}
}

// ids returns the repositories asked for: all if none are.
func (s *Store) ids(ctx context.Context, repositories []int64) ([]int64, error) {
	if len(repositories) > 0 {
		return slices.Compact(slices.Sorted(slices.Values(repositories))), nil
	}
	return column[int64](ctx, s, "SELECT id FROM repository ORDER BY id")
}

// chunks reads the rows of terms in a scope, chunk by chunk. It is one statement, which sees one state.
func (s *Store) chunks(ctx context.Context, in *rows.Scope, terms []string) ([]*rows.Chunk, error) {
	var first, last []int64
	for _, r := range in.Repositories {
		a, b := in.Chunks(r)
		first, last = append(first, a), append(last, b)
	}
	number := make(map[string]int, len(terms))
	for i, t := range terms {
		number[encode(t)] = i
	}
	var list []*rows.Chunk
	at := map[int64]*rows.Chunk{}
	chunk := func(id int64) *rows.Chunk {
		c := at[id]
		if c == nil {
			c = &rows.Chunk{ID: id, Rows: make([][]byte, len(terms))}
			at[id], list = c, append(list, c)
		}
		return c
	}
	err := s.rows(ctx, func(scan func(...any) error) error {
		var id int64
		var term *string
		var b []byte
		if err := scan(&id, &term, &b); err != nil {
			return err
		}
		if term == nil {
			chunk(id).Lengths = b
			return nil
		}
		n := number[*term]
		for i := n; i >= 0; i-- { // a term may be asked for twice
			if i == n || terms[i] == terms[n] {
				chunk(id).Rows[i] = b
			}
		}
		return nil
	}, `WITH c AS MATERIALIZED (SELECT c.id, c.lengths FROM unnest($1::bigint[], $2::bigint[]) x (a, b) JOIN chunk c ON c.id BETWEEN x.a AND x.b)
		SELECT id, NULL, lengths FROM c
		UNION ALL SELECT p.chunk, p.term, p.units FROM posting p WHERE p.chunk = ANY(ARRAY(SELECT id FROM c)) AND p.term = ANY($3)`, first, last, terms)
	slices.SortFunc(list, func(a, b *rows.Chunk) int { return int(min(max(a.ID-b.ID, -1), 1)) })
	return list, err
}

// Decls is of [knowledge.Reader]. They are in the order asked for.
func (s *Store) Decls(ctx context.Context, ids []int64) ([]knowledge.Decl, error) {
	list, err := s.decls(ctx, "WHERE d.id = ANY($1)", ids)
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
	}, "SELECT id, hash FROM file WHERE id = ANY($1)", files)
	return hashes, err
}

// In is of [knowledge.Reader].
func (s *Store) In(ctx context.Context, files []int64) ([]knowledge.Decl, error) {
	return s.decls(ctx, "WHERE d.file = ANY($1)", files)
}

// Files is of [knowledge.Reader].
func (s *Store) Files(ctx context.Context, paths []string, repositories []int64) ([]knowledge.File, error) {
	list, err := s.fileRows(ctx, inRepositories+"AND f.project = $3 AND f.base = ANY($2)", repositories, rows.Bases(paths), s.project)
	return rows.Files(list, paths), err
}

// Product is of [knowledge.Reader].
func (s *Store) Product(ctx context.Context, repository int64) ([]knowledge.File, error) {
	list, err := s.fileRows(ctx, "f.repository = $1", repository)
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
		f.Time = instant(mtime)
		if imports != "" {
			f.Imports = strings.Split(imports, "\n")
		}
		copy(f.Hash[:], hash)
		list = append(list, f)
		return nil
	}, "SELECT f.id, f.repository, f.path, f.directory, f.module, f.clause, f.class, f.platform, f.build, f.broken, f.imports, f.problem, f.size, f.mtime, f.hash FROM file f WHERE "+where+" ORDER BY f.repository, f.path", args...)
	return list, err
}

func once(list []knowledge.Decl, limit int) []knowledge.Decl { return rows.Once(list, limit) }

func numbersOf(v []float32) []byte { return rows.Numbers(v) }

// Nearest is of [knowledge.Vectors].
func (s *Store) Nearest(ctx context.Context, model string, to []float32, repositories []int64, limit int) ([]knowledge.Near, error) {
	near := rows.NearestTo(to)
	if err := s.rows(ctx, func(scan func(...any) error) error {
		var decl int64
		var v []byte
		err := scan(&decl, &v)
		near.Add(decl, v)
		return err
	}, "SELECT d.id, v.numbers"+declTables+"JOIN vector v ON v.project = u.project AND v.tokens = u.tokens AND v.comments = u.comments AND v.model = $2 "+productFunctions, repositories, model); err != nil {
		return nil, err
	}
	return near.Best(limit, func(ids []int64) ([]knowledge.Decl, error) { return s.Decls(ctx, ids) })
}

// Dump writes all that is in the project as text: see [rows.Dump].
func (s *Store) Dump(ctx context.Context, w io.Writer) error {
	return s.snapshot(ctx, func(read rows.ReadFunc) error { return rows.Dump(w, read) })
}

// snapshot has do read what is there at one moment.
func (s *Store) snapshot(ctx context.Context, do func(read rows.ReadFunc) error) error {
	return s.explain(ctx, pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		return do(func(query string, each func(values []any) error) error {
			list, err := tx.Query(ctx, query)
			if err != nil {
				return err
			}
			defer list.Close()
			for list.Next() {
				values, err := list.Values()
				if err != nil {
					return err
				}
				for i, v := range values {
					switch v := v.(type) {
					case int32:
						values[i] = int64(v)
					case string:
						values[i] = decode(v)
					}
				}
				if err := each(values); err != nil {
					return err
				}
			}
			return list.Err()
		})
	}))
}
