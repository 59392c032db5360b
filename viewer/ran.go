package viewer

import (
	"slices"
	"strings"

	"tracerag/source"
	"tracerag/trace"
)

// watched is what a run knows of the lines that ran.
type watched struct {
	lines map[trace.Function]trace.Lines
	files map[string][]trace.Function // that were called, by file
	gaps  []string                    // functions that could not be watched
}

// newWatched returns nil for a run of which no lines were watched.
func newWatched(tr *trace.Trace) *watched {
	if len(tr.Lines) == 0 {
		return nil
	}
	w := &watched{lines: map[trace.Function]trace.Lines{}, files: map[string][]trace.Function{}}
	for _, l := range tr.Losses {
		if l.Kind == trace.LossNotHooked {
			w.gaps = append(w.gaps, l.Function)
		}
	}
	for id, f := range tr.Functions {
		w.files[f.File] = append(w.files[f.File], f)
		if l, ok := tr.Lines[trace.FuncID(id)]; ok {
			w.lines[f] = l
		}
	}
	return w
}

// within returns the functions of a run whose text a text is, or is around: the function
// fn itself and the literals in it.
func (w *watched) within(fn trace.Function, t source.Text) (out []trace.Function) {
	for _, f := range w.files[fn.File] {
		if f == fn || f.StartLine > t.Start && f.StartLine <= t.End {
			out = append(out, f)
		}
	}
	return out
}

// gapIn reports whether a literal in a function could not be watched.
func (w *watched) gapIn(name string) bool {
	for _, gap := range w.gaps {
		if gap == "" || strings.HasPrefix(gap, name+".") {
			return true
		}
	}
	return false
}

// idle returns which lines of a function did not run in any run that called it, of so
// many from first on; nil if nobody knows. It is more than the lines whose code did not run: the
// head of a case is, and a comment, where all that follows is; and the body of a literal
// that nobody called.
func (p *Page) idle(fn trace.Function, t source.Text, first, lines int) []bool {
	var all []trace.Lines
	called := map[int]bool{} // functions that begin on a line
	whole := true            // was every literal watched?
	for i, w := range p.watched {
		switch {
		case !p.called[i][fn]:
			continue
		case w == nil:
			return nil
		}
		whole = whole && !w.gapIn(fn.Name)
		for _, f := range w.within(fn, t) {
			called[f.StartLine] = true
			if l := w.lines[f]; l.States != "" {
				all = append(all, l)
			}
		}
	}
	if len(called) == 0 {
		return nil
	}
	out := make([]bool, lines)
	some := false
	mark := func(from, to int) {
		for n := max(from, first); n <= min(to, first+lines-1); n++ {
			out[n-first], some = true, true
		}
	}
	for n := first; n < first+lines; n++ {
		if trace.DidNotRun(all, n, n) {
			mark(n, n)
		}
	}
	for _, list := range t.Lists() {
		for _, r := range unreached(all, list) {
			mark(r.First, r.Last)
		}
	}
	for _, r := range t.Statements(func(from, to int) bool { return trace.DidNotRun(all, from, to) }) {
		mark(r.First, r.Last)
	}
	for _, l := range t.Literals() {
		if whole && !called[l.Line] {
			mark(l.Body.First, l.Body.Last)
		}
	}
	if !some {
		return nil
	}
	return out
}

// unreached are the statements of a list that did not run since one before them did not: of
// some lines nobody knows whether they ran. Declarations before it, which have no code, go
// with it.
func unreached(all []trace.Lines, list []source.Statement) (out []source.Range) {
	first := slices.IndexFunc(list, func(s source.Statement) bool { return trace.DidNotRun(all, s.First, s.Last) })
	if first < 0 {
		return nil
	}
	for i := first - 1; i >= 0 && list[i].Decl && !someRan(all, list[i].Range); i-- {
		out = append(out, list[i].Range)
	}
	for _, s := range list[first:] {
		if s.Label || someRan(all, s.Range) {
			break
		}
		out = append(out, s.Range)
	}
	return out
}

// someRan reports whether something on some lines is known to have run.
func someRan(all []trace.Lines, r source.Range) bool {
	for n := r.First; n <= r.Last; n++ {
		if slices.ContainsFunc(all, func(l trace.Lines) bool { return l.At(n) == trace.LineRan }) {
			return true
		}
	}
	return false
}
