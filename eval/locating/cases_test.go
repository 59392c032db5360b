package locating

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRead: the same case in each form.
func TestRead(t *testing.T) {
	want := []*Case{{ID: "one", Report: "the border\nis cut", Repo: "a/b", Commit: "0123456789ab", Files: []string{"t/t.go"},
		Functions: []Function{{"t/t.go", "(*T).Border"}}}}
	for name, text := range map[string]string{
		"own.jsonl": `{"id":"one","report":"the border\nis cut","repo":"a/b","commit":"0123456789ab","functions":[{"file":"t/t.go","function":"(*T).Border"}]}`,
		"corpus.jsonl": `{"id":"one","split":"dev","repo":"a/b","base_commit":"0123456789ab","report":"the border\nis cut","gold":[{"file":"t/t.go","function":"(*T).Border","package":"t"}],` +
			`"gold_files":["t/t.go"]}` + "\n\n",
		"own.yaml": "- id: one\n  report: |-\n    the border\n    is cut\n  repo: a/b\n  commit: 0123456789ab\n  functions:\n    - {file: t/t.go, function: (*T).Border}\n",
	} {
		got, err := Read(write(t, name, text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	for _, text := range []string{"- {id: a, report: x, functions: [F, (*T).M]}\n", `- {"id": "a", "report": "x", "functions": ["F", "(*T).M"]}`} {
		got, err := Read(write(t, "names.yml", text))
		if err != nil || !reflect.DeepEqual(got[0].Functions, []Function{{"", "F"}, {"", "(*T).M"}}) {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
}

// TestReadRefuses: what is wrong is said with the file and the line.
func TestReadRefuses(t *testing.T) {
	good := `{"id":"a","report":"x","files":["a.go"]}` + "\n"
	for _, tt := range []struct{ name, text, want string }{
		{"c.jsonl", "", "c.jsonl: it has no case"},
		{"c.yaml", "", "c.yaml: it has no case"},
		{"c.jsonl", good + "{", "c.jsonl:2: unexpected end"},
		{"c.jsonl", good + `{"id":"b","report":"x","file":["a.go"]}`, `c.jsonl:2: json: unknown field "file"`},
		{"c.jsonl", good + "\n" + good, `c.jsonl:3: the case in line 1 has the same id, "a"`},
		{"c.jsonl", `{"report":"x","files":["a.go"]}`, "c.jsonl:1: the case has no id"},
		{"c.jsonl", `{"id":"a","files":["a.go"]}`, "c.jsonl:1: a: the report is empty"},
		{"c.jsonl", `{"id":"a","report":"x"}`, "c.jsonl:1: a: it has neither files nor functions"},
		{"c.jsonl", `{"id":"a","report":"x","files":["/a.go"]}`, "c.jsonl:1: a: file \"/a.go\": want a path below"},
		{"c.jsonl", `{"id":"a","report":"x","files":["a.go"],"commit":"0123456"}`, "c.jsonl:1: a: it has a commit and no repo"},
		{"c.jsonl", `{"id":"a","report":"x","files":["a.go"],"repo":"a/b","commit":"main"}`, `c.jsonl:1: a: commit "main": want a hash`},
		{"c.jsonl", `{"id":"a","report":"x","functions":[{"file":"a.go"}]}`, "c.jsonl:1: a: function 1 has no name"},
		{"c.yaml", "id: a\n", "c.yaml:1: want a list of cases"},
		{"c.yaml", "- id: a\n  report: x\n  file: [a.go]\n", "c.yaml: line 3: field file not found"},
		{"c.yaml", "- {id: a, report: x, files: [a.go]}\n- {id: b, report: [x], files: [a.go]}\n", "c.yaml: line 2: cannot unmarshal"},
		{"c.yaml", "- {id: a, report: x, functions: [{file: a.go, name: F}]}\n", "c.yaml: line 1: field name not found"},
		{"c.yaml", "- x\n", "c.yaml:1: want a case"},
		{"c.yaml", "- {id: a\n", "c.yaml: line 1: did not find"},
	} {
		_, err := Read(write(t, tt.name, tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
	}
	if _, err := Read("nothing.yaml"); err == nil || !strings.Contains(err.Error(), "nothing.yaml") {
		t.Errorf("no file: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(true, "- {id: a, report: x, functions: [F]}\n")
	f.Add(false, `{"id":"a","report":"x","gold":[{"file":"a.go","function":"F"}]}`)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, yaml bool, text string) {
		file := filepath.Join(dir, map[bool]string{true: "c.yaml", false: "c.jsonl"}[yaml])
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cases, err := Read(file)
		if err != nil && !strings.HasPrefix(err.Error(), file) {
			t.Errorf("the error names no file: %v", err)
		}
		for _, c := range cases {
			if c.ID == "" || len(c.Files)+len(c.Functions) == 0 {
				t.Errorf("a case that nothing is measured with: %+v", c)
			}
		}
	})
}
