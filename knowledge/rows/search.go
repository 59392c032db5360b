package rows

import (
	"cmp"
	"math"
	"slices"

	"tracerag/code"
	"tracerag/code/words"
	"tracerag/knowledge"
)

// Weights are those of a query that names none.
var Weights = knowledge.Weights{Name: 4, Receiver: 2, Doc: 1.5, Package: 1, Body: 1, Literals: 2}

// Source is where a search reads.
type Source struct {
	// Repositories are the numbers of all repositories, in their order.
	Repositories func() Query
	// Chunks returns the rows of terms in a scope, chunk by chunk.
	Chunks func(in Scope, terms []string) ([]*Chunk, error)
	// Decls are the declarations of units, by [SelectDecls].
	Decls func(units []int64) Query
	// Literals are the units that have a literal with a text in it, each once; LiteralsOf are those of
	// some units.
	Literals   func(text string) Query
	LiteralsOf func(text string, units []int64) Query
}

// repositories returns the repositories asked for: all if none are.
func (from *Source) repositories(asked []int64) ([]int64, error) {
	if len(asked) == 0 {
		return Values[int64](from.Repositories())
	}
	return slices.Compact(slices.Sorted(slices.Values(asked))), nil
}

// Search is Search of [knowledge.Reader].
func Search(from *Source, q *knowledge.Query) ([]knowledge.Hit, error) {
	if len(q.Terms) == 0 || q.Limit <= 0 {
		return nil, nil
	}
	all, err := score(from, q)
	if err != nil {
		return nil, err
	}
	// A few more than are asked for are looked up. If the conditions leave too few, many more are.
	for n := q.Limit + q.Limit/8 + 32; ; n *= 4 {
		units := best(all, n)
		hits, err := hits(from, q, units)
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
func score(from *Source, q *knowledge.Query) ([]ranked, error) {
	const k1, b = 1.2, .75
	in := Scope{To: testFunctions}
	switch {
	case q.Tests:
		in.To = Groups
	case len(q.Kinds) > 0 && !slices.ContainsFunc(q.Kinds, func(k code.Kind) bool { return !k.Callable() }):
		in.To = ProductFunctions + 1
	}
	var err error
	if in.Repositories, err = from.repositories(q.Repositories); err != nil {
		return nil, err
	}
	chunks, err := from.chunks(in, q.Terms)
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
	w := cmp.Or(q.Weights, Weights)
	var frequency [len(usual)]float64
	for i := range usual {
		frequency[i] = weigh(&usual[i], &w)
	}
	var list []ranked
	var scores [chunkUnits]float64
	for _, c := range chunks {
		clear(scores[:])
		for t := range c.Rows {
			if err := c.each(t, func(unit uint16, length uint32, code uint16, n *Counts) {
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
				list = append(list, ranked{c.ID<<ChunkShift | int64(i), x})
			}
		}
	}
	return list, nil
}

func weigh(c *Counts, w *knowledge.Weights) float64 {
	return w.Name*float64(c[inName]) + w.Receiver*float64(c[inReceiver]) + w.Doc*float64(c[inDoc]) +
		w.Package*float64(c[inPackage]) + w.Body*float64(c[inBody]) + w.Literals*float64(c[inLiterals])
}

// hits returns the declarations of units that the query's conditions hold for, the best
// first.
func hits(from *Source, q *knowledge.Query, units []ranked) ([]knowledge.Hit, error) {
	ids := make([]int64, len(units))
	scores := make(map[int64]float64, len(units))
	for i, u := range units {
		ids[i], scores[u.unit] = u.unit, u.score
	}
	var list []knowledge.Hit
	err := EachDecl(from.Decls(ids), func(d *knowledge.Decl, unit int64) {
		if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, d.Kind) || !knowledge.Within(q.Files, d.Path, d.Package) {
			return
		}
		list = append(list, knowledge.Hit{Decl: *d, Score: scores[unit]})
	})
	slices.SortFunc(list, func(a, b knowledge.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Start, b.Start))
	})
	return list, err
}

// Rarity is Rarity of [knowledge.Reader].
func Rarity(from *Source, terms []string, repositories []int64) (knowledge.Rarity, error) {
	var r knowledge.Rarity
	ids, err := from.repositories(repositories)
	if err != nil {
		return r, err
	}
	chunks, err := from.chunks(Scope{ids, ProductFunctions, ProductFunctions + 1}, terms)
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

// Quoting returns the units that have a literal with one of the texts in it.
func Quoting(from *Source, texts []string, repositories []int64) ([]int64, error) {
	var units []int64
	for _, text := range texts {
		if text == "" {
			continue
		}
		// The words of a text are in the index. Looking through all literals takes ten
		// times as long, and is for texts without words.
		query := from.Literals(text)
		if terms := words.Terms(text); len(terms) > 0 {
			with, err := withLiterals(from, terms, repositories)
			if err != nil {
				return nil, err
			}
			query = from.LiteralsOf(text, with)
		}
		found, err := Values[int64](query)
		if err != nil {
			return nil, err
		}
		units = append(units, found...)
	}
	return units, nil
}

// withLiterals returns the units that have all of the terms in their literals.
func withLiterals(from *Source, terms []string, repositories []int64) ([]int64, error) {
	terms = slices.Compact(slices.Sorted(slices.Values(terms)))
	ids, err := from.repositories(repositories)
	if err != nil {
		return nil, err
	}
	chunks, err := from.chunks(Scope{ids, 0, Groups}, terms)
	if err != nil {
		return nil, err
	}
	var list []int64
	for _, c := range chunks {
		if slices.ContainsFunc(c.Rows, func(row []byte) bool { return row == nil }) {
			continue
		}
		has := map[uint16]int{}
		for t := range c.Rows {
			if err := c.each(t, func(unit uint16, _ uint32, _ uint16, n *Counts) {
				if n[inLiterals] > 0 {
					has[unit]++
				}
			}); err != nil {
				return nil, err
			}
		}
		for unit, n := range has {
			if n == len(terms) {
				list = append(list, c.ID<<ChunkShift|int64(unit))
			}
		}
	}
	slices.Sort(list)
	return list, nil
}
