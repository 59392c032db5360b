package index_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"tracerag/code"
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

// TestLongPaths indexes directories and a module whose paths are longer than an index of a database takes, and that can't be
// compressed. What is too long is left out, and said; all else is known.
func TestLongPaths(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	name := func(letters string) string {
		b := make([]byte, 90)
		for i := range b {
			b[i] = letters[random.IntN(len(letters))]
		}
		return string(b)
	}
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	var dirs []string
	for range 20 { // 1,800 bytes
		dirs = append(dirs, name(letters))
	}
	long := path.Join(dirs...)
	bytes := path.Join(name("\x80\x81\x82\x83\x84\x90\x91\xa0\xff"), name("\x80\x81\x82\x83\x84\x90\x91\xa0\xff"), name("\x80\x81\x82\x83\x84\x90\x91\xa0\xff"), name("\x80\x81\x82\x83\x84\x90\x91\xa0\xff"))
	r := newRepo(t)
	r.write("go.mod", "module example.com/"+path.Join(dirs[:4]...)+"\n")
	r.write("a.go", "package a\n\nfunc Known() {}\n")
	r.write(long+"/b.go", "package b\n\nfunc TooLong() {}\n")
	r.write(bytes+"/c.go", "package c\n\nfunc Bytes() {}\n")
	r.write("m/go.mod", "module example.com/"+long+"/"+long+"\n")
	r.write("m/d.go", "package m\n\nfunc OfModule() {}\n")
	r.commit("Add them")
	r.write(long+"/b.go", "package b\n\nfunc TooLong2() {}\n")
	r.commit("Change one")
	s := open(t)
	res := update(t, s, r.dir, index.Options{})
	for name, want := range map[string]int{"Known": 1, "TooLong": 0, "Bytes": 1, "OfModule": 1} {
		if list, err := s.Named(t.Context(), []string{name}, nil); err != nil || len(list) != want {
			t.Errorf("%s: %d, %v, want %d", name, len(list), err, want)
		}
	}
	if all, err := s.Repositories(t.Context()); err != nil || len(all) != 1 || all[0].Snapshot.Uncommitted != (code.Hash{}) {
		t.Errorf("all is committed: %v, %v", all, err)
	}
	if gaps := fmt.Sprint(res.Gaps); !strings.Contains(gaps, "its path has more than 400 bytes") || !strings.Contains(gaps, "its module path has more than 400 bytes") {
		t.Errorf("the gaps %.300s", gaps)
	}
}
