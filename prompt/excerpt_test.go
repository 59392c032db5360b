package prompt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tracerag/source"
	"tracerag/trace"
)

// longText is a function of n cases, whose line 10 is its first.
func longText(n int) source.Text {
	var b strings.Builder
	b.WriteString("func step(op int) int {\n\tswitch op {\n")
	for i := range n {
		fmt.Fprintf(&b, "\tcase %d:\n\t\treturn handle%s(op, \"value number %d of the machine\")\n", i, strings.Repeat("X", i%7), i)
	}
	b.WriteString("\t}\n\treturn 0\n}")
	body := b.String()
	return source.Text{
		Display: "vm.go", Start: 10, End: 10 + strings.Count(body, "\n"), DocStart: 9, Doc: "// step does one.\n", Signature: "func step(op int) int", Body: body,
	}
}

// statesOf are the lines of longText(n) of which only these cases ran.
func statesOf(n int, ran ...int) trace.Lines {
	s := []byte("rr") // func and switch
	for i := range n {
		if slices.Contains(ran, i) {
			s = append(s, "rr"...)
		} else {
			s = append(s, "rn"...) // the expressions of a switch are looked at one after the other
		}
	}
	return trace.Lines{First: 10, States: string(s) + ".n"}
}

func inputLong(t *testing.T, text source.Text, lines ...trace.Lines) Input {
	return Input{
		Question: "Why?",
		Runs:     []Run{{Tree: makeTree(t, "main.step")}},
		Source:   func(trace.Function) source.Text { return text },
		Lines:    func(trace.Function) []trace.Lines { return lines },
	}
}

func longItem(t *testing.T, in Input) (*material, *item) {
	t.Helper()
	m, err := collect(in)
	if err != nil {
		t.Fatal(err)
	}
	return m, m.runs[0].once[0]
}

func TestRan(t *testing.T) {
	m, it := longItem(t, inputLong(t, longText(4), statesOf(4, 1)))
	want := `// step does one.
func step(op int) int {
	switch op {
[lines 12-13 left out: did not run]
	case 1:
		return handleX(op, "value number 1 of the machine")
[lines 16-19 left out: did not run]
	}
	return 0
}`
	if got := m.at(it, TierRan); got == nil || got.text != want || got.elided != 6 || got.tier != TierRan {
		t.Errorf("got %+v, want\n%s", got, want)
	}
}

// Lines are those of what was compiled, and closures have their own.
func TestRanNeedsToKnow(t *testing.T) {
	text := longText(4)
	if m, it := longItem(t, inputLong(t, text)); m.at(it, TierRan) != nil {
		t.Error("a function of whose lines nothing is known has them left out")
	}
	if m, it := longItem(t, inputLong(t, text, statesOf(4, 0, 1, 2, 3))); m.at(it, TierRan) != nil {
		t.Error("something is left out where all but the last return ran, which is too short for a mark")
	}
	if m, it := longItem(t, inputLong(t, text, statesOf(4, 1), statesOf(4, 0, 2, 3))); m.at(it, TierRan) != nil {
		t.Error("what one of two runs did is left out")
	}
	text.Warning = "vm.go was changed"
	if m, it := longItem(t, inputLong(t, text, statesOf(4, 1))); m.at(it, TierRan) != nil {
		t.Error("lines of a text that is not what ran are left out")
	}

	in := Input{
		Runs: []Run{{Tree: makeTree(t, "main.f\n  main.f.func1")}},
		Source: func(fn trace.Function) source.Text {
			t := source.Text{Display: "f.go", Start: 1, End: 6, Signature: "func f()", Body: "func f() {\n\tdo(func() {\n\t\ta()\n\t\tb(\"one that is worth a mark of its own\")\n\t})\n}"}
			if fn.Name == "main.f.func1" {
				t = source.Text{Kind: source.Closure, Display: "f.go", Start: 2, End: 5, Body: "func() {\n\t\ta()\n\t\tb(\"one that is worth a mark of its own\")\n\t}", Parent: "main.f"}
			}
			return t
		},
		Lines: func(fn trace.Function) []trace.Lines {
			if fn.Name == "main.f.func1" {
				return []trace.Lines{{First: 3, States: "rn"}}
			}
			return []trace.Lines{{First: 1, States: "rr"}}
		},
	}
	m, it := longItem(t, in)
	if got := m.at(it, TierRan); got == nil || got.elided != 1 || !strings.Contains(got.text, "\t\ta()\n[line 4 left out: did not run]\n\t})") {
		t.Errorf("a closure in a function: %+v", got)
	}
}

