package knowledgetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tracerag/code"
	"tracerag/knowledge"
)

// file is a file with functions, whose literals are their texts.
func file(path, pkg string, functions map[string]string) knowledge.Parsed {
	p := knowledge.Parsed{File: knowledge.File{Entry: code.Entry{Path: path, Package: pkg, Class: code.Class{Test: strings.HasSuffix(path, "_test.go")}}, PackageName: "p"}}
	var names []string
	for n := range functions {
		names = append(names, n)
	}
	slices.Sort(names)
	for i, n := range names {
		d := knowledge.Facts{Decl: code.Decl{Kind: code.Func, Name: n, Nth: 1, Line: i + 1, Span: code.Span{Start: 10 * i, End: 10*i + 9}}, Literals: []string{functions[n]}}
		d.Tokens = code.HashText([]byte(path + "\x00" + n + "\x00" + functions[n]))
		d.Terms.Name = []string{strings.ToLower(n)}
		for word := range strings.FieldsSeq(strings.ToLower(functions[n])) {
			d.Terms.Literals = append(d.Terms.Literals, word)
		}
		p.Decls = append(p.Decls, d)
	}
	return p
}

func begin(t testing.TB, s knowledge.Store, root string, put ...knowledge.Parsed) (id, update int64) {
	t.Helper()
	id, update, err := s.Begin(context.Background(), knowledge.Repository{Name: "r", Root: root, Modules: []code.Module{{Path: "example.com/r", Dir: "."}}})
	if err == nil {
		err = s.Write(context.Background(), id, knowledge.Change{Put: put})
	}
	if err == nil {
		err = s.Finish(context.Background(), id, update, knowledge.Snapshot{Commit: "c"}, code.Hash{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return id, update
}

// symbols are the declarations of a list: "path symbol".
func symbols(t testing.TB, list []knowledge.Decl, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range list {
		out = append(out, d.Path+" "+d.Symbol())
	}
	return strings.Join(out, ", ")
}

// testNames asks for declarations by name: of one repository or of all, in the order of their bytes.
func testNames(t *testing.T, at At) {
	s, ctx := at.open(t), t.Context()
	one, _ := begin(t, s, "/one", file("b.go", "example.com/r", map[string]string{"Get": "", "GET": "", "T.get": "", "(*T).Close": "", "größe": ""}), file("B.go", "example.com/r", map[string]string{"Get": "b"}))
	two, _ := begin(t, s, "/two", file("ä/x.go", "example.com/r/ä", map[string]string{"Get": "2"}), file("a_test.go", "example.com/r", map[string]string{"get": "t"}))
	for _, c := range []struct {
		names []string
		in    []int64
		want  string
	}{
		{[]string{"Get"}, nil, "B.go Get, b.go Get, ä/x.go Get"},
		{[]string{"Get"}, []int64{two}, "ä/x.go Get"},
		{[]string{"gEt"}, []int64{one}, "B.go Get, b.go GET, b.go Get, b.go T.get"},
		{[]string{"gEt", "Close", "T.Close", "nothing"}, []int64{two, one}, "B.go Get, b.go (*T).Close, b.go GET, b.go Get, b.go T.get, a_test.go get, ä/x.go Get"},
		{[]string{"größe"}, nil, "b.go größe"},
		{[]string{"größe", "%"}, []int64{two}, ""},
		{nil, nil, ""},
	} {
		got, err := s.Named(ctx, c.names, c.in)
		if text := symbols(t, got, err); text != c.want {
			t.Errorf("%q in %v: %s, want %s", c.names, c.in, text, c.want)
		}
	}
	all, err := s.Repositories(ctx)
	if err != nil || len(all) != 2 || all[0].Name != "r" || all[1].Name != "two" || all[1].Root != "/two" || len(all[1].Modules) != 1 {
		t.Errorf("repositories: %+v, %v", all, err)
	}
	for pattern, want := range map[string]bool{"ä": true, "example.com/r/ä": true, "ö": false, "...": true} {
		if got, err := s.Holds(ctx, pattern); err != nil || got != want {
			t.Errorf("holds %s: %v, %v", pattern, got, err)
		}
	}
}

// testQuotes asks for functions by their string literals.
func testQuotes(t *testing.T, at At) {
	s, ctx := at.open(t), t.Context()
	id, _ := begin(t, s, "/one", file("a.go", "example.com/r", map[string]string{"A": "can't open file", "B": "open the file", "C": "%d%%"}))
	for text, want := range map[string]string{"open file": "a.go A", "open": "a.go A, a.go B", "Open": "", "%%": "a.go C", "_": "", "": "", "file open": ""} {
		for _, in := range [][]int64{nil, {id}} {
			got, err := s.Quoting(ctx, []string{text}, in)
			if got := symbols(t, got, err); got != want {
				t.Errorf("%q in %v: %s, want %s", text, in, got, want)
			}
		}
		if got, err := s.Quoting(ctx, []string{text}, []int64{id + 1}); err != nil || len(got) > 0 {
			t.Errorf("%q elsewhere: %v, %v", text, got, err)
		}
	}
}

// testFiles says what is kept of files, and that a change of one leaves the numbers of its
// declarations.
func testFiles(t *testing.T, at At) {
	s, ctx := at.open(t), t.Context()
	a := file("x/a.go", "example.com/r/x", map[string]string{"A": "one", "B": "two"})
	a.Imports, a.Constraint, a.Generated, a.Hash, a.Broken = []string{"fmt", "os"}, "linux", false, code.Hash{1}, 2
	when := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	a.Stored = knowledge.Stored{Path: "x/a.go", Package: "example.com/r/x", Size: 7, Time: when, Hash: code.Hash{1}, Blob: knowledge.GitHash{2}, Calls: code.Hash{3}}
	bad := knowledge.Parsed{File: knowledge.File{Entry: code.Entry{Path: "bad.go", Package: "example.com/r"}, Problem: "it's locked"}, Stored: knowledge.Stored{Path: "bad.go", Problem: "it's locked"}}
	test := file("x/a_test.go", "example.com/r/x", map[string]string{"TestA": ""})
	test.PackageName = "x_test"
	id, _ := begin(t, s, "/one", a, bad, test)
	stored, err := s.Stored(ctx, id)
	if err != nil || len(stored) != 3 || stored[0].Path != "bad.go" || stored[0].Problem != "it's locked" || !stored[0].Time.IsZero() || !stored[1].Time.Equal(when) ||
		stored[1].Size != 7 || stored[1].Hash != a.Hash || stored[1].Blob != (knowledge.GitHash{2}) || stored[1].Calls != (code.Hash{3}) || !stored[2].Test {
		t.Errorf("stored: %+v, %v", stored, err)
	}
	files, err := s.Files(ctx, []string{"a.go", "x/a_test.go", "none.go"}, []int64{id})
	if err != nil || len(files) != 2 || files[0].Path != "x/a.go" || fmt.Sprint(files[0].Imports) != "[fmt os]" || files[0].Constraint != "linux" || files[0].Broken != 2 || files[1].ImportPath() != "example.com/r/x_test" {
		t.Fatalf("files: %+v, %v", files, err)
	}
	if p, err := s.Product(ctx, id); err != nil || len(p) != 2 || p[0].Path != "bad.go" || p[1].Path != "x/a.go" {
		t.Errorf("product: %+v, %v", p, err)
	}
	if h, err := s.Hashes(ctx, []int64{files[0].ID, 1 << 40}); err != nil || len(h) != 1 || h[files[0].ID] != a.Hash {
		t.Errorf("hashes: %v, %v", h, err)
	}
	before, err := s.In(ctx, []int64{files[0].ID})
	if symbols(t, before, err) != "x/a.go A, x/a.go B" || before[0].Module != "example.com/r" || before[0].Package != "example.com/r/x" || before[0].Repository != id {
		t.Fatalf("declarations: %+v", before)
	}
	if d, err := s.Decls(ctx, []int64{before[1].ID, 1 << 40, before[0].ID}); symbols(t, d, err) != "x/a.go B, x/a.go A" {
		t.Errorf("in the order asked for: %s", symbols(t, d, err))
	}
	// B is gone, C is new, and A has moved and says something else.
	c := file("x/a.go", "example.com/r/x", map[string]string{"A": "three", "C": "two"})
	c.Decls[0].Start, c.Decls[0].End, c.Decls[0].Line = 100, 120, 9
	if err := s.Write(ctx, id, knowledge.Change{Put: []knowledge.Parsed{c}, Seen: []knowledge.Stored{{Path: "bad.go", Size: 8, Time: when}}, Remove: []string{"x/a_test.go", "none.go"}}); err != nil {
		t.Fatal(err)
	}
	after, err := s.In(ctx, []int64{files[0].ID})
	if symbols(t, after, err) != "x/a.go C, x/a.go A" || after[1].ID != before[0].ID || after[1].Line != 9 || after[1].Start != 100 || after[0].ID == before[1].ID {
		t.Errorf("after a change: %+v", after)
	}
	if stored, err = s.Stored(ctx, id); err != nil || len(stored) != 2 || stored[0].Size != 8 || !stored[0].Time.Equal(when) || stored[0].Problem == "" {
		t.Errorf("stored after a change: %+v, %v", stored, err)
	}
	n, err := s.Counts(ctx, id)
	if want := (knowledge.Counts{Modules: 1, Packages: 3, Files: 2, Unread: 1, Declarations: 2, Functions: 2}); err != nil || n != want {
		t.Errorf("counts: %+v, %v, want %+v", n, err, want)
	}
}

// testCalls sets the calls of a repository, and says when they are old.
func testCalls(t *testing.T, at At) {
	s, ctx := at.open(t), t.Context()
	id, _ := begin(t, s, "/one", file("a.go", "example.com/r", map[string]string{"A": "", "B": "", "C": ""}))
	place := func(n string) knowledge.Place { return knowledge.Place{Path: "a.go", Symbol: n} }
	state := func() knowledge.CallState {
		t.Helper()
		all, err := s.Repositories(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return all[0].Calls
	}
	if got := state(); got != knowledge.NoCalls {
		t.Errorf("before: %v", got)
	}
	calls := []knowledge.Call{{Kind: knowledge.Static, Caller: place("A"), Callee: place("B"), Site: 0}, {Kind: knowledge.Interface, Caller: place("A"), Callee: place("C"), Site: 1}, {Kind: knowledge.Static, Caller: place("B"), Callee: place("C"), Site: 0}}
	for _, list := range [][]knowledge.Call{calls[:1], calls, calls[1:]} {
		if err := s.SetCalls(ctx, id, code.Hash{2}, list); err != nil {
			t.Fatal(err)
		}
	}
	if key, err := s.CallKey(ctx, id); err != nil || key != (code.Hash{2}) || state() != knowledge.FreshCalls {
		t.Errorf("key %v, %v, state %v", key, err, state())
	}
	d, err := s.Named(ctx, []string{"A", "B", "C"}, nil)
	if err != nil || len(d) != 3 {
		t.Fatal(d, err)
	}
	to, err := s.Callers(ctx, []int64{d[2].ID})
	if want := []knowledge.Edge{{Kind: knowledge.Static, Caller: d[1].ID, Callee: d[2].ID}, {Kind: knowledge.Interface, Caller: d[0].ID, Callee: d[2].ID, Site: 1}}; err != nil || !slices.Equal(to, want) {
		t.Errorf("callers of C: %+v, %v, want %+v", to, err, want)
	}
	from, err := s.Callees(ctx, []int64{d[0].ID, d[1].ID})
	if err != nil || len(from) != 2 {
		t.Errorf("callees of A and B: %+v, %v", from, err)
	}
	before := Dump(t, s)
	if err := s.SetCalls(ctx, id, code.Hash{3}, []knowledge.Call{{Kind: knowledge.Static, Caller: place("A"), Callee: place("gone")}}); err == nil || Dump(t, s) != before {
		t.Errorf("a call to what is not declared: %v", err)
	}
	// A declaration that goes takes its calls along, and then the calls are old.
	id2, update, err := s.Begin(ctx, knowledge.Repository{Name: "r", Root: "/one"})
	if err == nil {
		err = s.Write(ctx, id, knowledge.Change{Put: []knowledge.Parsed{file("a.go", "example.com/r", map[string]string{"A": "", "B": ""})}})
	}
	if err == nil {
		err = s.Finish(ctx, id, update, knowledge.Snapshot{}, code.Hash{2})
	}
	if err != nil {
		t.Fatal(err)
	}
	if to, err := s.Callers(ctx, []int64{d[2].ID}); err != nil || len(to) > 0 || id2 != id || state() != knowledge.OldCalls {
		t.Errorf("without C: %+v, %v, state %v", to, err, state())
	}
}

// testExecutions: of each test the newest run, and of functions those that a name may mean.
func testExecutions(t *testing.T, at At) {
	s, ctx := at.open(t), t.Context()
	fn := func(pkg, name string, calls int64) knowledge.Function {
		return knowledge.Function{Package: pkg, Name: name, Nth: 1, Base: "a.go", Calls: calls}
	}
	run := func(n int, test, command string) {
		t.Helper()
		r := knowledge.Run{Trace: fmt.Sprintf("%08x", n), Dir: "/traces", Package: "m", Test: test, Command: command, Passed: n%2 == 0}
		calls := int64(n)
		if err := s.AddRun(ctx, r, knowledge.Executed{Functions: []knowledge.Function{fn("example.com/m/parser", "Parse", calls), fn("example.com/m/parser", "(*Parser).Parse", 2*calls),
			fn("example.com/other/parser/v2", "Parser.Parse", 3*calls), fn("example.com/m/parser", "ParseAll", calls)}}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 6 {
		run(n+1, []string{"TestX", "TestY"}[n%2], "go test")
	}
	run(7, "", "./app a")
	run(8, "", "./app b")
	run(9, "", "./app a")
	const function, method, other = "example.com/m/parser.Parse", "example.com/m/parser.(*Parser).Parse", "example.com/other/parser/v2.Parser.Parse"
	for _, c := range []struct {
		f    knowledge.FunctionName
		want []string
	}{
		{knowledge.FunctionName{Name: "Parse"}, []string{method, function, other}},
		{knowledge.FunctionName{Name: "Parse", Type: "Parser"}, []string{method, other}},
		{knowledge.FunctionName{Name: "Parse", Package: "parser"}, []string{method, function, other}},
		{knowledge.FunctionName{Name: "Parse", Package: "m/parser"}, []string{method, function}},
		{knowledge.FunctionName{Name: "Parse", Package: "example.com/other/parser/v2", Type: "Parser"}, []string{other}},
		{knowledge.FunctionName{Name: "Parse", Package: "arser"}, nil},
		{knowledge.FunctionName{Name: "parse"}, nil},
		{knowledge.FunctionName{Name: "%"}, nil},
		{knowledge.FunctionName{Name: "_arse"}, nil},
	} {
		list, err := s.Executions(ctx, c.f, 100)
		var got []string
		for _, e := range list {
			if !slices.Contains(got, e.Function) {
				got = append(got, e.Function)
			}
		}
		if err != nil || !slices.Equal(got, c.want) || len(list) != 4*len(c.want) {
			t.Errorf("%+v is %v in %d lines, %v", c.f, got, len(list), err)
		}
	}
	list, err := s.Executions(ctx, knowledge.FunctionName{Name: "Parse", Package: "m/parser"}, 4)
	var got []string
	for _, e := range list {
		got = append(got, fmt.Sprint(e.ID, e.Test, e.Command, e.Calls, e.Passed))
	}
	if want := "[00000009./app a18 false 00000008./app b16 true 00000005TestXgo test10 false 00000006TestYgo test12 true]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("the newest runs are %v, %v, want %s", got, err, want)
	}
}

// testHistory adds and removes commits.
func testHistory(t *testing.T, at At) {
	s, ctx := at.open(t), t.Context()
	id, _ := begin(t, s, "/one")
	when := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	add := []knowledge.Commit{{ID: "c1", Time: when(1), Subject: "Begin"}, {ID: "c3", Time: when(3), Subject: "Third: it's", Files: []string{"b.go", "a.go", "b.go"}}, {ID: "c2", Time: when(3), Subject: ""}}
	for range 2 { // the second time nothing is new
		if err := s.SetCommits(ctx, id, add, nil); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.History(ctx, id, 2)
	if err != nil || len(got) != 2 || got[0].ID != "c2" || got[1].ID != "c3" || fmt.Sprint(got[1].Files) != "[a.go b.go]" || !got[1].Time.Equal(when(3)) || got[1].Subject != "Third: it's" {
		t.Errorf("history: %+v, %v", got, err)
	}
	if err := s.SetCommits(ctx, id, nil, []string{"c3", "none"}); err != nil {
		t.Fatal(err)
	}
	if ids, err := s.Commits(ctx, id); err != nil || fmt.Sprint(ids) != "[c1 c2]" {
		t.Errorf("commits: %v, %v", ids, err)
	}
}

// testVocabularies holds what is counted of repositories against what is there, while commits and functions come
// and go.
func testVocabularies(t *testing.T, at At) {
	s, ctx := at.open(t), t.Context()
	one, _ := begin(t, s, "/one", file("a.go", "example.com/r", map[string]string{"Draw": "a line", "Line": "of text"}), file("a_test.go", "example.com/r", map[string]string{"TestLine": ""}))
	two, _ := begin(t, s, "/two", file("b.go", "example.com/s", map[string]string{"Other": "text"}))
	terms := []string{"line", "text", "draw", "line", "nothing"}
	is := func(want string) {
		t.Helper()
		list, err := s.Vocabularies(ctx, terms, []int64{two, one})
		if err != nil || fmt.Sprint(list) != want {
			t.Errorf("the vocabularies are %v, %v, want %s", list, err, want)
		}
		if list, err := s.Vocabularies(ctx, terms, []int64{one}); err != nil || !strings.HasSuffix(want, fmt.Sprint(list)[1:]) {
			t.Errorf("of one repository: %v, %v, want the last of %s", list, err, want)
		}
	}
	set := func(repository int64, remove []string, subjects ...string) {
		t.Helper()
		var add []knowledge.Commit
		for _, subject := range subjects {
			add = append(add, knowledge.Commit{ID: subject, Subject: subject})
		}
		if err := s.SetCommits(ctx, repository, add, remove); err != nil {
			t.Fatal(err)
		}
	}
	is("[{1 0 [0 1 0 0 0] [0 0 0 0 0]} {2 0 [2 1 1 2 0] [0 0 0 0 0]}]")
	set(one, nil, "Draw a line, and a line", "Remove the text", "line")
	set(two, nil, "line of text")
	is("[{1 1 [0 1 0 0 0] [1 1 0 1 0]} {2 3 [2 1 1 2 0] [2 1 1 2 0]}]")
	set(one, []string{"line"}, "Draw")
	is("[{1 1 [0 1 0 0 0] [1 1 0 1 0]} {2 3 [2 1 1 2 0] [1 1 2 1 0]}]")
	set(one, []string{"Draw", "Draw a line, and a line", "Remove the text"})
	is("[{1 1 [0 1 0 0 0] [1 1 0 1 0]} {2 0 [2 1 1 2 0] [0 0 0 0 0]}]")
	if err := s.Forget(ctx, two); err != nil {
		t.Fatal(err)
	}
	is("[{0 0 [0 0 0 0 0] [0 0 0 0 0]} {2 0 [2 1 1 2 0] [0 0 0 0 0]}]")
}

// testBytes keeps texts that are no UTF-8, and bytes that databases have their own ways with: a literal
// of a program may have any.
func testBytes(t *testing.T, at At) {
	s, ctx := at.open(t), t.Context()
	odd := "a\x00b\xff\x1a\x1a00 %s '\\ \u2028 π"
	p := file("dir/it's π%s.go", "example.com/r", map[string]string{"A": odd, "B": "", "C": strings.Repeat("long ", 20_000)})
	p.Problem, p.Constraint = odd, odd
	p.Stored.Problem = odd
	id, _ := begin(t, s, "/"+strings.ReplaceAll(odd, "\x00", ""), p)
	got, err := s.Quoting(ctx, []string{odd}, nil)
	if len(got) != 1 || err != nil || got[0].Name != "A" || got[0].Path != p.Path {
		t.Errorf("quoting: %+v, %v", got, err)
	}
	files, err := s.Files(ctx, []string{p.Path}, nil)
	if err != nil || len(files) != 1 || files[0].Problem != odd || files[0].Constraint != odd {
		t.Errorf("files: %+v, %v", files, err)
	}
	if err := s.SetCommits(ctx, id, []knowledge.Commit{{ID: "c", Subject: odd, Files: []string{odd}}}, nil); err != nil {
		t.Fatal(err)
	}
	if h, err := s.History(ctx, id, 9); err != nil || len(h) != 1 || h[0].Subject != odd || h[0].Files[0] != odd {
		t.Errorf("history: %q, %v", h, err)
	}
	run := knowledge.Run{Trace: "t", Dir: odd, Command: odd, Test: odd}
	if err := s.AddRun(ctx, run, knowledge.Executed{Functions: []knowledge.Function{{Package: "example.com/r", Name: "A", Nth: 1, Base: odd, Calls: 1}}}); err != nil {
		t.Fatal(err)
	}
	runs, err := s.Runs(ctx, []int64{got[0].ID})
	if err != nil || len(runs) != 1 || runs[0].Command != odd || runs[0].Test != odd || runs[0].Dir != odd {
		t.Errorf("runs: %v, %v", runs, err)
	}
	key := knowledge.SummaryKey{Level: knowledge.FileSummary, Hash: code.Hash{1}}
	if err := errors.Join(s.SetSummaries(ctx, odd, []knowledge.Summary{{SummaryKey: key, Text: odd}}), s.KeepAnswer(ctx, odd, []byte(odd))); err != nil {
		t.Fatal(err)
	}
	if m, err := s.Summaries(ctx, odd, []knowledge.SummaryKey{key}); err != nil || m[key].Text != odd {
		t.Errorf("summary: %v, %v", m, err)
	}
	if a, err := s.Answer(ctx, odd); err != nil || string(a) != odd {
		t.Errorf("answer: %q, %v", a, err)
	}
	if err := s.Forget(ctx, id); err != nil {
		t.Fatal(err)
	}
}

// testConcurrent has several writers at once, of one repository and of several: what they wrote is there,
// as if one had done it after the other.
func testConcurrent(t *testing.T, at At) {
	ctx := t.Context()
	stores := []knowledge.Store{at.open(t), at.open(t), at.open(t)}
	id, update, err := stores[0].Begin(ctx, knowledge.Repository{Name: "r", Root: "/shared"})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	const rounds = 8
	for n, s := range stores {
		wg.Go(func() {
			own, mine, err := s.Begin(ctx, knowledge.Repository{Name: "own", Root: fmt.Sprint("/own", n)})
			for i := range rounds {
				if err == nil {
					err = s.Write(ctx, id, knowledge.Change{Put: []knowledge.Parsed{file(fmt.Sprintf("f%d_%d.go", n, i), "example.com/r", map[string]string{fmt.Sprintf("F%d_%d", n, i): "shared words"})}})
				}
				if err == nil {
					err = s.Write(ctx, own, knowledge.Change{Put: []knowledge.Parsed{file("a.go", "example.com/own", map[string]string{"F": fmt.Sprint("round ", i)})}})
				}
				var x knowledge.Executed
				for f := range 20 {
					x.Functions = append(x.Functions, knowledge.Function{Package: "example.com/r", Name: fmt.Sprint("X", (f*(n+1))%20), Nth: 1, Base: "a.go", Calls: 1})
				}
				if err == nil {
					err = s.AddRun(ctx, knowledge.Run{Trace: fmt.Sprintf("%d_%d", n, i), Dir: "/d"}, x)
				}
				if err == nil && i%2 == 1 {
					err = s.RemoveRuns(ctx, []string{fmt.Sprintf("%d_%d", n, i)})
				}
				if err == nil {
					err = s.SetSummaries(ctx, "m", []knowledge.Summary{{SummaryKey: knowledge.SummaryKey{Level: 1, Hash: code.Hash{byte(i)}}, Text: "x"}})
				}
			}
			if err == nil {
				err = s.Finish(ctx, own, mine, knowledge.Snapshot{}, code.Hash{})
			}
			if err != nil {
				t.Errorf("writer %d: %v", n, err)
			}
		})
	}
	wg.Wait()
	s := stores[0]
	if err := s.Finish(ctx, id, update, knowledge.Snapshot{Commit: "c"}, code.Hash{}); err != nil {
		t.Fatal(err)
	}
	n, err := s.Counts(ctx, id)
	if err != nil || n.Files != rounds*len(stores) || n.Functions != rounds*len(stores) || n.Runs != rounds/2*len(stores) {
		t.Errorf("counts: %+v, %v", n, err)
	}
	hits, err := s.Search(ctx, knowledge.Query{Terms: []string{"shared"}, Limit: 1000})
	if err != nil || len(hits) != rounds*len(stores) {
		t.Errorf("%d functions are found, %v", len(hits), err)
	}
	all, err := s.Repositories(ctx)
	if err != nil || len(all) != 1+len(stores) {
		t.Errorf("repositories: %+v, %v", all, err)
	}
	if d := Dump(t, s); !strings.Contains(d, "\n0 rows without a unit\n") {
		t.Error("rows without a unit are left")
	}
}

// testInterrupted ends a context before a call: nothing is written, and the store goes on.
func testInterrupted(t *testing.T, at At) {
	s := at.open(t)
	Fill(t, s, "a.go", "F")
	before := Dump(t, s)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	all, err := s.Repositories(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(ended, all[0].ID, knowledge.Change{Remove: []string{"a.go"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("writing: %v", err)
	}
	if _, err := s.Repositories(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("reading: %v", err)
	}
	if Dump(t, s) != before {
		t.Error("something was written")
	}
}
