package eval

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// calls are functions of fixtures/tablecat and of what it calls, each with its
// callers, as the trees of its two runs have them.
var calls = []Function{
	{Name: "main.main", File: "main.go", Start: 28, End: 32},
	{Name: "main.run", File: "main.go", Start: 34, End: 60, Callers: []string{"main.main"}},
	{Name: "main.show", File: "show.go", Start: 19, End: 31, Callers: []string{"main.run"}},
	{Name: "main.showText", File: "show.go", Start: 34, End: 40, Callers: []string{"main.show"}},
	{Name: "main.showFile", File: "show.go", Start: 43, End: 60, Callers: []string{"main.show"}},
	{Name: "source.Read", File: "internal/source/source.go", Start: 25, End: 35, Callers: []string{"main.showFile"}},
	{Name: "textview.Render", File: "internal/textview/textview.go", Start: 20, End: 40, Callers: []string{"main.showText"}},
	{Name: "emoji.Replace", File: "internal/emoji/emoji.go", Start: 10, End: 20, Callers: []string{"textview.Render"}},
	{Name: "csvview.Render", File: "internal/csvview/csvview.go", Start: 18, End: 26, Callers: []string{"main.showFile"}},
	{Name: "csvview.parse", File: "internal/csvview/csvview.go", Start: 28, End: 50, Callers: []string{"csvview.Render"}},
	{Name: "csvview.newTable", File: "internal/csvview/table.go", Start: 10, End: 23, Callers: []string{"csvview.Render"}},
	{Name: "csvview.newTable.func1", File: "internal/csvview/table.go", Start: 20, End: 22, Callers: []string{"table.(*Table).String"}},
	{Name: "csvview.cellStyle", File: "internal/csvview/table.go", Start: 30, End: 39, Callers: []string{"csvview.newTable.func1"}},
	{Name: "csvview.fit", File: "internal/csvview/table.go", Start: 48, End: 68, Callers: []string{"csvview.newTable"}},
	{Name: "table.(*Table).Border", File: "lipgloss@v1.1.0/table/table.go", Start: 150, End: 153, Callers: []string{"csvview.newTable", "ansi.(*TableElement).setBorders"}},
	{Name: "lipgloss.RoundedBorder", File: "lipgloss@v1.1.0/borders.go", Start: 210, End: 212, Callers: []string{"csvview.newTable"}},
	{Name: "lipgloss.Style.Padding", File: "lipgloss@v1.1.0/set.go", Start: 300, End: 310, Callers: []string{"csvview.cellStyle"}},
	{Name: "lipgloss.Style.Render", File: "lipgloss@v1.1.0/style.go", Start: 227, End: 400, Callers: []string{"table.(*Table).String"}},
	{Name: "table.(*Table).String", File: "lipgloss@v1.1.0/table/table.go", Start: 230, End: 300, Callers: []string{"csvview.Render", "ansi.(*TableElement).Finish"}},
	{Name: "table.(*Table).constructTopBorder", File: "lipgloss@v1.1.0/table/table.go", Start: 410, End: 425, Callers: []string{"table.(*Table).String"}},
	{Name: "mdview.Render", File: "internal/mdview/mdview.go", Start: 17, End: 19, Callers: []string{"main.showFile"}},
	{Name: "glamour.(*TermRenderer).Render", File: "glamour@v0.10.0/glamour.go", Start: 200, End: 210, Callers: []string{"mdview.Render"}},
	{Name: "ansi.(*TableElement).Finish", File: "glamour@v0.10.0/ansi/table.go", Start: 170, End: 200, Callers: []string{"glamour.(*TermRenderer).Render"}},
	{Name: "go-yaml.Marshal", File: "go-yaml@v1.2.3/yaml.go", Start: 5, End: 9},
	{Name: "ansi.(*TableElement).setBorders", File: "glamour@v0.10.0/ansi/table.go", Start: 120, End: 150, Callers: []string{"ansi.(*TableElement).Finish"}},
}

