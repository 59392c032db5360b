package source

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// The module of TestNamed. The dependency's package has another name than its
// path's last element.
const namedModule = `
-- go.mod --
module example.com/app
-- app.go --
package main

import (
	"os"
	"strings"

	deps "example.com/app/sub"
	"example.com/go-dep"
)

// limit is how many.
const limit = 3

const (
	red = iota
	green
	// blue is last.
	blue
)

const (
	// one stands alone.
	one = 1
	two = 2
)

var (
	// table has them all.
	table = map[string]int{"a": one}
	other int
)

type (
	// T is a thing.
	T struct{ field, limit int }
	U[K comparable] map[K]V
)

type V int

func (t *T) method(x U[string]) { _ = x }

func (u U[K]) generic(k K) V { return u[k] }

func body(two int) {
	for i, c := range "x" {
		_, _ = i, c
	}
	var other T
	table["b"] = limit + green + two
	os.Exit(one)
	_ = other.field
}

func keys() any {
	_ = V(1)
	_ = T{limit: 1}
	return []int{blue: 1}
}

func imports(b *strings.Builder) {
	deps.Table["a"] = dep.Max
	var _ dep.Type
	_ = deps.Missing
	_ = notImported.Type
}

func platform() { use(perSystem, missing) }

func literals() {
	func(v V) { use(v, two) }(1)
}
-- app_linux.go --
package main

const perSystem = "linux"
-- app_windows.go --
package main

const perSystem = "windows"
-- app_test.go --
package main

const missing = "a test's"
-- other.go --
//go:build ignore

package main

const missing = "ignored"
-- sub/sub.go --
package sub

// Table is exported.
var Table = map[string]int{}
-- dep/dep.go --
// Package dep has another name.
package dep

type Type = int

const Max Type = 7
`

func TestNamed(t *testing.T) {
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(namedModule)).Files {
		write(t, filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data))
	}
	r := New(Config{
		Main:        Module{Path: "example.com/app", Dir: dir},
		Deps:        []Module{{Path: "example.com/go-dep", Version: "v1.0.0", ReplacePath: "./dep"}},
		MainPackage: "example.com/app", GOOS: "linux", GOARCH: "amd64",
	})
	named := func(decl string) []Decl {
		text := r.Find(Func{Name: "main." + decl, Package: "main", File: filepath.Join(dir, "app.go")})
		if text.Kind != Declared {
			t.Fatalf("%s: %+v", decl, text)
		}
		return r.Named(text)
	}
	for decl, want := range map[string][]string{
		"(*T).method": {"type T", "type U"},
		"U.generic":   {"type U", "type V"},
		"body":        {"type T", "var table", "const limit", "const red green blue", "const one"},
		"keys":        {"type V", "type T", "const red green blue"},
		"imports":     {"var sub.Table", "const dep.Max", "type dep.Type"},
		"platform":    {"const perSystem"},
		"literals":    {"type V", "const two"},
	} {
		var got []string
		for _, d := range named(decl) {
			s := d.Keyword + " " + strings.Join(d.Names, " ")
			if d.Package != "main" {
				s = d.Keyword + " " + d.Package + "." + d.Names[0]
			}
			got = append(got, s)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s names %q, want %q", decl, got, want)
		}
	}
	if d := named("platform")[0]; !strings.Contains(d.Body, `"linux"`) {
		t.Errorf("the constant of another system: %s", d.Body)
	}
	for _, d := range named("body") {
		switch d.Names[0] {
		case "red":
			if d.Start != 14 || d.End != 19 || !strings.HasPrefix(d.Body, "const (\n\tred = iota") || d.Display != "app.go" {
				t.Errorf("constants that count: %+v", d)
			}
		case "one":
			if d.Body != "one = 1" || d.Doc != "// one stands alone." || d.DocStart != 22 || d.Start != 23 {
				t.Errorf("a constant in parentheses: %+v", d)
			}
		case "limit":
			if d.Body != "const limit = 3" || d.Doc != "// limit is how many." {
				t.Errorf("a constant: %+v", d)
			}
		}
	}
	if got := r.Named(Text{Path: "/nowhere.go", Body: "func f() { x() }"}); got != nil {
		t.Errorf("the declarations of a file that nobody read: %v", got)
	}
}
