package prompt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/prompt/tokens"
	"tracerag/source"
	"tracerag/trace"
)

func TestSizes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go":          strings.Repeat("x\n", 50),
		"csvview/table.go": strings.Repeat("x\n", 40) + "no line break",
	} {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	in := inputCSV(t)
	in.Source = func(f trace.Function) source.Text {
		txt := find(f)
		if txt.Path = filepath.Join(dir, filepath.FromSlash(txt.Display)); txt.Display == "csvview/column.go" {
			txt.Path = filepath.Join(dir, "csvview/table.go")
		}
		if txt.Kind == source.Missing || txt.Kind == source.Generated {
			txt.Path = ""
		}
		return txt
	}
	row, err := Sizes("CSV", in, tokens.For("gpt-4"))
	if err != nil {
		t.Fatal(err)
	}
	if row.Files != 2 || row.FileLines != 91 || row.Encoding != "cl100k_base" {
		t.Errorf("%+v", row)
	}
	n := row.Tokens
	if !(n[Full] > n[NoTree] && n[NoTree] > n[SortedNoTree] && n[Full] > n[Sorted] && n[Sorted] > n[SortedNoTree] && n[SortedNoTree] > n[TreeOnly] && n[TreeOnly] > 0 && n[Ordered] > n[Sorted]) {
		t.Errorf("tokens %v", n)
	}
	// The rule behind table 8: full is C and T, less the question,
	// the modules and the notes that both have.
	p := build(t, in, Options{Variant: TreeOnly, Counter: tokens.For("gpt-4")})
	common := p.Sections[0].Tokens + p.Sections[1].Tokens + p.Sections[2].Tokens
	if d := n[Full] - (n[NoTree] + n[TreeOnly] - common); d < -2 || d > 2 {
		t.Errorf("full is %d tokens off C and T", d)
	}

	in.Source = func(f trace.Function) source.Text {
		txt := find(f)
		txt.Path = filepath.Join(dir, "gone.go")
		return txt
	}
	if _, err := Sizes("CSV", in, nil); err == nil || !strings.Contains(err.Error(), "size of CSV: ") {
		t.Errorf("a file that is gone: error %v", err)
	}
}

func TestWriteTables(t *testing.T) {
	var b strings.Builder
	rows := []SizeRow{
		{Name: "./app --csv a|b", Encoding: "cl100k_base", Tokens: map[Variant]int{Full: 87950, Sorted: 1234567, NoTree: 999, SortedNoTree: 0, TreeOnly: 1000, Ordered: 12}, Files: 14, FileLines: 11552, FullLines: 2549, ClosureLines: 217984},
		{Name: "no closure", Encoding: "cl100k_base", Files: 1},
	}
	if err := WriteTables(&b, rows); err != nil {
		t.Fatal(err)
	}
	golden(t, "tables.md", b.String())
	rows[1].Encoding = "o200k_base"
	if err := WriteTables(&b, rows); err == nil {
		t.Error("counts of two tokenizers stand in one table")
	}
}
