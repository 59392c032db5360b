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

// Floats are the numbers of a vector as [Numbers] made it; nil if the bytes are of none.
func Floats(numbers []byte) []float32 {
	if len(numbers)%4 != 0 {
		return nil
	}
	out := make([]float32, len(numbers)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(numbers[4*i:]))
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

// Nearby finds the declarations whose vectors are nearest to one.
type Nearby struct {
	asked []byte
	list  []scored
}

type scored struct {
	decl   int64
	cosine float64
}

// NearTo begins to look for what is nearest to a vector.
func NearTo(v []float32) *Nearby { return &Nearby{asked: Numbers(v)} }

// Add adds a declaration with its vector, as [Numbers] made it.
func (n *Nearby) Add(decl int64, numbers []byte) {
	if len(numbers) != len(n.asked) { // it is of another model with that name
		return
	}
	if cosine := product(n.asked, numbers); !math.IsNaN(cosine) {
		n.list = append(n.list, scored{decl, cosine})
	}
}

// Nearest returns those of the declarations that are nearest, the nearest first. Decls looks them up.
func (n *Nearby) Nearest(limit int, decls func(ids []int64) ([]knowledge.Decl, error)) ([]knowledge.Near, error) {
	slices.SortFunc(n.list, func(a, b scored) int { return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.decl, b.decl)) })
	list := n.list[:min(limit, len(n.list))]
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

// Nearest returns the declarations of a query (id, and the vector as [Numbers] made it) that are nearest to
// a vector.
func Nearest(q Query, to []float32, limit int, decls func(ids []int64) ([]knowledge.Decl, error)) ([]knowledge.Near, error) {
	n := NearTo(to)
	if err := q.Each(func(scan Scan) error {
		var decl int64
		var numbers []byte
		err := scan(&decl, &numbers)
		n.Add(decl, numbers)
		return err
	}); err != nil {
		return nil, err
	}
	return n.Nearest(limit, decls)
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
