package source

import (
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMayDeclare holds it against what the parser finds in the standard library.
func TestMayDeclare(t *testing.T) {
	src := filepath.Join(build.Default.GOROOT, "src")
	names, absent, wrong := 0, 0, 0
	for _, dir := range []string{"syscall", "unicode", "os", "net/http", "go", "runtime", "crypto/tls", "internal"} {
		err := filepath.WalkDir(filepath.Join(src, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			f := parseGo(place{path: path}, text, time.Time{})
			declared := map[string]bool{}
			for _, g := range f.globals {
				for _, name := range g.names {
					declared[name] = true
					if names++; !mayDeclare(text, name) {
						t.Errorf("%s: %s is declared", path, name)
					}
				}
			}
			for _, d := range f.decls {
				if name := d.name(); !declared[name] && !strings.Contains(name, ".") {
					if absent++; mayDeclare(text, name) {
						wrong++
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Skipf("no standard library: %v", err)
		}
	}
	if names < 10_000 || wrong > absent/2 {
		t.Errorf("of %d names declared, and %d of %d functions taken for one", names, wrong, absent)
	}
}

func TestMayDeclareForms(t *testing.T) {
	for text, want := range map[string]bool{
		"package p\nvar x int": true, "package p;var x int": true, "package p\nvar(a=1;x=2)": true, "package p\nconst a, x = 1, 2": true,
		"package p\nvar (\n\ta /* one */, x int\n)": true, "package p\n/* why */ type x int": true, "package p\r\nconst\tx = 1": true,
		"package p\nvar é, x int": true, "package p\ntype xs int": false, "package p\nfunc x() {}": false, "package p\nvar a = x": false,
		"package p\nvar a = b.x\n": false, "package p\nvar a [x]int": false, "x": true, "": false,
		"package p\ntype T struct{\n\ta x\n\tb, c x\n}": false, "package p\nfunc f(x int) { g(x) }": false, "package p\nvar (x = 1)": true, "package p\ntype(\n// A.\n x int)": true,
		"package p\nconst (\n\ta,\n\tx = 1, 2\n)": true, "package p\nvar a,// one\nx = 1, 2": true, "package p\nvar ( /* one */ x = 1)": true,
	} {
		if got := mayDeclare([]byte(text), "x"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
