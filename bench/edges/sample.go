package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"tracerag/code/calls"
)

// sample prints static edges with the lines that they stand for, to be read by a person: does
// that line call that declaration?
func (fs *files) sample(w io.Writer, edges []calls.Edge, n int, seed uint64) error {
	edges = slices.DeleteFunc(edges, func(e calls.Edge) bool { return e.Kind != calls.Static })
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(edges), func(i, j int) { edges[i], edges[j] = edges[j], edges[i] })
	for i, e := range edges[:min(n, len(edges))] {
		line := fs.line(e.Caller, e.Site)
		fmt.Fprintf(w, "%d. %s:%d in %s (site %d) calls %s.%s\n\t%s\n\t%s\n", i+1, e.Caller.File, line, e.Caller.Symbol, e.Site,
			e.Callee.Package, e.Callee.Symbol, fs.text(e.Caller.File, line), fs.head(e.Callee))
	}
	return nil
}

// head returns the first line of a declaration.
func (fs *files) head(n calls.Name) string {
	if f := fs.file(n.File); f != nil {
		for _, d := range f.decls {
			if d.Symbol() == n.Symbol {
				return fmt.Sprintf("%s:%d: %s", n.File, d.Line, fs.text(n.File, d.Line))
			}
		}
	}
	return n.File + ": not declared"
}
