package sqlite

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tracerag/code"
	"tracerag/knowledge"
)

// FuzzPostings decodes rows, which must not panic, and encodes what it found.
func FuzzPostings(f *testing.F) {
	var all []byte
	for i, c := range append(usual[1:], counts{1, 2, 3, 4, 5, 60_000}, counts{}) {
		all = appendPosting(all, uint16(100*i), c)
	}
	f.Add(all)
	f.Add([]byte{0, 0, 63, 128})
	f.Fuzz(func(t *testing.T, row []byte) {
		type posting struct {
			unit uint16
			counts
		}
		decode := func(row []byte) (list []posting, err error) {
			err = eachPosting(row, func(unit, code uint16, c *counts) {
				if code != 0 && usual[code] != *c {
					t.Errorf("code %d has %v", code, *c)
				}
				list = append(list, posting{unit, *c})
			})
			return list, err
		}
		list, err := decode(row)
		if err != nil {
			return
		}
		var again []byte
		for _, p := range list {
			again = appendPosting(again, p.unit, p.counts)
		}
		if got, err := decode(again); err != nil || !slices.Equal(got, list) {
			t.Errorf("%v became %v, %v", list, got, err)
		}
	})
}

// someFile has functions with random words.
func someFile(r *rand.Rand, name string, functions int) knowledge.Parsed {
	p := knowledge.Parsed{File: knowledge.File{Entry: code.Entry{Path: name, Package: "example.com/r"}, PackageName: "r"}}
	words := func(most int) (list []string) {
		for range r.IntN(most) {
			list = append(list, fmt.Sprint("w", int(40*r.Float64()*r.Float64())))
		}
		return list
	}
	for i := range functions {
		f := knowledge.Facts{Decl: code.Decl{Kind: code.Func, Name: fmt.Sprint("F", i), Nth: 1, Span: code.Span{Start: 10 * i, End: 10*i + 9}}}
		f.Terms = knowledge.Terms{Name: words(4), Receiver: words(2), Doc: words(8), Package: []string{"r"}, Body: words(30), Literals: words(4)}
		if len(f.Terms.Literals) > 0 {
			f.Literals = []string{strings.Join(f.Terms.Literals, " ")}
		}
		copy(f.Tokens[:], fmt.Sprint(r.Uint64()))
		p.Decls = append(p.Decls, f)
	}
	return p
}

// TestScores holds searches in a store that was written in many steps, with files that were removed
// and replaced, against the formula over all functions that are left; and against a store that was
// written at once.
func TestScores(t *testing.T) {
	ctx, s := t.Context(), openTemp(t)
	id, n, err := s.Begin(ctx, knowledge.Repository{Name: "r", Root: "/r"})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	files := map[string]knowledge.Parsed{}
	write := func(name string, functions int) {
		t.Helper()
		c := knowledge.Change{Remove: []string{name}}
		delete(files, name)
		if functions > 0 {
			files[name] = someFile(random, name, functions)
			c = knowledge.Change{Put: []knowledge.Parsed{files[name]}}
		}
		if err := s.Write(ctx, id, c); err != nil {
			t.Fatal(err)
		}
		if err := s.Finish(ctx, id, n, knowledge.Snapshot{}, code.Hash{}); err != nil {
			t.Fatal(err)
		}
		if _, n, err = s.Begin(ctx, knowledge.Repository{Name: "r", Root: "/r"}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(step string) {
		t.Helper()
		query := []string{"w0", "w1", "w7", "w38", "r", "nowhere"}
		hits, err := s.Search(ctx, knowledge.Query{Terms: query, Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		want := plainScores(files, query)
		var best []float64
		for _, x := range want {
			best = append(best, x)
		}
		slices.SortFunc(best, func(a, b float64) int { return cmp.Compare(b, a) })
		if len(hits) != min(50, len(want)) {
			t.Fatalf("%s: %d hits, want %d", step, len(hits), min(50, len(want)))
		}
		for i, h := range hits {
			if x := want[h.Path+" "+h.Name]; math.Abs(x-h.Score) > 1e-9 || math.Abs(best[i]-x) > 1e-9 {
				t.Fatalf("%s: hit %d, %s of %s, has %v, want %v; the %d. best has %v", step, i, h.Name, h.Path, h.Score, x, i, best[i])
			}
		}
		rarity, err := s.Rarity(ctx, query, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, term := range query {
			if x := withTerm(files, term); rarity.With[i] != x {
				t.Fatalf("%s: %s is in %d functions, want %d", step, term, rarity.With[i], x)
			}
		}
	}
	write("a.go", 600)
	write("b.go", 30)
	check("written")
	for range 40 { // most of a chunk is removed in the end
		write("b.go", 30)
	}
	check("replaced often")
	write("a.go", 0)
	check("removed")
	write("c.go", chunkUnits+10)
	write("d.go", 3)
	check("more than a chunk")
	write("c.go", 700)
	check("less again")

	fresh := openTemp(t)
	_, first, err := fresh.Begin(ctx, knowledge.Repository{Name: "r", Root: "/r"})
	if err != nil {
		t.Fatal(err)
	}
	if err := fresh.Write(ctx, id, knowledge.Change{Put: []knowledge.Parsed{files["b.go"], files["c.go"], files["d.go"]}}); err != nil {
		t.Fatal(err)
	}
	for s, n := range map[*Store]int64{s: n, fresh: first} {
		if err := s.Finish(ctx, id, n, knowledge.Snapshot{}, code.Hash{}); err != nil {
			t.Fatal(err)
		}
	}
	if dumped1(t, s) != dumped1(t, fresh) {
		t.Error("the store is not as one that was written at once")
	}

	if _, n, err = s.Begin(ctx, knowledge.Repository{Name: "r", Root: "/r"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b.go", "c.go", "d.go"} {
		write(name, 0)
	}
	for _, table := range []string{"chunk", "posting"} {
		var left int
		if err := s.read.QueryRow("SELECT count(*) FROM " + table).Scan(&left); err != nil || left > 0 {
			t.Errorf("without files %s has %d rows, %v", table, left, err)
		}
	}
}

func withTerm(files map[string]knowledge.Parsed, term string) (n int) {
	for _, f := range files {
		for i := range f.Decls {
			for _, terms := range fields(&f.Decls[i].Terms) {
				if slices.Contains(terms, term) {
					n++
					break
				}
			}
		}
	}
	return n
}

// plainScores is BM25 as books have it, by path and function.
func plainScores(files map[string]knowledge.Parsed, query []string) map[string]float64 {
	functions, length := 0.0, 0.0
	for _, f := range files {
		for i := range f.Decls {
			functions++
			for _, terms := range fields(&f.Decls[i].Terms) {
				length += float64(len(terms))
			}
		}
	}
	weight := [6]float64{weights.Name, weights.Receiver, weights.Doc, weights.Package, weights.Body, weights.Literals}
	scores := map[string]float64{}
	for _, term := range query {
		with := float64(withTerm(files, term))
		idf := max(math.Log((functions-with+.5)/(with+.5)), 1e-6)
		for _, f := range files {
			for i := range f.Decls {
				frequency, own := 0.0, 0.0
				for field, terms := range fields(&f.Decls[i].Terms) {
					own += float64(len(terms))
					for _, x := range terms {
						if x == term {
							frequency += weight[field]
						}
					}
				}
				if frequency > 0 {
					scores[f.Path+" "+f.Decls[i].Name] += idf * frequency * 2.2 / (frequency + 1.2*(.25+.75*own*functions/length))
				}
			}
		}
	}
	return scores
}
