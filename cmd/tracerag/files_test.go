package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// between lists which files of commands may use what others declare: one command goes on
// where the other ends. Everything else that several commands use is in a file that is
// none's.
var between = map[string][]string{
	"app.go":  {"completion.go"},       // shells ask for what completion completes
	"run.go":  {"ask.go", "window.go"}, // run -q asks, run --window is steered
	"gate.go": {"compare.go"},          // compare --gate
}

// TestCommandsKnowNoOthers: a command's file has that command alone, and nothing that
// another command uses.
func TestCommandsKnowNoOthers(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	owner := map[string]string{} // by name: the command's file that declares it
	runs := map[string][]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = f
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && isCommand(fn) {
				runs[path] = append(runs[path], fn.Name.Name)
			}
		}
	}
	if len(runs) < 15 {
		t.Fatalf("%d files of commands: this test looks at nothing", len(runs))
	}
	for path := range runs {
		for _, d := range files[path].Decls {
			for _, name := range declared(d) {
				if !slices.Contains(runs[path], name) && name != "main" {
					owner[name] = path
				}
			}
		}
	}
	for path, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if of := owner[id.Name]; of != "" && of != path && !slices.Contains(between[path], of) {
				t.Errorf("%s uses %s of %s", path, id.Name, of)
			}
			return true
		})
	}
}

// isCommand reports whether a function is a command's, as the table of commands has it.
func isCommand(fn *ast.FuncDecl) bool {
	return strings.HasPrefix(fn.Name.Name, "run") && len(fn.Type.Params.List) == 4
}

// declared are the names that a declaration adds to the package: its functions, types,
// variables and constants, and methods of the app.
func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		if p, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
			if id, ok := p.X.(*ast.Ident); ok && id.Name == "app" {
				return []string{d.Name.Name}
			}
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}
