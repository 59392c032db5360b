package report

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tracerag/eval"
)

var update = flag.Bool("update", false, "write what is in testdata anew")

// marked are answers and what a person gave them: for each cell the points of both
// repetitions, of four. A star is an answer that cites what its prompt has not, a dash an
// answer that does not exist.
const marked = `
one where   full        gpt-x   4    3
one where   T           gpt-x   4*   2*
one where   ordered     gpt-x   4    4
one where   full        llama|y 2    1
one where   T           llama|y 1*   0
one where   ordered     llama|y 3    3
one fix     full        gpt-x   3    3
one fix     T           gpt-x   1    1
one fix     ordered     gpt-x   4    2
one fix     full        llama|y 1    1
one fix     T           llama|y 0    0*
one fix     ordered     llama|y 2    1
two bigger  full        gpt-x   3    4
two bigger  T           gpt-x   2*   3*
two bigger  ordered     gpt-x   4    4
two bigger  full        llama|y 2    2
two bigger  T           llama|y 1    1
two bigger  ordered     llama|y 3    -
two compare full        gpt-x   2    3
two compare T           gpt-x   1    1
two compare ordered     gpt-x   3    3
two compare full        llama|y 1    0
two compare T           llama|y 1    2
two compare ordered     llama|y 2    2
`

// input is two experiments by two inquiries by three variants by two models, twice. The
// second inquiry of the second experiment has a rubric of two points, not four.
func input(t *testing.T) Input {
	t.Helper()
	rubric := func(points float64) []eval.Criterion {
		return []eval.Criterion{{ID: "place", Points: points / 2}, {ID: "change", Points: points / 2}}
	}
	variants := []eval.Variant{"ordered", "T", "full"}
	in := Input{
		Experiments: []*eval.Experiment{
			{Name: "one", Title: "A first <program>", Variants: variants, Models: []string{"gpt-x"}, Repetitions: 2, Inquiries: []eval.Inquiry{
				{ID: "where", Title: "1: where?", Kind: eval.Where, Criteria: rubric(4)},
				{ID: "fix", Title: "2: fix | repair", Kind: eval.Fix, Criteria: rubric(4)},
			}},
			{Name: "two", Title: "A second one", Variants: variants, Repetitions: 2, Inquiries: []eval.Inquiry{
				{ID: "bigger", Title: "1: bigger", Kind: eval.Bigger, Criteria: rubric(4)},
				{ID: "compare", Kind: eval.Compare, Criteria: rubric(2)},
			}},
		},
		Sources: []Source{
			{"one", "where", 14, 11552, 2549, 217984}, {"one", "fix", 18, 13757, 2737, 217984}, {"two", "bigger", 53, 18799, 7079, 0},
		},
	}
	for line := range strings.Lines(strings.TrimSpace(marked)) {
		f := strings.Fields(line)
		e, inquiry, variant, model := f[0], f[1], eval.Variant(f[2]), f[3]
		for i, points := range f[4:] {
			if points == "-" {
				continue
			}
			total, _ := strconv.ParseFloat(strings.TrimSuffix(points, "*"), 64)
			r := Result{Answer: eval.Answer{
				Cell:    eval.Cell{Experiment: e, Inquiry: inquiry, Variant: variant, Model: model, Repetition: i + 1},
				Seconds: 2 + total, FinishReason: "stop",
			}}
			if model == "gpt-x" {
				price := 0.01
				r.Answer.Usage, r.Answer.Cost = &eval.Usage{Prompt: 30_000, Completion: 400, Cached: 1000}, &price
			}
			first := min(total, 2) / 2
			r.Gradings = []eval.Grading{
				{Grader: eval.AutoGrader, Marks: []eval.Mark{{Criterion: "place", Share: first}}},
				{Grader: eval.HumanGrader, Marks: []eval.Mark{{Criterion: "place", Share: first}, {Criterion: "change", Share: total/2 - first}}},
			}
			if strings.HasSuffix(points, "*") {
				r.Gradings[0].Leaked = []string{"box.HEAVY", "a.F(\"`|\")"}[:1+i]
			}
			in.Results = append(in.Results, r)
		}
	}
	for k, e := range in.Experiments {
		for j, inq := range e.Inquiries {
			full := 30_000 * (1 + k + j)
			for v, n := range map[eval.Variant]int{"full": full, "T": full / 20, "ordered": full * 3 / 5} {
				in.Sizes = append(in.Sizes, Size{e.Name, inq.ID, v, "o200k_base", true, n})
				if e.Name == "one" {
					in.Sizes = append(in.Sizes, Size{e.Name, inq.ID, v, "claude/x", false, n * 6 / 5})
				}
			}
		}
	}
	return in
}