// walkthrough is an answer as models write them: the function first, then the way
// there, what it calls, and code to change it by.
const walkthrough = `## Which function decides

The look of the table is decided by **` + "`csvview.newTable`" + `** in ` + "`internal/csvview/table.go:10`" + `.

## How it comes there

1. ` + "`main.main`" + ` → ` + "`main.run`" + ` → ` + "`main.show`" + `, which calls ` + "`showFile`" + `.
2. ` + "`source.Read`" + ` reads the file, and ` + "`csvview.Render`" + ` makes a table of it.
3. ` + "`newTable`" + ` calls ` + "`Border(lipgloss.RoundedBorder())`" + `; for each cell ` + "`cellStyle`" + ` is asked.
4. ` + "`table.(*Table).String`" + ` draws it, with ` + "`constructTopBorder()`" + `.

## How to change it

In ` + "`newTable`" + ` replace the border, and right-align in ` + "`cellStyle`" + `:

` + "```go" + `
// internal/csvview/table.go
func newTable(header []string, rows [][]string, maxWidth int) *table.Table {
	return table.New().Border(lipgloss.DoubleBorder()).BorderForeground(color)
}

func constructTopBorder() {} // constructTopBorder() constructTopBorder()
` + "```\n"

// A list of guesses, of which none is the answer more than another.
const guesses = `These functions decide the look of the table:

- ` + "`newTable`" + ` makes it
- ` + "`constructTopBorder`" + ` draws the upper line
- ` + "`parse`" + ` reads the file
`

