package affected

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tracerag/code"
	"tracerag/trace/recordtest"
)

// Tests are recorded by processes that are this test program again: affected.test inner job DIR PROGRAM...
func TestMain(m *testing.M) {
	if self, err := os.Executable(); err == nil && len(os.Args) > 2 && os.Args[1] == inner {
		os.Exit(Inner(context.Background(), []string{self, inner}, os.Args[2:]))
	}
	os.Exit(m.Run())
}

const inner = "inner"

func recorder(t testing.TB) *Recorder {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Recorder{Self: []string{self, inner, "job"}}
}

// unpack writes an archive's files into a directory.
func unpack(t testing.TB, archive *txtar.Archive, dir string) {
	t.Helper()
	for _, f := range archive.Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t *testing.T, o Options) *Map {
	t.Helper()
	m, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// probed skips a test where the probe can't record.
func probed(t *testing.T, m *Map) {
	t.Helper()
	for _, name := range m.Packages() {
		if p := m.programs[name]; p == nil {
			t.Fatalf("nothing is known of %s", name)
		} else if p.Failed != "" {
			if recordtest.Recordable() {
				t.Fatalf("%s: %s", name, p.Failed)
			}
			t.Skipf("the probe can't record here: %s", p.Failed)
		}
	}
}

// TestHazards holds the chosen tests against the comments of testdata/hazards.txtar.
func TestHazards(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/hazards.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	unpack(t, archive, dir)
	m := open(t, Options{Dir: dir, Record: recorder(t).Record})
	if err := m.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	probed(t, m)
	checked := 0
	for _, file := range archive.Files {
		f := code.Parse(file.Data)
		lines := strings.Split(string(file.Data), "\n")
		for _, d := range f.Decls {
			_, want, ok := strings.Cut(lines[d.Line-1], "// want:")
			if !ok {
				continue
			}
			checked++
			t.Run(file.Name+"/"+d.Symbol(), func(t *testing.T) {
				sel, err := m.Select(t.Context(), []Change{{File: file.Name, Symbol: d.Symbol()}})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, x := range sel.Tests {
					got = append(got, short(x))
				}
				all := slices.Clone(m.source.packages["example.com/hazards/p"].tests)
				slices.Sort(got)
				wanted := strings.Fields(want)
				if slices.Equal(wanted, []string{"any"}) {
					wanted = all
				}
				slices.Sort(wanted)
				if !slices.Equal(got, wanted) {
					t.Errorf("chosen %v\nwant   %v\nnotes %v %v", got, wanted, sel.Notes, sel.Whole)
				}
			})
		}
	}
	if checked < 40 {
		t.Errorf("%d declarations were checked", checked)
	}
}

func short(x Test) string {
	pkg := strings.TrimPrefix(x.Package, "example.com/hazards/")
	if pkg == "p" {
		return x.Name
	}
	return pkg + ":" + x.Name
}
