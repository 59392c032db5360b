package source

import (
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// sameAsParsed compares what a skimmed file declares with what the parser finds in all of it,
// and returns how many names that are. Of a file with errors it compares nothing.
func sameAsParsed(t *testing.T, path string, src []byte) (names int) {
	t.Helper()
	at := place{path: path, display: path}
	whole := parseGo(at, src, time.Time{})
	got, want := skim(at, src, time.Time{}), parsedWhole(whole)
	if whole.broken {
		return 0
	}
	if got.pkgName != want.pkgName {
		t.Errorf("%s: is of package %q, not %q", path, got.pkgName, want.pkgName)
	}
	for _, g := range whole.globals {
		for _, name := range g.names {
			names++
			if len(src) < 2000 {
				got = skim(at, src, time.Time{}) // nothing was found in it yet
			}
			if d, w := got.declaration(name), want.declaration(name); !reflect.DeepEqual(d, w) {
				t.Errorf("%s: %s\nis    %+v\nwant %+v", path, name, d, w)
			}
		}
	}
	for _, d := range whole.decls {
		for _, name := range d.names {
			if want.declaration(name) == nil && got.declaration(name) != nil {
				t.Errorf("%s: the function %s is declared", path, name)
			}
		}
	}
	return names
}

// wasCut reports whether a file is not parsed as a whole.
func (s *skimmed) wasCut() bool { return len(s.pieces) != 1 || s.pieces[0].start > 0 }

// TestSkim finds in the standard library what the parser finds.
func TestSkim(t *testing.T) {
	src := filepath.Join(build.Default.GOROOT, "src")
	dirs := []string{"syscall", "unicode", "os", "net/http", "go", "runtime", "crypto/tls", "internal"}
	if testing.Short() {
		dirs = dirs[:3]
	}
	names, files, cut := 0, 0, 0
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(src, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			names += sameAsParsed(t, path, text)
			files++
			if skim(place{path: path}, text, time.Time{}).wasCut() {
				cut++
			}
			return nil
		})
		if err != nil {
			t.Skipf("no standard library: %v", err)
		}
	}
	if names < 10_000 || cut < files*9/10 {
		t.Errorf("%d names in %d files, of which %d were cut", names, files, cut)
	}
}

