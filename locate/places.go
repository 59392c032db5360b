package locate

import (
	"cmp"
	"slices"

	"tracerag/knowledge"
)

// shownFunctions is how many of its functions a file or package names.
const shownFunctions = 3

// answer makes the answer of the candidates.
func (s *search) answer() (*Answer, error) {
	all := s.sorted()
	a := &Answer{Schema: "tracerag.locate/1", Functions: []Function{}, Repositories: []Repository{}}
	for i := range s.repos {
		r := &s.repos[i]
		a.Repositories = append(a.Repositories, Repository{Name: r.Name, Root: r.Root, Snapshot: r.Snapshot.String(), Score: s.routed[i],
			text: func(path string) ([]byte, error) { return s.o.Text(r, path) }})
	}
	a.Files = s.together(all, s.files, func(d *knowledge.Decl) Place {
		return Place{Repository: s.repo(d.Repository).Name, Package: d.Package, File: d.Path}
	})
	a.Packages = s.together(all, nil, func(d *knowledge.Decl) Place {
		return Place{Repository: s.repo(d.Repository).Name, Package: d.Package}
	})
	best := all[:min(len(all), s.o.Limit)]
	for _, c := range best {
		a.Functions = append(a.Functions, Function{ID: c.ID, Repository: s.repo(c.Repository).Name, Package: c.Package, File: c.Path,
			Name: c.Name, Line: c.Line, EndLine: c.EndLine, Score: c.score(), Reasons: c.reasons(), Ran: c.ran})
	}
	for _, id := range s.scope {
		if r := s.repo(id); r.Calls == knowledge.OldCalls && len(best) > 0 {
			a.OldCalls = append(a.OldCalls, r.Name)
		}
	}
	for p := range s.stale {
		a.Stale = append(a.Stale, p)
	}
	slices.Sort(a.Stale)
	return a, s.evidenceToRecord(a, best)
}

// together adds up the functions of a place: the best one, and a part of the next two. Places of
// functions that somebody else chose come first, then the files that they chose.
func (s *search) together(all []*candidate, files []knowledge.File, of func(*knowledge.Decl) Place) []Place {
	type key struct{ repository, pkg, file string }
	type counted struct {
		Place
		functions, chosen int
	}
	at := map[key]*counted{}
	var list []*counted
	place := func(d *knowledge.Decl) *counted {
		p := of(d)
		k := key{p.Repository, p.Package, p.File}
		if at[k] == nil {
			p.Functions = []string{}
			at[k] = &counted{Place: p}
			list = append(list, at[k])
		}
		return at[k]
	}
	for _, c := range all {
		p := place(&c.Decl)
		if p.functions == 0 {
			p.Score, p.chosen = c.score(), c.place
			if c.ran {
				p.Score += ranFirst
			}
		} else if p.functions < 3 {
			p.Score += s.w.Sum * c.score()
		}
		p.functions++
		if len(p.Functions) < shownFunctions {
			p.Functions = append(p.Functions, c.Name)
		}
	}
	for i, f := range files {
		p := place(&knowledge.Decl{Repository: f.Repository, Package: f.ImportPath(), Path: f.Path})
		if p.chosen == 0 {
			p.chosen = len(all) + 1 + i
		}
	}
	slices.SortStableFunc(list, func(a, b *counted) int {
		return cmp.Or(order(a.chosen, b.chosen), cmp.Compare(b.Score, a.Score))
	})
	out := []Place{} // in JSON a list, never null
	for _, p := range list[:min(len(list), s.o.Limit)] {
		out = append(out, p.Place)
	}
	return out
}

// ranFirst puts places with a function that ran before those without.
const ranFirst = 10
