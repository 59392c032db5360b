package eval

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func sheetOf(t *testing.T, answers ...Answer) *Sheet {
	t.Helper()
	e := &Experiment{Name: "x", Inquiries: []Inquiry{*rubric, {
		ID: "other", Question: "=1+2, and \"why\"?\n-- really", Criteria: []Criterion{{ID: "all", Text: "@all; of it", Points: 1}},
	}}}
	s := &Sheet{}
	s.Add(e, answers, func(id string) string { return "answers/" + id + ".md" })
	return s
}

func answer(inquiry, model, text string) Answer {
	return Answer{Cell: Cell{"x", inquiry, "ordered@16k", model, 1}, Text: text}
}

func written(t *testing.T, s *Sheet) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSheetIsBlind(t *testing.T) {
	var answers []Answer
	for _, model := range []string{"gpt-y", "claude-z", "gemini-w", "llama-v"} {
		answers = append(answers, answer("look", model, "the same answer"), answer("other", model, "another"))
	}
	text := written(t, sheetOf(t, answers...))
	for _, tell := range []string{"gpt", "claude", "gemini", "llama", "ordered", "16k", "the same answer"} {
		if strings.Contains(text, tell) {
			t.Errorf("the sheet tells %q:\n%s", tell, text)
		}
	}
	ids := regexp.MustCompile(`(?m)^a[0-9a-f]{12},`).FindAllString(text, -1)
	if len(ids) != 4*(4+1) || !slices.IsSorted(ids) {
		t.Errorf("%d rows, want 5 for each model, in the order of their ids: %v", len(ids), ids)
	}
	slices.Reverse(answers)
	if again := written(t, sheetOf(t, answers...)); again != text {
		t.Errorf("the order of the answers shows:\n%s\n%s", text, again)
	}
	if e := sheetOf(t, answer("gone", "m", "")); len(e.rows) != 0 {
		t.Errorf("rows of an inquiry that there is not: %+v", e.rows)
	}
}