func TestAutoFunctions(t *testing.T) {
	newTable := Criterion{Functions: []string{"csvview.newTable"}}
	for _, tt := range []struct {
		name      string
		criterion Criterion
		answer    string
		share     float64
		why       string
	}{
		// The forms that a name takes.
		{"a word", newTable, "`newTable`", 1, "names csvview.newTable"},
		{"a call", newTable, "`newTable()`", 1, ""},
		{"a call with arguments", newTable, "`newTable(header, rows, width)`", 1, ""},
		{"with the package", newTable, "`csvview.newTable`", 1, ""},
		{"with a package's own name", Criterion{Functions: []string{"go-yaml.Marshal"}}, "`yaml.Marshal()`", 1, ""},
		{"with the standard library's name", Criterion{Functions: []string{"go-yaml.Marshal", "main.Marshal", "x.(*T).Marshal"}}, "`json.Marshal()`", 0, ""},
		{"with another package's name", Criterion{Functions: []string{"go-yaml.Marshal"}}, "`toml.Marshal()`", 0, ""},
		{"with what trees have for it", Criterion{Functions: []string{"go-yaml.Marshal"}}, "`go-yaml.Marshal`", 1, ""},
		{"with the program's name for main", Criterion{Functions: []string{"main.showFile"}}, "`tablecat.showFile`", 1, ""},
		{"with the import path", newTable, "`example.com/tablecat/internal/csvview.newTable`", 1, ""},
		{"in prose", newTable, "The function newTable of package csvview decides.", 1, ""},
		{"in bold", newTable, "It is **csvview.newTable**.", 1, ""},
		{"a signature", newTable, "`func newTable(header []string, rows [][]string, maxWidth int) *table.Table`", 1, ""},
		{"a closure in it", newTable, "`csvview.newTable.func1`", 1, ""},
		{"a position in it", newTable, "See internal/csvview/table.go:12.", 1, ""},
		{"a position by the file's name", newTable, "See `table.go:11-12`.", 1, ""},
		{"a declaration in a block", newTable, "Change this:\n```go\nfunc newTable() {}\n```", 1, ""},
		{"a call in a block", newTable, "Change this:\n```go\nt := newTable()\n```", 0, "not named: csvview.newTable"},
		{"of another package", newTable, "`mdview.newTable`", 0, ""},
		{"a part of a word", newTable, "`newTableElement()`", 0, ""},
		{"another position", newTable, "See internal/csvview/table.go:24.", 0, ""},
		{"another file", newTable, "See internal/mdview/table.go:12.", 0, ""},
		{"nothing", newTable, "", 0, ""},

		// Methods.
		{"a method by its type", Criterion{Functions: []string{"table.(*Table).Border"}}, "`(*Table).Border`", 1, ""},
		{"without the star", Criterion{Functions: []string{"table.(*Table).Border"}}, "`Table.Border`", 1, ""},
		{"of a variable", Criterion{Functions: []string{"table.(*Table).Border"}}, "`t.Border()`", 1, ""},
		{"as a declaration", Criterion{Functions: []string{"table.(*Table).Border"}}, "`func (t *Table) Border(border lipgloss.Border) *Table`", 1, ""},
		{"in full", Criterion{Functions: []string{"ansi.(*TableElement).setBorders"}}, "`ansi.(*TableElement).setBorders`", 1, ""},
		{"of another type", Criterion{Functions: []string{"ansi.(*TableElement).setBorders"}}, "`(*Table).setBorders`", 0, ""},
		{"in another package", Criterion{Functions: []string{"ansi.(*TableElement).setBorders"}}, "`table.setBorders`", 0, ""},

		// Types.
		{"a type", Criterion{Functions: []string{"ansi.TableElement"}}, "the `TableElement` of glamour", 1, ""},
		{"by its method", Criterion{Functions: []string{"ansi.TableElement"}}, "`(*TableElement).setBorders`", 1, ""},
		{"in no tree", Criterion{Functions: []string{"csvview.column"}}, "`column` has a `column.width`", 1, ""},

		// Names that several functions have.
		{"any of them", Criterion{Functions: []string{"csvview.Render"}}, "`Render` does it", 1, ""},
		{"another one", Criterion{Functions: []string{"csvview.Render"}}, "`mdview.Render` does it", 0, ""},
		{"another one, then in short", Criterion{Functions: []string{"csvview.Render"}}, "`mdview.Render` does it. In `Render` ...", 0, ""},

		// Alone, or among several.
		{"a walk through", newTable, walkthrough, 1, ""},
		{"the wrong one, and a walk through", Criterion{Functions: []string{"csvview.parse"}}, walkthrough + "`parse`", 0.5, "names csvview.parse, and as often csvview.newTable, csvview.cellStyle, source.Read and 3 more"},
		{"a list of guesses", newTable, guesses, 0.5, "names csvview.newTable, and as often csvview.parse, table.(*Table).constructTopBorder"},
		{"guesses that may stand beside", Criterion{Functions: []string{"csvview.newTable"}, Beside: []string{"table.Table", "csvview.parse"}}, guesses, 0.5, "names csvview.newTable, and as often table.(*Table).constructTopBorder"},
		{"all guesses may", Criterion{Functions: []string{"csvview.newTable"}, Beside: []string{"table.(*Table).constructTopBorder | csvview.parse"}}, guesses, 1, ""},
		{"guesses that the answer comes back from", newTable, guesses + "\nMost likely it is `newTable`.", 1, ""},
		{"in passing", newTable, "`constructTopBorder` draws it. `newTable` calls it, but change `constructTopBorder`.", 0.5, ""},
		{"with those that lead there", newTable, "`main.showFile` calls `csvview.Render`, `csvview.Render` calls `newTable`. So `main.showFile` leads there.", 1, ""},
		{"with what it calls", newTable, "`newTable` calls `fit`, and `fit` calls nobody; `RoundedBorder` is `lipgloss.RoundedBorder`.", 1, ""},
		{"with who calls a closure of it", newTable, "`newTable`, or `(*Table).String`", 0.5, ""},
		{"with what is no function of the run", newTable, "`newTable` uses `box.HEAVY` and `box.HEAVY` and `fmt.Sprint`.", 1, ""},
		{"with a sister by its position", newTable, "`newTable`, or else internal/csvview/csvview.go:30", 0.5, ""},
		{"with its own position", newTable, "`newTable` (internal/csvview/table.go:10) and `source.Read`", 0.5, ""},

		// Of all of several.
		{"all", Criterion{Functions: []string{"csvview.Render", "mdview.Render"}, All: true}, "`csvview.Render`, `mdview.Render`, `parse`, `main.main`", 1, "2 of 2 names"},
		{"one of two", Criterion{Functions: []string{"csvview.Render", "mdview.Render"}, All: true}, "`csvview.Render` and its `Render`", 0.5, "1 of 2 names; not mdview.Render"},
		{"an alternative", Criterion{Functions: []string{"csvview.Render | csvview.newTable", "mdview.Render"}, All: true}, "`newTable`", 0.5, ""},
		{"one of two is enough", Criterion{Functions: []string{"csvview.newTable", "csvview.cellStyle"}}, "`cellStyle`", 1, "names csvview.cellStyle"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := grade(t, tt.criterion, tt.answer)
			if got.Share != tt.share || tt.why != "" && got.Why != tt.why {
				t.Errorf("%s\nshare %g (%s), want %g (%s)", tt.answer, got.Share, got.Why, tt.share, tt.why)
			}
		})
	}
}

