package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tracerag/bench/corpus/gold"
	"tracerag/code"
)

// wrong says what is wrong with a file that was made of a base and the changed declarations of its fix;
// "" if they are as in the fix, and all else as in the base.
func wrong(base, fix, got []byte, changed, deleted []string) string {
	f, g := code.Parse(fix), code.Parse(got)
	if len(g.Errors) > 0 {
		return fmt.Sprintf("line %d: %s", g.Errors[0].Line, g.Errors[0].What)
	}
	for _, s := range changed {
		d := find(f, s)
		same := slices.ContainsFunc(g.Decls, func(x code.Decl) bool {
			return x.Kind == d.Kind && x.Name == d.Name && bytes.Equal(x.With(got), d.With(fix))
		})
		if !same {
			return s + " is not as in the fix"
		}
	}
	have := gold.Names(g)
	for _, n := range deleted {
		if slices.Contains(have, n) {
			return n + " is still there"
		}
	}
	// The parts outside of what changed, without blank lines: those beside a declaration come and
	// go with it.
	same := map[string]bool{}
	for i := range f.Decls {
		same[string(f.Decls[i].With(fix))] = true
	}
	kept := func(text []byte) string {
		file, tree := code.ParseTree(text)
		_ = tree
		var b bytes.Buffer
		at := 0
		for i := range file.Decls {
			d := &file.Decls[i]
			from := d.Start
			if d.Doc.Len() > 0 {
				from = min(from, d.Doc.Start)
			}
			b.Write(text[at:from])
			at = d.End
			if whole := string(d.With(text)); unchanged(base, fix, whole) {
				b.WriteString(whole)
			}
		}
		b.Write(text[at:])
		return squeeze(withoutImports(b.String()))
	}
	if a, b := kept(base), kept(got); a != b {
		return "the rest is not as in the base: " + part(a, b)
	}
	return ""
}

// unchanged reports whether a declaration's text is in both.
func unchanged(base, fix []byte, text string) bool {
	return bytes.Contains(base, []byte(text)) && bytes.Contains(fix, []byte(text))
}

var (
	importLine  = regexp.MustCompile(`(?m)^import\s+(\w+\s+|\.\s+)?"[^"]*".*\n?`)
	importGroup = regexp.MustCompile(`(?ms)^import \(.*?^\)\n?`)
)

func withoutImports(text string) string {
	return importLine.ReplaceAllString(importGroup.ReplaceAllString(text, ""), "")
}

func squeeze(text string) string {
	var lines []string
	for l := range strings.Lines(text) {
		if l = strings.TrimRight(l, "\r\n"); strings.TrimSpace(l) != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}

func part(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	cut := func(s string) string { return s[max(0, min(len(s), i)-30):min(len(s), i+50)] }
	return fmt.Sprintf("%q and %q", cut(a), cut(b))
}

func find(f *code.File, symbol string) *code.Decl {
	for i := range f.Decls {
		if f.Decls[i].Symbol() == symbol {
			return &f.Decls[i]
		}
	}
	return nil
}

// importSet returns the imports of a file, sorted.
func importSet(text []byte) string {
	var out []string
	for _, i := range code.Parse(text).Imports {
		out = append(out, i.Name+" "+i.Path)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "\n")
}