// TestSheetThroughSpreadsheets has a sheet filled in and saved in the ways of
// spreadsheets.
func TestSheetThroughSpreadsheets(t *testing.T) {
	a := answer("look", "m", "it is newTable")
	id := a.ID()
	for name, text := range map[string]string{
		"as written":                   "answer,inquiry,criterion,mark (0; 0.5 or 1),remark\n" + id + ",look,function,1,\"good, but\"\n" + id + ",look,look,0.5,\n" + id + ",look,both,,\n",
		"a byte order mark":            "\uFEFFanswer,criterion,mark,remark\r\n" + id + ",function,1,\"good, but\"\r\n" + id + ",look,.5\r\n",
		"the line ends of Macintoshes": "answer,criterion,mark,remark\r" + id + ",function,1,\"good, but\"\r" + id + ",look,.5\r",
		"semicolons and a comma":       "answer;criterion;mark (0, 0.5 or 1);remark\n" + id + ";function;1,0;good, but\n" + id + ";look;0,5;\n",
		"tabs":                         "answer\tcriterion\tmark\tremark\n" + id + "\tfunction\t1\tgood, but\n" + id + "\tlook\t 0.50 \n",
		"everything quoted":            "\"answer\";\"criterion\";\"mark\";\"remark\"\n\"" + id + "\";\"function\";\"1\";\"good, but\"\n\"" + id + "\";\"look\";\"0,5\";\"\"\n",
		"a line with sep":              "sep=;\nanswer;criterion;mark;remark\n" + id + ";function;1;good, but\n" + id + ";look;0,5;\n",
		"columns and rows swapped":     "remark,Mark,Criterion,Answer\n,0.5,look," + id + "\n,,,\n\"good, but\",1,function," + id + "\n",
	} {
		s, err := ReadSheet(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		fresh := sheetOf(t, a)
		fresh.Keep(s)
		g := fresh.Gradings()[id]
		want := []Mark{{"function", 1, "good, but"}, {"look", 0.5, ""}}
		if g.Grader != HumanGrader || !slices.Equal(g.Marks, want) {
			t.Errorf("%s: %+v, want %+v", name, g, want)
		}
		if marked, rows := fresh.Marked(); marked != 2 || rows != 4 {
			t.Errorf("%s: %d of %d rows are marked, want 2 of 4", name, marked, rows)
		}
		again, err := ReadSheet(strings.NewReader(written(t, fresh)))
		if err != nil || written(t, again) != written(t, fresh) {
			t.Errorf("%s: read back it is another sheet (%v):\n%s", name, err, written(t, again))
		}
	}
}

// TestSheetKeepsWhatSomebodyWrote: also where the answer was asked for again.
func TestSheetKeepsWhatSomebodyWrote(t *testing.T) {
	gone, stays, fresh := answer("other", "m", "old"), answer("look", "n", "stays"), answer("other", "m", "new")
	old := sheetOf(t, gone, stays)
	half := 0.5
	for i := range old.rows {
		if old.rows[i].criterion == "all" || old.rows[i].criterion == "change" {
			old.rows[i].mark, old.rows[i].remark = &half, "=seen"
		}
	}
	s := sheetOf(t, stays, fresh)
	s.Keep(old)
	g := s.Gradings()
	if len(g) != 2 || len(g[gone.ID()].Marks) != 1 || len(g[stays.ID()].Marks) != 1 || g[stays.ID()].Marks[0] != (Mark{"change", 0.5, "=seen"}) {
		t.Errorf("marks %+v, want those of the answer that is gone and of the one that stays", g)
	}
	if last := s.rows[len(s.rows)-1]; last.answer != gone.ID() || len(s.rows) != 4+1+1 {
		t.Errorf("%d rows, the last about %s: want what is left over at the end", len(s.rows), last.answer)
	}
}

func TestSheetsCells(t *testing.T) {
	text := written(t, sheetOf(t, answer("other", "m", "")))
	for _, want := range []string{`"'=1+2, and ""why""?` + "\n" + `-- really"`, ",'@all; of it,"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	for _, s := range []string{"", "a", "=1", "'=1", "''=1", "'", "'a", "-", "@x", "\t=", "\r", "+1"} {
		cell := CSVText(s)
		if strings.HasPrefix(cell, "=") || strings.HasPrefix(cell, "-") || strings.HasPrefix(cell, "\t") || plainText(cell) != s {
			t.Errorf("%q is %q in a cell, and %q when it is read", s, cell, plainText(cell))
		}
	}
}

func TestWrongSheets(t *testing.T) {
	const head = "answer,criterion,mark\n"
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", "the file is empty"},
		{"another table", "a,b\n1,2\n", `row 1 has no column "answer"`},
		{"in UTF-16", "\xff\xfea\x00n\x00", "saved as CSV in UTF-8?"},
		{"another mark", head + "x,c,1\nx,d,0.7\n", `row 3, answer x, criterion "d": mark "0.7": want 0, 0.5 or 1`},
		{"a word", head + "x,c,good\n", `row 2, answer x, criterion "c": mark "good"`},
		{"a number that is none", head + "x,c,NaN\n", `mark "NaN"`},
		{"two numbers", head + "\"x\",c,\"0,5,1\"\n", `mark "0,5,1"`},
		{"no answer", head + ",c,1\n", "row 2 does not say which answer"},
		{"no criterion", head + "\nx,,1\n", "row 3 does not say"},
		{"a cell of two lines, and an empty line", head + "x,\"c\nd\",1\n\nx,d,2\n", `row 4, answer x, criterion "d": mark "2"`},
		{"a quote that is not closed", head + "x,c,1\n\"x,d,1\nx,e,1\n", "row 3: "},
		{"a row twice", head + "x,c,1\nx,d,1\nx,c,0\n", `rows 2 and 4 are both about criterion "c" of answer x`},
	} {
		if _, err := ReadSheet(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func FuzzReadSheet(f *testing.F) {
	f.Add("answer,criterion,mark (0; 0.5 or 1),remark\nx,c,1,'=a\n")
	f.Add("\uFEFFsep=;\nanswer;criterion;mark\nx;\"c\nd\";0,5")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadSheet(strings.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := s.Write(&b); err != nil {
			t.Fatal(err)
		}
		first := b.String()
		again, err := ReadSheet(&b)
		if err != nil {
			t.Fatalf("%v:\n%s", err, first)
		}
		if second := written(t, again); second != first {
			t.Errorf("it changed:\n%q\n%q", first, second)
		}
		for _, g := range again.Gradings() {
			for _, m := range g.Marks {
				if m.Share != 0 && m.Share != 0.5 && m.Share != 1 {
					t.Errorf("mark %g", m.Share)
				}
			}
		}
	})
}
