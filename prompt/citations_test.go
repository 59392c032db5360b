package prompt

import (
	"os/exec"
	"path"
	"strings"
	"testing"
)

func TestCheckCitations(t *testing.T) {
	prompt := build(t, inputCSV(t), Options{}).Text
	for _, tt := range []struct{ answer, want string }{
		// Functions.
		{"The border is drawn by `csvview.(*Table).Render`.", "csvview.(*Table).Render"},
		{"`(*Table).Render`, `Table.Render()` and `Render()`", "(*Table).Render, Table.Render(), Render()"},
		{"`example.com/tab/csvview.pad`", "example.com/tab/csvview.pad"},
		{"`func (t *Table) Render()`, `func pad(s string, n int) string`", "func (t *Table) Render(), func pad(s string, n int) string"},
		{"`func (t *Grid) Render()`", "func (t *Grid) Render()?"},
		{"`main.show.func2`, `main.show.func2.1`, `csvview.Max[int](1, 2)`", "main.show.func2, main.show.func2.1, csvview.Max[int](1, 2)"},
		{"`t.Render()`, `tbl.Render`: the variable's name is the answer's own", "t.Render(), tbl.Render"},
		{"`box.HEAVY_HEAD` and `csvview.(*Table).Frame` and `drawBorder()`", "box.HEAVY_HEAD?, csvview.(*Table).Frame?, drawBorder()?"},
		{"`csvview.(*Table).Border`: no such method, but the words are there", "csvview.(*Table).Border"},
		{"`Grid.Render`", "Grid.Render?"},
		{"`pad()` and `pad()` once more", "pad()"},
		{"``pad(\"`\")``", "pad(\"`\")"},

		// What is none.
		{"A word like `Border`, a flag `--csv`, `x := 1`, `a b.C`, `1.5`, `v1.2.3`", ""},
		{"`fmt.Println`, `(*bytes.Buffer).WriteString`, `strings.Builder.Len()`, `net/http.Get`", ""},
		{"`len(x)`, `append(a, b)`, `string(b)`, `func() {}`, `make([]int, 3)`", ""},
		{"`data.csv`, `go.mod`, `docs/guide.md`, `gopkg.in/yaml.v3`, `github.com/x/y`", ""},
		{"Border() and csvview.Nothing without quotes", ""},
		{"Add this:\n\n```go\nfunc border() { new.Thing() } // `a.B()` other.go:7\n```\n\nor\n\n~~~\n`c.D()`\n~~~\n", ""},
		{"An `unclosed span\n\nwith `pad()` after it", "pad()"},

		// Positions.
		{"See csvview/table.go:30, table.go:29-36 and (main.go:14).", "csvview/table.go:30, table.go:29-36, main.go:14"},
		{"`csvview/table.go:31-33`", "csvview/table.go:31-33"},
		{"src/tab/csvview/table.go:36 and table.go#L30-L36", "src/tab/csvview/table.go:36, table.go#L30-L36"},
		{"table.go:28, table.go:30-37, mdview/table.go:30, able.go:30, none.go:1", "table.go:28?, table.go:30-37?, mdview/table.go:30?, able.go:30?, none.go:1?"},
		{"example.com/tab/csvview@v1.0.0/table.go:30", "example.com/tab/csvview@v1.0.0/table.go:30"},
		{"main.go:11–20 spans two functions", "main.go:11–20"},
		{"main.go:13 is between them", "main.go:13?"},
		{"main.go:11:4 has a column", "main.go:11"},

		// Both in one code span, and several names.
		{"`pad (csvview/table.go:36)`, `csvview.outline at table.go:30`, `frame (table.go:30)`", "pad, csvview/table.go:36, csvview.outline?, table.go:30, frame?"},
		{"`main.show → csvview.frame → csvview.pad()`, `main.show > csvview.frame2`, `csvview.pad, csvview.frame3`", "main.show, csvview.frame?, csvview.pad(), csvview.frame2?, csvview.pad, csvview.frame3?"},
		{"`pad` (table.go:36), `frame` (csvview/table.go:30) and `frame2`, table.go:99", "pad, table.go:36, frame?, csvview/table.go:30, frame2?, table.go:99?"},
		{"`true` (table.go:30), `--csv` (table.go:30), `border` and table.go:30", "table.go:30"},

		// Lines in words.
		{"`csvview/table.go`, lines 31-33; `table.go` (line 99); table.go line 30", "csvview/table.go`, lines 31-33, table.go` (line 99?, table.go line 30"},
		{"line 31 of `csvview/table.go`; lines 98 to 99 in table.go", "line 31 of `csvview/table.go, lines 98 to 99 in table.go?"},
		{"`table.go:31,33`, table.go:31,99", "table.go:31, table.go:31,33, table.go:31,99?"},

		// In the order of the answer.
		{"`a.Bad()` at main.go:99, then `pad()`", "a.Bad()?, main.go:99?, pad()"},
	} {
		var got []string
		for _, c := range CheckCitations(tt.answer, prompt) {
			s := c.Text
			if !c.Known {
				s += "?"
			}
			if isPosition := strings.Contains(c.Text, ".go:") || strings.Contains(c.Text, ".go#") || strings.Contains(c.Text, "line ") || strings.Contains(c.Text, "lines "); isPosition != (c.Kind == CitesPosition) {
				t.Errorf("%q is a %s", c.Text, c.Kind)
			}
			got = append(got, s)
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.answer, s, tt.want)
		}
	}
}