func TestWindow(t *testing.T) {
	in := inputLong(t, longText(200))
	in.Question = "Where does value number 137 come from?"
	m, it := longItem(t, in)
	w := m.at(it, TierWindow)
	for _, want := range []string{
		"// step does one.\nfunc step(op int) int {\n",
		"\tcase 134:\n", "value number 137", "\tcase 140:\n", // around the rarest of the words
		"\n[lines ", "\n}",
	} {
		if !strings.Contains(w.text, want) {
			t.Errorf("the window lacks %q:\n%s", want, w.text)
		}
	}
	if strings.Contains(w.text, "value number 180 ") || len(w.text) > windowBytes*3/2 {
		t.Errorf("the window has %d bytes:\n%s", len(w.text), w.text)
	}
	if strings.Contains(w.text, "did not run") {
		t.Error("the window says that something did not run, which nobody knows")
	}

	// What did not run is not what the question is about.
	in.Lines = func(trace.Function) []trace.Lines { return []trace.Lines{statesOf(200, 3, 150)} }
	m, it = longItem(t, in)
	w = m.at(it, TierWindow)
	if strings.Contains(w.text, "value number 137") || !strings.Contains(w.text, "value number 3 ") || !strings.Contains(w.text, ": did not run]\n") {
		t.Errorf("the window of what ran:\n%s", w.text)
	}

	// Without words to go by it is the beginning.
	in = inputLong(t, longText(200))
	in.Question = ""
	m, it = longItem(t, in)
	if w = m.at(it, TierWindow); !strings.Contains(w.text, "value number 20 ") || strings.Count(w.text, "left out") != 1 {
		t.Errorf("the window without a question:\n%s", w.text)
	}
}

// A table has no statements, and may have all of its entries on one line.
func TestWindowOfATable(t *testing.T) {
	var b strings.Builder
	b.WriteString("emoji = map[string]string{\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "\t\":face_%d:\": \"\\U0001f%03x\",\n", i, i%4096)
	}
	b.WriteString("\t\":sparkles:\": \"\u2728\",\n}")
	text := source.Text{Kind: source.Closure, Display: "emoji.go", Start: 1, End: 5003, Signature: "emoji = ", Body: b.String(), Parent: "main.emoji"}
	in := inputLong(t, text)
	in.Question = "Which code writes the sparkles?"
	p := build(t, in, Options{Budget: 4_000})
	if f := p.Functions[0]; f.Tier != TierWindow || f.Tokens > 1_500 || p.Shown[0].Tokens[TierFull] < 50_000 {
		t.Errorf("a table of %d tokens: %+v", p.Shown[0].Tokens[TierFull], f)
	}
	for _, want := range []string{"emoji = map[string]string{\n\t\":face_0:\"", ":face_4999:", ":sparkles:", " left out]\n"} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("the prompt lacks %q", want)
		}
	}

	text.Body = "emoji = \"" + strings.Repeat("\u2728", 20_000) + "\""
	text.End = 1
	m, it := longItem(t, inputLong(t, text))
	if w := m.at(it, TierWindow); len(w.text) > 400 || !strings.HasSuffix(w.text, "\u2728\n[59,770 bytes of line 1 left out]") {
		t.Errorf("the window of one long line:\n%s", w.text)
	}
}

func TestBudgetOfALongFunction(t *testing.T) {
	var ran []int
	for i := range 80 {
		ran = append(ran, i)
	}
	in := inputLong(t, longText(200), statesOf(200, ran...))
	for budget, want := range map[int]Tier{10_000: TierFull, 3_500: TierRan, 1_450: TierWindow, 600: TierSignature} {
		p := build(t, in, Options{Budget: budget})
		if got := p.Shown[0].Tier; got != want {
			t.Errorf("budget %d: the function is %s, want %s: %v", budget, got, want, p.Shown[0].Tokens)
		}
	}
}

func TestWordsIn(t *testing.T) {
	got := slices.Sorted(maps.Keys(wordsIn("readAll(HTTPServer) a_b x2 exit 7, Größe utf8")))
	if want := "7 all exit größe http httpserver read readall server utf utf8"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
}
