package source

import (
	"iter"
	"path"
	"strings"

	"tracerag/trace/symbol"
)

// Files yields the whole files that functions are in, each once, by its path, in the
// order of the functions: what is written beside a function says something of it,
// too. A file that is not here is passed over. Nothing is parsed, so that it is fast,
// and nothing is kept.
func (r *Resolver) Files(functions iter.Seq[Func]) iter.Seq2[string, string] {
	return func(yield func(path, text string) bool) {
		type named struct{ file, pkg string }
		asked, seen := map[named]bool{}, map[string]bool{}
		for f := range functions {
			if asked[named{f.File, f.Package}] {
				continue
			}
			asked[named{f.File, f.Package}] = true
			at, text := r.file(f)
			if at == "" || seen[at] {
				continue
			}
			seen[at] = true
			if !yield(at, text) {
				return
			}
		}
	}
}

// file reads the file that a function is in: the first that Find looks into, or, where
// none has the name that the binary knows, the one in which Find finds it.
func (r *Resolver) file(f Func) (at, text string) {
	sym := symbol.Parse(f.Name)
	name := strings.ReplaceAll(f.File, `\`, "/")
	if generated(sym, name) {
		return "", ""
	}
	if base, ok := strings.CutSuffix(name, ".cgo1.go"); ok {
		name = base + ".go"
	}
	pkg := f.Package
	if pkg == "" {
		pkg = symbol.Unescape(sym.Package)
	}
	r.mu.Lock()
	places := r.places.candidates(r.places.ownerOf(name, pkg), name)
	r.mu.Unlock()
	if isSource(path.Ext(name)) {
		for _, pl := range places {
			if data, _, err := readRegular(pl.root, pl.path); err == nil && !pl.guess {
				return pl.path, string(data)
			}
		}
	}
	if at = r.Find(f).Path; at == "" {
		return "", ""
	}
	data, _, err := readRegular("", at)
	if err != nil {
		return "", ""
	}
	return at, string(data)
}
