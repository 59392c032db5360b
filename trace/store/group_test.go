package store

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"tracerag/trace"
)

// called is a run that called a function.
func called(name string, processes ...string) *trace.Trace {
	t := &trace.Trace{Recorder: "probe"}
	b := trace.NewBuilder(t)
	b.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{{Func: b.Func(trace.Function{Name: name})}}, 1)
	for _, id := range processes {
		t.Processes = append(t.Processes, trace.Process{Program: "/bin/helper", Caller: 1, Before: 1, Trace: id})
	}
	return b.Finish()
}

func save(t *testing.T, s *Store, tr *trace.Trace) Entry {
	t.Helper()
	e, err := s.Save(tr)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The traces of processes are no runs, are found by their ids, and go with the last run that
// lists them.
func TestGroup(t *testing.T) {
	s := Open(t.TempDir())
	one, both := save(t, s.Processes(), called("main.one")), save(t, s.Processes(), called("main.both"))
	first, second := save(t, s, called("main.first", one.ID, both.ID)), save(t, s, called("main.second", both.ID))
	kept := save(t, s.Processes(), called("main.ofBaseline"))
	save(t, s.Baselines(), called("main.baseline", kept.ID, both.ID))

	if list, err := s.List(); err != nil || len(list) != 2 {
		t.Errorf("listed %v, %v", list, err)
	}
	if tr, e, err := s.Load(strings.ToUpper(one.ID)); err != nil || e != one || tr.Functions[0].Name != "main.one" {
		t.Errorf("loaded %v, %v, %v", tr, e, err)
	}
	if _, err := s.Find(one.ID[:4]); err == nil {
		t.Error("a process is found by the beginning of its id")
	}
	if err := s.Remove(one); err == nil || !strings.Contains(err.Error(), "it is removed with the run") {
		t.Errorf("a process is removed: %v", err)
	}
	tr, _, err := s.Load(first.ID)
	if err != nil {
		t.Fatal(err)
	}
	joined, size, err := s.Join(tr, first)
	if err != nil || len(joined.Nodes) != 3 || size != first.Size+one.Size+both.Size {
		t.Errorf("joined %d nodes of %d bytes, %v", len(joined.Nodes), size, err)
	}

	left := func() (names []string) {
		list, err := s.Processes().List()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			tr, _, err := s.Load(e.Path)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, strings.TrimPrefix(tr.Functions[0].Name, "main."))
		}
		slices.Sort(names)
		return names
	}
	var removed []string
	if err := s.RemoveRuns([]Entry{first}, func(e Entry) { removed = append(removed, e.ID) }); err != nil {
		t.Fatal(err)
	}
	if got, want := left(), []string{"both", "ofBaseline"}; !slices.Equal(got, want) || !slices.Equal(removed, []string{first.ID}) {
		t.Errorf("%v are left, want %v; removed %v", got, want, removed)
	}
	if err := s.RemoveRuns([]Entry{second}, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := left(), []string{"both", "ofBaseline"}; !slices.Equal(got, want) {
		t.Errorf("%v are left, want %v: a baseline lists it", got, want)
	}
	if _, err := s.Find(first.ID); err == nil {
		t.Error("the run is still there")
	}
}

// Runs that are removed together share processes with each other only.
func TestGroupsRemovedTogether(t *testing.T) {
	s := Open(t.TempDir())
	both := save(t, s.Processes(), called("main.both"))
	runs := []Entry{save(t, s, called("main.first", both.ID)), save(t, s, called("main.second", both.ID))}
	if err := s.RemoveRuns(runs, nil); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Processes().List(); err != nil || len(list) > 0 {
		t.Errorf("%v are left, %v", list, err)
	}
}

// A process whose trace is missing is named, and the rest is joined. A file that is elsewhere
// has them beside it.
func TestJoinMissing(t *testing.T) {
	there := Open(t.TempDir())
	one := save(t, there.Processes(), called("main.one"))
	run := save(t, there, called("main.first", one.ID, "01234567", "89abcdef"))
	s := Open(t.TempDir())
	tr, e, err := s.Load(run.Path)
	if err != nil {
		t.Fatal(err)
	}
	joined, _, err := s.Join(tr, e)
	if len(joined.Nodes) != 2 {
		t.Errorf("%d nodes are joined", len(joined.Nodes))
	}
	missing, ok := errors.AsType[*ProcessError](err)
	if !ok || missing.Count != 2 || !strings.Contains(err.Error(), "process helper 01234567") || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
