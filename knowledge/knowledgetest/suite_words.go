package knowledgetest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// chunkUnits is more than the units that a store has in one row.
const chunkUnits = 1 << rows.ChunkShift

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

// testScores holds searches in a store that was written in many steps, with files that were removed
// and replaced, against the formula over all functions that are left; and against a store that was
// written at once.
func testScores(t *testing.T, at At) {
	ctx, s := t.Context(), at.open(t)
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

	fresh := at.new(t).open(t)
	freshID, first, err := fresh.Begin(ctx, knowledge.Repository{Name: "r", Root: "/r"})
	if err != nil {
		t.Fatal(err)
	}
	if err := fresh.Write(ctx, freshID, knowledge.Change{Put: []knowledge.Parsed{files["b.go"], files["c.go"], files["d.go"]}}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Finish(ctx, id, n, knowledge.Snapshot{}, code.Hash{}), fresh.Finish(ctx, freshID, first, knowledge.Snapshot{}, code.Hash{})); err != nil {
		t.Fatal(err)
	}
	if Dump(t, s) != Dump(t, fresh) {
		t.Error("the store is not as one that was written at once")
	}

	if _, n, err = s.Begin(ctx, knowledge.Repository{Name: "r", Root: "/r"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b.go", "c.go", "d.go"} {
		write(name, 0)
	}
	if rarity, err := s.Rarity(ctx, []string{"w0", "r"}, nil); err != nil || rarity.Functions != 0 || rarity.With[0] != 0 || rarity.With[1] != 0 {
		t.Errorf("without files: %+v, %v", rarity, err)
	}
}

func withTerm(files map[string]knowledge.Parsed, term string) (n int) {
	for _, f := range files {
		for i := range f.Decls {
			for _, terms := range rows.Fields(&f.Decls[i].Terms) {
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
			for _, terms := range rows.Fields(&f.Decls[i].Terms) {
				length += float64(len(terms))
			}
		}
	}
	weight := [6]float64{rows.Weights.Name, rows.Weights.Receiver, rows.Weights.Doc, rows.Weights.Package, rows.Weights.Body, rows.Weights.Literals}
	scores := map[string]float64{}
	for _, term := range query {
		with := float64(withTerm(files, term))
		idf := max(math.Log((functions-with+.5)/(with+.5)), 1e-6)
		for _, f := range files {
			for i := range f.Decls {
				frequency, own := 0.0, 0.0
				for field, terms := range rows.Fields(&f.Decls[i].Terms) {
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
