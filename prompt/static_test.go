package prompt

import (
	"testing"

	"tracerag/calltree"
	"tracerag/trace"
)

// inputStatic is about functions that were found, below functions that call them.
func inputStatic() Input {
	node := func(name string, children ...*calltree.Node) *calltree.Node {
		return &calltree.Node{Func: &trace.Function{Name: name, File: "/src/" + sources[name].Display, StartLine: sources[name].Start}, Children: children}
	}
	return Input{
		Question: "Which function draws the border?",
		Static:   true,
		Runs: []Run{{Title: "example.com/tab 1f2e3d4c5b6a", Notes: []string{"2 files changed since they were indexed"}, Tree: calltree.Of(
			node("main.show", node("example.com/tab/csvview.(*Table).Render"), node("example.com/tab/mdview.Render")),
			node("example.com/tab/csvview.(*Table).Render", node("example.com/tab/csvview.pad")),
		)}},
		Source: find,
		Score: func(f trace.Function) (float64, string) {
			if f.Name == "example.com/tab/csvview.(*Table).Render" {
				return 1, "named"
			}
			return .2, "words"
		},
	}
}

// TestStaticGolden has the prompts of a question without a recorded run. They say nothing
// of calls, counts and order.
func TestStaticGolden(t *testing.T) {
	golden(t, "static.md", build(t, inputStatic(), Options{}).Text)
	golden(t, "static.json", build(t, inputStatic(), Options{Format: JSON}).Text)
	golden(t, "static.xml", build(t, inputStatic(), Options{Format: XML}).Text)
	budget := build(t, inputStatic(), Options{Budget: 640})
	golden(t, "static-budget.md", budget.Text)

	s, err := NewRounds(inputStatic(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := s.First().Text
	text += "=== round 2\n" + s.Next([]Request{{Name: "csvview.pad"}, {Kind: WantCallers, Name: "main.show"}, {Name: "nothing"}}).Text
	golden(t, "static-rounds.md", text)
}

// TestStaticRefusals lists what only a run has.
func TestStaticRefusals(t *testing.T) {
	for _, o := range []Options{{Variant: Full}, {Template: "{{.Question}}"}} {
		if _, err := Build(inputStatic(), o); err != errStatic {
			t.Errorf("%+v: %v", o, err)
		}
	}
	in := inputStatic()
	in.Runs = append(in.Runs, in.Runs[0])
	if _, err := NewReader(in, Options{}); err != errStatic {
		t.Error(err)
	}
}
