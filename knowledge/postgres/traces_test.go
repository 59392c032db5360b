//go:build unix

package postgres

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"tracerag/knowledge"
	"tracerag/knowledge/postgres/postgrestest"
)

// parse has functions of a parser, each called so often.
func parse(calls int64) knowledge.Executed {
	return knowledge.Executed{Functions: []knowledge.Function{
		{Package: "example.com/m/parser", Name: "Parse", Nth: 1, Base: "p.go", Calls: calls},
		{Package: "example.com/m/parser", Name: "(*Parser).Parse", Nth: 1, Base: "p.go", Calls: 2 * calls},
		{Package: "example.com/other/parser/v2", Name: "Parser.Parse", Nth: 1, Base: "p.go", Calls: 3 * calls},
	}}
}

func kept(n int, module, test string) knowledge.KeptTrace {
	return knowledge.KeptTrace{ID: fmt.Sprintf("%016x", n), Module: module, Commit: fmt.Sprintf("%040x", n), Package: module, Test: test,
		Command: "go test", Passed: n%2 == 0, Recorded: time.Unix(int64(n), 0).UTC()}
}

// TestTraces: each is there once, whoever pushes it and however often; and is fetched as it was.
func TestTraces(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	s, other := opened(t, owner.URL(), Options{}), opened(t, owner.URL(), Options{})
	file := append([]byte("a\x00\xff"), bytes.Repeat([]byte("x"), 3<<20)...)
	var added [8]bool
	var all sync.WaitGroup
	for i := range added {
		all.Go(func() {
			for n := range 4 {
				ok, err := []*Store{s, other}[i%2].PushTrace(ctx, kept(n, "m", "TestX"), file, parse(int64(n)))
				if err != nil {
					t.Error(err)
				}
				if n == 3 {
					added[i] = ok
				}
			}
		})
	}
	all.Wait()
	if n := len(slices.DeleteFunc(added[:], func(ok bool) bool { return !ok })); n != 1 {
		t.Errorf("%d pushes say that they added the trace", n)
	}
	if got, err := other.TraceFile(ctx, kept(3, "", "").ID); err != nil || !bytes.Equal(got, file) {
		t.Errorf("%d bytes of %d came back, %v", len(got), len(file), err)
	}
	list, err := s.KeptTraces(ctx, knowledge.TraceFilter{})
	if err != nil || len(list) != 4 {
		t.Fatalf("%v, %v", list, err)
	}
	want := kept(3, "m", "TestX")
	want.Size = int64(len(file))
	list[0].Recorded = list[0].Recorded.UTC()
	if list[0] != want {
		t.Errorf("the newest is\n%+v, want\n%+v", list[0], want)
	}
	var none *knowledge.NoTraceError
	if _, err := s.TraceFile(ctx, "00000000"); !errors.As(err, &none) || !none.Several {
		t.Errorf("what four traces begin with: %v", err)
	}
	for _, id := range []string{"000000000000000", "ffff", "%", "'", ""} {
		if _, err := s.TraceFile(ctx, id); !errors.As(err, &none) {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, c := range []struct {
		f    knowledge.TraceFilter
		want int
	}{
		{knowledge.TraceFilter{Limit: 2}, 2}, {knowledge.TraceFilter{Module: "m", Test: "TestX", Package: "m"}, 4}, {knowledge.TraceFilter{Module: "n"}, 0},
		{knowledge.TraceFilter{Commit: want.Commit}, 1}, {knowledge.TraceFilter{Commit: want.Commit[:30]}, 4}, {knowledge.TraceFilter{Commit: "%"}, 0},
	} {
		if list, err := s.KeptTraces(ctx, c.f); err != nil || len(list) != c.want {
			t.Errorf("%+v: %d traces, %v", c.f, len(list), err)
		}
	}
}

// TestProcesses: the files of processes come and go with the trace of the run that started them, and are no traces of their own.
func TestProcesses(t *testing.T) {
	ctx := t.Context()
	s := opened(t, postgrestest.Shared(t).Database(t).URL(), Options{})
	for n := range 2 {
		files := []knowledge.ProcessFile{{ID: "11111111", File: []byte{byte(n)}}, {ID: "22222222", File: []byte("second")}}
		if added, err := s.PushTrace(ctx, kept(n, "m", "TestX"), []byte("run"), parse(1), files...); err != nil || !added {
			t.Fatalf("added is %v, %v", added, err)
		}
	}
	for n := range 2 {
		if file, err := s.ProcessFile(ctx, kept(n, "", "").ID, "11111111"); err != nil || !bytes.Equal(file, []byte{byte(n)}) {
			t.Errorf("%v, %v", file, err)
		}
	}
	if list, err := s.KeptTraces(ctx, knowledge.TraceFilter{}); err != nil || len(list) != 2 {
		t.Errorf("listed %v, %v", list, err)
	}
	if file, err := s.TraceFile(ctx, kept(1, "", "").ID[:16]); err != nil || string(file) != "run" {
		t.Errorf("%q, %v", file, err)
	}
	if dropped, err := s.DropTraces(ctx, 1); err != nil || dropped != 1 {
		t.Errorf("%d are dropped, %v", dropped, err)
	}
	var none *knowledge.NoTraceError
	if _, err := s.ProcessFile(ctx, kept(0, "", "").ID, "22222222"); !errors.As(err, &none) {
		t.Errorf("the process of a dropped trace: %v", err)
	}
	if file, err := s.ProcessFile(ctx, kept(1, "", "").ID, "22222222"); err != nil || string(file) != "second" {
		t.Errorf("%q, %v", file, err)
	}
}

// TestDropTraces keeps the newest of each test of a module, and of each command line; and what ran in what is gone is gone.
func TestDropTraces(t *testing.T) {
	ctx := t.Context()
	s := opened(t, postgrestest.Shared(t).Database(t).URL(), Options{Host: "here"})
	n := 0
	push := func(module, test, command string) {
		t.Helper()
		n++
		k := kept(n, module, test)
		k.Command = command
		if _, err := s.PushTrace(ctx, k, []byte("x"), parse(int64(n))); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		push("m", "TestX", fmt.Sprint("go test /tmp/", n)) // wherever it was built
		push("m", "TestY", "go test")
		push("other", "TestX", "go test")
		push("m", "", "m a")
		push("m", "", "m b")
	}
	// A directory's run stays as long as its trace.
	if err := s.AddRun(ctx, knowledge.Run{Trace: "00000001", Dir: "/traces", Package: "m", Test: "TestX"}, parse(1)); err != nil {
		t.Fatal(err)
	}
	if dropped, err := s.DropTraces(ctx, 2); err != nil || dropped != 5 {
		t.Errorf("%d dropped, %v", dropped, err)
	}
	if dropped, err := s.DropTraces(ctx, 2); err != nil || dropped != 0 {
		t.Errorf("%d dropped again, %v", dropped, err)
	}
	list, err := s.KeptTraces(ctx, knowledge.TraceFilter{})
	if err != nil || len(list) != 10 || list[9].ID != kept(6, "", "").ID {
		t.Errorf("%d are left, %v", len(list), err)
	}
	var runs, ran, traces int
	err = s.pool.QueryRow(ctx, "SELECT (SELECT count(*) FROM run), (SELECT count(DISTINCT run) FROM ran), (SELECT count(*) FROM trace)").Scan(&runs, &ran, &traces)
	if err != nil || runs != 11 || ran != 11 || traces != 10 {
		t.Errorf("%d runs, functions of %d, %d traces, %v", runs, ran, traces, err)
	}
	if have, err := s.Traces(ctx, "/traces"); err != nil || len(have) != 1 {
		t.Errorf("the directory's runs: %v, %v", have, err)
	}
}

// TestExecutions: of each test the newest run, and of functions those that a name may mean.
func TestExecutions(t *testing.T) {
	ctx := t.Context()
	s := opened(t, postgrestest.Shared(t).Database(t).URL(), Options{Host: "here"})
	for n := range 6 {
		if _, err := s.PushTrace(ctx, kept(n, "m", []string{"TestX", "TestY"}[n%2]), []byte("x"), parse(int64(n))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.AddRun(ctx, knowledge.Run{Trace: "aaaaaaaa", Dir: "/traces", Package: "m", Test: "TestX"}, parse(100)); err != nil {
		t.Fatal(err)
	}
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
	} {
		list, err := s.Executions(ctx, c.f, 100)
		var got []string
		for _, e := range list {
			if !slices.Contains(got, e.Function) {
				got = append(got, e.Function)
			}
		}
		if err != nil || !slices.Equal(got, c.want) || len(list) != 2*len(c.want) {
			t.Errorf("%+v is %v in %d lines, %v", c.f, got, len(list), err)
		}
	}
	list, err := s.Executions(ctx, knowledge.FunctionName{Name: "Parse", Package: "m/parser"}, 2)
	if err != nil || len(list) != 2 || list[0].ID != kept(4, "", "").ID || list[0].Calls != 8 || list[1].ID != kept(5, "", "").ID || list[1].Test != "TestY" {
		t.Errorf("the newest runs are %+v, %v", list, err)
	}
}
