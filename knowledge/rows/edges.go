package rows

import (
	"fmt"

	"tracerag/code"
	"tracerag/knowledge"
)

// Edge is a static or an interface edge as a row has it.
type Edge struct {
	Caller, Callee int64
	Kind           knowledge.EdgeKind
	Site           int
}

// Places are the declarations of a repository that calls may be of and to: functions, and groups of
// variables, whose initialisers call.
type Places map[knowledge.Place]int64

// Add takes in a declaration. Those of a higher kind come first.
func (p Places) Add(id int64, path string, d *code.Decl) {
	if d.Kind == code.Func && d.Name == "_" {
		return // it calls nothing, and variables may have its symbol
	}
	p[knowledge.Place{Path: path, Symbol: d.Symbol()}] = id
}

// Edges returns the rows that calls are.
func (p Places) Edges(calls []knowledge.Call) (map[Edge]bool, error) {
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
