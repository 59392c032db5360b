package rows

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"tracerag/code"
	"tracerag/knowledge"
)

// Numbers is a vector of length 1 as bytes, so that a product of two is their cosine: float32,
// little-endian.
func Numbers(v []float32) []byte {
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

func product(a, b []byte) (sum float64) {
	for i := 0; i+4 <= len(a); i += 4 {
		x := math.Float32frombits(binary.LittleEndian.Uint32(a[i:]))
		y := math.Float32frombits(binary.LittleEndian.Uint32(b[i:]))
		sum += float64(x) * float64(y)
	}
	return sum
}

type scored struct {
	decl   int64
	cosine float64
}

// Nearest returns the declarations of a query (id, and the vector as [Numbers] made it) that are nearest to
// a vector. Decls looks them up.
func Nearest(q Query, to []float32, limit int, decls func(ids []int64) ([]knowledge.Decl, error)) ([]knowledge.Near, error) {
	asked := Numbers(to)
	var list []scored
	if err := q.Each(func(scan Scan) error {
		var decl int64
		var numbers []byte
		if err := scan(&decl, &numbers); err != nil {
			return err
		}
		if len(numbers) == len(asked) { // another length is of another model with that name
			list = append(list, scored{decl, product(asked, numbers)})
		}
		return nil
	}); err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b scored) int { return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.decl, b.decl)) })
	list = list[:min(limit, len(list))]
	ids := make([]int64, len(list))
	cosines := map[int64]float64{}
	for i, x := range list {
		ids[i], cosines[x.decl] = x.decl, x.cosine
	}
	found, err := decls(ids)
	near := make([]knowledge.Near, len(found))
	for i := range found {
		near[i] = knowledge.Near{Decl: found[i], Cosine: cosines[found[i].ID]}
	}
	slices.SortStableFunc(near, func(a, b knowledge.Near) int { return cmp.Compare(b.Cosine, a.Cosine) })
	return near, err
}

// ReadOnce reads declarations, by [SelectDecls]: one of those that have equal hashes, and with them one
// vector; no more than limit of them.
func ReadOnce(q Query, limit int) ([]knowledge.Decl, error) {
	seen := map[[2]code.Hash]bool{}
	var list []knowledge.Decl
	err := EachDecl(q, func(d *knowledge.Decl, _ int64) {
		if key := [2]code.Hash{d.Tokens, d.Comments}; !seen[key] && len(list) < limit {
			seen[key] = true
			list = append(list, *d)
		}
	})
	return list, err
}
