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
	a := &Answer{Schema: "tracerag.locate/1", Functions: []Function{}}
	for i := range s.repos {
		r := &s.repos[i]
		a.Repositories = append(a.Repositories, Repository{Name: r.Name, Root: r.Root, Snapshot: r.Snapshot.String(), Score: s.routed[i]})
	}
	a.Files = s.together(all, func(c *candidate) Place {
		return Place{Repository: s.repo(c.Repository).Name, Package: c.Package, File: c.Path}
	})
	a.Packages = s.together(all, func(c *candidate) Place {
		return Place{Repository: s.repo(c.Repository).Name, Package: c.Package}
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

// together adds up the functions of a place: the best one, and a part of the next two.
func (s *search) together(all []*candidate, of func(*candidate) Place) []Place {
	type key struct{ repository, pkg, file string }
	at := map[key]int{}
	count := map[key]int{}
	var out []Place
	for _, c := range all {
		p := of(c)
		k := key{p.Repository, p.Package, p.File}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			p.Score = c.score()
			if c.ran {
				p.Score += ranFirst
			}
			out = append(out, p)
		} else if count[k] < 3 {
			out[i].Score += s.w.Sum * c.score()
		}
		count[k]++
		if len(out[i].Functions) < shownFunctions {
			out[i].Functions = append(out[i].Functions, c.Name)
		}
	}
	slices.SortStableFunc(out, func(a, b Place) int { return cmp.Compare(b.Score, a.Score) })
	return out[:min(len(out), s.o.Limit)]
}

// ranFirst puts places with a function that ran before those without.
const ranFirst = 10
