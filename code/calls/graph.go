package calls

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"tracerag/code"
)

// graph puts the packages together.
func (m *module) graph() *Graph {
	g := &Graph{Module: m.listing.module, Gaps: m.whole}
	byPath := map[string]*Package{}
	of := func(path string) *Package {
		p := byPath[path]
		if p == nil {
			p = &Package{Path: path}
			byPath[path] = p
		}
		return p
	}
	for _, u := range m.units {
		p := of(u.of)
		if e := m.edges[u]; e != nil {
			p.Static = append(p.Static, e.static...)
			p.Dynamic = append(p.Dynamic, e.dynamic...)
		}
	}
	for _, gaps := range []map[string][]Gap{m.listing.gaps, m.gaps} {
		for path, list := range gaps {
			of(path).Gaps = append(of(path).Gaps, list...)
		}
	}
	for _, path := range sorted(byPath) {
		p := byPath[path]
		slices.SortFunc(p.Static, Edge.compare)
		slices.SortFunc(p.Dynamic, Edge.compare)
		slices.SortFunc(p.Gaps, Gap.compare)
		p.Static, p.Dynamic, p.Gaps = slices.Compact(p.Static), slices.Compact(p.Dynamic), slices.Compact(p.Gaps)
		p.StaticKey, p.DynamicKey = keyOf(p.Static, nil), keyOf(p.Dynamic, p.Gaps)
		g.Packages = append(g.Packages, *p)
	}
	return g
}

func keyOf(edges []Edge, gaps []Gap) (k code.Hash) {
	h := sha256.New()
	for _, e := range edges {
		number(h, int(e.Kind), e.Site)
		e.Caller.hash(h)
		e.Callee.hash(h)
	}
	for _, g := range gaps {
		number(h, int(g.Kind))
		texts(h, g.Package, g.File, g.Symbol, g.Reason)
	}
	copy(k[:], h.Sum(nil))
	return k
}

func (n Name) hash(h hash.Hash) { texts(h, n.Package, n.File, n.Symbol) }

func texts(h hash.Hash, all ...string) {
	for _, s := range all {
		number(h, len(s))
		h.Write([]byte(s))
	}
}

func number(h hash.Hash, all ...int) {
	for _, n := range all {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		h.Write(b[:])
	}
}