func document(t *testing.T, in Input) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteMarkdown(&b, in); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// golden compares with a file, or with -update writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: go test -update writes it", err)
	}
	if got != string(want) {
		t.Errorf("%s is other than it was (go test -update accepts that):\n%s", name, got)
	}
}

func TestGolden(t *testing.T) {
	in := input(t)
	golden(t, "results.md", document(t, in))
	var tables strings.Builder
	for _, table := range Tables(in) {
		fmt.Fprintf(&tables, "-- %s.csv --\n", table.Name)
		if err := table.WriteCSV(&tables); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "tables.csv.txt", tables.String())
	for _, f := range Figures(in) {
		var b bytes.Buffer
		if err := f.WriteSVG(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, f.Name+".svg", b.String())
	}
}

// TestOrderOfResultsDoesNotMatter: results come as they lie in a directory.
func TestOrderOfResultsDoesNotMatter(t *testing.T) {
	in := input(t)
	want := document(t, in)
	slices.Reverse(in.Results)
	slices.Reverse(in.Sizes)
	if got := document(t, in); got != want {
		t.Errorf("with the results in reverse the report is another:\n%s", got)
	}
}

// TestPaper has the scores of the paper's tables 4 to 7, and finds its averages.
func TestPaper(t *testing.T) {
	paper := map[string][3]string{ // by inquiry, for Gemini, Claude and ChatGPT: full, A, C, CA, T
		"where":   {"4 4 4 3 4*", "4 4 4 4 4", "3 4 4 3 4*"},
		"bigger":  {"4 4 4 2 3*", "2 3.5 1.5 2.5 2.5", "4 3 3 3 3.5*"},
		"compare": {"3.5 4 2 3 1.5", "2 2 1.5 2 3", "1 3.5 2.5 1 3"},
		"fix":     {"4 2.5 2 3 1", "4 3 2 2 3", "2.5 2.5 2.5 2.5 2.5"},
	}
	e := &eval.Experiment{Name: "paper", Models: []string{"Gemini", "Claude", "ChatGPT"}, Repetitions: 1, Variants: paperVariants}
	in := Input{Experiments: []*eval.Experiment{e}}
	for _, id := range []string{"where", "bigger", "compare", "fix"} {
		e.Inquiries = append(e.Inquiries, eval.Inquiry{ID: id, Criteria: []eval.Criterion{{ID: "all", Points: 4}}})
		for m, line := range paper[id] {
			for v, s := range strings.Fields(line) {
				points, err := strconv.ParseFloat(strings.TrimSuffix(s, "*"), 64)
				if err != nil {
					t.Fatal(err)
				}
				g := eval.Grading{Grader: eval.HumanGrader, Marks: []eval.Mark{{Criterion: "all", Share: points / 4}}}
				if strings.HasSuffix(s, "*") {
					g.Leaked = []string{"box.HEAVY_HEAD"}
				}
				in.Results = append(in.Results, Result{
					Answer:   eval.Answer{Cell: eval.Cell{Experiment: "paper", Inquiry: id, Variant: paperVariants[v], Model: e.Models[m], Repetition: 1}},
					Gradings: []eval.Grading{g},
				})
			}
		}
	}
	figures := Figures(in)
	if len(figures) != 1 || len(figures[0].Lines) != 2+3 {
		t.Fatalf("%d figures, want one with AVE1, AVE2 and a line for each model", len(figures))
	}
	for i, want := range []string{
		// The paper gives 3.17 in its text.
		"3.17 3.33 2.75 2.58 2.92",
		// Without the four answers with an asterisk: 35 - 14.5 points in 8.
		"3.17 3.33 2.75 2.58 2.56",
		"3.88 3.62 3.00 2.75 2.38",
	} {
		var got []string
		for _, p := range figures[0].Lines[i].Points {
			got = append(got, fmt.Sprintf("%.2f", p.Value))
			if !p.Complete {
				t.Errorf("%s is not complete", figures[0].Lines[i].Name)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", figures[0].Lines[i].Name, s, want)
		}
	}
	if text := document(t, in); !strings.Contains(text, `| ChatGPT | 3.00 | 4.00 | 4.00 | 3.00 | 4.00\* |`) {
		t.Errorf("table 4 is not the paper's:\n%s", text)
	}
}

// TestGraders: whose scores are shown.
func TestGraders(t *testing.T) {
	judge := func(in *Input, results int) {
		for i := range in.Results[:results] {
			in.Results[i].Gradings = append(in.Results[i].Gradings, eval.Grading{
				Grader: "judge j", Marks: []eval.Mark{{Criterion: "place", Share: 1}, {Criterion: "change", Share: 1}}})
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*Input)
		want   string
	}{
		{"all marks of a person and of a judge", func(in *Input) { judge(in, len(in.Results)) }, "a person"},
		{"one mark of a person is missing", func(in *Input) {
			judge(in, len(in.Results))
			in.Results[0].Gradings[1].Marks = in.Results[0].Gradings[1].Marks[:1]
		}, "judge j"},
		{"half of the judge's", func(in *Input) {
			judge(in, len(in.Results)/2)
			for i := range in.Results {
				in.Results[i].Gradings = slices.Delete(in.Results[i].Gradings, 1, 2)
			}
			judge(in, 1)
		}, "judge j"},
		{"as asked for", func(in *Input) { in.Grader = eval.AutoGrader }, "the automatic grader"},
		{"nobody's", func(in *Input) {
			for i := range in.Results {
				in.Results[i].Gradings = nil
			}
		}, "nobody"},
	} {
		in := input(t)
		tt.change(&in)
		text := document(t, in)
		if got := strings.Count(text, "Scores by "+tt.want); got < 4 || strings.Count(text, "Scores by ") != got {
			t.Errorf("%s: the tables are not by %s:\n%s", tt.name, tt.want, text)
		}
	}
}

// TestWhatIsMissingIsSaid: nothing of it passes for a score.
func TestWhatIsMissingIsSaid(t *testing.T) {
	in := input(t)
	for i := range in.Results {
		if c := in.Results[i].Answer.Cell; c.Inquiry == "where" && c.Variant == "full" && c.Model == "gpt-x" {
			in.Results[i].Gradings[1].Marks = in.Results[i].Gradings[1].Marks[:c.Repetition-1]
		}
	}
	in.Results = append(in.Results, Result{Answer: eval.Answer{Cell: eval.Cell{Experiment: "one", Inquiry: "gone", Model: "gpt-x"}}})
	text := document(t, in)
	for _, want := range []string{
		"| gpt-x | 2.00† (1) |", // one has no mark, the other one of two
		"† The answers lack marks",
		"Left out: 1 answer to inquiries that the experiments do not have.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report has no %q:\n%s", want, text)
		}
	}
}

