package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/trace"
	"tracerag/trace/store"
)

// TestSiblings: which saved runs say something about a failed test, and in which order.
func TestSiblings(t *testing.T) {
	s := store.Open(filepath.Join(t.TempDir(), store.DirName))
	const pkg = "example.com/m/lib"
	save := func(name, build string, change func(*trace.Trace)) (store.Entry, *trace.Trace) {
		t.Helper()
		tr := run("go test")
		tr.Name, tr.Test = name, trace.Test{Package: pkg, Name: name}
		tr.Program = trace.Program{BuildID: build, MainPath: pkg + ".test", Main: trace.Module{Path: "example.com/m"}}
		tr.Start = tr.Start.AddDate(0, 0, count(t, s)) // or equal runs are one
		if change != nil {
			change(tr)
		}
		e, err := s.Save(tr)
		if err != nil {
			t.Fatal(err)
		}
		return e, tr
	}
	failed := func(tr *trace.Trace) { tr.Exit.Code = 1 }

	save("TestOld", "b0", nil)
	save("TestOld", "b0", nil)
	save("TestB", "b1", nil) // another like it follows
	save("TestC", "b1", failed)
	save("TestC", "b1", nil) // flaky: both say something
	save("TestA", "b1", nil)
	save("TestB", "b1", nil)
	save("TestElsewhere", "b2", func(tr *trace.Trace) { tr.Test.Package, tr.Program.MainPath = "other", "other.test" })
	save("TestOfMain", "b2", func(tr *trace.Trace) { tr.Test.Package = "main" })
	save("unseen", "b1", func(tr *trace.Trace) { tr.Test, tr.Exit.Code = trace.Test{}, -1 })
	save("sampled", "b1", func(tr *trace.Trace) { tr.Test, tr.Sampled = trace.Test{}, true })
	save("all", "b1", func(tr *trace.Trace) { tr.Test = trace.Test{} }) // go test without --each
	save("TestKilled", "b1", func(tr *trace.Trace) { tr.Exit = trace.Exit{Code: -1, Signal: "SIGKILL"} })
	save("foreign", "", func(tr *trace.Trace) { tr.Test, tr.Program = trace.Test{}, trace.Program{} })
	entry, tr := save("TestA", "b1", failed)

	siblings := func() string {
		var got []string
		for x, err := range s.Siblings(entry, tr) {
			if err != nil {
				got = append(got, "error:"+filepath.Base(x.Entry.Path))
				continue
			}
			word := x.Trace.Name
			if x.Trace.Exit.Failed() {
				word += "!"
			}
			if x.Trace.Program.BuildID != tr.Program.BuildID {
				word += "@" + x.Trace.Program.BuildID
			}
			if x.Entry.ID == entry.ID || !strings.Contains(x.Entry.Path, x.Entry.ID) {
				t.Errorf("%s has the entry %+v", word, x.Entry)
			}
			got = append(got, word)
		}
		return strings.Join(got, " ")
	}
	const want = "TestKilled! all TestB TestA TestC TestC! TestOld@b0"
	if got := siblings(); got != want {
		t.Errorf("siblings %s\n    want %s", got, want)
	}

	// A damaged file is reported, and does not hide the others.
	if err := os.WriteFile(filepath.Join(s.Dir(), "20200101-000000.000-deadbeef.pb.gz"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := siblings(), strings.Replace(want, " TestOld", " error:20200101-000000.000-deadbeef.pb.gz TestOld", 1); got != want {
		t.Errorf("siblings %s\n    want %s", got, want)
	}
	for range s.Siblings(entry, tr) {
		break // whoever has seen enough may stop
	}

	// Of files on a command line nobody knows whether they are the same program.
	script := func(tr *trace.Trace) {
		tr.Test, tr.Program = trace.Test{}, trace.Program{BuildID: tr.Program.BuildID, MainPath: "command-line-arguments"}
	}
	save("script", "c1", script)
	entry, tr = save("script", "c2", script)
	if got := siblings(); !strings.HasPrefix(got, "error:") || strings.Contains(got, " ") {
		t.Errorf("siblings of a script: %s", got)
	}
}

func count(t *testing.T, s *store.Store) int {
	t.Helper()
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
