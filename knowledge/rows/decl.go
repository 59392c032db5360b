package rows

import (
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/knowledge"
)

// DeclTables are the tables of a declaration: d, its file f, its package p, its unit u, its module m.
const DeclTables = ` FROM decl d JOIN file f ON f.id = d.file JOIN package p ON p.id = d.package JOIN unit u ON u.id = d.unit
	LEFT JOIN module m ON m.repository = f.repository AND m.ord = f.module `

// SelectDecls begins the query of what [ReadDecls] and [EachDecl] read: a condition follows, and then
// [DeclOrder] if the order matters.
const SelectDecls = `SELECT d.id, f.repository, d.file, coalesce(m.path, ''), p.path, f.clause, f.path, f.class, f.platform,
	d.kind, d.name, u.names, d.nth, d.start, d.end, d.doc_start, d.doc_end, d.line, d.end_line, d.head, d.broken <> 0, u.tokens, u.comments, d.unit` + DeclTables

// DeclOrder is the order of declarations by their places.
const DeclOrder = " ORDER BY f.repository, f.path, d.start"

// EachDecl calls do for the declarations of a query, by [SelectDecls], with their units.
func EachDecl(q Query, do func(d *knowledge.Decl, unit int64)) error {
	return q.Each(func(scan Scan) error {
		var d knowledge.Decl
		var class int
		var platform, names string
		var tokens, comments []byte
		var unit int64
		if err := scan(&d.ID, &d.Repository, &d.File, &d.Module, &d.Package, &d.PackageName, &d.Path, &class, &platform,
			&d.Kind, &d.Name, &names, &d.Nth, &d.Start, &d.End, &d.Doc.Start, &d.Doc.End, &d.Line, &d.EndLine, &d.Head, &d.Broken, &tokens, &comments, &unit); err != nil {
			return err
		}
		d.Class, d.Generated = bitsClass(class, platform)
		if names != "" {
			d.Names = strings.Split(names, "\n")
		}
		copy(d.Tokens[:], tokens)
		copy(d.Comments[:], comments)
		do(&d, unit)
		return nil
	})
}

// ReadDecls reads declarations, by [SelectDecls].
func ReadDecls(q Query) ([]knowledge.Decl, error) {
	var list []knowledge.Decl
	err := EachDecl(q, func(d *knowledge.Decl, _ int64) { list = append(list, *d) })
	return list, err
}

// InOrder puts declarations into the order of some numbers.
func InOrder(list []knowledge.Decl, ids []int64) []knowledge.Decl {
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
	return list
}

// Called returns those of some declarations that names mean: as written, or in any case
// where none is as written.
func Called(list []knowledge.Decl, names []string) []knowledge.Decl {
	keep := make([]bool, len(list))
	for _, n := range names {
		for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
			found := false
			for i := range list {
				if called(&list[i].Decl, n, same) {
					keep[i], found = true, true
				}
			}
			if found {
				break
			}
		}
	}
	var out []knowledge.Decl
	for i, d := range list {
		if keep[i] {
			out = append(out, d)
		}
	}
	return out
}

// called reports whether a declaration is called so.
func called(d *code.Decl, name string, same func(a, b string) bool) bool {
	if same(d.Name, name) || slices.ContainsFunc(d.Names, func(n string) bool { return same(n, name) }) {
		return true
	}
	receiver, method, ok := strings.Cut(d.Name, ".")
	if !ok {
		return false
	}
	return same(method, name) || same(strings.Trim(receiver, "(*)")+"."+method, name)
}

// Short returns the name of a declaration without its receiver.
func Short(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// DeclName is what a declaration is known by in its file.
type DeclName struct {
	Kind code.Kind
	Name string
	Nth  int
}

// Position is all of a declaration's row that is not its name, in the order of the columns.
type Position struct {
	Package, Unit                                             int64
	Start, End, DocStart, DocEnd, Line, EndLine, Head, Broken int64
}

// positionColumns are those of [Position].
const positionColumns = `package, unit, start, "end", doc_start, doc_end, line, end_line, head, broken`

// DeclRow is a row of table decl without the name.
type DeclRow struct {
	ID int64
	Position
}

// SelectDeclRows begins the query of what [ReadDeclRows] reads: a condition follows.
const SelectDeclRows = "SELECT file, id, kind, name, nth, " + positionColumns + " FROM decl WHERE "

// ReadDeclRows reads the rows of declarations, by [SelectDeclRows], by file and name.
func ReadDeclRows(q Query) (map[int64]map[DeclName]DeclRow, error) {
	of := map[int64]map[DeclName]DeclRow{}
	err := q.Each(func(scan Scan) error {
		var file int64
		var n DeclName
		var d DeclRow
		if err := scan(&file, &d.ID, &n.Kind, &n.Name, &n.Nth, &d.Package, &d.Unit, &d.Start, &d.End, &d.DocStart, &d.DocEnd, &d.Line, &d.EndLine, &d.Head, &d.Broken); err != nil {
			return err
		}
		if of[file] == nil {
			of[file] = map[DeclName]DeclRow{}
		}
		of[file][n] = d
		return nil
	})
	return of, err
}

// DeclChange is a row of table decl that is new, or differs from the one that is there.
type DeclChange struct {
	Name    DeclName
	DeclRow       // its ID is 0 if it is new
	Was     int64 // unit that it had; 0 if it is new
}

// Moved reports whether the declaration leaves its unit, which may lose its last one.
func (c *DeclChange) Moved() bool { return c.Was != 0 && c.Was != c.Unit }

// DeclChanges compares the declarations of a file with the rows that it has. A declaration that is there
// keeps its number, so that the calls of and to it stay. The rows that are left in old are of
// declarations that are gone. Unit returns the unit of a declaration.
func DeclChanges(p *knowledge.Parsed, pkg int64, old map[DeclName]DeclRow, unit func(d *knowledge.Facts) (int64, error)) ([]DeclChange, error) {
	var list []DeclChange
	for i := range p.Decls {
		d := &p.Decls[i]
		of, err := unit(d)
		if err != nil {
			return nil, err
		}
		at := Position{pkg, of, int64(d.Start), int64(d.End), int64(d.Doc.Start), int64(d.Doc.End), int64(d.Line), int64(d.EndLine), int64(d.Head), 0}
		if d.Broken {
			at.Broken = 1
		}
		name := DeclName{d.Kind, d.Name, d.Nth}
		was := old[name]
		delete(old, name)
		if was.Position != at {
			list = append(list, DeclChange{name, DeclRow{was.ID, at}, was.Unit})
		}
	}
	return list, nil
}
