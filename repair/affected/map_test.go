package affected

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tracerag/repair/patch"
	"tracerag/trace/recordtest"
)

// counted records, and counts the packages that were asked for.
type counted struct {
	*Recorder
	packages []string
}

func (c *counted) record(ctx context.Context, packages []Package, done func(Recorded)) error {
	for _, p := range packages {
		c.packages = append(c.packages, strings.TrimPrefix(p.Path, "example.com/programs/"))
	}
	return c.Recorder.Record(ctx, packages, done)
}

func programs(t *testing.T) (dir string) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/programs.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	unpack(t, archive, dir)
	return dir
}

func chosen(t *testing.T, m *Map, changes ...Change) (*Selection, string) {
	t.Helper()
	sel, err := m.Select(t.Context(), changes)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range sel.Tests {
		names = append(names, strings.TrimPrefix(x.String(), "example.com/programs/"))
	}
	slices.Sort(names)
	return sel, strings.Join(names, " ")
}

// TestIncomplete: of what was not recorded, all tests are chosen, and the reason is said. A failed test is recorded
// as any other.
func TestIncomplete(t *testing.T) {
	dir := programs(t)
	m := open(t, Options{Dir: dir, Record: recorder(t).Record})
	sel, names := chosen(t, m, Change{"low/low.go", "Low"})
	if p := m.programs["example.com/programs/fine"]; p.Failed != "" && !recordtest.Recordable() {
		t.Skipf("the probe can't record here: %s", p.Failed)
	}
	const want = "broken:TestBroken example.com/nested:TestNested fine:TestFails fine:TestFine panics:TestBefore panics:TestZAfter starts:TestStarts"
	if names != want {
		t.Errorf("chosen %s\nwant   %s", names, want)
	}
	if len(sel.Whole) != 1 || sel.Whole[0].Package != "example.com/programs/broken" || !strings.Contains(sel.Whole[0].Why, "undefined: missing") {
		t.Errorf("whole packages: %v", sel.Whole)
	}
	if m.programs["example.com/programs/apart"] != nil {
		t.Error("a package was recorded that does not contain the change")
	}
	// Nothing ran this one. A test that starts programs may have run it all the same.
	if _, names := chosen(t, m, Change{"low/low.go", "Other"}); !strings.Contains(names, "starts:TestStarts") || strings.Contains(names, "fine:") {
		t.Errorf("chosen %s", names)
	}
}

