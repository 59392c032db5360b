package patch

import (
	"go/ast"
	"path"
	"slices"
	"strings"

	"tracerag/code"
)

// moved is about declarations that the code loses and that a test file of the same directory gets:
// tests compile and pass with them, and nobody else has them.
func (p *Patch) moved() []Reason {
	got := map[string]string{} // the test file that a name is new in, by directory and name
	for _, f := range p.Files {
		if !strings.HasSuffix(f.Name, "_test.go") {
			continue
		}
		had := names(f.Before)
		for n := range names(f.After) {
			if !had[n] {
				got[path.Dir(f.Name)+" "+n] = f.Name
			}
		}
	}
	var out []Reason
	for _, f := range p.Files {
		if !strings.HasSuffix(f.Name, ".go") || strings.HasSuffix(f.Name, "_test.go") {
			continue
		}
		has := names(f.After)
		for _, n := range sorted(names(f.Before)) {
			if to := got[path.Dir(f.Name)+" "+n]; to != "" && !has[n] {
				out = append(out, Reason{BuildChanged, f.Name, n, "it goes to " + to + ", which only tests have"})
			}
		}
	}
	return out
}

// names are those that a file declares, but for init and _.
func names(text []byte) map[string]bool {
	out := map[string]bool{}
	for _, d := range code.Parse(text).Decls {
		for _, n := range append(slices.Clone(d.Names), bare(d.Name)) {
			if n != "" && n != "_" && n != "init" {
				out[n] = true
			}
		}
	}
	return out
}

func sorted(names map[string]bool) []string {
	var out []string
	for n := range names {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// asserts reports whether a file has an interface that a *testing.T satisfies and that no logger is: a
// helper of tests need not import package testing.
func (s *source) asserts() bool {
	found := false
	ast.Inspect(s.tree, func(n ast.Node) bool {
		i, ok := n.(*ast.InterfaceType)
		if !ok {
			return true
		}
		fails, logs := false, false
		for _, m := range i.Methods.List {
			f, ok := m.Type.(*ast.FuncType)
			if !ok || len(m.Names) == 0 {
				continue
			}
			switch name := m.Names[0].Name; name {
			case "Helper", "FailNow":
				fails = fails || f.Params.NumFields() == 0
			case "Error", "Errorf", "Fatal", "Fatalf":
				fails = fails || f.Params.NumFields() > 0 && f.Results.NumFields() == 0
			default:
				for _, p := range [...]string{"Debug", "Info", "Warn", "Print", "Trace", "Panic"} {
					logs = logs || strings.HasPrefix(name, p)
				}
			}
		}
		found = found || fails && !logs
		return true
	})
	return found
}
