package sqlite

import (
	"cmp"
	"context"
	"math"
	"slices"

	"tracerag/code"
	"tracerag/knowledge"
)

// weights are those of a query that names none.
var weights = knowledge.Weights{Name: 4, Receiver: 2, Doc: 1.5, Package: 1, Body: 1, Literals: 2}

// Search is of [knowledge.Reader].
func (s *Store) Search(ctx context.Context, q knowledge.Query) ([]knowledge.Hit, error) {
	if len(q.Terms) == 0 || q.Limit <= 0 {
		return nil, nil
	}
	all, err := s.score(ctx, &q)
	if err != nil {
		return nil, err
	}
	// A few more than are asked for are looked up. If the conditions leave too few, many more are.
	for n := q.Limit + q.Limit/8 + 32; ; n *= 4 {
		units := best(all, n)
		hits, err := s.hits(ctx, &q, units)
		if err != nil {
			return nil, err
		}
		complete := len(units) == len(all)
		// Where units of equal score end the list, others of that score may be missing.
		if complete || len(hits) > q.Limit && hits[q.Limit].Score > units[len(units)-1].score {
			return hits[:min(len(hits), q.Limit)], nil
		}
	}
}

type ranked struct {
	unit  int64
	score float64
}

// better orders units, the best first.
func better(a, b ranked) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.unit, b.unit))
}

// best returns the n best units, the best first. To sort all of them would take as long as to score them.
func best(all []ranked, n int) []ranked {
	var list []ranked
	worst := math.Inf(-1)
	for _, u := range all {
		if u.score < worst {
			continue
		}
		if list = append(list, u); len(list) >= 4*n {
			slices.SortFunc(list, better)
			list = list[:n]
			worst = list[n-1].score
		}
	}
	slices.SortFunc(list, better)
	return list[:min(n, len(list))]
}

// score returns the units that have a term of the query: BM25 over the weighted sum of
// the fields. How rare a term is follows from the units that are looked into, and no others.
func (s *Store) score(ctx context.Context, q *knowledge.Query) ([]ranked, error) {
	const k1, b = 1.2, .75
	in := scope{to: testFunctions}
	switch {
	case q.Tests:
		in.to = groups
	case len(q.Kinds) > 0 && !slices.ContainsFunc(q.Kinds, func(k code.Kind) bool { return !k.Callable() }):
		in.to = productFunctions + 1
	}
	var err error
	if in.repositories, err = s.ids(ctx, q.Repositories); err != nil {
		return nil, err
	}
	chunks, err := s.chunks(ctx, in, q.Terms)
	if err != nil {
		return nil, err
	}
	found, err := with(chunks, len(q.Terms))
	if err != nil {
		return nil, err
	}
	units, terms := 0, 0
	for _, c := range chunks {
		n, t := c.size()
		units, terms = units+n, terms+t
	}
	mean := max(float64(terms)/float64(max(units, 1)), 1)
	worth := make([]float64, len(q.Terms))
	for i, n := range found {
		worth[i] = max(math.Log((float64(units-n)+.5)/(float64(n)+.5)), 1e-6) // of more than half
	}
	w := cmp.Or(q.Weights, weights)
	var frequency [len(usual)]float64
	for i := range usual {
		frequency[i] = weigh(&usual[i], &w)
	}
	var list []ranked
	var scores [chunkUnits]float64
	for _, c := range chunks {
		clear(scores[:])
		for t := range c.rows {
			if err := c.each(t, func(unit uint16, length uint32, code uint16, n *counts) {
				f := frequency[code]
				if code == 0 {
					f = weigh(n, &w)
				}
				scores[unit] += worth[t] * f * (k1 + 1) / (f + k1*(1-b+b*float64(length)/mean))
			}); err != nil {
				return nil, err
			}
		}
		for i, x := range scores {
			if x > 0 {
				list = append(list, ranked{c.first | int64(i), x})
			}
		}
	}
	return list, nil
}

func weigh(c *counts, w *knowledge.Weights) float64 {
	return w.Name*float64(c[inName]) + w.Receiver*float64(c[inReceiver]) + w.Doc*float64(c[inDoc]) +
		w.Package*float64(c[inPackage]) + w.Body*float64(c[inBody]) + w.Literals*float64(c[inLiterals])
}

// hits returns the declarations of units that the query's conditions hold for, the best
// first.
func (s *Store) hits(ctx context.Context, q *knowledge.Query, units []ranked) ([]knowledge.Hit, error) {
	ids := make([]int64, len(units))
	scores := make(map[int64]float64, len(units))
	for i, u := range units {
		ids[i], scores[u.unit] = u.unit, u.score
	}
	var list []knowledge.Hit
	err := s.rows(ctx, func(scan func(...any) error) error {
		var h knowledge.Hit
		var unit int64
		if err := scanDecl(scan, &h.Decl, &unit); err != nil {
			return err
		}
		if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, h.Kind) || !knowledge.Within(q.Files, h.Path, h.Package) {
			return nil
		}
		h.Score = scores[unit]
		list = append(list, h)
		return nil
	}, selectDecl+"WHERE d.unit IN (SELECT value FROM json_each(?))", array(ids))
	slices.SortFunc(list, func(a, b knowledge.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Start, b.Start))
	})
	return list, err
}

// Rarity is of [knowledge.Reader].
func (s *Store) Rarity(ctx context.Context, terms []string, repositories []int64) (knowledge.Rarity, error) {
	var r knowledge.Rarity
	ids, err := s.ids(ctx, repositories)
	if err != nil {
		return r, err
	}
	chunks, err := s.chunks(ctx, scope{ids, productFunctions, productFunctions + 1}, terms)
	if err != nil {
		return r, err
	}
	total := 0
	for _, c := range chunks {
		n, length := c.size()
		r.Functions, total = r.Functions+n, total+length
	}
	if r.Functions > 0 {
		r.Length = float64(total) / float64(r.Functions)
	}
	r.With, err = with(chunks, len(terms))
	return r, err
}
