package values

import (
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
)

func TestTypeNames(t *testing.T) {
	for name, want := range map[string]string{
		"int":                           "int",
		"*example.com/a/b.T":            "*b.T",
		"map[string]*example.com/a/b.T": "map[string]*b.T",
		"[]uint8":                       "[]byte",
		"[3]interface {}":               "[3]any",
		"func(gopkg.in/yaml%2ev3.Node, x/y.Z) error":                          "func(yaml.Node, y.Z) error",
		"example.com/p.G[go.shape.int,example.com/q.T]":                       "p.G[int,q.T]",
		"struct { a/b.x int; a/b.y *c/d.E }":                                  "struct { b.x int; b.y *d.E }",
		"struct { a int; b string; c float64; d []string; e map[string]int }": "struct { a int; b string; c float64; d []string; e map[st...",
		"chan<- github.com/charmbracelet/bubbletea.Msg":                       "chan<- bubbletea.Msg",
	} {
		typ := &godwarf.TypedefType{CommonType: godwarf.CommonType{Name: name}}
		if got := typeName(typ); got != want {
			t.Errorf("%s is written %s, want %s", name, got, want)
		}
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

func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"":         `""`,
		"a\"b\n":   `"a\"b\n"`,
		"\xff\xfe": `"\xff\xfe"`,
		"日本語":      `"日本語"`,
		"12345678901234567890123456789012345678901234567890": `"123456789012345678901234567890123456789012345678"+`,
		"123456789012345678901234567890123456789012345678":   `"123456789012345678901234567890123456789012345678"`,
		"12345678901234567890123456789012345678901234567\n":  `"12345678901234567890123456789012345678901234567"+`,
	} {
		got, more := quoted(in)
		if more {
			got += "+"
		}
		if got != want {
			t.Errorf("%q is written %s, want %s", in, got, want)
		}
	}
}
