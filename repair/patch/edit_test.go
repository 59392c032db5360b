package patch

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the expected results into testdata")

// write makes a tree of files.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestEdits carries out the edits of testdata/edits/*.txtar. The files of an archive are a tree. "edit
// FILE" is the text for a file, "new FILE" that of a new one, "delete FILE" has names, "want FILE" is the result, "error" what is
// refused. -update writes the last two.
func TestEdits(t *testing.T) {
	names, err := filepath.Glob("testdata/edits/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no edits", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			tree, edits, want := map[string]string{}, []Edit{}, map[string]string{}
			kept := 0
			for i, f := range a.Files {
				kind, file, _ := strings.Cut(f.Name, " ")
				switch kind {
				case "edit", "new":
					edits = append(edits, Edit{File: file, Text: string(f.Data), New: kind == "new"})
				case "delete":
					names := strings.Fields(string(f.Data))
					if n := len(edits); n > 0 && edits[n-1].File == file {
						edits[n-1].Delete = names
					} else {
						edits = append(edits, Edit{File: file, Delete: names})
					}
				case "want", "error":
					want[f.Name] = string(f.Data)
					continue
				default:
					tree[f.Name] = string(f.Data)
				}
				kept = i + 1
			}
			got := map[string]string{}
			p, err := Apply(write(t, tree), edits)
			if err != nil {
				got["error"] = err.Error() + "\n"
				var e *Error
				if !errors.As(err, &e) {
					t.Errorf("%v is not an *Error", err)
				}
			} else {
				for _, f := range p.Files {
					if string(f.Before) != tree[f.Name] {
						t.Errorf("%s: before is %q", f.Name, f.Before)
					}
					got["want "+f.Name] = string(f.After)
				}
			}
			if *update {
				a.Files = a.Files[:kept]
				for _, n := range sortedKeys(got) {
					a.Files = append(a.Files, txtar.File{Name: n, Data: []byte(got[n])})
				}
				if err := os.WriteFile(name, txtar.Format(a), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			for n := range got {
				if got[n] != want[n] {
					t.Errorf("%s is\n%s\nand not\n%s", n, got[n], want[n])
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d files came out, %d were expected", len(got), len(want))
			}
		})
	}
}
