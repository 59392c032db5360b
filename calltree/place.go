package calltree

import "tracerag/trace"

// places are the positions that a compact text has so far. Nil keeps none.
type places struct {
	dependency func(*trace.Function) bool
	shown      map[string]bool // by linker name
	file       string          // of the last one
}

func newPlaces(dependency func(*trace.Function) bool) *places {
	return &places{dependency: dependency, shown: map[string]bool{}}
}

// first reports whether a function had no position yet.
func (p *places) first(fn *trace.Function) bool {
	if p.shown[fn.Name] {
		return false
	}
	p.shown[fn.Name] = true
	return true
}

// brief is what replaces a function's file: nothing if it is a dependency's and the
// last one was the same.
func (p *places) brief(file string, fn *trace.Function) string {
	if p == nil {
		return file
	}
	same := file == p.file && fn.StartLine > 0 && p.dependency != nil && p.dependency(fn)
	if p.file = file; same {
		return ""
	}
	return file
}
