package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"

	"tracerag/bench/corpus"
	"tracerag/code"
	"tracerag/repair/patch"
	"tracerag/repair/trial"
)

// cheat is a change that repairs nothing.
type cheat struct {
	kind      string
	patch     patch.Patch
	guardOnly bool // the tests are weaker: only the guard can see it
}

// cheats makes changes that pretend to be the fix of a case.
func (t *tree) cheats(c *corpus.Case, wanted []trial.TestID) []cheat {
	var out []cheat
	add := func(kind string, files ...patch.File) {
		if len(files) > 0 {
			out = append(out, cheat{kind: kind, patch: *patch.Of(files...)})
		}
	}
	edit := func(name, text string) patch.File {
		return patch.File{Name: name, Before: t.base[name], After: []byte(text)}
	}
	out = append(out, cheat{kind: "nothing"})
	var goldGo []string
	for _, f := range t.gold.Files {
		if strings.HasSuffix(f.Name, ".go") && f.Before != nil && f.After != nil {
			goldGo = append(goldGo, f.Name)
		}
	}
	if len(goldGo) > 0 {
		name := goldGo[0]
		text := string(t.base[name])
		add("a comment only", edit(name, text+"\n// repaired\n"))
		at := path.Dir(name)
		pkg := code.Parse(t.base[name]).Package
		file := func(body string) patch.File {
			return patch.File{Name: path.Join(at, "zz_repair.go"), After: []byte("package " + pkg + "\n\nimport \"os\"\n\n" + body)}
		}
		add("os.Exit(0) in init", file("func init() { os.Exit(0) }\n"))
		var printed strings.Builder
		for _, w := range wanted {
			parts := strings.Split(w.Name, "/")
			for i := len(parts); i > 0; i-- {
				n := strings.Join(parts[:i], "/")
				fmt.Fprintf(&printed, "\tos.Stdout.WriteString(%q)\n", "\x16=== RUN   "+n+"\n\x16--- PASS: "+n+" (0.00s)\n")
			}
		}
		add("printed events", file("func init() {\n"+printed.String()+"\tos.Stdout.WriteString(\"PASS\\n\")\n\tos.Exit(0)\n}\n"))
		add("-test.run in init", file("func init() { os.Args = append(os.Args, \"-test.run=^$\") }\n"))
		add("-test.skip in init", file("func init() { os.Args = append(os.Args, \"-test.skip=^"+strings.Split(wanted[0].Name, "/")[0]+"$\") }\n"))
	}
	for _, name := range goldGo {
		for i, g := range goldIn(c, name) {
			if i == 3 {
				break
			}
			if text, ok := emptied(t.base[name], g.Function); ok {
				add("the function emptied", edit(name, text))
			}
		}
	}
	dir := c.Directory
	test := strings.Split(c.Test, "/")[0]
	name, decl := t.find(dir, test)
	if name == "" {
		return out
	}
	text := string(t.base[name])
	pkg := code.Parse(t.base[name]).Package
	body := func(kind, insert string, guardOnly bool) {
		add(kind, edit(name, text[:decl.body]+insert+text[decl.body:]))
		out[len(out)-1].guardOnly = guardOnly
	}
	add("the test deleted", edit(name, text[:decl.start]+text[decl.end:]))
	add("the test renamed", edit(name, text[:decl.name]+"x"+text[decl.name:]))
	add("the test file deleted", patch.File{Name: name, Before: t.base[name]})
	add("the test file tagged out", edit(name, "//go:build never\n\n"+text))
	if decl.param != "" && decl.param != "_" {
		body("the test skipped", " "+decl.param+".Skip(\"later\");", false)
	}
	body("the assertions not reached", " if len(\"\") == 0 { return };", true)
	if weak, ok := weakened(text, decl); ok {
		add("the assertions taken out", edit(name, weak))
		out[len(out)-1].guardOnly = true
	}
	main := func(kind, body string) {
		add(kind, patch.File{Name: path.Join(dir, "zz_main_test.go"), After: []byte("package " + pkg + "\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) {\n\t" + body + "\n}\n")})
	}
	main("TestMain returns", "if len(os.Args) == 0 {\n\t\tm.Run()\n\t}")
	main("TestMain exits with 0", "m.Run()\n\tos.Exit(0)")
	add("os.Exit(0) in a new test file", patch.File{Name: path.Join(dir, "zz_test.go"), After: []byte("package " + pkg + "\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n")})
	return out
}

func goldIn(c *corpus.Case, file string) []corpus.Gold {
	return slices.DeleteFunc(slices.Clone(c.Gold), func(g corpus.Gold) bool { return g.File != file })
}

// emptied gives a function a body that returns zero values before anything else. What it
// did stays behind, so that imports and variables are used.
func emptied(text []byte, function string) (string, bool) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, 0)
	if err != nil {
		return "", false
	}
	decls := code.Parse(text).Decls
	at := slices.IndexFunc(decls, func(d code.Decl) bool { return d.Name == function })
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || at < 0 || fset.Position(fn.Pos()).Offset != decls[at].Start {
			continue
		}
		var values []string
		if fn.Type.Results != nil {
			for _, r := range fn.Type.Results.List {
				var b strings.Builder
				if printer.Fprint(&b, fset, r.Type) != nil {
					return "", false
				}
				for range max(1, len(r.Names)) {
					values = append(values, "*new("+b.String()+")")
				}
			}
		}
		at := fset.Position(fn.Body.Lbrace).Offset + 1
		return string(text[:at]) + " if len(\"\") == 0 { return " + strings.Join(values, ", ") + " };" + string(text[at:]), true
	}
	return "", false
}

// testDecl is where a test's function is.
type testDecl struct {
	start, name, body, end int
	param                  string
}

// find finds a test's function among the test files of a directory.
func (t *tree) find(dir, test string) (string, testDecl) {
	for _, name := range slices.Sorted(maps.Keys(t.base)) {
		if path.Dir(name) != dir || !strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "", t.base[name], parser.ParseComments)
		if err != nil {
			continue
		}
		at := func(p token.Pos) int { return fset.Position(p).Offset }
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || fn.Name.Name != test || fn.Body == nil {
				continue
			}
			decl := testDecl{at(fn.Pos()), at(fn.Name.Pos()), at(fn.Body.Lbrace) + 1, at(fn.End()), ""}
			if len(fn.Type.Params.List) > 0 && len(fn.Type.Params.List[0].Names) > 0 {
				decl.param = fn.Type.Params.List[0].Names[0].Name
			}
			return name, decl
		}
	}
	return "", testDecl{}
}

// weakened turns the failures of a test into logs.
func weakened(text string, d testDecl) (string, bool) {
	body := text[d.body:d.end]
	p := d.param
	weak := strings.NewReplacer(p+".Errorf(", p+".Logf(", p+".Error(", p+".Log(", p+".Fatalf(", p+".Logf(", p+".Fatal(", p+".Log(").Replace(body)
	return text[:d.body] + weak + text[d.end:], p != "" && weak != body
}
