package locate

import (
	"errors"
	"slices"
	"testing"

	"tracerag/knowledge"
	"tracerag/knowledge/knowledgetest"
	"tracerag/rank"
)

// TestOrder: what somebody else chose comes first, in their order, and the others keep theirs.
func TestOrder(t *testing.T) {
	store := &knowledgetest.Store{Repos: []*knowledgetest.Repository{new(knowledgetest.Parser).Parse("app", map[string][]byte{
		"go.mod":    []byte("module example.com/app\n"),
		"a.go":      []byte("package app\n\n// Draw draws the border.\nfunc Draw() {}\n\n// border is one.\nfunc border() {}\n"),
		"b/b.go":    []byte("package b\n\nfunc Far() {}\n"),
		"c/c.go":    []byte("package c\n\ntype T struct{}\n"),
		"a_test.go": []byte("package app\n\nfunc helper() {}\n"),
	}, nil)}}
	f, err := Find(t.Context(), store, Question{Text: "the border is cut"}, Options{Text: store.Text})
	if err != nil {
		t.Fatal(err)
	}
	words, err := f.Answer(Order{})
	if err != nil {
		t.Fatal(err)
	}
	if got := named(words); !slices.Equal(got, []string{"border", "Draw"}) {
		t.Fatal(got)
	}
	one := func(name string) knowledge.Decl {
		ds, err := store.Named(t.Context(), []string{name}, nil)
		if err != nil || len(ds) != 1 {
			t.Fatal(name, ds, err)
		}
		return ds[0]
	}
	files, err := store.Product(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Answer(Order{
		Files:     files[2:],
		Functions: []Chosen{{one("Far"), rank.Reason{Kind: Model, Weight: 1, What: "is far"}}, {one("Draw"), rank.Reason{Kind: Model, Weight: .5}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := named(a); !slices.Equal(got, []string{"Far", "Draw", "border"}) {
		t.Error(got)
	}
	if got := Why(a.Functions[0].Reasons); got != "the model: is far" {
		t.Error(got)
	}
	var places []string
	for _, p := range a.Files {
		places = append(places, p.File)
	}
	if !slices.Equal(places, []string{"b/b.go", "a.go", "c/c.go"}) {
		t.Error(places)
	}
	if _, err := f.Answer(Order{Functions: []Chosen{{Decl: one("helper")}}}); !errors.Is(err, ErrOutside) {
		t.Error(err)
	}
	// An order changes nothing of what was found.
	if again, err := f.Answer(Order{}); err != nil || !slices.Equal(named(again), named(words)) || len(again.Functions[0].Reasons) != len(words.Functions[0].Reasons) {
		t.Error(named(again), err)
	}
}
