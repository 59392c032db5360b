package prompt

import (
	"fmt"
	"strings"
	"testing"

	"tracerag/source"
	"tracerag/trace"
)

// The prompts of a question that is asked in rounds: an index, what was asked for, and
// the last one, which is to be answered.
func TestRoundsGolden(t *testing.T) {
	in := withTypes(inputCSV(t))
	s, err := NewRounds(in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := s.First().Text
	_, requests, _ := ParseReply("READ\ncsvview.(*Table).Render\nmain.Show\ncallers csvview.pad\np2\nmain.nothing")
	text += "=== round 2\n" + s.Next(requests).Text
	if s.Last() {
		t.Error("two rounds are all")
	}
	_, requests, _ = ParseReply("READ\nmain.show\ncallees main.main\ndep.Border\ncsvview.pad:5-6\nTable")
	text += "=== round 3\n" + s.Next(requests).Text
	if !s.Last() {
		t.Error("three rounds are not all")
	}
	golden(t, "rounds.md", text)
}

func TestRoundsGoldenTwo(t *testing.T) {
	s, err := NewRounds(inputTwo(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := s.First().Text
	text += "=== round 2\n" + s.Next([]Request{{Name: "pad"}, {Name: "Render"}}).Text
	golden(t, "roundstwo.md", text)
}

// A question that follows another has what was read for that one.
func TestResume(t *testing.T) {
	s, err := NewRounds(inputCSV(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := s.Resume([]string{"csvview.pad", "gone.F"}, []Exchange{{"Why pad?", "For columns."}})
	for _, want := range []string{"func pad(", "## Earlier question\n\nWhy pad?", "## Earlier answer\n\nFor columns.", "main.main", "READ"} {
		if !strings.Contains(strings.ReplaceAll(p.Text, "main: main", "main.main"), want) {
			t.Errorf("no %q in\n%s", want, p.Text)
		}
	}
	if got := s.Shown(); len(got) != 1 || got[0] != "csvview.pad" {
		t.Errorf("shown: %v", got)
	}
}

// What is asked for and is not there costs a round, but leaves something to answer from.
func TestNothingThatWasAskedForIsThere(t *testing.T) {
	for _, requests := range [][]Request{nil, {{Name: "no.Such"}}, {{Name: "other.Thing", Kind: WantCallers}}} {
		in := inputCSV(t)
		in.Score = func(f trace.Function) (float64, string) {
			if strings.HasSuffix(f.Name, ".pad") {
				return 1, ""
			}
			return 0, ""
		}
		s, err := NewRounds(in, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.First()
		if p := s.Next(requests); !strings.Contains(p.Text, "func pad(") || !strings.Contains(p.Text, "nothing that was asked for is there") {
			t.Errorf("%v:\n%s", requests, p.Text)
		}
	}
}

// manyFunctions is a run of many functions, which main calls. The text of its tree is in the
// place of notes.
func manyFunctions(packages, functions, lines int) (in Input, names []string) {
	tree := "main.main\n"
	for p := range packages {
		for f := range functions {
			name := fmt.Sprintf("example.com/m/pkg%d.DoSomethingWith%d", p, f)
			names = append(names, name)
			tree += "  " + name + "\n"
		}
	}
	in.Question = "What does it do?"
	in.Source = func(f trace.Function) source.Text {
		body := "func F() {\n" + strings.Repeat("\tx = append(x, compute(y))\n", lines) + "}"
		return source.Text{Display: "a/" + f.Name + ".go", Path: "/a/" + f.Name + ".go", Start: 10, End: 11 + lines, DocStart: 10, Signature: "func F()", Body: body}
	}
	in.Runs = []Run{{Title: "./large", Tree: nil}}
	in.Runs[0].Notes = []string{tree}
	return in, names
}

// However much ran, and whatever is asked for, prompts keep to their limits, and all that
// is left out can be asked for.
func TestRoundsKeepToLimits(t *testing.T) {
	for _, window := range []int{0, 8_000, 4_000} {
		in, names := manyFunctions(40, 100, 60)
		in.Runs[0].Tree, in.Runs[0].Notes = makeTree(t, in.Runs[0].Notes[0]), nil
		s, err := NewRounds(in, Options{Window: window})
		if err != nil {
			t.Fatal(err)
		}
		most := IndexTokens + 1000
		if window > 0 {
			most = window
		}
		p := s.First()
		if p.Total > most {
			t.Errorf("context %d: the first round has %d tokens", window, p.Total)
		}
		if !strings.Contains(p.Text, "more: p") && !strings.Contains(p.Text, "[folded") {
			t.Errorf("context %d: nothing is folded", window)
		}
		var requests []Request
		for _, n := range names[:30] {
			requests = append(requests, Request{Name: n})
		}
		p = s.Next(requests)
		if most = laterIndex + readTokens + 2500; window > 0 {
			most = window
		}
		if p.Total > most {
			t.Errorf("context %d: the second round has %d tokens", window, p.Total)
		}
		if n := strings.Count(p.Text, "[signature only: "); n == 0 {
			t.Errorf("context %d: everything fits", window)
		}
		for _, n := range names[:10] {
			if !strings.Contains(p.Text, "\n### "+strings.TrimPrefix(n, "example.com/m/")+"  ") {
				t.Errorf("context %d: %s was asked for, and has not even its signature", window, n)
			}
		}
		if p = s.Next([]Request{{Name: "p7"}}); !strings.Contains(p.Text, "functions of example.com/m/pkg") {
			t.Errorf("context %d: a package's handle gives no names", window)
		}
		if window > 0 && p.Total > window {
			t.Errorf("context %d: the third round has %d tokens", window, p.Total)
		}
	}
}

// A function of 100 kB is shown in part, with what to ask for to see more of it.
func TestLongFunctionInRounds(t *testing.T) {
	in, names := manyFunctions(1, 1, 4_000)
	in.Runs[0].Tree, in.Runs[0].Notes = makeTree(t, in.Runs[0].Notes[0]), nil
	s, err := NewRounds(in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.First()
	got := s.Read([]Request{{Name: names[0]}, {Name: names[0], From: 2000, To: 2010}}, readTokens)
	if len(got.Sources) != 2 {
		t.Fatalf("%d sources: %v", len(got.Sources), got.Notes)
	}
	if n := got.Sources[0].Tokens; n > longFunction {
		t.Errorf("%d tokens of a long function", n)
	}
	if text := got.Sources[1].Text; !strings.Contains(text, "lines 11-1999 left out") && !strings.Contains(text, "lines 10-1999 left out") || strings.Count(text, "compute") != 11 {
		t.Errorf("lines 2000 to 2010:\n%s", text)
	}
}
