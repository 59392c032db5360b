package knowledgetest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"tracerag/code"
	"tracerag/knowledge"
)

// testVectors keeps vectors and finds the nearest.
func testVectors(t *testing.T, at At) {
	s, ctx := at.open(t), t.Context()
	id, _ := begin(t, s, "/one", file("a.go", "example.com/r", map[string]string{"A": "", "B": "", "C": ""}), file("a_test.go", "example.com/r", map[string]string{"TestA": ""}))
	two, _ := begin(t, s, "/two", file("a.go", "example.com/r", map[string]string{"A": "", "B": "", "C": ""}))
	left, err := s.Unembedded(ctx, "m", nil, 10) // equal ones in two repositories have one vector
	if symbols(t, left, err) != "a.go A, a.go B, a.go C" {
		t.Fatalf("unembedded: %s", symbols(t, left, err))
	}
	values := [][]float32{{1, 0, 0}, {1, 1, 0}, {0, 0, 5}}
	var vectors []knowledge.Vector
	for i, d := range left {
		vectors = append(vectors, knowledge.Vector{Tokens: d.Tokens, Comments: d.Comments, Values: values[i]})
	}
	for range 2 {
		if err := s.SetVectors(ctx, "m", vectors[:2]); err != nil {
			t.Fatal(err)
		}
	}
	if left, err = s.Unembedded(ctx, "m", []int64{two}, 10); symbols(t, left, err) != "a.go C" {
		t.Errorf("then unembedded: %s", symbols(t, left, err))
	}
	if err := s.SetVectors(ctx, "m", vectors[2:]); err != nil {
		t.Fatal(err)
	}
	if err := s.SetVectors(ctx, "other", []knowledge.Vector{{Tokens: vectors[0].Tokens, Values: []float32{0, 0, 1}}}); err != nil {
		t.Fatal(err)
	}
	near, err := s.Nearest(ctx, "m", []float32{3, 1, 0}, []int64{id}, 2)
	if err != nil || len(near) != 2 || near[0].Name != "A" || near[1].Name != "B" || near[0].Cosine < .9486 || near[0].Cosine > .9488 || near[0].Repository != id {
		t.Errorf("nearest: %+v, %v", near, err)
	}
	if near, err = s.Nearest(ctx, "m", []float32{3, 1}, nil, 2); err != nil || len(near) > 0 {
		t.Errorf("of another length: %+v, %v", near, err)
	}
	if near, err = s.Nearest(ctx, "m", []float32{0, 0, 1}, nil, 10); err != nil || len(near) != 6 || near[0].Name != "C" || near[1].Name != "C" {
		t.Errorf("in all: %+v, %v", near, err)
	}
}

