package executable

import "iter"

// LineSpan is a piece of machine code that belongs to one line
// of the function that has it.
type LineSpan struct {
	From, To uint64 // pcs, To exclusive
	// Line is in the function itself: of code that was inlined, that of the
	// outermost call. It is 0 where it is not known, or in another file, as a
	// //line directive may say.
	Line    int
	Inlined bool
}

// Lines yields the lines of all of a function's code, by address. Fn is one of
// f.Funcs. Like Inlined, it may be called from several goroutines at once, for
// different functions.
func (f *File) Lines(fn *Func) iter.Seq[LineSpan] {
	return func(yield func(LineSpan) bool) {
		i := f.Index(fn.Entry)
		if i < 0 {
			return
		}
		r, p := f.tab.record(i), f.tables(i)
		own := f.tab.ownFile(r, fn.End-fn.Entry)
		// The tables change at different pcs: a span ends where the first of them does.
		files, lines, inl := p.file, p.line, p.inl
		for from := uint32(0); len(files) > 0 && len(lines) > 0; {
			to := min(files[0].end, lines[0].end)
			s := LineSpan{From: fn.Entry + uint64(from), Line: int(max(0, lines[0].value))}
			file := files[0].value
			if len(inl) > 0 {
				to = min(to, inl[0].end)
				if at, ok := f.outermost(i, inl[0].value); ok {
					s.Line, s.Inlined, file = line(p, at), true, p.file.at(at)
				}
			}
			if file != own {
				s.Line = 0
			}
			s.To = fn.Entry + uint64(to)
			if to > from && !yield(s) {
				return
			}
			from = to
			files, lines, inl = files.behind(to), lines.behind(to), inl.behind(to)
		}
	}
}

// outermost returns the pc that stands for the outermost of the calls around entry
// k of a function's inline tree, as a distance from the entry.
func (f *File) outermost(fn int, k int32) (at uint64, ok bool) {
	r, p := f.tab.record(fn), f.tables(fn)
	for {
		e, in := f.tab.inlined(r, k)
		if !in {
			return at, ok
		}
		at, ok = uint64(e.parentPC), true
		up := p.inl.at(at)
		if up >= k { // damaged: see Frames
			return at, ok
		}
		k = up
	}
}
