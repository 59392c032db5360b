package guided

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tracerag/knowledge/knowledgetest"
	"tracerag/llm"
	"tracerag/llm/metered"
	"tracerag/locate"
)

// app has a function that words find (Draw), and one that only somebody who understands the
// report finds (pad).
var app = map[string]string{
	"go.mod": "module example.com/app\n",
	"draw.go": "// Package app draws.\npackage app\n\n// Draw draws the border of a table.\nfunc Draw() { s := \"border\"\n\t// the border of a table\n\tprintln(s) }\n\n" +
		"// Border is drawn by Draw.\ntype Border struct{}\n\nfunc (b *Border) Len() int { return 0 }\n",
	"width/width.go": "// Package width measures.\npackage width\n\n// Pad adds spaces.\nfunc Pad() {}\n\nfunc rest() {}\n",
	"text/text.go":   "package text\n\nfunc Split() {}\n",
	"json/json.go":   "package json\n\nfunc Parse() {}\n",
	"draw_test.go":   "package app\n\nfunc TestDraw() {}\n",
}

// chat is a scripted model: what it answers to each question in turn, or to all of them by a
// function. It keeps the prompts.
type chat struct {
	answers []func(prompt string) string
	prompts []string
}

func (c *chat) ask(_ context.Context, r llm.Request, _ io.Writer) (llm.Answer, error) {
	prompt := r.Messages[len(r.Messages)-1].Content
	c.prompts = append(c.prompts, prompt)
	if len(c.answers) == 0 {
		return llm.Answer{}, errors.New("no more answers")
	}
	answer := c.answers[0]
	if len(c.answers) > 1 {
		c.answers = c.answers[1:]
	}
	return llm.Answer{Text: answer(prompt), FinishReason: "stop"}, nil
}

// countTokens counts words and signs, as a tokenizer does more or less.
func countTokens(text string) int { return len(word.FindAllString(text, -1)) }

var word = regexp.MustCompile(`\w{1,6}|[^\w\s]|\n`)

func say(text string) func(string) string { return func(string) string { return text } }

// bracketOf is the number that a list in a prompt gives a name, "[7]".
func bracketOf(prompt, name string) string {
	m := regexp.MustCompile(`(?m)^ *(\[\d+\]) ` + regexp.QuoteMeta(name) + `(?:  .*)?$`).FindStringSubmatch(prompt)
	if m == nil {
		return "[0]"
	}
	return m[1]
}

// name answers with the numbers of names, and a reason.
func name(names ...string) func(string) string {
	return func(prompt string) string {
		var b strings.Builder
		for _, n := range names {
			if strings.HasSuffix(n, ":") {
				fmt.Fprintln(&b, n)
			} else {
				fmt.Fprintf(&b, "%s the cause is here\n", bracketOf(prompt, n))
			}
		}
		return b.String()
	}
}

// chatGuide is a guide over repositories a, b, ..., whose model is a chat.
func chatGuide(window int, repos ...map[string]string) (*Guide, *chat) {
	g, c := guideOf(nil, repos...), &chat{}
	g.Model = metered.New(metered.Options{Model: "scripted", Ask: c.ask, Window: window, MaxTokens: window / 8, Count: countTokens})
	return g, c
}

func guideOf(model any, texts ...map[string]string) *Guide {
	store := &knowledgetest.Store{}
	for i, files := range texts {
		in := map[string][]byte{}
		for p, text := range files {
			in[p] = []byte(text)
		}
		store.Repos = append(store.Repos, new(knowledgetest.Parser).Parse(string(rune('a'+i)), in, nil))
	}
	return &Guide{Store: store, Options: locate.Options{Text: store.Text}}
}

func run(t *testing.T, g *Guide, how How) *Answer {
	t.Helper()
	a, err := g.Locate(t.Context(), locate.Question{Text: "the border of a table is cut"}, how)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func functions(a *Answer) (names []string) {
	for _, f := range a.Functions {
		names = append(names, f.Name)
	}
	return names
}

// TestWords: without a model there is the answer of package locate, and nothing else.
func TestWords(t *testing.T) {
	g, _ := chatGuide(8000, app)
	g.Model = nil
	if a := run(t, g, Words); functions(a)[0] != "Draw" || a.How != Words || a.Totals.Questions != 0 {
		t.Errorf("%+v", a)
	}
	if _, err := g.Locate(t.Context(), locate.Question{Text: "x"}, Rerank); !errors.Is(err, ErrNoModel) {
		t.Error(err)
	}
	unknown := new(UnknownError)
	if _, err := g.Locate(t.Context(), locate.Question{Text: "x"}, "guess"); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "must be one of words, rerank, levels, summaries, search") {
		t.Error(err)
	}
}

