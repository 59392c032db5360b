package summary

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"tracerag/knowledge"
	"tracerag/knowledge/knowledgetest"
	"tracerag/llm"
	"tracerag/llm/metered"
	"tracerag/llm/throttle"
)

// world is a repository with a scripted model.
type world struct {
	t       *testing.T
	kept    *overlay
	answers *answers
	reply   func(n int, q string) string // n counts from 1; nil replies rightly
	fail    func(n int) error

	window, maxTokens int

	mu    sync.Mutex
	asked []string
}

func newWorld(t *testing.T) *world {
	return &world{t: t, kept: &overlay{set: map[knowledge.SummaryKey]knowledge.Summary{}}, answers: &answers{m: map[string][]byte{}}, window: 128_000, maxTokens: 4000}
}

// answers keeps the model's answers.
type answers struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (a *answers) Answer(_ context.Context, key string) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.m[key], nil
}

func (a *answers) KeepAnswer(_ context.Context, key string, answer []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.m[key] = answer
	return nil
}

func words(s string) int { return len(strings.Fields(s)) + len(s)/20 }

func (w *world) ask(_ context.Context, r llm.Request, _ io.Writer) (llm.Answer, error) {
	user := r.Messages[len(r.Messages)-1].Content
	w.mu.Lock()
	w.asked = append(w.asked, user)
	n := len(w.asked)
	w.mu.Unlock()
	total := 0
	for _, m := range r.Messages {
		total += words(m.Content)
	}
	if total+w.maxTokens > w.window {
		w.t.Errorf("a prompt of %d tokens was sent to a window of %d", total, w.window)
	}
	if w.fail != nil {
		if err := w.fail(n); err != nil {
			return llm.Answer{}, err
		}
	}
	if w.reply != nil {
		return llm.Answer{Text: w.reply(n, user), FinishReason: "stop"}, nil
	}
	return llm.Answer{Text: right(user), FinishReason: "stop"}, nil
}

// labelsOf are the labels that a question asks for.
func labelsOf(q string) []string {
	_, rest, ok := strings.Cut(q, "Answer with these lines")
	if !ok {
		return nil
	}
	_, rest, _ = strings.Cut(rest, "\n\n")
	var out []string
	for line := range strings.Lines(rest) {
		label, _, _ := strings.Cut(line, ":")
		out = append(out, label)
	}
	return out
}

// right is a reply in the form asked for.
func right(q string) string {
	var b strings.Builder
	for _, l := range labelsOf(q) {
		fmt.Fprintf(&b, "%s: does what %s does\n", l, l)
	}
	if b.Len() == 0 {
		return "All of it together."
	}
	return b.String()
}

// maker is one process: what another one kept is all that it knows.
func (w *world) maker(texts map[string]string) (*Maker, []knowledge.File, *knowledge.Repository) {
	w.t.Helper()
	raw := map[string][]byte{"go.mod": []byte("module example.com/table\n")}
	for name, text := range texts {
		raw[name] = []byte(text)
	}
	store := &knowledgetest.Store{Repos: []*knowledgetest.Repository{new(knowledgetest.Parser).Parse("table", raw, nil)}}
	m := metered.New(metered.Options{Model: "m", Ask: w.ask, Window: w.window, MaxTokens: w.maxTokens, Count: words, Keeper: w.answers, Limits: throttle.Limits{Parallel: 2}})
	files, err := store.Product(w.t.Context(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	repositories, err := store.Repositories(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return &Maker{Book: &Book{Store: store, Read: store.Text, Kept: w.kept, Model: "m"}, Model: m, Parallel: 2}, files, &repositories[0]
}

// run makes everything, and returns how many questions were sent and what was made.
func (w *world) run(texts map[string]string) (int, Made, error) {
	w.t.Helper()
	k, files, r := w.maker(texts)
	before := len(w.asked)
	err := k.Files(w.t.Context(), files)
	if err == nil {
		err = k.Above(w.t.Context(), r)
	}
	return len(w.asked) - before, k.Made(), err
}

func (w *world) must(texts map[string]string) (int, Made) {
	w.t.Helper()
	n, made, err := w.run(texts)
	if err != nil {
		w.t.Fatal(err)
	}
	return n, made
}

// shown is what a book has of the files.
func (w *world) shown(texts map[string]string) string {
	w.t.Helper()
	k, files, r := w.maker(texts)
	list, err := k.Book.Files(w.t.Context(), files)
	if err != nil {
		w.t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%s: %s\n", f.Path, f.Line)
		for _, d := range f.Decls {
			fmt.Fprintf(&b, "  %s: %s\n", d.Symbol(), d.Text)
		}
	}
	packages, err := k.Book.Packages(w.t.Context(), r.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range packages {
		fmt.Fprintf(&b, "%s: %s\n", p.ImportPath, p.Text)
	}
	text, _, err := k.Book.Repository(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	fmt.Fprintf(&b, "repository: %s\n", text)
	return b.String()
}

const drawGo = `// Package table draws tables.
package table

// Draw draws the border.
func Draw(w int) { pad(w) }

func pad(w int) { if w < 0 { panic("the width is negative") } }

const (
	thin = iota
	thick
)

// Table is what is drawn.
type Table struct{ Rows int }

func (t *Table) Add(n int) { t.Rows += n }

func (t Table) Len() int { return t.Rows }

var _ = Table{}
`

const rowGo = `package table

func init() { Draw(1) }

func init() { Draw(2) }
`

func small() map[string]string {
	return map[string]string{"draw.go": drawGo, "row.go": rowGo, "cmd/main.go": "package main\n\nfunc main() {}\n", "draw_test.go": "package table\n\nfunc helper() {}\n"}
}
