package export_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"tracerag/export"
	"tracerag/trace"
)

const docFile = "../docs/trace-format.md"

func readDoc(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(doc), "\r\n", "\n")
}

// written returns the example as pprof reads it from a file.
func written(t *testing.T) *profile.Profile {
	t.Helper()
	var file bytes.Buffer
	if err := example().Write(&file); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&file)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The examples in the document are the golden files, each of which follows a
// comment with its name.
func TestTheDocumentShowsWhatIsWritten(t *testing.T) {
	golden(t, "example.raw", []byte(written(t).String()))
	block := regexp.MustCompile("(?s)<!-- (testdata/\\S+) -->\n```\n(.*?)```\n")
	doc, n := readDoc(t), 0
	got := block.ReplaceAllStringFunc(doc, func(old string) string {
		n++
		name := block.FindStringSubmatch(old)[1]
		content, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		return "<!-- " + name + " -->\n```\n" + strings.ReplaceAll(string(content), "\r\n", "\n") + "```\n"
	})
	if *update {
		if err := os.WriteFile(docFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != doc {
		t.Errorf("%s does not show what is written today: go test -update corrects it", docFile)
	}
	want := 0
	for _, f := range export.Formats() {
		if f.Of == export.Trace {
			want++
		}
	}
	if n != want {
		t.Errorf("%d examples in %s, want %d: one of each format of the trace", n, docFile, want)
	}
}

func TestTheDocumentNamesEverythingThatIsWritten(t *testing.T) {
	doc, p := readDoc(t), written(t)
	names := []string{p.SampleType[0].Type, "samples", p.SampleType[0].Unit}
	for _, c := range p.Comments {
		key, _, _ := strings.Cut(c, "=")
		names = append(names, key)
	}
	for _, s := range p.Sample {
		for key, values := range s.Label {
			names = append(names, key)
			if key == "tracerag.mark" || key == "tracerag.root" {
				names = append(names, values...)
			}
		}
		for key := range s.NumLabel {
			names = append(names, key)
		}
	}
	var lines bytes.Buffer
	if err := export.JSONLines(&lines, example()); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(lines.Bytes()) {
		var v any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		names = append(names, keys(v)...)
	}
	names = append(names, constants(t, "RootKind")...)
	names = append(names, constants(t, "LossKind")...)
	for _, f := range export.Formats() {
		if f.Of == export.Trace && !strings.Contains(doc, "--format "+f.Name+"`") {
			t.Errorf("%s does not describe --format %s", docFile, f.Name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name != "" && !strings.Contains(doc, "`"+name+"`") {
			t.Errorf("%s does not mention `%s`", docFile, name)
		}
	}
}

// The other way round: what the document names is there.
func TestEveryLabelAndCommentOfTheDocumentIsWritten(t *testing.T) {
	have := map[string]bool{
		"tracerag.trace": true, "tracerag.line": true, // the schema; and see below
		"tracerag.requires": true, // kept for later versions
	}
	p := written(t)
	for _, c := range p.Comments {
		key, _, _ := strings.Cut(c, "=")
		have[key] = true
	}
	for _, s := range p.Sample {
		for key := range s.Label {
			have[key] = true
		}
		for key := range s.NumLabel {
			have[key] = true
		}
	}
	for _, m := range regexp.MustCompile("`(tracerag\\.[a-z.]+)").FindAllStringSubmatch(readDoc(t), -1) {
		if name := strings.TrimSuffix(m[1], "."); name != "tracerag" && !have[name] {
			t.Errorf("%s names %s, which no trace has", docFile, name)
		}
	}
	// A Builder gives no root a call line; the file carries one anyway.
	tr := &trace.Trace{}
	b := trace.NewBuilder(tr)
	b.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{{Func: b.Func(trace.Function{Name: "f"})}}, 1)
	tr.Nodes[0].CallLine = 7
	var file bytes.Buffer
	if err := tr.Write(&file); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&file)
	if err != nil {
		t.Fatal(err)
	}
	if p.Sample[0].NumLabel["tracerag.line"] == nil {
		t.Error("tracerag.line is not written")
	}
}

// keys returns the names of all fields in a JSON value.
func keys(v any) (out []string) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			out = append(append(out, k), keys(x)...)
		}
	case []any:
		for _, x := range v {
			out = append(out, keys(x)...)
		}
	}
	return out
}

// constants returns the values of package trace's string constants of a type.
func constants(t *testing.T, typ string) (out []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../trace/trace.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == typ {
			for _, v := range spec.Values {
				s, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, s)
			}
		}
		return true
	})
	if len(out) < 3 {
		t.Fatalf("package trace has only %q of type %s", out, typ)
	}
	return out
}
