package source

import "iter"

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
	r.mu.Lock()
	places := r.placesOf(f)
	r.mu.Unlock()
	for _, pl := range places {
		if data, _, err := readRegular(pl.root, pl.path); err == nil && !pl.guess {
			return pl.path, string(data)
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
