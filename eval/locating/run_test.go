package locating

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tracerag/bench/corpus/corpustest"
	"tracerag/code"
	"tracerag/eval/results"
	"tracerag/eval/retrieval"
	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/lookup"
	"tracerag/knowledge/stores"
	"tracerag/llm"
	"tracerag/llm/metered"
	"tracerag/llm/throttle"
	"tracerag/locate"
	"tracerag/locate/guided"
	"tracerag/summary"
)

const appGo = `package app

// Draw draws the border of a table.
func Draw() { pad() }

func pad() {}
`

// setting is a clone of two commits, of which the second adds a function, and cases about both.
func setting(t *testing.T) Options {
	t.Helper()
	corpus, clones := corpustest.Corpus{
		Cases: `{"id":"before","repo":"example/app","base_commit":"BASE","report":"the thick border","gold":[{"file":"app.go","function":"Draw"}],"gold_files":["app.go"]}` + "\n" +
			`{"id":"now","report":"the thick border","functions":["thickBorder"]}` + "\n" +
			`{"id":"gone","repo":"example/app","base_commit":"BASE","report":"the thick border","gold":[{"file":"app.go","function":"thickBorder"}],"gold_files":["other.go"]}` + "\n",
		Base:    map[string]string{"go.mod": "module example.com/app\n\ngo 1.26\n", "app.go": appGo, "app_test.go": "package app\n\nfunc border() {}\n"},
		Fixed:   map[string]string{"app.go": appGo + "\n// thickBorder is a thick border.\nfunc thickBorder() {}\n"},
		Subject: "a thick border",
	}.Write(t)
	cases, err := Read(filepath.Join(corpus, "dev.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	dir, err := results.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dir.Close)
	return Options{Cases: cases, How: []guided.How{guided.Words}, Trees: []string{filepath.Join(clones, "example", "app")}, Clones: clones,
		Knowledge: inFile(t), Results: dir}
}

func outcome(t *testing.T, r *Report, id string, how guided.How) *Outcome {
	t.Helper()
	i := slices.IndexFunc(r.Outcomes, func(o Outcome) bool { return o.Case == id && o.How == how })
	if i < 0 {
		t.Fatalf("no outcome of %s by %s", id, how)
	}
	return &r.Outcomes[i]
}

// TestRun: a case with a commit is located in that commit, one without in the working tree, and
// of neither anything is left behind.
func TestRun(t *testing.T) {
	o := setting(t)
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []guided.How{guided.Words, BM25, BM25Plus} {
		for id, at := range map[string][]int{"before": {1}, "now": {1}, "gone": nil} {
			if got := outcome(t, r, id, how).Functions; !slices.Equal(got.At, at) || got.Wanted != 1 {
				t.Errorf("%s by %s: %v, want %v", id, how, got, at)
			}
		}
	}
	for _, how := range []guided.How{BM25Files, BM25PlusFiles} {
		x := outcome(t, r, "before", how)
		if !slices.Equal(x.Files.At, []int{1}) || len(x.Functions.At) > 0 || !x.FilesEqual || x.FunctionsEqual {
			t.Errorf("%s: %+v", how, x)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestKeepsOutcomes: what is known is not measured again, until something that it depends on is
// another one.
func TestKeepsOutcomes(t *testing.T) {
	o := setting(t)
	first, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	seconds := outcome(t, first, "before", guided.Words).Seconds
	same := func(id string) bool {
		t.Helper()
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return outcome(t, r, id, guided.Words).Seconds == seconds
	}
	if !same("before") {
		t.Error("a second run measured again")
	}
	if err := os.WriteFile(filepath.Join(o.Trees[0], "app.go"), []byte(appGo), 0o600); err != nil {
		t.Fatal(err)
	}
	if !same("before") {
		t.Error("a change of the working tree counted for a commit")
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if at := outcome(t, r, "now", guided.Words).Functions.At; len(at) > 0 {
		t.Errorf("the function is not in the working tree any more, and is found at %v", at)
	}
	o.Version = "another"
	if same("before") {
		t.Error("an outcome of another version counted")
	}
	o.Cases[0].Report += "!"
	seconds = -1
	if same("before") {
		t.Error("an outcome of another report counted")
	}
}

// script is a model that puts pad first, and counts.
type script struct {
	asked  int
	prompt string // the last one
	fail   func(asked int) error
}

func (s *script) ask(_ context.Context, r llm.Request, _ io.Writer) (llm.Answer, error) {
	s.asked++
	if s.fail != nil {
		if err := s.fail(s.asked); err != nil {
			return llm.Answer{}, err
		}
	}
	prompt := r.Messages[len(r.Messages)-1].Content
	s.prompt = prompt
	m := regexp.MustCompile(`(?m)^ *\[(\d+)\] pad`).FindStringSubmatch(prompt)
	if m == nil {
		return llm.Answer{Text: "[1] it is the first", FinishReason: "stop"}, nil
	}
	return llm.Answer{Text: "[" + m[1] + "] it pads", FinishReason: "stop", Usage: &llm.Usage{PromptTokens: 1000, CompletionTokens: 10}}, nil
}

func (s *script) use(o *Options) {
	o.Model = func(keep metered.Keeper, tell func(metered.Exchange), spent float64) (*metered.Model, error) {
		return metered.New(metered.Options{Model: "gpt-4o", Ask: s.ask, Window: 100_000, MaxTokens: 500, Count: func(s string) int { return len(s) / 4 },
			Limits: throttle.Limits{MaxCost: 1, Spent: spent}, Keeper: keep, Tell: tell}), nil
	}
}

// TestModel: what a case takes of a model is counted, and a second run asks nothing.
func TestModel(t *testing.T) {
	o := setting(t)
	o.Cases[0].Functions[0].Name = "pad"
	o.How = []guided.How{guided.Words, guided.Rerank}
	var s script
	s.use(&o)
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	x := outcome(t, r, "before", guided.Rerank)
	if !slices.Equal(x.Functions.At, []int{1}) || x.Questions != 1 || x.Prompt != 1000 || x.Answered != 10 || x.Cost <= 0 || x.Model != "gpt-4o" {
		t.Errorf("%+v", x)
	}
	if s.asked == 0 || len(r.Open) > 0 {
		t.Fatalf("asked %d times, open %v", s.asked, r.Open)
	}
	spent, err := keeper{o.Results}.spent()
	if err != nil || spent <= 0 {
		t.Errorf("$%v are spent: %v", spent, err)
	}
	before := s.asked
	again, err := Run(t.Context(), o)
	if err != nil || s.asked != before {
		t.Errorf("the second run asked %d questions: %v", s.asked-before, err)
	}
	if a, b := tables(t, r), tables(t, again); a != b {
		t.Errorf("the second run says\n%s\nthe first\n%s", b, a)
	}
	// An answer outlives its outcome: another version asks nothing again either, and it counts
	// what the answers took.
	o.Version = "another"
	if again, err = Run(t.Context(), o); err != nil || s.asked != before {
		t.Errorf("another version asked %d questions: %v", s.asked-before, err)
	}
	if x := outcome(t, again, "before", guided.Rerank); x.Questions != 1 || x.Prompt != 1000 {
		t.Errorf("of kept answers: %+v", x)
	}
	if now, err := (keeper{o.Results}).spent(); err != nil || now != spent {
		t.Errorf("$%v are spent, and were $%v: %v", now, spent, err)
	}
}

// hidden counts what it sees, and hides nothing.
type hidden struct{ located, learned, cleaned int }

func (h *hidden) Located(*locate.Answer)   { h.located++ }
func (h *hidden) LearnTexts(list []string) { h.learned += len(list) }
func (h *hidden) Clean(text string) string { h.cleaned++; return text }

// TestSecretsAreLearned: what hides secrets sees what words found, and every file of which a model
// is sent a part, in commits and in working trees.
func TestSecretsAreLearned(t *testing.T) {
	o := setting(t)
	o.How = []guided.How{guided.Rerank}
	var s script
	s.use(&o)
	h := new(hidden)
	o.Secrets = h
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if h.located < len(o.Cases) || h.learned < len(o.Cases) || h.cleaned == 0 {
		t.Errorf("of %d cases: %+v", len(o.Cases), *h)
	}
}

// TestSummariesOfTrees: what a model said of a function of the working tree is what a commit that
// has the same function is located by, too.
func TestSummariesOfTrees(t *testing.T) {
	o := setting(t)
	ctx := t.Context()
	store, err := o.Knowledge.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	in, err := index.Update(ctx, store, o.Trees[0], index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := store.Product(ctx, in.Repository.ID)
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^((?:file|func [a-zA-Z]+):).*$`)
	says := metered.New(metered.Options{Model: "gpt-4o", Window: 100_000, MaxTokens: 500, Count: func(s string) int { return len(s) / 4 },
		Ask: func(_ context.Context, r llm.Request, _ io.Writer) (llm.Answer, error) {
			_, form, _ := strings.Cut(r.Messages[len(r.Messages)-1].Content, "Answer with these lines")
			return llm.Answer{Text: lines.ReplaceAllString(form, "$1 it scribbles"), FinishReason: "stop"}, nil
		}})
	book := &summary.Book{Store: store, Read: lookup.ReadTree, Kept: store, Model: "gpt-4o"}
	if err := (&summary.Maker{Book: book, Model: says}).Files(ctx, files); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	o.Cases, o.How = o.Cases[:1], []guided.How{guided.Rerank}
	var s script
	s.use(&o)
	if r, err := Run(ctx, o); err != nil || len(r.Open) > 0 {
		t.Fatal(r, err)
	}
	if !strings.Contains(s.prompt, "it scribbles") {
		t.Errorf("the summary is not in\n%s", s.prompt)
	}
}

// TestCallsOfTrees: working trees have their calls, commits none.
func TestCallsOfTrees(t *testing.T) {
	o := setting(t)
	made := 0
	o.Calls = func(context.Context, *code.Listing) ([]knowledge.Call, []string, error) {
		made++
		return nil, nil, nil
	}
	if _, err := Run(t.Context(), o); err != nil || made != 1 {
		t.Errorf("calls were made %d times: %v", made, err)
	}
}

func tables(t *testing.T, r *Report) string {
	t.Helper()
	r.Count([]int{1, 3})
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestGoesOn: an interruption loses the case under way at most; the same run again asks what is
// left.
func TestGoesOn(t *testing.T) {
	o := setting(t)
	o.How = []guided.How{guided.Rerank}
	var whole script
	whole.use(&o)
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.Results = func() *results.Dir {
		dir, err := results.Open(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(dir.Close)
		return dir
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	broken := script{fail: func(n int) error {
		if n < whole.asked {
			return nil
		}
		cancel()
		return context.Canceled
	}}
	broken.use(&o)
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	if _, err := os.Stat(o.Results.Path("commits")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("commits are left: %v", err)
	}
	killed := o.Results.Path("commits", "1", "tree") // what a process that was killed leaves
	if err := os.MkdirAll(killed, 0o700); err != nil {
		t.Fatal(err)
	}
	var rest script
	rest.use(&o)
	r, err := Run(t.Context(), o)
	if err != nil || rest.asked != 1 || len(r.Open) > 0 {
		t.Errorf("%d questions were asked after the interruption, of %d: %v", rest.asked, whole.asked, err)
	}
	if _, err := os.Stat(killed); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("commits are left: %v", err)
	}
}

// TestModelFails: what needs no model is measured, and the rest is open.
func TestModelFails(t *testing.T) {
	o := setting(t)
	o.How = []guided.How{guided.Words, guided.Rerank}
	s := script{fail: func(int) error { return &llm.Error{Kind: llm.KindAuth} }}
	s.use(&o)
	r, err := Run(t.Context(), o)
	if err != nil || s.asked != 1 || len(r.Open) != len(o.Cases) {
		t.Fatalf("asked %d times, open %v: %v", s.asked, r.Open, err)
	}
	outcome(t, r, "now", guided.Words)
	s.fail = nil
	s.use(&o)
	if r, err = Run(t.Context(), o); err != nil || len(r.Open) > 0 {
		t.Errorf("the key is right again: open %v, %v", r.Open, err)
	}
}

// TestMissingCommit: a commit that a clone lacks leaves its case open, and the others are measured.
func TestMissingCommit(t *testing.T) {
	o := setting(t)
	missing := *o.Cases[0]
	missing.ID, missing.Commit = "missing", "0123456"
	o.Cases = append([]*Case{&missing}, o.Cases...)
	r, err := Run(t.Context(), o)
	if err != nil || len(r.Open) != len(Baselines())+len(o.How) || !strings.Contains(r.Open[0].Why, "has no commit 0123456: git fetch") {
		t.Fatalf("open %v: %v", r.Open, err)
	}
	for _, c := range o.Cases[1:] {
		outcome(t, r, c.ID, BM25)
	}
}

// TestRunRefuses: what cannot be measured is said before anything is.
func TestRunRefuses(t *testing.T) {
	o := setting(t)
	for what, change := range map[string]func(*Options){
		"no working tree":     func(o *Options) { o.Trees = nil },
		"clones is not known": func(o *Options) { o.Clones = "" },
		"no git clone of":     func(o *Options) { o.Clones = t.TempDir() },
		"unknown strategy":    func(o *Options) { o.How = []guided.How{"guess"} },
	} {
		changed := o
		change(&changed)
		if _, err := Run(t.Context(), changed); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	none := (*index.NoCloneError)(nil)
	o.Clones = t.TempDir()
	if _, err := Run(t.Context(), o); !errors.As(err, &none) {
		t.Errorf("%v", err)
	}
}

// TestJudge counts as Meta-RAG does, in both readings.
func TestJudge(t *testing.T) {
	c := &Case{ID: "a", Repo: "x/app", Files: []string{"a.go", "b.go"}, Functions: []Function{{"a.go", "F"}, {"", "G"}}}
	at := func(ps ...string) (out []place) {
		for _, p := range ps {
			f := strings.Fields(p + " - -")
			out = append(out, place{"app", f[0], strings.Trim(f[1], "-")})
		}
		return out
	}
	for _, tt := range []struct {
		name                       string
		named                      []place
		equal, in, filesEq, fileIn bool
	}{
		{"all of it", at("a.go F", "b.go G"), true, true, true, true},
		{"more", at("a.go F", "b.go G", "b.go H", "c.go X"), false, true, false, true},
		{"a part", at("a.go F"), false, false, false, false},
		{"the files alone", at("a.go", "b.go"), false, false, true, true},
		{"elsewhere", []place{{"lib", "a.go", "F"}, {"lib", "b.go", "G"}}, false, false, false, false},
		{"nothing is said", nil, false, false, false, false},
	} {
		o := judge(c, &order{named: tt.named, functions: at("a.go F", "b.go G"), files: at("a.go", "b.go")})
		if o.FunctionsEqual != tt.equal || o.FunctionsIn != tt.in || o.FilesEqual != tt.filesEq || o.FilesIn != tt.fileIn {
			t.Errorf("%s: %+v", tt.name, o)
		}
	}
	o := judge(c, &order{functions: at("c.go F", "b.go G", "a.go F", "a.go F", "c.go G"), files: at("c.go", "b.go"),
		repositories: []place{{repository: "lib"}, {repository: "app"}}})
	if !slices.Equal(o.Functions.At, []int{2, 3}) || o.Functions.Wanted != 2 || !slices.Equal(o.Files.At, []int{2}) || o.Repositories == nil || !slices.Equal(o.Repositories.At, []int{2}) {
		t.Errorf("%+v %v", o, o.Repositories)
	}
	// Without a list the first function is what a strategy says.
	one := &Case{ID: "b", Files: []string{"a.go"}, Functions: []Function{{"a.go", "F"}}}
	if o := judge(one, &order{functions: at("a.go F", "b.go G"), files: at("a.go", "b.go")}); !o.FunctionsEqual || !o.FilesEqual {
		t.Errorf("%+v", o)
	}
}

// TestCount: the figures of the tables, by hand.
func TestCount(t *testing.T) {
	found := func(id string, how guided.How, wanted int, at ...int) Outcome {
		return Outcome{Case: id, How: how, Functions: retrieval.Ranks{At: at, Wanted: wanted}, Files: retrieval.Ranks{At: at, Wanted: max(wanted, 1)},
			FunctionsEqual: len(at) > 0 && wanted > 0, FilesIn: true, Questions: 2, Prompt: 90, Answered: 10, Seconds: 3}
	}
	r := &Report{Cases: 3, Outcomes: []Outcome{
		found("a", BM25, 1, 4), found("b", BM25, 2, 2), found("c", BM25, 0),
		found("a", guided.Words, 1, 1), found("b", guided.Words, 2, 2, 3), found("c", guided.Words, 0),
		{Case: "a", How: BM25Files, Files: retrieval.Ranks{At: []int{1}, Wanted: 1}, Functions: retrieval.Ranks{Wanted: 1}},
	}}
	got := tables(t, r)
	for _, want := range []string{
		"3 cases\n",
		"bm25 *2 *0.000 *0.500 *0.000 *0.250 *0.000 *0.000 *0.375",
		`words *2 *0.500 *1.000 *0.500 *1.000 *0.500 *1.000 *0.750 *\+0.375 \(\+0.000 to \+0.750\)`,
		`Meta-RAG, GPT-4o *0.847 *0.530 *Tawosi et al. 2025, table 2`,
		"words *0.000 *1.000 *1.000 *0.000",
		"words *2.0 *100 *0.0000 *3.00",
	} {
		if !regexp.MustCompile("(?m)^" + want).MatchString(got) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if r.Rows[2].Functions != nil {
		t.Error("whole files have a row of functions")
	}
}

func TestPlaces(t *testing.T) {
	if k, err := Places("10,1,3"); err != nil || !slices.Equal(k, []int{1, 3, 10}) {
		t.Errorf("%v %v", k, err)
	}
	for _, list := range []string{"", "0", "1,1", "x", "1,", "1001", "1 2", "1.5"} {
		if k, err := Places(list); err == nil {
			t.Errorf("%q: %v", list, k)
		}
	}
	if how, err := Names("words,rerank"); err != nil || !slices.Equal(how, []guided.How{guided.Words, guided.Rerank}) {
		t.Errorf("%v %v", how, err)
	}
	for _, list := range []string{"", "words,words", "guess", "bm25"} {
		if how, err := Names(list); err == nil {
			t.Errorf("%q: %v", list, how)
		}
	}
}

func inFile(t *testing.T) *stores.Place {
	t.Helper()
	p, err := stores.At(filepath.Join(t.TempDir(), "knowledge.db"), "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}