// skimForms are layouts that gofmt does not make, and others in which it is easy to go
// wrong, with the names that they declare.
var skimForms = map[string]string{
	"package p\n\nvar x int\n":                                                                                             "x",
	"package p;var x int":                                                                                                  "x",
	"package p\nvar(a=1;x=2)":                                                                                              "a x",
	"package p\nconst a, x = 1, 2":                                                                                         "a x",
	"package p\nvar (\n\ta /* one */, x int\n)":                                                                            "a x",
	"package p\nvar a,// one\nx = 1, 2":                                                                                    "a x",
	"package p\nvar ( /* one */ x = 1)":                                                                                    "x",
	"package p\nvar\nx int":                                                                                                "x",
	"package p\n/* why */ type x int":                                                                                      "x",
	"package p\n\ttype x int\nfunc f() {}":                                                                                 "x",
	"package p\r\n// D.\r\nconst\tx = 1\r\n":                                                                               "x",
	"\xef\xbb\xbfpackage p\nvar x int":                                                                                     "x",
	"package p\nvar é, x int":                                                                                              "é x",
	"package p\ntype x struct{ a int }; type y int":                                                                        "x y",
	"package p\nfunc f() { var y int; _ = y }; var x int":                                                                  "x",
	"package p\nvar f = func() { var y int; _ = y }; var x int":                                                            "f x",
	"package p\nvar f =\nfunc() {}\nvar x int":                                                                             "f x",
	"package p\ntype T struct\n{ a int }\nvar x int":                                                                       "T x",
	"package p\ntype T[K interface{ comparable }, V any] map[K]V":                                                          "T",
	"package p\ntype (\n\t// A.\n\tA int // a\n\t// B.\n\tB = A\n)":                                                        "A B",
	"package p\nvar a = 1 // a\n// B.\nvar b = 2 // b\n\n// C.\n\nvar c = 3":                                               "a b c",
	"package p\nvar a = []int{\n\t1, // one\n}\n\n/* B\nis. */\nvar b = `\nvar c = {`":                                     "a b",
	"package p\nvar a = \"{\" + `}` + string('{') + string('\\'')\nvar x = \"\\\"{\"":                                      "a x",
	"package p\nconst (\n\ta = iota\n\tb\n)\nconst (\n\tc = len([3]int{})\n\td = 2\n)":                                     "a b c d",
	"package p\nconst (\n\ta = len([...]string{3 - iota: \"a very long string\"})\n\tb = 2\n)":                             "a b",
	"package p\nfunc f() {\n//line x.go:7\n}\n// D.\nvar x int":                                                            "x",
	"package p\nimport (\n\t\"a\"\n\tb \"b\"\n)\nvar x = b.X\nvar b2, y = a.F(x, 1)":                                       "x b2 y",
	"package p\nvar x = f(\nfunc() { g() },\n)\nvar y int":                                                                 "x y",
	"package p\nfunc x() {}\ntype T struct {\n\tx, y int // { of a comment\n}\nfunc (T) y() {}":                            "T",
	"// Package p.\npackage p // p\n// A.\nvar a int\n//go:embed x\nvar b string":                                          "a b",
	"package p\n// X\n// \n// is.\t\nvar x = 1 // \n":                                                                      "x",
	"package p\nvar _, x = 1, 2":                                                                                           "x",
	"package p\n/*\nvar y = {\nfunc g() {\n*/\nvar x int":                                                                  "x",
	"package p\n// func g() {\n// var y int\nvar x int":                                                                    "x",
	"package p\nvar a = `\n}\nfunc g() {\nvar y int\n`\nvar x int":                                                         "a x",
	"package p\nfunc f() {\n/* } */ // }\n\tvar y = '}'\n\t_ = `\n}\nvar y int`\n}\nvar x int":                             "x",
	"package p\n\n/*\n#include <a.h>\nint f() { return '\\''; }\n*/\nimport \"C\"\nvar x C.int":                            "x",
	"//go:build linux && !cgo\n\npackage p\nvar x int":                                                                     "x",
	"// Code generated by g. DO NOT EDIT.\r\n\r\npackage p\r\nvar a = `\r\n}\r\nvar y`\r\nvar x int":                       "a x",
	"package p\nvar (\na = f(1,\nfunc() {})\nb = 2\n)":                                                                     "a b",
	"package p\nvar a = map[int]func(){1:\nfunc() {}}[\n1]\nvar b int":                                                     "a b",
	"package p\r\r\n\r\r\n// A is.\r\r\nvar a = 1\r\r\n\r\r\n// X is.\r\r\nvar x = 2\r\r\n":                                "a x",
	"package p\nvar a = `b\r\r\nc`\nvar x = 2\n":                                                                           "a x",
	"package p\nvar a = 1; const (\n\tc = len([...]string{3 - iota: \"a very long string which is long\"})\n\td = 2\n)\n":  "a c d",
	"package p\ntype a int; const (\n\tc = len([...]string{3 - iota: \"a very long string which is long\"})\n\td = 2\n)\n": "a c d",
	"package p\nvar a = 1 /* x\n */ // y\nvar x = 2\n":                                                                     "a x",
	"package p\nimport \"x\" /* x\n */ // y\nvar x = 2\n":                                                                  "x",
	"/* package q */ package p\nvar x int":                                                                                 "x",
}

func TestSkimForms(t *testing.T) {
	for text, declares := range skimForms {
		names := strings.Fields(declares)
		if n := sameAsParsed(t, "a.go", []byte(text)); n < len(names) {
			t.Errorf("%q: %d names, want %q", text, n, names)
		}
		for _, name := range []string{"a", "b", "c", "d", "f", "x", "y", "A", "B", "T", "K", "V", "é", "int", "p"} {
			s := skim(place{path: "a.go"}, []byte(text), time.Time{}) // nothing was found in it yet
			if found := s.declaration(name) != nil; found != slices.Contains(names, name) {
				t.Errorf("%q: %s is declared: %v", text, name, found)
			}
		}
	}
}

// TestSkimBroken finds what has nothing to do with an error.
func TestSkimBroken(t *testing.T) {
	for text, want := range map[string]bool{
		"package p\nfunc f() { a b }\nvar x int\n":   true,
		"package p\nfunc f() {\n\nvar x int\n":       true, // cut where the line begins
		"package p\nvar y = = 1\n\nvar x int\n":      true,
		"package p\nvar y = \"\n\nvar x int\n":       true,
		"package p\nfunc f() }\nvar x int\n":         true,
		"package p\nvar y int\n/* no end\nvar x int": true,
		"var x int\n": false,
		"":            false,
	} {
		s := skim(place{path: "a.go"}, []byte(text), time.Time{})
		d := s.declaration("x")
		if (d != nil) != want || want && d.Body != "var x int" {
			t.Errorf("%q: %+v", text, d)
		}
		if s.declaration("f") != nil {
			t.Errorf("%q: the function is declared", text)
		}
	}
}

// FuzzSkim holds it against the parser.
func FuzzSkim(f *testing.F) {
	for text := range skimForms {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, src []byte) { sameAsParsed(t, "a.go", src) })
}