func TestAutoFiles(t *testing.T) {
	mdview := Criterion{Files: []string{"mdview/mdview.go"}}
	for _, tt := range []struct {
		name      string
		criterion Criterion
		answer    string
		share     float64
	}{
		{"its path", mdview, "internal/mdview/mdview.go", 1},
		{"more of its path", mdview, "`example.com/tablecat/internal/mdview/mdview.go:12`", 1},
		{"its name", mdview, "in mdview.go.", 1},
		{"in a block", mdview, "```go\n// internal/mdview/mdview.go\n```", 1},
		{"another directory's", mdview, "csvview/mdview.go, internal/mdview.go", 0},
		{"one of several", mdview, "mdview.go or show.go", 0.5},
		{"most of all", mdview, "mdview.go or show.go, no, mdview.go", 1},
		{"with what may stand beside", Criterion{Files: []string{"mdview/mdview.go"}, Beside: []string{"show.go"}}, "mdview.go, show.go", 1},
		{"in which nothing was called", Criterion{Files: []string{"options.go"}}, "in options.go", 1},
		{"a name that two have", Criterion{Files: []string{"csvview/table.go"}}, "in table.go", 1},
		{"a name that is another's", Criterion{Files: []string{"csvview/table.go"}}, "in lipgloss/table/table.go: table.go", 0},
		{"a module's with its version", Criterion{Files: []string{"lipgloss/table/table.go"}}, "github.com/charmbracelet/lipgloss@v1.1.0/table/table.go", 1},
		{"all", Criterion{Files: []string{"show.go", "options.go"}, All: true}, "show.go", 0.5},
	} {
		if got := grade(t, tt.criterion, tt.answer); got.Share != tt.share {
			t.Errorf("%s: %s: share %g (%s), want %g", tt.name, tt.answer, got.Share, got.Why, tt.share)
		}
	}
}

func TestAutoTerms(t *testing.T) {
	for _, tt := range []struct {
		terms  string // comma between
		answer string
		share  float64
	}{
		{"color", "Color", 1},
		{"color", "its colors are", 1},
		{"color", "`lipgloss.BorderColor(x)`", 1},
		{"color", "```go\nx.Foreground(lipgloss.Color(1))\n```", 1},
		{"color", "colour", 0},
		{"color | colour", "colour", 1},
		{"align", "alignment", 1},
		{"alignment", "align", 0},
		{"tab", "a table", 0},
		{"tab", "a TAB", 1},
		{"pad", "cellPadding", 0},
		{"right align", "right-aligned, `RightAlign`", 1},
		{"right align", "right and align", 0},
		{"RoundedBorder", "a rounded border", 1},
		{"--emoji", "with `--emoji`", 1},
		{"ast.Node", "the `ast.Node`", 1},
		{"[][]string", "a `[][]String`", 1},
		{"[][]string", "a string", 0},
		{"╭", "the corner ╭", 1},
		{"╭", "the corner +", 0},
		{"é", "É", 1},
		{"color, padding, border, width", "color and border", 0.5},
	} {
		c := Criterion{Terms: strings.Split(tt.terms, ", ")}
		if got := grade(t, c, tt.answer); got.Share != tt.share {
			t.Errorf("%s in %q: share %g (%s), want %g", tt.terms, tt.answer, got.Share, got.Why, tt.share)
		}
	}
}

func grade(t *testing.T, c Criterion, answer string) Mark {
	t.Helper()
	c.ID = "c"
	g := Auto(&Inquiry{Criteria: []Criterion{{ID: "person"}, c}}, answer, Context{Functions: calls})
	if len(g.Marks) != 1 || g.Marks[0].Criterion != "c" || g.Grader != AutoGrader {
		t.Fatalf("want one mark, and none for what is for people: %+v", g)
	}
	return g.Marks[0]
}

