package knowledgetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tracerag/code"
	"tracerag/knowledge"
)

// testUpdates says that of two updates of one repository the later one says when it is
// complete.
func testUpdates(t *testing.T, at At) {
	s, ctx := at.open(t), t.Context()
	id := Fill(t, s, "a.go", "F")
	r := knowledge.Repository{Name: "r", Root: "/r"}
	_, first, _ := s.Begin(ctx, r)
	_, second, _ := s.Begin(ctx, r)
	incomplete := func() bool {
		all, err := s.Repositories(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return all[0].Incomplete
	}
	if err := s.Finish(ctx, id, first, knowledge.Snapshot{}, code.Hash{}); err != nil || !incomplete() {
		t.Errorf("the first update ended, and the second goes on: incomplete is %v, %v", incomplete(), err)
	}
	if err := s.Finish(ctx, id, second, knowledge.Snapshot{}, code.Hash{}); err != nil || incomplete() {
		t.Errorf("both ended: incomplete is %v, %v", incomplete(), err)
	}
}

// testTerms says that terms are found as they are, whatever is in them.
func testTerms(t *testing.T, at At) {
	s := at.open(t)
	Fill(t, s, "a.go", "F", "G")
	for term, want := range map[string]int{"f": 1, "common": 2, `od"d`: 2, "π": 2, "od": 0, "": 0, "AND": 0} {
		hits, err := s.Search(t.Context(), knowledge.Query{Terms: []string{term}, Limit: 5})
		if err != nil || len(hits) != want {
			t.Errorf("%q is in %d functions, %v; want %d", term, len(hits), err, want)
		}
	}
}

// testRuns takes runs in, and asks who called whom.
func testRuns(t *testing.T, at At) {
	s, ctx := at.open(t), t.Context()
	id := Fill(t, s, "a.go", "F", "T.M", "(*T).N", "Lonely")
	fn := func(name string, n int64) knowledge.Function {
		return knowledge.Function{Package: "example.com/r", Name: name, Nth: 1, Base: "a.go", Calls: n}
	}
	run := knowledge.Run{Trace: "11111111", Dir: "/d", Package: "example.com/r", Test: "TestF", Command: "go test", Snapshot: "c", Passed: true}
	x := knowledge.Executed{Functions: []knowledge.Function{fn("F", 2), fn("T.M", 3), fn("gone", 1)}, Calls: []knowledge.Counted{{Caller: 0, Callee: 1, Count: 3}, {Caller: 1, Callee: 2, Count: 1}}}
	other := run
	other.Trace, other.Test = "22222222", "TestG"
	for _, r := range []knowledge.Run{run, other, run} {
		if err := s.AddRun(ctx, r, x); err != nil {
			t.Fatal(err)
		}
	}
	f, _ := s.Named(ctx, []string{"F", "M"}, nil)
	if len(f) != 2 {
		t.Fatalf("declarations: %v", f)
	}
	edges, err := s.Callees(ctx, []int64{f[0].ID})
	if err != nil || len(edges) != 2 || edges[0] != (knowledge.Edge{Kind: knowledge.Ran, Caller: f[0].ID, Callee: f[1].ID, Site: -1, Count: 3, Trace: "11111111"}) {
		t.Errorf("calls of F: %+v, %v", edges, err)
	}
	back, err := s.Callers(ctx, []int64{f[1].ID})
	if err != nil || fmt.Sprint(back) != fmt.Sprint(edges) {
		t.Errorf("callers of M: %+v, %v", back, err)
	}
	run.Repository, other.Repository = id, id
	runs, err := s.Runs(ctx, []int64{f[0].ID, f[1].ID})
	if err != nil || len(runs) != 2 || runs[0] != run || runs[1] != other {
		t.Errorf("runs: %+v, %v", runs, err)
	}
	if err := s.RemoveRuns(ctx, []string{"11111111", "22222222"}); err != nil {
		t.Fatal(err)
	}
	if d := Dump(t, s); strings.Contains(d, "11111111") || strings.Contains(d, `"T.M"	1	"a.go"`) {
		t.Errorf("after the removal of all runs:\n%s", d)
	}
}

// testForget removes a repository. Nothing of it is left.
func testForget(t *testing.T, at At) {
	s := at.open(t)
	empty := Dump(t, s)
	id := Fill(t, s, "a.go", "F", "G")
	if err := s.SetCommits(t.Context(), id, []knowledge.Commit{{ID: "x", Files: []string{"a.go"}}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Forget(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got := Dump(t, s); got != empty {
		t.Errorf("left is\n%s", got)
	}
}

// testSummaries: what was set is there, for its level and model alone; the last one counts.
func testSummaries(t *testing.T, at At) {
	ctx := t.Context()
	s := at.open(t)
	key := func(l knowledge.Level, n byte) knowledge.SummaryKey {
		return knowledge.SummaryKey{Level: l, Hash: code.Hash{n}}
	}
	a := knowledge.Summary{SummaryKey: key(knowledge.DeclSummary, 1), Text: "draws 'it'\n"}
	b := knowledge.Summary{SummaryKey: key(knowledge.FileSummary, 1), Text: "", Substitute: true}
	other := knowledge.Summary{SummaryKey: a.SummaryKey, Text: "says another"}
	set := func(model string, list ...knowledge.Summary) {
		t.Helper()
		if err := s.SetSummaries(ctx, model, list); err != nil {
			t.Fatal(err)
		}
	}
	models := func(want ...string) {
		t.Helper()
		if got, err := s.SummaryModels(ctx); err != nil || !slices.Equal(got, want) {
			t.Errorf("there are summaries of %q, %v; want %q", got, err, want)
		}
	}
	models()
	set("n", other)
	models("n")
	set("m", a, b)
	set("m")
	models("m", "n")
	check := func(s knowledge.Store, model string, want ...knowledge.Summary) {
		t.Helper()
		got, err := s.Summaries(ctx, model, []knowledge.SummaryKey{a.SummaryKey, b.SummaryKey, key(knowledge.PackageSummary, 1), key(knowledge.DeclSummary, 2)})
		all := map[knowledge.SummaryKey]knowledge.Summary{}
		for _, x := range want {
			all[x.SummaryKey] = x
		}
		if err != nil || !maps.Equal(got, all) {
			t.Errorf("%s has %v, %v; want %v", model, got, err, all)
		}
	}
	check(s, "m", a, b)
	check(s, "n", other)
	check(s, "o")
	if got, err := s.Summaries(ctx, "m", nil); err != nil || len(got) != 0 {
		t.Errorf("no keys: %v, %v", got, err)
	}
	a.Text = "draws it better"
	set("m", a)
	check(s, "m", a, b)

	// They belong to no repository.
	id := Fill(t, s, "a.go", "F")
	if err := s.Forget(ctx, id); err != nil {
		t.Fatal(err)
	}
	check(at.open(t), "m", a, b)
}

// testAnswers: an answer is there under its key, also an empty one.
func testAnswers(t *testing.T, at At) {
	s := at.open(t)
	if got, err := s.Answer(t.Context(), "k"); got != nil || err != nil {
		t.Errorf("%q %v", got, err)
	}
	for _, want := range []string{"one", "two", ""} {
		if err := s.KeepAnswer(t.Context(), "k", []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Answer(t.Context(), "k"); string(got) != want || err != nil {
			t.Errorf("%q %v", got, err)
		}
	}
}
