package patch

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestReplies reads the replies of testdata/replies/*.txtar. "reply" is the text, "want" the edits in the form
// of Format or what is refused; -update writes it. The other files are the tree.
func TestReplies(t *testing.T) {
	names, err := filepath.Glob("testdata/replies/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no replies", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			tree := map[string]string{}
			reply, want := "", ""
			for _, f := range a.Files {
				switch f.Name {
				case "reply":
					reply = string(f.Data)
				case "want":
					want = string(f.Data)
				default:
					tree[f.Name] = string(f.Data)
				}
			}
			edits, err := ParseReply(write(t, tree), reply)
			got := Format(edits)
			if err != nil {
				got = err.Error() + "\n"
			}
			if *update {
				if last := len(a.Files) - 1; a.Files[last].Name == "want" {
					a.Files = a.Files[:last]
				}
				a.Files = append(a.Files, txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(a), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("the reply is read as\n%s\nand not\n%s", got, want)
			}
		})
	}
}

// The instructions' own example is understood.
func TestInstructionsAreTheForm(t *testing.T) {
	dir := write(t, map[string]string{"path/to/file.go": "package p\n\nfunc F() {}\n"})
	edits, err := ParseReply(dir, Instructions+"\nDELETE: path/to/file.go: F, T.M\n")
	if err != nil || len(edits) != 1 || edits[0].File != "path/to/file.go" || len(edits[0].Delete) != 2 {
		t.Errorf("%+v, %v", edits, err)
	}
}

// What Format writes, ParseReply reads as the same; no text ends it but by an error.
func FuzzReply(f *testing.F) {
	dir := write(f, map[string]string{"a.go": "package a\n\nfunc F() {}\n\ntype T int\n", "b/b.go": "package b\n"})
	names, _ := filepath.Glob("testdata/replies/*.txtar")
	for _, n := range names {
		if a, err := txtar.ParseFile(n); err == nil {
			for _, x := range a.Files {
				if x.Name == "reply" {
					f.Add(string(x.Data))
				}
			}
		}
	}
	f.Add("FILE: a.go\n```go\nfunc F() { _ = `\n```\n` }\n```\nDELETE: a.go: T\n")
	f.Fuzz(func(t *testing.T, reply string) {
		edits, err := ParseReply(dir, reply)
		if err != nil {
			return
		}
		again, err := ParseReply(dir, Format(edits))
		if err != nil {
			for _, e := range edits {
				if strings.TrimSpace(e.Text) == "" || strings.Contains(e.Text, "\r") || titled.MatchString(firstOf(e.Text)) {
					return // no form for these: they are refused later
				}
			}
			t.Fatalf("%v:\n%s", err, Format(edits))
		}
		if len(edits) == len(again) {
			for i := range edits {
				if strings.TrimSpace(edits[i].Text) == "" {
					continue
				}
				a, b := edits[i], again[i]
				a.Text, b.Text = strings.TrimSpace(a.Text), strings.TrimSpace(b.Text)
				if !reflect.DeepEqual(a, b) && !titled.MatchString(firstOf(a.Text)) {
					t.Errorf("%+v came back as %+v", a, b)
				}
			}
		}
		p, err := Apply(dir, edits)
		if err == nil {
			p.Diff()
			p.Changed()
			p.Key()
			p.Weakens()
		}
	})
}

func firstOf(text string) string {
	line, _, _ := strings.Cut(strings.TrimLeft(text, "\n \t"), "\n")
	return line
}
