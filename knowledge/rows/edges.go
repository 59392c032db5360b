package rows

import (
	"cmp"
	"fmt"
	"slices"

	"tracerag/code"
	"tracerag/knowledge"
)

// Edge is a static or an interface edge as a row has it.
type Edge struct {
	Caller, Callee int64
	Kind           knowledge.EdgeKind
	Site           int
}

// places are the declarations of a repository that calls may be of and to: functions, and groups of
// variables, whose initialisers call.
type places map[knowledge.Place]int64

// add takes in a declaration. Those of a higher kind come first.
func (p places) add(id int64, path string, d *code.Decl) {
	if d.Kind == code.Func && d.Name == "_" {
		return // it calls nothing, and variables may have its symbol
	}
	p[knowledge.Place{Path: path, Symbol: d.Symbol()}] = id
}

// edges returns the rows that calls are.
func (p places) edges(calls []knowledge.Call) (map[Edge]bool, error) {
	want := make(map[Edge]bool, len(calls))
	for _, c := range calls {
		caller, callee := p[c.Caller], p[c.Callee]
		if caller == 0 || callee == 0 {
			return nil, fmt.Errorf("call from %v to %v: the files in the store do not declare both", c.Caller, c.Callee)
		}
		want[Edge{caller, callee, c.Kind, c.Site}] = true
	}
	return want, nil
}

// Queries of what [EdgeChanges] reads, of the repository $1.
const (
	SelectCallers = "SELECT d.id, f.path, d.kind, d.name, d.nth FROM decl d JOIN file f ON f.id = d.file WHERE f.repository = $1 AND d.kind IN (1, 2, 5) ORDER BY d.kind DESC"
	SelectEdges   = "SELECT e.caller, e.callee, e.kind, e.site FROM edge e JOIN decl d ON d.id = e.caller JOIN file f ON f.id = d.file WHERE f.repository = $1"
)

// EdgeChanges compares the calls of a repository with the rows that it has. It reads declarations by
// [SelectCallers], and edges by [SelectEdges].
func EdgeChanges(callers, edges Query, calls []knowledge.Call) (gone, added []Edge, err error) {
	at := places{}
	if err := callers.Each(func(scan Scan) error {
		var id int64
		var path string
		var d code.Decl
		if err := scan(&id, &path, &d.Kind, &d.Name, &d.Nth); err != nil {
			return err
		}
		at.add(id, path, &d)
		return nil
	}); err != nil {
		return nil, nil, err
	}
	want, err := at.edges(calls)
	if err != nil {
		return nil, nil, err
	}
	if err := edges.Each(func(scan Scan) error {
		var e Edge
		if err := scan(&e.Caller, &e.Callee, &e.Kind, &e.Site); err != nil {
			return err
		}
		if want[e] {
			delete(want, e)
		} else {
			gone = append(gone, e)
		}
		return nil
	}); err != nil {
		return nil, nil, err
	}
	for e := range want {
		added = append(added, e)
	}
	slices.SortFunc(added, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Site, b.Site))
	})
	return gone, added, nil
}

// End is an end of an edge, by the name of its column.
type End string

// The ends of an edge.
const (
	Caller End = "caller"
	Callee End = "callee"
)

// ReadEdges returns the edges (caller, callee, kind, site) of a query, and those of runs, which are at
// one end one of the declarations.
func ReadEdges(q Query, from *RunSource, decls []int64, end End) ([]knowledge.Edge, error) {
	list, err := All(q, func(scan Scan) (e knowledge.Edge, err error) {
		err = scan(&e.Caller, &e.Callee, &e.Kind, &e.Site)
		return e, err
	})
	if err != nil {
		return nil, err
	}
	ran, err := ranEdges(from, decls, end)
	if err != nil {
		return nil, err
	}
	list = append(list, ran...)
	sortEdges(list)
	return list, nil
}

// sortEdges puts edges into the order in which stores return them.
func sortEdges(list []knowledge.Edge) {
	slices.SortFunc(list, func(a, b knowledge.Edge) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Site, b.Site), cmp.Compare(a.Callee, b.Callee), cmp.Compare(a.Trace, b.Trace))
	})
}
