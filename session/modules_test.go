package session

import (
	"testing"

	"tracerag/trace"
)

// TestFileNames: files of other modules begin with the module's short name, as in
// prompts; where two have the same, the first that is called has it.
func TestFileNames(t *testing.T) {
	tr := &trace.Trace{}
	tr.Program.Main.Path = "example.com/app"
	for _, mod := range []string{"github.com/dlclark/regexp2/v2", "gopkg.in/yaml.v3", "github.com/one/table", "github.com/two/table", "golang.org/x/sys"} {
		tr.Program.Deps = append(tr.Program.Deps, trace.Module{Path: mod, Version: "v1.0.0"})
	}
	files := map[string]string{
		"github.com/dlclark/regexp2/v2/syntax": "regexp2/syntax/f.go",
		"github.com/two/table":                 "table/f.go",
		"github.com/one/table/border":          "one-table/border/f.go",
		"golang.org/x/sys/unix":                "sys/unix/f.go",
		"net/http":                             "f.go",
	}
	order := []string{"github.com/two/table", "github.com/dlclark/regexp2/v2/syntax", "net/http", "golang.org/x/sys/unix"}
	for _, pkg := range order {
		tr.Functions = append(tr.Functions, trace.Function{Name: pkg + ".F", Package: pkg, File: "/mod/" + pkg + "/f.go", StartLine: 3})
	}
	v := &View{Trace: tr, Sources: Sources(tr, nil)}
	for pkg, want := range files {
		f := trace.Function{Name: pkg + ".F", Package: pkg, File: "/mod/" + pkg + "/f.go"}
		if got := v.File(&f); got != want {
			t.Errorf("%s: %s, want %s", pkg, got, want)
		}
		if v.Dependency(&f) != true {
			t.Errorf("%s is of the program", pkg)
		}
	}
	if got := v.modules.shown("github.com/dlclark/regexp2/v2@v1.0.0/syntax/parser.go"); got != "regexp2/syntax/parser.go" {
		t.Errorf("a file of a dependency is %s", got)
	}
	if got := v.modules.shown("internal/at@home.go"); got != "internal/at@home.go" {
		t.Errorf("a file of the program is %s", got)
	}
}
