package locate

import (
	"path"
	"strings"

	"tracerag/knowledge"
	"tracerag/rank"
)

// RanFunction is a function that a recorded run executed.
type RanFunction struct {
	Package string // import path
	Name    string // "F", "T.M", "(*T).M"
	File    string // path, of which the end is compared; "" unknown
	Score   float64
	Reasons []rank.Reason
}

// FromRanking returns the functions of recorded runs as package rank ordered them.
func FromRanking(r *rank.Ranking) []RanFunction {
	out := make([]RanFunction, len(r.Functions))
	for i, x := range r.Functions {
		f := &r.Corpus.Functions[x.Function]
		file, _, _ := strings.Cut(x.Position, ".go:")
		if file != x.Position {
			file += ".go"
		}
		out[i] = RanFunction{Package: f.Package, Name: f.Name, File: file, Score: x.Score, Reasons: x.Reasons}
	}
	return out
}

// ran takes what a run executed for candidates, with the scores that package rank gave
// them: those know the run.
func (s *search) ran() error {
	var names []string
	seen := map[string]bool{}
	for _, r := range s.q.Ran {
		if !seen[r.Name] {
			seen[r.Name] = true
			names = append(names, r.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	decls, err := s.store.Named(s.ctx, names, s.scope)
	if err != nil {
		return err
	}
	of := map[string][]int{}
	for i := range decls {
		of[decls[i].Name] = append(of[decls[i].Name], i)
	}
	for _, r := range s.q.Ran {
		for _, i := range of[r.Name] {
			if !r.is(&decls[i]) {
				continue
			}
			if c := s.add(decls[i]); c != nil && !c.ran {
				c.ran, c.text, c.why = true, r.Score, r.Reasons
			}
		}
	}
	return nil
}

// is reports whether a declaration is the function that ran. A program's main package may
// be known by the name main alone, and a function may be declared once for each platform.
func (r *RanFunction) is(d *knowledge.Decl) bool {
	file := strings.ReplaceAll(r.File, `\`, "/")
	if file != "" && path.Base(file) != path.Base(d.Path) {
		return false
	}
	return r.Package == d.Package || r.Package == "main" && file != "" && (hasEnd(d.Path, file) || hasEnd(file, d.Path))
}
