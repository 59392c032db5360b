package summary

import (
	"fmt"
	"strings"
	"testing"

	"tracerag/knowledge/knowledgetest"
)

const tableGo = `// Package table draws tables.
package table

// Draw draws the border of a table. It takes
// a while.
func Draw(w int) { pad(w) }

func pad(w int) { if w < 0 { panic("the width is negative") }; repeatRunes(w) }

//go:noinline
func repeatRunes(w int) {}

type Table struct {
	Rows int
}
`

// TestSubstitutes: without a model a declaration is its doc comment, or what it uses and writes.
func TestSubstitutes(t *testing.T) {
	texts := map[string][]byte{"go.mod": []byte("module example.com/table\n"), "table.go": []byte(tableGo), "table_test.go": []byte("package table\nfunc help() {}\n")}
	store := &knowledgetest.Store{Repos: []*knowledgetest.Repository{new(knowledgetest.Parser).Parse("table", texts, nil)}}
	b := &Book{Store: store, Read: store.Text}
	packages, err := b.Packages(t.Context(), 0)
	if err != nil || len(packages) != 1 || len(packages[0].Files) != 1 {
		t.Fatalf("%+v %v", packages, err)
	}
	files, err := b.Files(t.Context(), packages[0].Files)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	fmt.Fprintln(&got, packages[0].ImportPath+": "+packages[0].Text)
	for _, d := range files[0].Decls {
		fmt.Fprintf(&got, "%s: %s\n", d.Signature, d.Text)
	}
	if want := `example.com/table: table.go: Package table draws tables. Draw, pad, repeatRunes, Table
func Draw(w int): Draw draws the border of a table.
func pad(w int): uses repeatRunes, panic; has "the width is negative"
func repeatRunes(w int): 
type Table struct {: 
`; got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	// Of some only these.
	pad := files[0].Decls[1]
	some, err := b.Decls(t.Context(), packages[0].Files, func(decl int64) bool { return decl == pad.ID })
	if err != nil || len(some) != 1 || len(some[0].Decls) != 4 || some[0].Line != files[0].Line {
		t.Fatalf("%+v %v", some, err)
	}
	for i, d := range some[0].Decls {
		if want := i == 1; (d.Text == pad.Text && d.Signature == pad.Signature) != want || (d.Signature != "") != want {
			t.Errorf("of %s alone: %s: %q, %q", pad.Name, d.Name, d.Signature, d.Text)
		}
	}
	repositories, err := store.Repositories(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text, packages, err := b.Repository(t.Context(), &repositories[0]); text != "example.com/table: ." || len(packages) != 1 || err != nil {
		t.Errorf("%q %v %v", text, packages, err)
	}
}
