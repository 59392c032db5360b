package source

import (
	"iter"
	"path"
	"strings"

	"tracerag/parallel"
	"tracerag/trace/symbol"
)

// Ahead reads and parses the files that functions are in on all processors: Find, which is
// asked for one function after the other, then has them.
func (r *Resolver) Ahead(functions iter.Seq[Func]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := map[Func]bool{}
	var at [][]place
	for f := range functions {
		of := Func{Package: f.Package, File: f.File}
		if seen[of] {
			continue
		}
		if places := r.placesOf(f); len(places) > 0 {
			seen[of] = true
			at = append(at, places)
		}
	}
	type parsed struct {
		path string
		file *file
	}
	made := make([][]parsed, len(at))
	parallel.Do(len(at), func(i int) {
		for _, pl := range at[i] {
			f, loaded := r.files[pl.path]
			if !loaded {
				f = read(pl)
				made[i] = append(made[i], parsed{pl.path, f})
			}
			if f != nil {
				return
			}
		}
	})
	for _, list := range made {
		for _, p := range list {
			r.files[p.path] = p.file
		}
	}
}

// placesOf lists the places of a function's file; none if no person wrote it.
func (r *Resolver) placesOf(f Func) []place {
	sym := symbol.Parse(f.Name)
	if generated(sym, strings.ReplaceAll(f.File, `\`, "/")) {
		return nil
	}
	in := r.locate(f, sym)
	if !isSource(path.Ext(in.name)) {
		return nil
	}
	return in.places
}
