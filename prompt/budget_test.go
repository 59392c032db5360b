package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tracerag/phrase"
	"tracerag/prompt/tokens"
	"tracerag/source"
	"tracerag/trace"
)

// about scores functions whose names have any of the words; the others are alike.
func about(words ...string) func(trace.Function) (float64, string) {
	return func(fn trace.Function) (float64, string) {
		for i, w := range words {
			if strings.Contains(fn.Name, w) {
				return float64(len(words) - i), "named " + w
			}
		}
		return 0, ""
	}
}

func TestBudgetGolden(t *testing.T) {
	for _, tt := range []struct {
		name   string
		in     Input
		o      Options
		budget int
	}{
		{"budget-one.md", inputCSV(t), Options{}, 750},
		{"budget-one.xml", inputCSV(t), Options{Format: XML}, 750},
		{"budget-one.json", inputCSV(t), Options{Format: JSON}, 750},
		{"budget-one-CA.md", inputCSV(t), Options{Variant: SortedNoTree}, 180},
		{"budget-one-T.md", inputCSV(t), Options{Variant: TreeOnly}, 100},
		{"budget-two.md", inputTwo(t), Options{}, 830},
		{"budget-template.txt", inputTwo(t), Options{Template: "{{.Question}}\n{{range .Runs}}{{.Tree}}{{range .Functions}}{{.Block}}{{end}}{{end}}\nleft out: {{.Left}}\n"}, 300},
	} {
		tt.in.Score = about("Render", "pad")
		tt.o.Budget = tt.budget
		golden(t, tt.name, build(t, tt.in, tt.o).Text)
	}
}

