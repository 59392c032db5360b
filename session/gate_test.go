package session

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"tracerag/trace"
	"tracerag/trace/store"
)

// TestGate: a gate passes runs that make the calls of its reference and end as it did,
// and says what else is different.
func TestGate(t *testing.T) {
	s := &Session{Store: store.Open(t.TempDir())}
	path := filepath.Join(t.TempDir(), "kept", "show.pb.gz")
	var missing *NoReferenceError
	ref, err := s.Reference(path)
	if !errors.As(err, &missing) || ref.Trace != nil {
		t.Fatalf("a file that is missing: %v, %v", ref, err)
	}
	right := traced("main.main", "main.main>main.show")
	right.Program.GoVersion = "go1.26.0"
	made, err := s.Gate(ref, right, store.Entry{}, TreeOptions{}, Ignored{})
	if err != nil || made.Diff != nil {
		t.Fatalf("the first run: %+v, %v", made, err)
	}
	if err := s.WriteReference(path, made.Run); err != nil {
		t.Fatal(err)
	}
	if ref, err = s.Reference(path); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name   string
		change func(*trace.Trace)
		equal  bool
		notes  []string
	}{
		{name: "again", change: func(*trace.Trace) {}, equal: true},
		{name: "another exit code", change: func(tr *trace.Trace) { tr.Exit.Code = 3 }, notes: []string{"exit status 3, and of the baseline exit status 0"}},
		{name: "another count", change: func(tr *trace.Trace) { tr.Nodes[1].Calls = 7 }},
		{name: "another release", change: func(tr *trace.Trace) { tr.Program.GoVersion = "go1.26.1" }, equal: true,
			notes: []string{"the baseline is of go1.26.0, /, recorder ; this run of go1.26.1, /, recorder "}},
		{name: "other packages", change: func(tr *trace.Trace) { tr.Include = []string{"std"} }, equal: true, notes: []string{OtherPackages}},
	} {
		now := traced("main.main", "main.main>main.show")
		now.Program.GoVersion = "go1.26.0"
		tt.change(now)
		g, err := s.Gate(ref, now, store.Entry{}, TreeOptions{}, Ignored{})
		if err != nil || g.Equal != tt.equal || !slices.Equal(g.Notes, tt.notes) {
			t.Errorf("%s: %+v, %v", tt.name, g, err)
		}
	}
	all, err := Ignore([]string{"./..."}, func(string) (func(string) bool, error) { return func(string) bool { return true }, nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Gate(ref, traced("main.main"), store.Entry{}, TreeOptions{}, all); err == nil {
		t.Error("a gate that compares nothing passes")
	}
}
