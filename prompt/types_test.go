package prompt

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tracerag/source"
	"tracerag/trace"
)

// withTypes adds what the functions of the target name: a type of two of them,
// constants, a variable that is too long to be shown, a module that nobody recorded.
func withTypes(in Input) Input {
	table := source.Decl{
		Keyword: "type", Package: "csvview", Names: []string{"Table"}, Path: "/src/csvview/table.go", Display: "csvview/table.go",
		DocStart: 9, Start: 10, End: 12, Doc: "// Table is one. ```", Body: "type Table struct {\n\trows []row\n}",
	}
	sides := source.Decl{
		Keyword: "const", Package: "dep", Names: []string{"Left", "Right", "Top", "Bottom"}, Path: "/mod/dep/sides.go", Display: "example.com/dep@v1.0.0/sides.go",
		DocStart: 3, Start: 3, End: 8, Body: "const (\n\tLeft = iota\n\tRight\n\tTop\n\tBottom\n)",
	}
	widths := source.Decl{
		Keyword: "var", Package: "csvview", Names: []string{"widths"}, Path: "/src/csvview/column.go", Display: "csvview/column.go",
		DocStart: 40, Start: 40, End: 541, Body: "var widths = []int{\n" + strings.Repeat("\t1, 2, 3,\n", 500) + "}",
	}
	unknown := source.Decl{Keyword: "type", Package: "other", Names: []string{"T"}, Path: "/mod/other.go", Display: "example.com/other@v1.0.0/o.go", Start: 1, End: 1, Body: "type T int"}
	in.Named = func(_ trace.Function, t source.Text) []source.Decl {
		switch {
		case strings.Contains(t.Body, ") Render("):
			return []source.Decl{table, sides, unknown}
		case strings.Contains(t.Body, "func pad("):
			return []source.Decl{widths, table}
		}
		return nil
	}
	return in
}

// TestDeclarationsTellSecrets: what one declaration tells to be secret is masked in one that
// comes before it, whether or not the masker takes several texts at once.
func TestDeclarationsTellSecrets(t *testing.T) {
	several := &learningAll{}
	for _, mask := range []Masker{&secrets{}, several} {
		in := withTypes(inputCSV(t))
		named := in.Named
		in.Named = func(f trace.Function, text source.Text) []source.Decl {
			decls := named(f, text)
			for i := range decls {
				switch decls[i].Names[0] {
				case "Table":
					decls[i].Doc += " It is as rare as xyzzy."
				case "widths":
					decls[i].Doc = "// secret=xyzzy"
				}
			}
			return decls
		}
		in.Mask = mask
		if p := build(t, in, Options{Types: true}); strings.Contains(p.Text, "xyzzy") || !strings.Contains(p.Text, "as rare as [MASKED]") {
			t.Errorf("%T: the secret is not masked:\n%s", mask, p.Text)
		}
	}
	if several.texts == 0 {
		t.Error("no texts were learned at once")
	}
}

// learningAll takes several texts at once.
type learningAll struct {
	secrets
	texts int
}

func (l *learningAll) LearnAll(texts []string) []bool {
	l.texts += len(texts)
	for _, t := range texts {
		l.Learn(t)
	}
	return nil
}

func TestTypes(t *testing.T) {
	golden(t, "types.md", build(t, withTypes(inputCSV(t)), Options{Budget: 1_060}).Text)
	each(t, func(t *testing.T, in Input, o Options) {
		o.Types = true
		p := build(t, withTypes(in), o)
		if !o.Variant.hasSources() {
			if len(p.Types) > 0 {
				t.Errorf("without sources there are declarations: %v", p.Types)
			}
			return
		}
		var names []string
		for _, f := range p.Types {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, "; "); len(names) != 3 || !strings.Contains(got, "const dep.Left, Right, Top, ...") {
			t.Errorf("declarations: %s", got)
		}
		if n := strings.Count(p.Text, "type Table struct"); n != 1 {
			t.Errorf("a type that two functions name stands there %d times", n)
		}
		for _, s := range p.Sections {
			if s.Name == "types" && (s.Tokens < 1000 || s.Tokens > p.Total) {
				t.Errorf("the section: %+v", s)
			}
		}
		switch o.Format {
		case JSON:
			if !json.Valid([]byte(p.Text)) {
				t.Error("not valid JSON")
			}
		case XML:
			checkXML(t, p.Text)
		}
	})
}

// What fits of the declarations is those that the best functions name, and a
// function of which there is the signature only names nothing.
func TestTypesWithinABudget(t *testing.T) {
	in := withTypes(inputCSV(t))
	in.Score = about("Render")
	whole := build(t, in, Options{Types: true})
	for budget := whole.Total; budget > 600; budget -= 59 {
		p := build(t, in, Options{Budget: budget})
		if p.Total > budget {
			t.Fatalf("budget %d: %d tokens", budget, p.Total)
		}
		shown := fmt.Sprint(p.Types)
		tiers := map[string]Tier{}
		for _, f := range p.Shown {
			tiers[f.Name] = f.Tier
		}
		for name, tier := range tiers {
			if decl := strings.Contains(name, " "); decl && tier >= TierWindow != strings.Contains(shown, name) {
				t.Errorf("budget %d: %s is listed as %s, and there are %s", budget, name, tier, shown)
			}
		}
		if tiers["var csvview.widths"] != TierFolded && tiers["csvview.pad"] < TierWindow {
			t.Errorf("budget %d: what only pad names is there, and pad is not", budget)
		}
		if tiers["csvview.(*Table).Render"] == TierFull && tiers["var csvview.widths"] > TierFolded && tiers["type csvview.Table"] != TierFull {
			t.Errorf("budget %d: what pad names goes before what Render does", budget)
		}
		left := strings.Contains(p.Text, "more declaration")
		folded := false
		for name, tier := range tiers {
			folded = folded || strings.Contains(name, " ") && tier == TierFolded
		}
		if left != folded {
			t.Errorf("budget %d: declarations are left out: %v, marked: %v", budget, folded, left)
		}
	}
}

// The variable that holds a function literal is a source already.
func TestTypesAreNoSources(t *testing.T) {
	table := source.Text{Kind: source.Closure, Path: "/m.go", Display: "m.go", Start: 5, End: 9, Body: "var table = []func(){\n\tfunc() { use(table) },\n}", Signature: "var table ="}
	in := Input{
		Runs:   []Run{{Tree: makeTree(t, "main.init.func1")}},
		Source: func(trace.Function) source.Text { return table },
		Named: func(trace.Function, source.Text) []source.Decl {
			return []source.Decl{{Keyword: "var", Package: "main", Names: []string{"table"}, Path: "/m.go", Display: "m.go", Start: 5, End: 9, Body: table.Body}}
		},
	}
	if p := build(t, in, Options{Types: true}); strings.Count(p.Text, "var table =") != 1 {
		t.Errorf("the variable stands there twice:\n%s", p.Text)
	}
}

// Declarations that nobody asked for are never giant tables, however large the budget.
func TestGiantDeclarations(t *testing.T) {
	for _, asked := range []bool{false, true} {
		p := build(t, withTypes(inputCSV(t)), Options{Budget: 1_000_000, Types: asked})
		if !strings.Contains(p.Text, "var csvview.widths") {
			t.Errorf("asked for: %t: the table is missing", asked)
		}
		if n := strings.Count(p.Text, "1, 2, 3,"); (n == 500) != asked {
			t.Errorf("asked for: %t: %d lines of a table", asked, n)
		}
	}
}