// testNearest asks for the nearest of more functions than are wanted: equal ones are in the order of their numbers, and those
// that can't be compared are none.
func testNearest(t *testing.T, at At) {
	s, ctx := at.open(t), t.Context()
	const functions = 300
	texts := map[string]string{}
	for i := range functions {
		texts[fmt.Sprintf("F%03d", i)] = ""
	}
	one, _ := begin(t, s, "/one", file("a.go", "example.com/r", texts))
	two, _ := begin(t, s, "/two", file("b.go", "example.com/r", map[string]string{"Other": ""}))
	decls, err := s.Unembedded(ctx, "m", []int64{one}, functions)
	if err != nil || len(decls) != functions {
		t.Fatal(len(decls), err)
	}
	other, err := s.Unembedded(ctx, "m", []int64{two}, 1)
	if err != nil || len(other) != 1 {
		t.Fatal(other, err)
	}
	set := func(model string, values func(i int) []float32) {
		t.Helper()
		var list []knowledge.Vector
		for i, d := range slices.Concat(decls, other) {
			list = append(list, knowledge.Vector{Tokens: d.Tokens, Comments: d.Comments, Values: values(i)})
		}
		if err := s.SetVectors(ctx, model, list); err != nil {
			t.Fatalf("%s: %v", model, err)
		}
	}
	// is checks the nearest of the first repository: their numbers in the file.
	is := func(model string, to []float32, limit int, want []int) {
		t.Helper()
		near, err := s.Nearest(ctx, model, to, []int64{one}, limit)
		var got []int
		for i, n := range near {
			if i > 0 && n.Cosine > near[i-1].Cosine || math.IsNaN(n.Cosine) {
				t.Errorf("%s, limit %d: the cosine %v is after %v", model, limit, n.Cosine, near[i-1].Cosine)
			}
			got = append(got, slices.IndexFunc(decls, func(d knowledge.Decl) bool { return d.ID == n.ID }))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s, limit %d: %v, %v\nwant %v", model, limit, got, err, want)
		}
	}
	upTo := func(n int) (list []int) {
		for i := range n {
			list = append(list, i)
		}
		return list
	}
	angle := func(degrees float64) []float32 {
		return []float32{float32(7 * math.Cos(degrees*math.Pi/180)), float32(7 * math.Sin(degrees*math.Pi/180)), 0}
	}
	set("m", func(i int) []float32 { return angle(float64(i / 3)) }) // three are equal
	for _, limit := range []int{0, 1, 2, 3, 100, functions, 2 * functions} {
		is("m", angle(0), limit, upTo(min(limit, functions)))
	}
	is("m", angle(100), 4, []int{297, 298, 299, 294})
	set("same", func(int) []float32 { return []float32{1, 2} })
	is("same", []float32{1, 1}, 100, upTo(100))
	is("same", []float32{0, 0}, 100, upTo(100))
	set("zero", func(int) []float32 { return make([]float32, 8) })
	is("zero", []float32{1, 1, 1, 1, 1, 1, 1, 1}, 40, upTo(40))
	set("tiny", func(i int) []float32 { return []float32{1e-38, float32(i) * 1e-40} })
	is("tiny", []float32{1, 0}, 1, upTo(1))
	set("long", func(i int) []float32 { return append(angle(float64(i)/4), make([]float32, 17_000)...)[:17_000] })
	is("long", append(angle(0), make([]float32, 17_000)...)[:17_000], 50, upTo(50))
	set("mixed", func(i int) []float32 { return angle(float64(i) / 4)[:2+i%2] })
	is("mixed", angle(0)[:2], 2, []int{0, 2})
	is("mixed", angle(0), 2, []int{1, 3})
	is("mixed", nil, 2, nil)
	is("mixed", make([]float32, 4), 2, nil)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	set("odd", func(i int) []float32 { return [][]float32{{nan, 1}, {inf, 1}, {-inf, nan}, {1, 1}}[min(i, 3)] })
	is("odd", []float32{1, 0}, 3, []int{3, 4, 5})
	is("odd", []float32{nan, 0}, 3, nil)
	is("none", []float32{1, 0}, 3, nil)

	// A vector that is set again, and a function that goes.
	if err := s.SetVectors(ctx, "m", []knowledge.Vector{{Tokens: decls[200].Tokens, Comments: decls[200].Comments, Values: angle(0)}}); err != nil {
		t.Fatal(err)
	}
	is("m", angle(0), 5, []int{0, 1, 2, 200, 3})
	delete(texts, "F001")
	delete(texts, "F200")
	if _, _, err := s.Begin(ctx, knowledge.Repository{Name: "r", Root: "/one", Modules: []code.Module{{Path: "example.com/r", Dir: "."}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(ctx, one, knowledge.Change{Put: []knowledge.Parsed{file("a.go", "example.com/r", texts)}}); err != nil {
		t.Fatal(err)
	}
	is("m", angle(0), 3, []int{0, 2, 3})
	is("same", []float32{1, 1}, 100, slices.Delete(upTo(101), 1, 2))
	if err := s.Forget(ctx, one); err != nil {
		t.Fatal(err)
	}
	is("m", angle(0), 3, nil)
	if near, err := s.Nearest(ctx, "m", angle(0), nil, 3); err != nil || len(near) != 1 || near[0].ID != other[0].ID {
		t.Errorf("in all: %+v, %v", near, err)
	}
}
