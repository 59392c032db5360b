package index_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"tracerag/code/words"
	"tracerag/knowledge"
	"tracerag/knowledge/index"
)

// TestLongNames indexes names that are longer than an index of a database takes, and that can't be compressed. They are found by their
// whole names: two that begin alike are two.
func TestLongNames(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range 5000 {
		b.WriteByte("abcdefghijklmnopqrstuvwxyz0123456789"[random.IntN(36)])
	}
	long := b.String()
	r := newRepo(t)
	r.write("go.mod", "module example.com/long\n")
	r.write("a.go", "package long\n\n// F"+long+"a is "+long+"c.\nfunc F"+long+"a() { println(\""+long+"d\") }\n\nfunc F"+long+"b() {}\n\ntype T struct{ M"+long+" int }\n\nconst C"+long+", D"+long+" = 1, 2\n\nfunc (t *T) N"+long+"() {}\n")
	r.commit("Add " + long + "e")
	s := open(t)
	update(t, s, r.dir, index.Options{})
	for name, want := range map[string]string{"F" + long + "a": "F" + long + "a", "F" + long + "b": "F" + long + "b", "F" + long: "", "T.N" + long: "T.N" + long, "D" + long: "C" + long} {
		list, err := s.Named(t.Context(), []string{name}, nil)
		got := ""
		for _, d := range list {
			got += d.Name
		}
		if err != nil || strings.NewReplacer("(*", "", ")", "").Replace(got) != want {
			t.Errorf("%.5s...%s is %.5s..., %v", name, name[len(name)-1:], got, err)
		}
	}
	terms := words.Terms(long + "c")
	hits, err := s.Search(t.Context(), knowledge.Query{Terms: terms, Limit: 5})
	if err != nil || len(hits) == 0 {
		t.Errorf("a comment's word: %v, %v", hits, err)
	}
	if vocabularies, err := s.Vocabularies(t.Context(), words.Terms(long+"e"), []int64{1}); err != nil || len(vocabularies) != 1 {
		t.Errorf("a commit's word: %v, %v", vocabularies, err)
	}
	if _, err := s.CallKey(t.Context(), 12345); err == nil || strings.Contains(err.Error(), "no rows") {
		t.Errorf("the calls of an unknown repository: %v", err)
	}
}