func TestNothing(t *testing.T) {
	if tables, figures := Tables(Input{}), Figures(Input{}); len(tables)+len(figures) > 0 {
		t.Errorf("of nothing there are %d tables and %d figures", len(tables), len(figures))
	}
	in := input(t)
	in.Results = nil // of prompts alone there are their sizes
	var names []string
	for _, table := range Tables(in) {
		names = append(names, table.Name)
	}
	if got, want := strings.Join(names, " "), "sizes-claude-x sizes-o200k_base sources"; got != want {
		t.Errorf("without answers there are the tables %s, want %s", got, want)
	}
}

// TestTablesAreRectangular, whatever form they are written in.
func TestTablesAreRectangular(t *testing.T) {
	for _, table := range Tables(input(t)) {
		var b bytes.Buffer
		if err := table.WriteCSV(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := csv.NewReader(&b).ReadAll(); err != nil {
			t.Errorf("%s: %v", table.Name, err)
		}
		b.Reset()
		if err := table.WriteMarkdown(&b); err != nil {
			t.Fatal(err)
		}
		bars := -1
		for line := range strings.Lines(b.String()) {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
			if bars >= 0 && n != bars {
				t.Errorf("%s: %d bars, others have %d: %s", table.Name, n, bars, line)
			}
			bars = n
		}
	}
}

// TestChart: it is XML, whatever models are called, and tells lines apart without
// color.
func TestChart(t *testing.T) {
	f := &Figure{Name: "f", Title: `a <script>alert("1")</script> & more`, Variants: []string{"full", "<T>"}}
	looks := map[string]bool{}
	for i := range 12 {
		f.Lines = append(f.Lines, Line{Name: fmt.Sprintf("<model> %d & \x00 a long name of many words", i), Points: []Point{{}, {Mean: meanOf([]float64{1, 9})}}})
		s := f.style(i)
		looks[s.dash+" "+s.marker] = true
	}
	if len(looks) != len(f.Lines) {
		t.Errorf("%d lines look alike in black and white", len(f.Lines)-len(looks))
	}
	var b bytes.Buffer
	if err := f.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	dec := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		if e, ok := token.(xml.StartElement); ok && !slices.Contains([]string{"svg", "title", "desc", "rect", "text", "path", "g", "circle"}, e.Name.Local) {
			t.Errorf("there is an element %s", e.Name.Local)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "%!"} {
		if strings.Contains(text, bad) {
			t.Errorf("the chart has %s:\n%s", bad, text)
		}
	}
}
