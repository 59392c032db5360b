package prompt

import (
	"fmt"
	"strings"
	"testing"
)

func TestMentions(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		// Code spans.
		{"`newTable`, `csvview.newTable` and `csvview.newTable()`", "newTable; csvview newTable; csvview newTable()"},
		{"`(*Table).Border`, `Table.Border`, `ansi.(*TableElement).setBorders`", "Table Border; Table Border; ansi TableElement setBorders"},
		{"`github.com/charmbracelet/lipgloss/table.(*Table).Border`", "table Table Border"},
		{"`github.com/alecthomas/chroma/v2.(*Iter).Next`", "chroma Iter Next"},
		{"`gopkg.in/yaml.v3.Unmarshal`", "yaml Unmarshal"},
		{"`yaml.v3.Unmarshal`", "yaml Unmarshal"},
		{"`func (t *Table) Border(b lipgloss.Border) *Table`, `func pad(`", "Table Border(); pad()"},
		{"`main.show.func2.1`, `csvview.Max[int]`, `x.(*List[...]).Push`", "main show; csvview Max; x List Push"},
		{"`go-yaml.(*encoder).stringv`, go-yaml.Marshal", "go-yaml encoder stringv; go-yaml Marshal"},
		{"`a := newTable()`, `--csv`, `a b`", ""},

		// Prose, where a word alone is no name.
		{"The function csvview.newTable calls (*Table).Border and fit().", "csvview newTable; Table Border; fit()"},
		{"**csvview.newTable** and newTable, in (\\*Table).Border", "csvview newTable; newTable; Table Border"},
		{"A table has a Border; style it. See table.go and README.md.", ""},

		// Blocks declare.
		{"```go\nfunc (t *Table) Border() {\n\treturn newTable(x)\n}\n+func fit[T any](\n```", "Table Border()!; fit()!"},
		{"~~~\nfunc a() {}\n~~~\nfunc b() {}", "a()!; b()"},
		{"```\nfunc a() {} // never closed", "a()!"},

		// Positions.
		{"internal/csvview/table.go:12, `table.go#L3-L9` and a.go:4-5", "internal/csvview/table.go:12-12; table.go:3-9; a.go:4-5"},
		{"```\na.go:4\n```", ""},
	} {
		var got []string
		for _, m := range Mentions(tt.text) {
			s := strings.Join(m.Names, " ")
			if m.Kind == CitesPosition {
				s = fmt.Sprintf("%s:%d-%d", m.File, m.From, m.To)
			}
			if m.Call {
				s += "()"
			}
			if m.In == InBlock {
				s += "!"
			}
			if !strings.HasPrefix(tt.text[m.At:], m.Text) {
				t.Errorf("%s: %q is not at %d", tt.text, m.Text, m.At)
			}
			got = append(got, s)
		}
		if s := strings.Join(got, "; "); s != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.text, s, tt.want)
		}
	}
}
