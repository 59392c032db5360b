package affected

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/trace/recordtest"

	"golang.org/x/tools/txtar"
)

// TestElsewhere: what another process records by a request is the same as what this one records, and a package that isn't
// built says why.
func TestElsewhere(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	unpack(t, txtar.Parse([]byte(`
-- go.mod --
module example.com/m

go 1.25
-- a/a.go --
package a

func F() int { return G() }

func G() int { return 1 }
-- a/a_test.go --
package a

import "testing"

func TestF(t *testing.T) {
	if F() != 1 {
		t.Fatal()
	}
}

func TestNone(t *testing.T) {}
-- b/b_test.go --
package b

import "testing"

func TestB(t *testing.T) { missing() }
`)), dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := open(t, Options{Dir: dir, Record: func(ctx context.Context, packages []Package, done func(Recorded)) error {
		if err := (Request{Packages: packages}).Write(work); err != nil {
			return err
		}
		if out, err := exec.CommandContext(ctx, self, inner, work).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return Read(work, done)
	}})
	if err := m.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	if why := m.programs["example.com/m/a"].Failed; why != "" && !recordtest.Recordable() {
		t.Skipf("the probe can't record here: %s", why)
	}
	sel, err := m.Select(t.Context(), []Change{{"a/a.go", "G"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []Test{{"example.com/m/a", "TestF"}}; !slices.Equal(sel.Tests, want) || sel.Why(want[0]) != "ran G" {
		t.Errorf("chosen %v, since it %s", sel.Tests, sel.Why(want[0]))
	}
	if u := m.Unknown(); len(u) != 1 || u[0].Package != "example.com/m/b" || !strings.Contains(u[0].Why, "undefined: missing") {
		t.Errorf("not known: %v", u)
	}
}

// TestReadElsewhere: what the other process left is not trusted.
func TestReadElsewhere(t *testing.T) {
	dir := t.TempDir()
	read := func() (got []string, err error) {
		err = Read(dir, func(r Recorded) {
			if r.Trace != nil {
				t.Errorf("%s has a trace", r.Package)
			}
			got = append(got, r.Package)
		})
		return got, err
	}
	if got, err := read(); err != nil || got != nil {
		t.Errorf("nothing: %v, %v", got, err)
	}
	name := filepath.Join(dir, recordedFile)
	lines := `{"package":"gone","trace":"0.trace"}
not JSON
{"package":"outside","trace":"../../etc/passwd"}
{"package":"link","trace":"link"}
{"package":"damaged","trace":"damaged"}
`
	for file, text := range map[string]string{name: lines, filepath.Join(dir, "damaged"): "no trace"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if got, err := read(); err != nil || strings.Join(got, " ") != "gone outside link damaged" {
		t.Errorf("%v, %v", got, err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", name); err != nil {
		t.Fatal(err)
	}
	if got, err := read(); err == nil || got != nil {
		t.Errorf("a link in its place: %v, %v", got, err)
	}
}