// eachBudget builds for every variant, format and number of runs a prompt in
// several budgets, from the whole prompt's size down to where nothing fits, the
// larger ones first.
func eachBudget(t *testing.T, f func(t *testing.T, whole, p *Prompt, o Options)) {
	each(t, func(t *testing.T, in Input, o Options) {
		whole := build(t, in, o)
		in.Score = about("Render", "pad")
		for o.Budget = whole.Total + 10; o.Budget > 0; o.Budget -= 131 {
			p, err := Build(in, o)
			var over *OverBudgetError
			if errors.As(err, &over) {
				if over.Least <= o.Budget {
					t.Fatalf("the least prompt has %d tokens and does not fit into %d", over.Least, o.Budget)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			f(t, whole, p, o)
		}
	})
}

func TestBudgetHolds(t *testing.T) {
	eachBudget(t, func(t *testing.T, whole, p *Prompt, o Options) {
		if n := tokens.For("gpt-4o").Count(p.Text); n != p.Total || n > o.Budget {
			t.Errorf("budget %d: the text has %d tokens, the account %d", o.Budget, n, p.Total)
		}
		sum := 0
		for _, s := range p.Sections {
			sum += s.Tokens
		}
		if sum != p.Total {
			t.Errorf("budget %d: sections have %d tokens, the prompt %d", o.Budget, sum, p.Total)
		}
		if o.Budget >= whole.Total && p.Text != whole.Text {
			t.Errorf("budget %d is enough for all, and the prompt is another", o.Budget)
		}
		if o.Budget < whole.Total && p.Total >= whole.Total {
			t.Errorf("budget %d: nothing was left out of %d tokens", o.Budget, whole.Total)
		}
	})
}

// Whatever is not there is marked where it would be, and in the list.
func TestBudgetMarksWhatItLeavesOut(t *testing.T) {
	eachBudget(t, func(t *testing.T, whole, p *Prompt, o Options) {
		shown, left := map[string]Tier{}, 0
		for _, f := range p.Functions {
			shown[f.Name] = f.Tier
		}
		for _, f := range p.Shown {
			tier, ok := shown[f.Name]
			switch {
			case ok && tier != f.Tier:
				t.Errorf("budget %d: %s is listed as %s and stands there as %s", o.Budget, f.Name, f.Tier, tier)
			case !ok && f.Tier > TierLine:
				t.Errorf("budget %d: %s is listed as %s and is not there", o.Budget, f.Name, f.Tier)
			case !ok:
				left++
			}
		}
		if len(p.Shown) != len(whole.Functions) {
			t.Errorf("budget %d: of %d functions %d are listed", o.Budget, len(whole.Functions), len(p.Shown))
		}
		marked := strings.Contains(p.Text, "more function") || strings.Contains(p.Text, "left_out")
		if marked != (left > 0) {
			t.Errorf("budget %d: %d functions are left out; marked: %v", o.Budget, left, marked)
		}
		signatures := 0
		for _, tier := range shown {
			if tier == TierSignature {
				signatures++
			}
		}
		if n := strings.Count(p.Text, "[signature only: l"); n < signatures {
			t.Errorf("budget %d: %d signatures and %d marks", o.Budget, signatures, n)
		}
		if o.Variant.hasTree() {
			lines := 0
			for _, name := range []string{"main.main", "main.show", "csvview.pad", "csvview.(*Table).Render.func1"} {
				if !strings.Contains(p.Text, name) {
					lines++
				}
			}
			if lines > 0 && !strings.Contains(p.Text, "folded]") {
				t.Errorf("budget %d: nodes are left out of the tree without a mark", o.Budget)
			}
		}
		if o.Variant == Ordered && p.Total < whole.Total && !strings.Contains(p.Text, "What is least relevant") {
			t.Errorf("budget %d: the instructions do not say that something is left out", o.Budget)
		}
	})
}

func TestBudgetIsDeterministic(t *testing.T) {
	each(t, func(t *testing.T, in Input, o Options) {
		o.Budget = build(t, in, o).Total * 3 / 4
		a, errA := Build(in, o)
		b, errB := Build(in, o)
		if (errA == nil) != (errB == nil) {
			t.Fatal(errA, errB)
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if string(x) != string(y) {
			t.Error("two builds differ")
		}
	})
}

func TestBudgetFormatsAreWellFormed(t *testing.T) {
	eachBudget(t, func(t *testing.T, _, p *Prompt, o Options) {
		switch o.Format {
		case JSON:
			if !json.Valid([]byte(p.Text)) {
				t.Errorf("budget %d: not valid JSON:\n%s", o.Budget, p.Text)
			}
		case XML:
			checkXML(t, p.Text)
		case Markdown:
			if left := outsideFences(p.Text); strings.Contains(left, "func ") {
				t.Errorf("budget %d: code stands outside of code blocks:\n%s", o.Budget, left)
			}
		}
	})
}

// What the question is about is whole, whatever the tree and the other functions
// would like to have.
func TestBudgetKeepsWhatIsRelevant(t *testing.T) {
	in := large(400, 1)
	in.Score = about("pkg17.Function17", "pkg18.Function318", "pkg99.Function399")
	for _, budget := range []int{1_500, 4_000, 8_000, 30_000} {
		p := build(t, in, Options{Budget: budget})
		whole := map[string]bool{}
		for _, f := range p.Functions {
			whole[f.Name] = f.Tier == TierFull
		}
		for _, name := range []string{"pkg17.Function17", "pkg18.Function318", "pkg99.Function399"} {
			if !whole[name] {
				t.Errorf("budget %d: %s is not there in full", budget, name)
			}
			if !strings.Contains(p.Text, "\n  "+name) {
				t.Errorf("budget %d: %s is not in the tree", budget, name)
			}
		}
		// What neither matters nor calls what does has no room but in the tree, however
		// much there is. One function calls these three.
		if len(p.Functions) != 4 {
			t.Errorf("budget %d: %d functions have sources", budget, len(p.Functions))
		}
		if p.Total < min(budget, 8_000)*90/100 {
			t.Errorf("budget %d: only %d tokens are used", budget, p.Total)
		}
	}
}

func TestOverBudget(t *testing.T) {
	in := inputCSV(t)
	in.Question = strings.Repeat("Why, oh why? ", 100)
	_, err := Build(in, Options{Budget: 500})
	var over *OverBudgetError
	if !errors.As(err, &over) || over.Budget != 500 || over.Largest[0].Name != "instructions" && over.Largest[0].Name != "question" {
		t.Fatalf("%+v", err)
	}
	for _, want := range []string{"the budget is 500 tokens", phrase.Number(over.Least), "tokens  question", "tokens  instructions"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	if _, err := Build(in, Options{Budget: -1}); err == nil {
		t.Error("a budget below zero")
	}
}

func TestSignatureForms(t *testing.T) {
	doc := "// F does it.\n//\n" + strings.Repeat("// At length.\n", 60)
	for name, tt := range map[string]struct {
		text source.Text
		want string
	}{
		"function": {
			source.Text{Start: 5, End: 8, DocStart: 4, Doc: "// F does it.\n", Signature: "func F(a int) error", Body: "func F(a int) error {\n\treturn nil\n\n}"},
			"// F does it.\nfunc F(a int) error\n[signature only: lines 6-8 left out]",
		},
		"on several lines": {
			source.Text{Start: 5, End: 9, Signature: "func F(\n\ta int,\n)", Body: "func F(\n\ta int,\n) {\n\tx()\n}"},
			"func F(\n\ta int,\n)\n[signature only: lines 8-9 left out]",
		},
		"on one line": {
			source.Text{Start: 5, End: 5, Signature: "func F()", Body: "func F() { x(); y(); z() }"},
			"func F()\n[signature only: line 5 left out]",
		},
		"variable": {
			source.Text{Kind: source.Closure, Start: 5, End: 7, Signature: "table = ", Body: "table = map[string]int{\n\t\"a\": 1,\n}"},
			"table =\n[signature only: lines 6-7 left out]",
		},
		"long comment": {
			source.Text{Start: 63, End: 65, DocStart: 1, Doc: doc, Signature: "func F()", Body: "func F() {\n\tx()\n}"},
			"// F does it.\n[61 more lines of the comment left out]\nfunc F()\n[signature only: lines 64-65 left out]",
		},
	} {
		tt.text.Display = "f.go"
		m, err := collect(Input{Runs: []Run{{Tree: makeTree(t, "main.f")}}, Source: func(trace.Function) source.Text { return tt.text }})
		if err != nil {
			t.Fatal(err)
		}
		s := m.at(m.runs[0].once[0], TierSignature)
		if s.text != tt.want || s.tier != TierSignature {
			t.Errorf("%s:\n%s\nwant\n%s", name, s.text, tt.want)
		}
	}
}

// The instructions quote the marks.
func TestInstructionsMatchTheMarks(t *testing.T) {
	for _, mark := range []string{"[310 calls of 12 functions folded]", "[signature only: lines 31-36 left out]", "[lines 31-90 left out]", ": did not run"} {
		if !strings.Contains(instructionsCut, mark) {
			t.Errorf("the instructions do not have the mark %q", mark)
		}
	}
	text := build(t, large(100, 1), Options{Budget: 2_500}).Text
	for _, mark := range []string{" functions folded]", "[signature only: lines ", " left out]"} {
		if strings.Count(text, mark) <= strings.Count(instructionsCut, mark) {
			t.Errorf("no prompt has the mark %q", mark)
		}
	}
}

func ExampleFit() {
	items := []Item{
		{Score: 2, Tokens: [TierFull + 1]int{TierSignature: 30, TierFull: 900}},
		{Score: 9, Tokens: [TierFull + 1]int{TierSignature: 20, TierFull: 300}},
		{Score: 5, Tokens: [TierFull + 1]int{TierFull: 100}},
	}
	fmt.Println(Fit(items, 1000))
	// Output: [signature full full]
}
