package eval

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var variants = []string{"ordered", "full", "A", "C", "CA", "T"}

const small = `
name: small
program: ./app
runs:
  csv: {args: [--csv, data.csv]}
files:
  data.csv: {from: real.csv}
  note.txt: "a note\n"
inquiries:
  - id: look
    runs: [csv]
    question: which function decides the look?
    criteria:
      - {id: function, text: names the function, functions: ["app.newTable | app.Table"]}
      - {id: look, text: explains color, terms: [color | colour, padding], points: 2}
`

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "small.yaml")
	for name, text := range map[string]string{file: small, filepath.Join(dir, "real.csv"): "a,b\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e, err := Load(file, variants)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Variants) != len(variants) || e.Repetitions != 1 || e.Title != "small" {
		t.Errorf("without variants, repetitions and title the file has %v, %d and %q", e.Variants, e.Repetitions, e.Title)
	}
	if got := e.Inquiry("look").Points(); got != 3 {
		t.Errorf("the rubric has %g points, want 1 and 2", got)
	}
	run := t.TempDir()
	if err := e.Lay(run); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"data.csv": "a,b\n", "note.txt": "a note\n"} {
		if got, err := os.ReadFile(filepath.Join(run, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v, want %q", name, got, err, want)
		}
	}
	if len(e.Cells([]string{"m", "n"})) != 2*len(variants) {
		t.Errorf("cells: %v", e.Cells([]string{"m", "n"}))
	}
}

// TestWrongFiles holds the errors of wrong files: each error names what
// it is about.
func TestWrongFiles(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"an unknown field", "runs: [csv]", "run: csv", `field run not found`},
		{"a line that is not YAML", "program: ./app", "program: [", "line"},
		{"no name", "name: small", "name: ../small", `name: "../small"`},
		{"no program", "program: ./app", "", "program: missing"},
		{"a program without a version", "./app", "example.com/app@", "want an import path, @ and a version"},
		{"flags for a program", "./app", `"-toolexec=x example.com/app@v1.0.0"`, "want an import path"},
		{"runs that are one file to some systems", "runs:\n", "runs:\n  CSV: {}\n", `runs: "CSV" and "csv" differ in case alone`},
		{"an inquiry twice", "inquiries:\n", "inquiries:\n  - {id: Look, runs: [csv], question: why, criteria: [{id: c, text: t}]}\n", `the id "look" is repeated`},
		{"an unknown run", "runs: [csv]", "runs: [cvs]", `inquiry "look": unknown run "cvs"`},
		{"three runs", "runs: [csv]", "runs: [csv, csv, csv]", "3 runs"},
		{"no question", "question: which function decides the look?", `question: " "`, "missing question"},
		{"an unknown variant", "runs:\n", "variants: [fool]\nruns:\n", `variants: "fool": want ordered, full`},
		{"a budget of nothing", "runs:\n", "variants: [full@]\nruns:\n", `variants: "full@"`},
		{"a variant twice", "runs:\n", "variants: [T, T]\nruns:\n", "T is repeated"},
		{"an unknown kind", "runs: [csv]", "runs: [csv]\n    kind: why", `kind "why": want where`},
		{"a function that decides and has no package", "runs: [csv]", "runs: [csv]\n    decides: [newTable]", `decides: "newTable": want`},
		{"a function that decides twice", "runs: [csv]", "runs: [csv]\n    decides: [a.F, a.F]", `decides: "a.F": want each function once`},
		{"criteria of two kinds", "terms: [color", "files: [a.go], terms: [color", `criterion "look": functions, files and terms`},
		{"a criterion twice", "id: look, text", "id: function, text", `criterion 2: id "function"`},
		{"an empty alternative", "color | colour", "color |", "empty alternative beside |"},
		{"a file outside", "note.txt:", "../note.txt:", `files: "../note.txt"`},
		{"a file outside on Windows", "note.txt:", `'a\..\..\note.txt':`, `want a path within`},
		{"a file whose name has a line end", "note.txt:", `"note\ntxt":`, `files: "note\ntxt"`},
		{"a file that is a list", `"a note\n"`, "[a]", "line 8: want a file's text, or {from: PATH}"},
		{"too many repetitions", "runs:\n", "repetitions: 1001\nruns:\n", "repetitions: 1001: want 1 to 1000"},
		{"points that are no number", "points: 2", "points: .nan", `criterion "look": NaN points`},
		{"points without an end", "points: 2", "points: .inf", "+Inf points"},
		{"a file that is neither", "{from: real.csv}", "{form: real.csv}", "want a file's text, or {from: PATH}"},
		{"a second document", "inquiries:", "---\ninquiries:", "a second document"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(small, tt.old, tt.new, 1)
			if text == small {
				t.Fatalf("%q is not in the file", tt.old)
			}
			_, err := parse([]byte(text), variants)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := parse(nil, variants); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("an empty file: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("files: {a: {from: }}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := parse(data, variants)
		if err != nil {
			return
		}
		for _, c := range e.Cells([]string{"m"}) {
			if e.Inquiry(c.Inquiry) == nil {
				t.Errorf("there is no inquiry %q", c.Inquiry)
			}
		}
	})
}
