package postgres

import (
	"strings"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

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
	found := w.query("SELECT u.id, u.package, u.tokens, u.comments FROM unnest($1::bytea[], $2::bytea[], $3::bigint[]) x (tokens, comments, package) JOIN unit u ON u.tokens = x.tokens AND u.comments = x.comments AND u.package = x.package", tokens, comments, packages)
	return found.Each(func(scan rows.Scan) error {
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
	})
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
		m.unit, m.ord, m.name, m.folded = append(m.unit, id), append(m.ord, int64(i)), append(m.name, n), append(m.folded, rows.Key(fold(n)))
	}
	for i, text := range d.Literals {
		l := &w.made.literals
		l.unit, l.ord, l.text = append(l.unit, id), append(l.ord, int64(i)), append(l.text, []byte(text))
	}
	return id, nil
}

// declRows are rows of table decl, by column.
type declRows struct {
	numbers     [13][]int64 // id or file, kind, nth, then the position
	name, short []string
}

func (r *declRows) add(first int64, c *rows.DeclChange) {
	for i, x := range [...]int64{first, int64(c.Name.Kind), int64(c.Name.Nth), c.Package, c.Unit, c.Start, c.End, c.DocStart, c.DocEnd, c.Line, c.EndLine, c.Head, c.Broken} {
		r.numbers[i] = append(r.numbers[i], x)
	}
	r.name, r.short = append(r.name, c.Name.Name), append(r.short, rows.Key(fold(rows.Short(c.Name.Name))))
}

// putDecls writes the declarations of files.
func (w *fileWriter) putDecls(put []*knowledge.Parsed) error {
	var changed, added declRows
	for _, p := range put {
		pkg, file := w.packages[p.ImportPath()], w.files[p.Path]
		old := w.old[file]
		changes, err := rows.DeclChanges(p, pkg, old, func(d *knowledge.Facts) (int64, error) { return w.unit(p, pkg, d) })
		if err != nil {
			return err
		}
		for i := range changes {
			c := &changes[i]
			if c.ID == 0 {
				added.add(file, c)
				continue
			}
			changed.add(c.ID, c)
			if c.Moved() {
				w.orphans = append(w.orphans, c.Was)
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
		from, err := w.exec("DELETE FROM edge WHERE caller = ANY($1)", w.gone)
		if err != nil {
			return err
		}
		to, err := w.exec("DELETE FROM edge WHERE callee = ANY($1)", w.gone)
		if err != nil {
			return err
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
