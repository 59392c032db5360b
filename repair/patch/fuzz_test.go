package patch

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"tracerag/code"
)

// Whatever the file, the text and the names are: the result parses, and what is not touched is as
// it was; or it is refused.
func FuzzEdit(f *testing.F) {
	names, _ := filepath.Glob("testdata/edits/*.txtar")
	for _, n := range names {
		a, err := txtar.ParseFile(n)
		if err != nil {
			f.Fatal(err)
		}
		var file, text, gone string
		for _, x := range a.Files {
			switch x.Name {
			case "a.go":
				file = string(x.Data)
			case "edit a.go":
				text = string(x.Data)
			case "delete a.go":
				gone = string(x.Data)
			}
		}
		f.Add(file, text, gone)
	}
	f.Add("package a\r\n\r\ntype (\r\n\tT int // x\r\n)\r\n", "// T is.\ntype T string", "")
	f.Add("\ufeffpackage a;var a=1;var(b,c=2,3);func _(){}", "var (\nb, c = 3, 4\nd = `\n`)\nfunc _() {}", "a")
	f.Fuzz(func(t *testing.T, file, text, gone string) {
		e := Edit{File: "a.go", Text: text}
		if gone != "" {
			e.Delete = []string{gone}
		}
		before := []byte(file)
		c := &change{tree: &tree{dir: t.TempDir(), now: map[string][]byte{"a.go": before}, files: map[string]*code.File{}, repo: &repository{}}, name: "a.go", before: before, text: before, edits: []Edit{e}}
		if c.run(); len(c.errs) > 0 {
			return
		}
		c.tree.now["a.go"] = c.text
		after, err := c.settle()
		if err != nil {
			return
		}
		if _, problems := parse(after, false); problems != nil {
			t.Fatalf("%v:\n%q", problems, after)
		}
		p := &Patch{Files: []File{{"a.go", before, after}}}
		asked := map[string]bool{symbol(gone): true, gone: true}
		given, _ := parse([]byte(text), true)
		for _, d := range given.decls {
			for _, n := range d.names() {
				asked[n] = true
			}
		}
		was, _ := parse(before, false)
		for _, x := range p.Changed() {
			name, ok := bare(x.Symbol), false
			for _, d := range was.decls {
				// A group changes with any of its names.
				if names := d.names(); len(names) > 0 {
					in, touched := false, false
					for _, n := range names {
						in, touched = in || n == name, touched || asked[n]
					}
					ok = ok || in && touched
				}
			}
			if !ok && !asked[name] && !nameless(&code.Decl{Name: name, Kind: x.Kind}) && x.Kind != code.Const && x.Kind != code.Var && x.How != Formatted {
				t.Errorf("%s %s without being asked for:\n%q\n%q\n%q", x.Symbol, x.How, file, text, after)
			}
		}
		p.Key()
		p.Weakens()
	})
}