func TestAutoLeaks(t *testing.T) {
	g := Auto(&Inquiry{}, "`csvview.newTable` has `box.HEAVY_HEAD`, see table.go:12 and table.go:99", Context{
		Prompt: "### csvview.newTable  csvview/table.go:10-20\n",
	})
	if got, want := fmt.Sprint(g.Leaked), "[box.HEAVY_HEAD table.go:99]"; got != want {
		t.Errorf("leaked: %s, want %s", got, want)
	}
}

// A name stays the function's whatever the compiler adds to it.
func TestNameParts(t *testing.T) {
	for name, want := range map[string]string{
		"csvview.newTable":                             "csvview newTable",
		"ansi.(*TableElement).setBorders":              "ansi TableElement setBorders",
		"lipgloss.Style.Render":                        "lipgloss Style Render",
		"main.show.func2.1":                            "main show",
		"main.(*T).M-fm":                               "main T M",
		"main.walk-range1":                             "main walk",
		"x.Map[[]int,a/b.T].func1":                     "x Map",
		"x.(*List[...]).Push":                          "x List Push",
		"yaml.v3.Unmarshal":                            "yaml v3 Unmarshal",
		"github.com/alecthomas/chroma/v2.(*Iter).Next": "chroma Iter Next",
		"main.glob..func1":                             "",
		"":                                             "",
	} {
		if got := strings.Join(nameParts(name), " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func FuzzAuto(f *testing.F) {
	f.Add(walkthrough, "csvview.newTable", "border | line")
	f.Add(guesses, "ansi.TableElement", "╭")
	f.Fuzz(func(t *testing.T, answer, function, term string) {
		inq := &Inquiry{Criteria: []Criterion{
			{ID: "a", Functions: []string{function}},
			{ID: "b", Functions: []string{function, "main.main"}, All: true},
			{ID: "c", Files: []string{function}},
			{ID: "d", Terms: []string{term, "x"}},
		}}
		g := Auto(inq, answer, Context{Prompt: function, Functions: append(calls[:5:5], Function{Name: function, File: term, Callers: []string{function}})})
		if len(g.Marks) != 4 {
			t.Fatalf("%d marks", len(g.Marks))
		}
		for _, m := range g.Marks {
			if m.Share < 0 || m.Share > 1 {
				t.Errorf("%s has a share of %g", m.Criterion, m.Share)
			}
		}
	})
}

// BenchmarkAuto grades an answer about a large program: what an experiment does some
// hundred times.
func BenchmarkAuto(b *testing.B) {
	functions := calls
	for i := range 5000 {
		functions = append(functions, Function{Name: fmt.Sprintf("pkg%d.(*T%d).Function%d", i/50, i/5, i), File: fmt.Sprintf("pkg%d/file.go", i/50), Start: 10 * i, End: 10*i + 8,
			Callers: []string{fmt.Sprintf("pkg%d.(*T%d).Function%d", i/100, i/10, i/2)}})
	}
	inq := &Inquiry{Criteria: []Criterion{
		{ID: "a", Functions: []string{"csvview.newTable"}}, {ID: "b", Functions: []string{"csvview.newTable", "csvview.cellStyle"}, All: true}, {ID: "c", Terms: []string{"color", "padding"}},
	}}
	b.ReportAllocs()
	for b.Loop() {
		Auto(inq, walkthrough, Context{Functions: functions})
	}
}

// TestUnknown: a rubric that no answer can meet is reported, and not one that expects types.
func TestUnknown(t *testing.T) {
	inq := &Inquiry{Criteria: []Criterion{
		{Functions: []string{"csvview.newTable", "csvview.newTabel", "csvview.cellstyle | csvview.cellStyle"}},
		{Functions: []string{"ansi.TableElement", "ansi.(*TableElement).setBorders", "Table.Border", "..."}, Beside: []string{"main.none"}},
		{Functions: []string{"csvview.newTabel | csvview.table"}},
		{Files: []string{"none.go"}},
	}}
	want := []string{"csvview.newTabel", "Table.Border", "...", "csvview.newTabel | csvview.table"}
	if got := Unknown(inq, calls); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if expected := (&Inquiry{}); Unknown(expected, nil) != nil {
		t.Error("an inquiry without criteria expects functions")
	}
}
