package values

import (
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
)

// DWARF's names that Go does not have.
func TestTypeNames(t *testing.T) {
	for name, want := range map[string]string{
		"*void":                     "unsafe.Pointer",
		"go.shape.*example.com/p.T": "*p.T",
	} {
		typ := &godwarf.TypedefType{CommonType: godwarf.CommonType{Name: name}}
		if got := typeName(typ); got != want {
			t.Errorf("%s is written %s, want %s", name, got, want)
		}
	}
	parametric := &godwarf.ParametricType{TypedefType: godwarf.TypedefType{Type: &godwarf.TypedefType{CommonType: godwarf.CommonType{Name: "p.T"}}}}
	if got := typeName(parametric); got != "p.T" {
		t.Errorf("a type parameter is written %s", got)
	}
}

// Which functions get the hidden argument of generic code, and where.
func TestFunctionNames(t *testing.T) {
	for name, want := range map[string]struct{ method, closure bool }{
		"main.f":                                    {false, false},
		"main.f[go.shape.int]":                      {false, false},
		"example.com/a.b/c.f[x/y.T]":                {false, false},
		"main.T[go.shape.int].m":                    {true, false},
		`main.f[go.shape.struct { A int "a]b.c" }]`: {false, false},
		"main.(*T[go.shape.struct { p.x int }]).m":  {true, false},
		"main.f[go.shape.int].func1":                {true, true},
		"main.(*T[go.shape.int]).m.func2.1":         {true, true},
		"main.f[go.shape.int]-range1":               {false, true},
		"main.f[go.shape.int].gowrap1":              {true, true},
	} {
		if m, c := isMethod(name), isClosure(name); m != want.method || c != want.closure {
			t.Errorf("%s: method %v, closure %v", name, m, c)
		}
	}
}
