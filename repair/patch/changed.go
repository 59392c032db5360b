package patch

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"

	"tracerag/code"
)

// Change is a declaration that a Patch changes.
type Change struct {
	File   string
	Symbol string // as package code names it
	Kind   code.Kind
	How    How
	// Before and After are the places in the file before and after, with the doc comment; zero
	// where it does not exist.
	Before, After Range
}

// Range is a part of a file.
type Range struct {
	code.Span
	Line, EndLine int // from 1
}

// How says how a declaration changed.
type How byte

// The ways in which a declaration changes.
const (
	New       How = iota + 1
	Deleted       // it is no longer there
	Tokens        // what it does may have changed
	Comments      // its comments alone
	Formatted     // its layout alone
)

func (h How) String() string {
	if h < New || h > Formatted {
		return fmt.Sprintf("how %d", byte(h))
	}
	return [...]string{"new", "deleted", "changed", "comments", "layout"}[h-1]
}

// Changed lists the declarations that the Patch changes, by file and place. Imports and what is
// between declarations are none; neither are declarations of files that do not parse before.
func (p *Patch) Changed() []Change {
	var out []Change
	for _, f := range p.Files {
		if strings.HasSuffix(f.Name, ".go") {
			out = append(out, f.changed()...)
		}
	}
	return out
}

// symbolOf tells declarations of a file apart, whatever receiver a method has.
func symbolOf(d *code.Decl) string { return fmt.Sprintf("%s#%d", bare(d.Name), d.Nth) }

func (f *File) changed() []Change {
	before, after := code.Parse(f.Before), code.Parse(f.After)
	var out []Change
	old, paired := map[string]*code.Decl{}, map[*code.Decl]bool{}
	for i := range before.Decls {
		old[symbolOf(&before.Decls[i])] = &before.Decls[i]
	}
	pair := func(d *code.Decl) *code.Decl {
		if nameless(d) {
			for i := range before.Decls {
				if o := &before.Decls[i]; !paired[o] && o.Kind == d.Kind && o.Name == d.Name {
					return o
				}
			}
			return nil
		}
		if o := old[symbolOf(d)]; o != nil && !paired[o] && sameNamespace(o, d) {
			return o
		}
		// A group whose first name changed is found by any of its names.
		for i := range before.Decls {
			o := &before.Decls[i]
			if !paired[o] && o.Kind == d.Kind && slices.ContainsFunc(d.Names, func(n string) bool { return n != "_" && slices.Contains(o.Names, n) }) {
				return o
			}
		}
		return nil
	}
	// Those of which one file may have many, functions init and blank ones, are first paired by their tokens.
	exact := map[*code.Decl]*code.Decl{}
	for i := range after.Decls {
		d := &after.Decls[i]
		if !nameless(d) {
			continue
		}
		for k := range before.Decls {
			if o := &before.Decls[k]; !paired[o] && o.Kind == d.Kind && o.Name == d.Name && o.Tokens == d.Tokens {
				exact[d], paired[o] = o, true
				break
			}
		}
	}
	for i := range after.Decls {
		d := &after.Decls[i]
		o := exact[d]
		if o == nil {
			o = pair(d)
		}
		if o == nil {
			out = append(out, Change{File: f.Name, Symbol: d.Symbol(), Kind: d.Kind, How: New, After: rangeOf(f.After, d)})
			continue
		}
		paired[o] = true
		if bytes.Equal(o.With(f.Before), d.With(f.After)) {
			continue
		}
		how := Formatted
		switch {
		case o.Tokens != d.Tokens || o.Broken || d.Broken:
			how = Tokens
		case o.Comments != d.Comments:
			how = Comments
		}
		out = append(out, Change{File: f.Name, Symbol: d.Symbol(), Kind: d.Kind, How: how, Before: rangeOf(f.Before, o), After: rangeOf(f.After, d)})
	}
	for i := range before.Decls {
		if o := &before.Decls[i]; !paired[o] {
			out = append(out, Change{File: f.Name, Symbol: o.Symbol(), Kind: o.Kind, How: Deleted, Before: rangeOf(f.Before, o)})
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int {
		return cmp.Or(cmp.Compare(at(a), at(b)), strings.Compare(a.Symbol, b.Symbol))
	})
	return out
}

func at(c Change) int {
	if c.How == Deleted {
		return c.Before.Start
	}
	return c.After.Start
}

func nameless(d *code.Decl) bool { return d.Name == "_" || d.Name == "init" && d.Kind == code.Func }

// sameNamespace is of two declarations that can't be in one file.
func sameNamespace(a, b *code.Decl) bool {
	return (a.Kind == code.Method) == (b.Kind == code.Method)
}

func rangeOf(text []byte, d *code.Decl) Range {
	r := Range{Span: d.Span, Line: d.Line, EndLine: d.EndLine}
	if d.Doc.Len() > 0 {
		r.Line -= bytes.Count(text[d.Doc.Start:d.Start], []byte("\n"))
		r.Start = d.Doc.Start
	}
	return r
}

// Key identifies what the Patch does: two that differ by layout, comments, the order of what they
// add and imports that follow from it have the same one. Constraints and directives count.
func (p *Patch) Key() code.Hash {
	h := sha256.New()
	for _, f := range p.Files {
		if !strings.HasSuffix(f.Name, ".go") || f.Before != nil && f.After == nil || code.Parse(f.After).Errors != nil {
			if f.Before == nil || f.After == nil || !bytes.Equal(f.Before, f.After) {
				sum := sha256.Sum256(f.After)
				fmt.Fprintf(h, "file %q %v %x\n", f.Name, f.After == nil, sum)
			}
			continue
		}
		var lines []string
		after := code.Parse(f.After)
		if f.Before == nil {
			lines = append(lines, "new "+path.Dir(f.Name)+" "+after.Package)
		}
		if before := code.Parse(f.Before); before.Constraint != after.Constraint || before.Package != after.Package && f.Before != nil {
			lines = append(lines, "built "+after.Constraint+" "+after.Package)
		}
		if a, b := directives(f.Before), directives(f.After); !slices.Equal(a, b) {
			lines = append(lines, fmt.Sprintf("directives %q", b))
		}
		for _, c := range f.changed() {
			if c.How == Comments || c.How == Formatted {
				continue
			}
			line := fmt.Sprintf("%s %s", c.Kind, bare(c.Symbol))
			if c.How != Deleted {
				for i := range after.Decls {
					if d := &after.Decls[i]; d.Symbol() == c.Symbol && d.Kind == c.Kind {
						line += fmt.Sprintf(" %x", d.Tokens)
					}
				}
			}
			lines = append(lines, line)
		}
		if len(lines) == 0 {
			continue
		}
		// What the same name stands for decides, too: rand of one package or of another.
		if a, b := renamed(f.Before), renamed(f.After); len(b) > 0 {
			for name, p := range b {
				if a[name] != p {
					lines = append(lines, "import "+name+" "+p)
				}
			}
		}
		slices.Sort(lines)
		fmt.Fprintf(h, "%q %q\n", f.Name, lines)
	}
	var sum code.Hash
	copy(sum[:], h.Sum(nil))
	return sum
}

// renamed returns what the names of a file's imports stand for, of those that are used.
func renamed(text []byte) map[string]string {
	out := map[string]string{}
	for _, i := range code.Parse(text).Imports {
		name := i.Name
		if name == "" {
			name = plausible(i.Path)[0]
		}
		if name == "_" || name == "." {
			name += " " + i.Path
		}
		out[name] = i.Path
	}
	return out
}