// Escapes in strings, and in the JSON format, hide no word.
func TestCitationsInJSON(t *testing.T) {
	p := build(t, inputCSV(t), Options{Format: JSON}).Text
	for _, c := range CheckCitations("`watch()`, `pad()` and `Table.Render` at csvview/table.go:31", p) {
		if !c.Known {
			t.Errorf("%s is not known", c.Text)
		}
	}
}

// Lines that a budget left out of a source were not told.
func TestCitationsOfWhatIsLeftOut(t *testing.T) {
	text := longText(200)
	in := inputLong(t, text, statesOf(200, 3, 5))
	for _, format := range []Format{Markdown, XML, JSON} {
		p := build(t, in, Options{Budget: 1_400, Format: format})
		if tier := p.Functions[0].Tier; tier != TierRan {
			t.Fatalf("%s: the function is %s", format, tier)
		}
		for position, known := range map[string]bool{
			"vm.go:9": true, "vm.go:11": true, "vm.go:12": false, "vm.go:18": true, "vm.go:19": true, "vm.go:20-21": false, "vm.go:22-23": true,
			"vm.go:18-23": true, "vm.go:300": false, "vm.go:412": true, "vm.go:415": false,
		} {
			if got := CheckCitations("See "+position+".", p.Text); got[0].Known != known {
				t.Errorf("%s: %s is known: %v", format, position, got[0].Known)
			}
		}
	}
	p := build(t, inputLong(t, text), Options{Budget: 600})
	if p.Functions[0].Tier != TierSignature || CheckCitations("vm.go:40", p.Text)[0].Known || !CheckCitations("vm.go:10", p.Text)[0].Known {
		t.Error("of a signature the body is known, or the signature is not")
	}
}

func TestStdPackages(t *testing.T) {
	out, err := exec.Command("go", "list", "std").Output()
	if err != nil {
		t.Skip(err)
	}
	for p := range strings.FieldsSeq(string(out)) {
		name := path.Base(p)
		if strings.Contains("/"+p+"/", "/internal/") || strings.HasPrefix(p, "vendor/") || name == "v2" {
			continue
		}
		if !IsStd(name) {
			t.Errorf("words.go lacks package %s", p)
		}
	}
}

func FuzzCheckCitations(f *testing.F) {
	f.Add("`a.(*T).B()` at x.go:1-2 ```\n`", "### a.(*T).B  x.go:1-2")
	f.Add("~~~\n``` `` ` main.go:0#L9999999", "\\nmain")
	f.Fuzz(func(t *testing.T, answer, prompt string) {
		for _, c := range CheckCitations(answer, prompt) {
			if c.Text == "" || !strings.Contains(answer, c.Text) {
				t.Errorf("%q is not in the answer", c.Text)
			}
		}
	})
}