// TestKept: what is known stays known under the hashes of what it was made from, and nothing else does.
func TestKept(t *testing.T) {
	dir, keep := programs(t), t.TempDir()
	for _, bad := range []string{"broken", "panics", "nested"} {
		if err := os.RemoveAll(filepath.Join(dir, bad)); err != nil {
			t.Fatal(err)
		}
	}
	update := func() (*Map, string) {
		t.Helper()
		c := &counted{Recorder: recorder(t)}
		m := open(t, Options{Dir: dir, Keep: keep, Record: c.record})
		if err := m.Update(t.Context()); err != nil {
			t.Fatal(err)
		}
		probed(t, m)
		return m, strings.Join(c.packages, " ")
	}
	edit := func(name, old, new string) {
		t.Helper()
		name = filepath.Join(dir, name)
		text, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(text, []byte(old)) {
			t.Fatalf("%s has no %q: %v", name, old, err)
		}
		if err := os.WriteFile(name, bytes.Replace(text, []byte(old), []byte(new), 1), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	first, recorded := update()
	if recorded != "apart fine starts" {
		t.Fatalf("recorded %q", recorded)
	}
	steps := []struct {
		what string
		do   func()
		want string
	}{
		{"nothing", func() {}, ""},
		{"layout", func() { edit("low/low.go", "func Low() int { return 1 }", "// Low.\nfunc Low() int {\n\treturn 1\n}") }, ""},
		{"a dependency", func() { edit("low/low.go", "return 1", "return 11") }, "fine starts"},
		{"a test", func() { edit("apart/apart_test.go", "{ Apart() }", "{ Apart(); Apart() }") }, "apart"},
		{"a file that a test may read", func() {
			if err := os.MkdirAll(filepath.Join(dir, "fine/testdata"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "fine/testdata/x"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "fine"},
		{"a damaged file", func() {
			if err := os.WriteFile(keptName(keep, "example.com/programs/apart"), []byte("no"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "apart"},
		{"a truncated file", func() {
			text, err := os.ReadFile(keptName(keep, "example.com/programs/fine"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(keptName(keep, "example.com/programs/fine"), text[:len(text)-9], 0o600); err != nil {
				t.Fatal(err)
			}
		}, "fine"},
		{"another version's file", func() {
			p := *first.programs["example.com/programs/apart"]
			p.Version++
			if err := save(keep, &p); err != nil {
				t.Fatal(err)
			}
		}, "apart"},
	}
	for _, s := range steps {
		s.do()
		m, recorded := update()
		if recorded != s.want {
			t.Errorf("after a change of %s: recorded %q, want %q", s.what, recorded, s.want)
		}
		if _, names := chosen(t, m, Change{"low/low.go", "Low"}); names != "fine:TestFails fine:TestFine starts:TestStarts" {
			t.Errorf("after a change of %s: chosen %s", s.what, names)
		}
	}
}

// TestWithoutRecorder: where nothing can be recorded, all tests of the packages that contain the change
// are chosen, the nearest first.
func TestWithoutRecorder(t *testing.T) {
	dir := programs(t)
	for name, record := range map[string]func(context.Context, []Package, func(Recorded)) error{
		"none":  nil,
		"fails": func(context.Context, []Package, func(Recorded)) error { return errors.New("no probe for plan9") },
	} {
		t.Run(name, func(t *testing.T) {
			sel, names := chosen(t, open(t, Options{Dir: dir, Record: record}), Change{"fine/fine.go", "Fine"})
			if names != "fine:TestElse fine:TestFails fine:TestFine" || len(sel.Whole) != 1 || sel.First != 3 {
				t.Errorf("chosen %s, %d first, %v", names, sel.First, sel.Whole)
			}
			if record != nil && sel.Whole[0].Why != "no probe for plan9" {
				t.Errorf("the reason: %v", sel.Whole)
			}
			if _, names := chosen(t, open(t, Options{Dir: dir}), Change{"low/low.go", "Low"}); strings.Contains(names, "apart:") || len(strings.Fields(names)) != 12 {
				t.Errorf("chosen %s", names)
			}
		})
	}
}

// TestInterrupted: Select ends with the context, and what was recorded until then is kept.
func TestInterrupted(t *testing.T) {
	dir, keep := programs(t), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	m := open(t, Options{Dir: dir, Keep: keep, Record: func(ctx context.Context, packages []Package, done func(Recorded)) error {
		if err := recorder(t).Record(ctx, packages[:1], done); err != nil {
			return err
		}
		cancel()
		return ctx.Err()
	}})
	if _, err := m.Select(ctx, []Change{{"fine/fine.go", "Fine"}}); !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v", err)
	}
	if m.programs["example.com/programs/fine"] == nil || m.programs["example.com/programs/fine"].Failed == "" {
		if _, err := os.Stat(keptName(keep, "example.com/programs/fine")); err != nil {
			t.Error(err)
		}
	}
}

// TestChanges: what of a patch may change what a program does.
func TestChanges(t *testing.T) {
	const base = "package p\n\nimport \"fmt\"\n\n// F is.\nfunc F() { fmt.Println(1) }\n\nfunc G() {}\n\nconst (\n\tA = 1\n\tB = 2\n)\n"
	edit := func(old, new string) string { return strings.Replace(base, old, new, 1) }
	for _, c := range []struct{ what, after, want string }{
		{"nothing", base, ""},
		{"layout and comments", edit("// F is.\nfunc F() { fmt.Println(1) }", "// F was.\nfunc F() {\n\tfmt.Println(1)\n}"), ""},
		{"a body", edit("Println(1)", "Println(2)"), "F"},
		{"a group", edit("B = 2", "B = 3"), "A"},
		{"a new function, with an import", edit("import \"fmt\"", "import \"fmt\"\nimport \"os\"") + "func H() { os.Exit(1) }\n", "H"},
		{"a function that goes", edit("func G() {}\n", ""), "G"},
		{"another package under a name", edit("import \"fmt\"", "import fmt \"log\""), "*"},
		{"an import for its effects", edit("import \"fmt\"", "import \"fmt\"\nimport _ \"os\""), "*"},
		{"a constraint", "//go:build linux\n\n" + base, "*"},
		{"a syntax error", edit("func G() {}", "func G() {"), "*"},
	} {
		var got []string
		for _, x := range Changes(patch.Patch{Files: []patch.File{{Name: "p/p.go", Before: []byte(base), After: []byte(c.after)}}}) {
			if x.Symbol == "" {
				x.Symbol = "*"
			}
			got = append(got, x.Symbol)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	if got := Changes(patch.Patch{Files: []patch.File{{Name: "a/x.txt"}, {Name: "new_test.go", After: []byte("package p\n\nfunc TestX(t *testing.T) {}\n")}}}); fmt.Sprint(got) != "[{a/x.txt } {new_test.go TestX}]" {
		t.Errorf("files: %v", got)
	}
}

// TestNew: a new function concerns the tests of what names it; a new test runs itself; a change of a whole
// file concerns all who contain it.
func TestNew(t *testing.T) {
	dir := programs(t)
	for _, bad := range []string{"broken", "panics", "starts", "nested"} {
		if err := os.RemoveAll(filepath.Join(dir, bad)); err != nil {
			t.Fatal(err)
		}
	}
	m := open(t, Options{Dir: dir, Record: recorder(t).Record})
	if err := m.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	probed(t, m)
	for _, c := range []struct {
		change Change
		want   string
	}{
		{Change{"low/new.go", "Low"}, "fine:TestFails fine:TestFine"},
		{Change{"low/new.go", "Unknown"}, ""},
		{Change{"apart/new_test.go", "TestNew"}, "apart:TestNew"},
		{Change{"low/low.go", ""}, "fine:TestElse fine:TestFails fine:TestFine"},
		{Change{"low/data.txt", ""}, "fine:TestElse fine:TestFails fine:TestFine"},
		{Change{"apart/apart_test.go", ""}, "apart:TestApart"},
		{Change{"README", ""}, ""},
	} {
		if _, names := chosen(t, m, c.change); names != c.want {
			t.Errorf("%v: chosen %q, want %q", c.change, names, c.want)
		}
	}
}

// FuzzDecode: no file that was kept, and then damaged, is trusted.
func FuzzDecode(f *testing.F) {
	dir := f.TempDir()
	p := &program{Version: version, Key: "k", Package: "p", Tests: []test{{Name: "TestX", Seen: true}}, Ran: []reached{{declared{"p", "F"}, []reach{{Test: 0, Ways: []uint32{1, 2}}}}}}
	if err := save(dir, p); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(keptName(dir, "p"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, d := range p.Ran {
			for _, r := range d.Tests {
				_ = p.Tests[r.Test]
			}
		}
	})
}
