package knowledgetest

import (
	"context"
	"strings"
	"testing"

	"tracerag/code"
	"tracerag/knowledge"
)

// Place is where a store is, or will be: it opens it. Each call opens it once more.
type Place func() (knowledge.Store, error)

// TestStore holds a store against what package knowledge promises of one. New makes a place for a
// new one.
func TestStore(t *testing.T, newPlace func(t testing.TB) Place) {
	for _, c := range []struct {
		name string
		test func(*testing.T, At)
	}{
		{"Updates", testUpdates},
		{"Terms", testTerms},
		{"Scores", testScores},
		{"Names", testNames},
		{"Quotes", testQuotes},
		{"Files", testFiles},
		{"Calls", testCalls},
		{"Runs", testRuns},
		{"Executions", testExecutions},
		{"History", testHistory},
		{"Vocabularies", testVocabularies},
		{"Forget", testForget},
		{"Summaries", testSummaries},
		{"Answers", testAnswers},
		{"Vectors", testVectors},
		{"Nearest", testNearest},
		{"Bytes", testBytes},
		{"Concurrent", testConcurrent},
		{"Interrupted", testInterrupted},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, At{newPlace(t), newPlace}) })
	}
}

// At is a place for a test, and what makes others.
type At struct {
	place    Place
	newPlace func(t testing.TB) Place
}

func (a At) open(t testing.TB) knowledge.Store {
	t.Helper()
	s, err := a.place()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (a At) new(t testing.TB) At { return At{a.newPlace(t), a.newPlace} }

// Dump returns the dump of a store.
func Dump(t testing.TB, s knowledge.Store) string {
	t.Helper()
	var b strings.Builder
	if err := s.Dump(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Fill puts one file with functions into a store.
func Fill(t testing.TB, s knowledge.Store, path string, names ...string) int64 {
	t.Helper()
	id, err := TryFill(s, path, names...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TryFill is Fill that may fail.
func TryFill(s knowledge.Store, path string, names ...string) (int64, error) {
	ctx := context.Background()
	id, n, err := s.Begin(ctx, knowledge.Repository{Name: "r", Root: "/r", Modules: []code.Module{{Path: "example.com/r", Dir: "."}}})
	if err != nil {
		return 0, err
	}
	p := knowledge.Parsed{File: knowledge.File{Entry: code.Entry{Path: path, Package: "example.com/r"}, PackageName: "r"}}
	for i, name := range names {
		d := knowledge.Facts{Decl: code.Decl{Kind: code.Func, Name: name, Nth: 1, Span: code.Span{Start: 10 * i, End: 10*i + 9}}, Literals: []string{"text of " + name}}
		if strings.Contains(name, ".") {
			d.Kind = code.Method
		}
		copy(d.Tokens[:], name)
		d.Terms.Name = []string{strings.ToLower(name)}
		d.Terms.Body = []string{"common", `od"d`, "π"}
		p.Decls = append(p.Decls, d)
	}
	if err := s.Write(ctx, id, knowledge.Change{Put: []knowledge.Parsed{p}}); err != nil {
		return id, err
	}
	return id, s.Finish(ctx, id, n, knowledge.Snapshot{Commit: "c"}, code.Hash{})
}

// Full puts a row at least into every table of a store. The word is in all that may be told apart.
func Full(t testing.TB, s knowledge.Store, word string) {
	t.Helper()
	ctx := context.Background()
	a := file("a.go", "example.com/"+word, map[string]string{"F" + word: "text of " + word, "G": "other"})
	a.Decls = append(a.Decls, knowledge.Facts{Decl: code.Decl{Kind: code.Const, Name: "One" + word, Names: []string{"One" + word, "Two"}, Nth: 1, Span: code.Span{Start: 90, End: 99}, Tokens: code.Hash{9}}})
	a.Text = []byte("package a // " + word + "\n")
	id, update, err := s.Begin(ctx, knowledge.Repository{Name: word, Root: "/" + word, Modules: []code.Module{{Path: "example.com/" + word, Dir: "."}}})
	changed := file("a.go", "example.com/"+word, map[string]string{"F" + word: "new text of " + word, "G": "other"})
	changed.Decls, changed.Text = append(changed.Decls, a.Decls[2]), a.Text
	place := func(n string) knowledge.Place { return knowledge.Place{Path: "a.go", Symbol: n} }
	fn := func(n string) knowledge.Function {
		return knowledge.Function{Package: "example.com/" + word, Name: n, Nth: 1, Base: "a.go", Calls: 1}
	}
	for _, do := range []func() error{
		func() error { return err },
		func() error { return s.Write(ctx, id, knowledge.Change{Put: []knowledge.Parsed{a}}) },
		func() error {
			return s.SetCommits(ctx, id, []knowledge.Commit{{ID: "c" + word, Subject: "About " + word, Files: []string{"a.go"}}}, nil)
		},
		func() error { return s.Finish(ctx, id, update, knowledge.Snapshot{Commit: "c" + word}, code.Hash{1}) },
		func() error {
			return s.SetCalls(ctx, id, code.Hash{1}, []knowledge.Call{{Kind: knowledge.Static, Caller: place("F" + word), Callee: place("G")}})
		},
		func() error {
			return s.AddRun(ctx, knowledge.Run{Trace: "t" + word, Dir: "/d", Package: "example.com/" + word, Test: "Test", Command: "go test", Passed: true},
				knowledge.Executed{Functions: []knowledge.Function{fn("F" + word), fn("G")}, Calls: []knowledge.Counted{{Caller: 0, Callee: 1, Count: 3}}})
		},
		func() error {
			return s.SetVectors(ctx, "m", []knowledge.Vector{{Tokens: a.Decls[0].Tokens, Values: []float32{1, 2}}})
		},
		func() error {
			return s.SetSummaries(ctx, "m", []knowledge.Summary{{SummaryKey: knowledge.SummaryKey{Level: knowledge.DeclSummary, Hash: a.Decls[0].Tokens}, Text: "about " + word}})
		},
		func() error { return s.KeepAnswer(ctx, word, []byte("yes")) },
		// An update that goes on: an orphan is left.
		func() (err error) {
			if _, _, err = s.Begin(ctx, knowledge.Repository{Name: word, Root: "/" + word, Modules: []code.Module{{Path: "example.com/" + word, Dir: "."}}}); err == nil {
				err = s.Write(ctx, id, knowledge.Change{Put: []knowledge.Parsed{changed}})
			}
			return err
		},
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
}
