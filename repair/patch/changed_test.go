package patch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const beforeChange = `package a

import "fmt"

// F is.
func F() { fmt.Println() }

func (t *T) M() { t.x++ }

type T struct{ x int }

const (
	a = 1
	b = 2
)

func init() { a1() }

func init() { a2() }

func gone() {}

func laid(x int) int { return x }
`

const afterChange = `package a

import "fmt"

// F is something.
func F() { fmt.Println() }

func (t T) M() { t.x++ }

type T struct{ x int }

const (
	c = 1
	b = 2
)

func init() { a2() }

func init() { a3() }

func laid(x int) int {
	return x
}

func fresh() {}
`

func TestWhatChanged(t *testing.T) {
	p := &Patch{Files: []File{{"a.go", []byte(beforeChange), []byte(afterChange)}, {"b.txt", nil, []byte("x")}, {"c.go", nil, []byte("package a\n\nvar x = 1\n")}}}
	var got []string
	for _, c := range p.Changed() {
		got = append(got, fmt.Sprintf("%s %s %s %s %d-%d %d-%d", c.File, c.Symbol, c.Kind, c.How, c.Before.Line, c.Before.EndLine, c.After.Line, c.After.EndLine))
		for _, x := range []struct {
			r    Range
			text string
		}{{c.Before, beforeChange}, {c.After, afterChange}} {
			if c.File == "a.go" && x.r.Line > 0 {
				if n := 1 + strings.Count(x.text[:x.r.Start], "\n"); n != x.r.Line {
					t.Errorf("%s begins in line %d, not %d", c.Symbol, n, x.r.Line)
				}
			}
		}
	}
	want := []string{
		"a.go F func comments 5-6 5-6", "a.go T.M method changed 8-8 8-8", "a.go c const changed 12-15 12-15", "a.go init#2 func changed 17-17 19-19",
		"a.go gone func deleted 21-21 0-0", "a.go laid func layout 23-23 21-23", "a.go fresh func new 0-0 25-25", "c.go x var new 0-0 3-3",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("changed is\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Two patches that do the same agree; those that do not, do not.
func TestKey(t *testing.T) {
	patch := func(after string) *Patch { return &Patch{Files: []File{{"a.go", []byte(beforeChange), []byte(after)}}} }
	change := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(beforeChange) }
	one := patch(change("t.x++", "t.x = 1; t.y(0x1F)")).Key()
	for _, same := range []string{
		change("t.x++", "t.x = 1; t.y(0x1F)", "// F is.", "// F does."),
		change("{ t.x++ }", "{\n\tt.x = 1 // one\n\n\tt.y(0X1F)\n}"),
		change("t.x++", "t.x = 1; t.y(0x1F)", "func laid(x int) int {", "func laid(x int) int   {"),
	} {
		if patch(same).Key() != one {
			t.Errorf("another key:\n%s", same)
		}
	}
	for _, other := range []string{
		change("t.x++", "t.x = 2; t.y(0x1F)"),
		change("t.x++", "t.x = 1; t.y(0x1F)", "func gone() {}", ""),
		change("t.x++", "t.x = 1; t.y(0x1F)", "package a", "//go:build linux\n\npackage a"),
		change("t.x++", "t.x = 1; t.y(0x1F)", `"fmt"`, `fmt "log"`),
		change("t.x++", "t.x = 1; t.y(0x1F)", "func gone", "//go:noinline\nfunc gone"),
	} {
		if patch(other).Key() == one {
			t.Errorf("the same key:\n%s", other)
		}
	}
	// The order of what is added does not count, whichever file it is in does.
	two := func(x, y string) *Patch {
		return patch(beforeChange + "\nfunc " + x + "() {}\n\nfunc " + y + "() {}\n")
	}
	if two("x", "y").Key() != two("y", "x").Key() {
		t.Error("the order of new functions counts")
	}
	moved := &Patch{Files: []File{{"b.go", []byte(beforeChange), []byte(change("t.x++", "t.x = 1; t.y(0x1F)"))}}}
	if moved.Key() == one {
		t.Error("the file does not count")
	}
	if (&Patch{}).Key() != patch(change("// F is.", "// F was.")).Key() {
		t.Error("a comment is a change")
	}
}
