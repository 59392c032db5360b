package sqlite

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"tracerag/code"
	"tracerag/knowledge"
)

// Unembedded is of [knowledge.Vectors].
func (s *Store) Unembedded(ctx context.Context, model string, repositories []int64, limit int) ([]knowledge.Decl, error) {
	where, args := s.product(repositories)
	list, err := s.decls(ctx, where+" AND NOT EXISTS (SELECT 1 FROM vector v WHERE v.tokens = u.tokens AND v.comments = u.comments AND v.model = ?)", append(args, model)...)
	// Equal functions in several places have one vector.
	seen := map[[2]code.Hash]bool{}
	list = slices.DeleteFunc(list, func(d knowledge.Decl) bool {
		key := [2]code.Hash{d.Tokens, d.Comments}
		was := seen[key]
		seen[key] = true
		return was
	})
	return list[:min(limit, len(list))], err
}

// product is the condition for functions of the program in some repositories, or all.
func (s *Store) product(repositories []int64) (where string, args []any) {
	where = fmt.Sprintf("WHERE (d.unit >> %d) & 255 = %d", groupShift, productFunctions)
	if len(repositories) > 0 {
		where += " AND f.repository IN (SELECT value FROM json_each(?))"
		args = append(args, array(repositories))
	}
	return where, args
}

// SetVectors is of [knowledge.Vectors].
func (s *Store) SetVectors(ctx context.Context, model string, vectors []knowledge.Vector) error {
	return s.writing(ctx, func(t *transaction) error {
		st, err := t.stmt("INSERT OR REPLACE INTO vector (tokens, comments, model, numbers) VALUES (?, ?, ?, ?)")
		if err != nil {
			return err
		}
		for _, v := range vectors {
			if _, err := st.Exec(v.Tokens[:], v.Comments[:], model, numbers(v.Values)); err != nil {
				return err
			}
		}
		return nil
	})
}

// numbers is a vector of length 1 as bytes, so that a product of two is their cosine.
func numbers(v []float32) []byte {
	length := 0.
	for _, x := range v {
		length += float64(x) * float64(x)
	}
	length = math.Sqrt(length)
	out := make([]byte, 0, 4*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(float64(x)/max(length, 1e-30))))
	}
	return out
}

// Nearest is of [knowledge.Vectors].
func (s *Store) Nearest(ctx context.Context, model string, to []float32, repositories []int64, limit int) ([]knowledge.Near, error) {
	asked := numbers(to)
	where, args := s.product(repositories)
	type scored struct {
		decl   int64
		cosine float64
	}
	var list []scored
	err := s.rows(ctx, func(scan func(...any) error) error {
		var x scored
		var v []byte
		if err := scan(&x.decl, &v); err != nil {
			return err
		}
		if len(v) == len(asked) { // another length is of another model with that name
			x.cosine = product(asked, v)
			list = append(list, x)
		}
		return nil
	}, "SELECT d.id, v.numbers"+declTables+"JOIN vector v ON v.tokens = u.tokens AND v.comments = u.comments AND v.model = ? "+where, append([]any{model}, args...)...)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b scored) int { return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.decl, b.decl)) })
	list = list[:min(limit, len(list))]
	ids := make([]int64, len(list))
	cosines := map[int64]float64{}
	for i, x := range list {
		ids[i], cosines[x.decl] = x.decl, x.cosine
	}
	decls, err := s.Decls(ctx, ids)
	near := make([]knowledge.Near, len(decls))
	for i := range decls {
		near[i] = knowledge.Near{Decl: decls[i], Cosine: cosines[decls[i].ID]}
	}
	slices.SortStableFunc(near, func(a, b knowledge.Near) int { return cmp.Compare(b.Cosine, a.Cosine) })
	return near, err
}

func product(a, b []byte) (sum float64) {
	for i := 0; i+4 <= len(a); i += 4 {
		x := math.Float32frombits(binary.LittleEndian.Uint32(a[i:]))
		y := math.Float32frombits(binary.LittleEndian.Uint32(b[i:]))
		sum += float64(x) * float64(y)
	}
	return sum
}