// TestRerank: the model's order comes first, with its reasons; the others keep theirs. Functions
// without a word of the report are named, too.
func TestRerank(t *testing.T) {
	g, c := chatGuide(8000, app)
	c.answers = []func(string) string{name("(*Border).Len")}
	a := run(t, g, Rerank)
	if got := functions(a); !slices.Equal(got, []string{"(*Border).Len", "Draw"}) {
		t.Error(got, c.prompts)
	}
	if got := locate.Why(a.Functions[0].Reasons); !strings.HasPrefix(got, "the model: the cause is here") {
		t.Error(got)
	}
	for _, want := range []string{
		"REPORT ", "the border of a table is cut", "[1] Draw  draw.go:5\n    func Draw()\n    Draw draws the border of a table.\n    > // the border of a table\n",
	} {
		if !strings.Contains(c.prompts[0], want) {
			t.Errorf("the prompt lacks %q:\n%s", want, c.prompts[0])
		}
	}
	if strings.Contains(c.prompts[0], "TestDraw") || a.Totals.Questions != 1 {
		t.Error(c.prompts[0], a.Totals)
	}
}

// TestLevels: packages, files and functions are asked for in turn, and the way to each function
// is kept. What words chose is carried along.
func TestLevels(t *testing.T) {
	g, c := chatGuide(8000, app)
	c.answers = []func(string) string{name("example.com/app/width"), name("width/width.go"), name("Pad")}
	a := run(t, g, Levels)
	if got := functions(a); got[0] != "Pad" || got[1] != "Draw" {
		t.Error(got)
	}
	if got, want := fmt.Sprint(a.Ways[0]), "[{package example.com/app/width the cause is here} {file width/width.go the cause is here}]"; got != want {
		t.Error(got)
	}
	if got, want := fmt.Sprint(a.Ways[1]), "[{package example.com/app by words} {file draw.go by words}]"; got != want {
		t.Error(got)
	}
	if a.Totals.Questions != 3 || a.Files[0].File != "width/width.go" || len(a.Notes) != 0 {
		t.Errorf("%+v", a)
	}
}

// TestLevelsRoute: with several repositories the first question is about them.
func TestLevelsRoute(t *testing.T) {
	other := map[string]string{"go.mod": "module example.com/other\n", "o.go": "package other\n\n// Fold folds.\nfunc Fold() {}\n"}
	g, c := chatGuide(8000, app, other)
	c.answers = []func(string) string{name("b"), name("example.com/other"), name("b:o.go"), name("Fold")}
	a := run(t, g, Levels)
	if got := functions(a); got[0] != "Fold" || a.Repositories[0].Name != "b" {
		t.Error(got, a.Repositories)
	}
	if got, want := fmt.Sprint(a.Ways[0]), "[{repository b the cause is here} {package example.com/other the cause is here} {file o.go the cause is here}]"; got != want {
		t.Error(got)
	}
	if a.Totals.Questions != 4 {
		t.Error(a.Totals, c.prompts)
	}
}

// TestSummaries: a short list by one line a file, then lists by what declarations do.
func TestSummaries(t *testing.T) {
	g, c := chatGuide(8000, app)
	c.answers = []func(string) string{name("width/width.go"), func(prompt string) string {
		return "WRITE:\n" + bracketOf(prompt, "Pad") + " adds too few\nREAD:\n" + bracketOf(prompt, "Draw") + " calls it\n" + bracketOf(prompt, "draw.go") + " is around\nNEW:\nwidth/runes.go: the width of runes\n"
	}}
	a := run(t, g, Summaries)
	if got := functions(a); !slices.Equal(got, []string{"Pad", "Draw", "(*Border).Len"}) {
		t.Error(got)
	}
	if got, want := fmt.Sprint(a.Write, a.Read, a.New), "[{ width/width.go Pad adds too few}] [{ draw.go Draw calls it} { draw.go  is around}] [{ width/runes.go  the width of runes}]"; got != want {
		t.Errorf("%s\n%s", got, c.prompts[1])
	}
	for _, want := range []string{"] width/width.go  Package width measures. Pad, rest\n", "  [2] Pad  (): Pad adds spaces.\n  [3] rest  ()\n"} {
		if !strings.Contains(c.prompts[0]+c.prompts[1], want) {
			t.Errorf("the prompts lack %q:\n%s", want, c.prompts)
		}
	}
	if a.Totals.Questions != 2 {
		t.Error(a.Totals)
	}
}
