package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"tracerag/knowledge"
)

// weights are those of a query that names none.
var weights = knowledge.Weights{Name: 4, Receiver: 2, Doc: 1.5, Package: 1, Body: 1, Literals: 2}

// Search is of [knowledge.Reader].
func (s *Store) Search(ctx context.Context, q knowledge.Query) ([]knowledge.Hit, error) {
	if len(q.Terms) == 0 || q.Limit <= 0 {
		return nil, nil
	}
	// Units first: the index alone ranks them, a few times as many as are asked
	// for, and only these are looked up. If the conditions leave too few, more are taken.
	for n := 2*q.Limit + 32; ; n *= 4 {
		units, err := s.rank(ctx, &q, n)
		if err != nil {
			return nil, err
		}
		hits, err := s.hits(ctx, &q, units)
		if err != nil {
			return nil, err
		}
		complete := len(units) < n
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

// rank returns the n best units, the best first. To score a row takes ten times as long as to find it,
// so each processor scores a part of the rows.
func (s *Store) rank(ctx context.Context, q *knowledge.Query, n int) ([]ranked, error) {
	parts := make([][]ranked, min(runtime.GOMAXPROCS(0), mostParts))
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { parts[i], errs[i] = s.rankPart(ctx, q, n, i, len(parts)) })
	}
	wg.Wait()
	list := slices.Concat(parts...)
	slices.SortFunc(list, func(a, b ranked) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.unit, b.unit)) })
	return list[:min(n, len(list))], cmp.Or(errs...)
}

// mostParts bounds the connections: each finds all rows before it scores its part.
const mostParts = 4

// rankPart returns the n best of the units whose number leaves a remainder.
func (s *Store) rankPart(ctx context.Context, q *knowledge.Query, n, part, parts int) ([]ranked, error) {
	w := q.Weights
	if w == (knowledge.Weights{}) {
		w = weights
	}
	where, args := "posting MATCH ?", []any{match(q.Terms)}
	if parts > 1 {
		where, args = where+" AND rowid % ? = ?", append(args, parts, part)
	}
	top := int64(groups)
	if !q.Tests {
		top = testFunctions
	}
	switch len(q.Repositories) {
	case 1:
		first, last := within(q.Repositories[0], 0, top)
		where, args = where+" AND rowid BETWEEN ? AND ?", append(args, first, last)
	case 0:
		where += fmt.Sprintf(" AND (rowid >> %d) & 255 < %d", groupShift, top)
	default:
		where += fmt.Sprintf(" AND (rowid >> %d) & 255 < %d AND rowid >> %d IN (SELECT value FROM json_each(?))", groupShift, top, repositoryShift)
		args = append(args, array(q.Repositories))
	}
	args = append(args, n)
	var list []ranked
	err := s.rows(ctx, func(scan func(...any) error) error {
		var r ranked
		err := scan(&r.unit, &r.score)
		r.score = -r.score
		list = append(list, r)
		return err
	}, fmt.Sprintf("SELECT rowid, bm25(posting, %g, %g, %g, %g, %g, %g) AS score FROM posting WHERE %s ORDER BY score LIMIT ?",
		w.Name, w.Receiver, w.Doc, w.Package, w.Body, w.Literals, where), args...)
	return list, err
}

// match is a query of FTS5 for any of the terms.
func match(terms []string) string {
	var b strings.Builder
	for i, t := range terms {
		if i > 0 {
			b.WriteString(" OR ")
		}
		b.WriteString(`"` + strings.ReplaceAll(t, `"`, `""`) + `"`)
	}
	return b.String()
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
		if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, h.Kind) || !inPattern(q.Files, h.Path, h.Package) {
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

// inPattern reports whether a file is what a pattern means: its path, a directory above it, an
// import path, all below one of these ("x/..."), or a pattern of package path for one of
// them.
func inPattern(pattern, file, pkg string) bool {
	if pattern == "" || pattern == "..." {
		return true
	}
	below, all := strings.CutSuffix(strings.TrimPrefix(pattern, "./"), "/...")
	for _, name := range []string{file, path.Dir(file), pkg} {
		if name == below || all && strings.HasPrefix(name, below+"/") {
			return true
		}
		if ok, _ := path.Match(below, name); ok {
			return true
		}
	}
	return false
}

// Rarity is of [knowledge.Reader].
func (s *Store) Rarity(ctx context.Context, terms []string, repositories []int64) (knowledge.Rarity, error) {
	r := knowledge.Rarity{With: make([]int, len(terms))}
	ids, err := s.ids(ctx, repositories)
	if err != nil {
		return r, err
	}
	total := 0
	for _, id := range ids {
		first, last := within(id, productFunctions, productFunctions+1)
		var n, length int
		if err := s.read.QueryRowContext(ctx, "SELECT count(*), ifnull(sum(length), 0) FROM unit WHERE id BETWEEN ? AND ?", first, last).Scan(&n, &length); err != nil {
			return r, s.explain(err)
		}
		r.Functions, total = r.Functions+n, total+length
	}
	if r.Functions > 0 {
		r.Length = float64(total) / float64(r.Functions)
	}
	st, err := s.read.PrepareContext(ctx, "SELECT count(*) FROM posting WHERE posting MATCH ? AND rowid BETWEEN ? AND ?")
	if err != nil {
		return r, s.explain(err)
	}
	defer func() { _ = st.Close() }()
	for i, t := range terms {
		for _, id := range ids {
			first, last := within(id, productFunctions, productFunctions+1)
			var n int
			if err := st.QueryRowContext(ctx, match([]string{t}), first, last).Scan(&n); err != nil {
				return r, s.explain(err)
			}
			r.With[i] += n
		}
	}
	return r, nil
}
