package answer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tracerag/calltree"
	"tracerag/llm"
	"tracerag/llm/llmtest"
	"tracerag/prompt"
	"tracerag/redact"
	"tracerag/session"
	"tracerag/source"
	"tracerag/trace"
	"tracerag/trace/store"
)

// longRun is a run whose functions have about 40,000 tokens of source, saved in a store.
func longRun(t *testing.T) (*store.Store, store.Entry, prompt.Input) {
	t.Helper()
	b := trace.NewBuilder(&trace.Trace{Recorder: "probe", Command: []string{"./app"}})
	start := trace.Frame{Func: b.Func(trace.Function{Name: "main.main", Package: "main"})}
	b.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{start}, 1)
	for i := range 100 {
		f := trace.Function{Name: fmt.Sprintf("example.com/m/work.Step%d", i), Package: "example.com/m/work"}
		b.Call(trace.Root{Kind: trace.RootMain}, []trace.Frame{start, {Func: b.Func(f)}}, 3)
	}
	tr := b.Finish()
	s := store.Open(t.TempDir())
	e, err := s.Save(tr)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := calltree.Build(tr, calltree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := func(f trace.Function) source.Text {
		name := f.Name[strings.LastIndexByte(f.Name, '.')+1:]
		body := "func " + name + "() {\n" + strings.Repeat("\tresult = append(result, compute(input, 10))\n", 40) + "}"
		return source.Text{Path: "/src/" + name + ".go", Display: "work/" + name + ".go", Start: 5, End: 46, DocStart: 5, Signature: "func " + name + "()", Body: body}
	}
	return s, e, prompt.Input{Question: "What does it do?", Runs: []prompt.Run{{Title: "./app", Tree: tree}}, Source: text}
}

func asker(t *testing.T, s *store.Store, script ...llmtest.Step) (*Asker, *llmtest.Server) {
	t.Helper()
	srv := llmtest.New(t, script...)
	return &Asker{Store: s, Config: llm.Config{Model: "gpt-4o", BaseURL: srv.URL(), APIKey: "none", MaxRetries: -1}}, srv
}

func sent(srv *llmtest.Server, i int) string {
	m := srv.Requests()[i].Chat.Messages
	return m[len(m)-1].Content
}

// A long prompt is asked in rounds: what the model wants to read follows, and the answer
// is passed on as it comes, without the word that begins it.
func TestRounds(t *testing.T) {
	s, e, in := longRun(t)
	k, srv := asker(t, s,
		llmtest.Step{Text: "READ\nwork.Step7\nwork.Step8", Usage: &llmtest.Usage{PromptTokens: 1000, CompletionTokens: 10}},
		llmtest.Step{Text: "Let me look once more.\n\nREAD\nwork.Step9:10-12", Usage: &llmtest.Usage{PromptTokens: 2000, CompletionTokens: 20}},
		llmtest.Step{Text: "ANSWER\nIt steps: `work.Step7` (work/Step7.go:6), `work.Step9` (work/Step9.go:11), `work.Unknown` (work/Step50.go:7).", Usage: &llmtest.Usage{PromptTokens: 3000, CompletionTokens: 30}})
	var rounds []string
	k.OnRound = func(n int, requests []prompt.Request, p *prompt.Prompt) {
		rounds = append(rounds, fmt.Sprint(n, " ", RequestsText(requests)))
	}
	c, err := k.Prepare(Question{Text: in.Question, Input: in, About: []store.Entry{e}})
	if err != nil || !c.InRounds() {
		t.Fatalf("in rounds: %v, %v", c, err)
	}
	var stream strings.Builder
	out, err := k.Ask(context.Background(), c, &stream)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.Text, "It steps: ") || stream.String() != out.Text {
		t.Errorf("answer %q, streamed %q", out.Text, stream.String())
	}
	if got := strings.Join(rounds, "; "); got != "2 work.Step7, work.Step8; 3 work.Step9:10-12" {
		t.Errorf("rounds: %s", got)
	}
	first, second, third := sent(srv, 0), sent(srv, 1), sent(srv, 2)
	switch {
	case !strings.Contains(first, "Step99") || strings.Contains(first, "func Step7()"):
		t.Errorf("the first round:\n%s", first)
	case !strings.Contains(second, "func Step7()") || !strings.Contains(second, "func Step8()") || strings.Contains(second, "func Step9()"):
		t.Errorf("the second round:\n%s", second)
	case !strings.Contains(third, "func Step7()") || !strings.Contains(third, "10 \tresult") || !strings.Contains(third, "nothing more can be read"):
		t.Errorf("the third round:\n%s", third)
	}
	for i, text := range []string{first, second, third} {
		if !strings.Contains(text, in.Question) {
			t.Errorf("round %d has no question", i+1)
		}
	}
	// Names of any round are known, lines that none showed are not.
	if got := strings.Join(out.Citations, ""); !strings.HasSuffix(got, ": work.Unknown, work/Step50.go:7") {
		t.Errorf("citations: %s", got)
	}
	if got := strings.Join(out.Notes, "; "); !strings.HasPrefix(got, "3 rounds: 6,000 prompt + 60 answer tokens") {
		t.Errorf("notes: %s", got)
	}
	saved, err := s.Answers(e)
	if err != nil || len(saved) != 1 {
		t.Fatalf("saved: %v, %v", saved, err)
	}
	if a := saved[0]; len(a.Rounds) != 2 || a.Rounds[0].Prompt != first || a.Messages[0].Content != third || a.Answer != out.Text || a.Usage.PromptTokens != 6000 || len(a.Read) != 3 {
		t.Errorf("saved: %d rounds, %d read, %+v", len(a.Rounds), len(a.Read), a.Usage)
	}
}

// One more question of such a conversation has what was read before.
func TestRoundsGoOn(t *testing.T) {
	s, e, in := longRun(t)
	k, srv := asker(t, s, llmtest.Say("READ\nwork.Step7"), llmtest.Say("ANSWER\nIt steps."), llmtest.Say("ANSWER\nSince it must."))
	for i, question := range []string{"What does it do?", "And why?"} {
		in.Question = question
		c, err := k.Prepare(Question{Text: question, Input: in, About: []store.Entry{e}, GoOn: i == 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Ask(context.Background(), c, nil); err != nil {
			t.Fatal(err)
		}
	}
	if text := sent(srv, 2); !strings.Contains(text, "func Step7()") || !strings.Contains(text, "## Earlier answer\n\nIt steps.") || !strings.Contains(text, "## Question\n\nAnd why?") {
		t.Errorf("the second question:\n%s", text)
	}
}

// What the model said before is no source of its next answer: a place that it made up is
// flagged each time, and what was shown for the question before is known.
func TestCitationsAfterContinue(t *testing.T) {
	const invented = "It steps: `work.Step7` (work/Step7.go:6), `work.Ghost` (work/Ghost.go:3)."
	for name, oneShot := range map[string]bool{"rounds": false, "one prompt": true} {
		t.Run(name, func(t *testing.T) {
			s, e, in := longRun(t)
			script := []llmtest.Step{llmtest.Say("READ\nwork.Step7\nwork.Step8"), llmtest.Say("ANSWER\n" + invented), llmtest.Say("ANSWER\nAs said: " + invented)}
			if oneShot {
				script = []llmtest.Step{llmtest.Say(invented), llmtest.Say("As said: " + invented)}
			}
			k, _ := asker(t, s, script...)
			for i, question := range []string{"What does it do?", "And why?"} {
				in.Question = question
				c, err := k.Prepare(Question{Text: question, Input: in, About: []store.Entry{e}, GoOn: i == 1, OneShot: oneShot})
				if err != nil {
					t.Fatal(err)
				}
				out, err := k.Ask(context.Background(), c, nil)
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(out.Citations, ""); !strings.HasSuffix(got, ": work.Ghost, work/Ghost.go:3") {
					t.Errorf("question %d: %q", i+1, got)
				}
			}
		})
	}
}

// A model that does not keep to the form still gets to an answer, or to an error that says
// why not.
func TestRepliesOutOfForm(t *testing.T) {
	tests := []struct {
		name   string
		script []string
		want   string // answer
		err    string
		asked  int
	}{
		{"answers at once", []string{"It is `work.Step7`."}, "It is `work.Step7`.", "", 1},
		{"answers at once, as asked", []string{"ANSWER\n\nIt is."}, "It is.", "", 1},
		{"reads nothing that is there", []string{"READ\nno.Such", "It is."}, "It is.", "", 2},
		{"reads nothing", []string{"READ", "It is."}, "It is.", "", 2},
		{"reads the same", []string{"READ\nwork.Step7", "READ\nwork.Step7", "It is."}, "It is.", "", 3},
		{"reads on and on", []string{"READ\nwork.Step7", "READ\nwork.Step8", "READ\nwork.Step9"}, "READ\nwork.Step9", "asked for more sources", 3},
		{"the last answer has a heading", []string{"READ\nwork.Step7", "READ\nwork.Step8", "# Steps\n\nIt is."}, "# Steps\n\nIt is.", "", 3},
		{"the last answer has no line break", []string{"READ\nwork.Step7", "READ\nwork.Step8", "It is."}, "It is.", "", 3},
		{"reads and answers at last", []string{"READ\nwork.Step7", "READ\nwork.Step8", "READ work.Step9\nANSWER\nIt is."}, "It is.", "", 3},
		{"the last answer speaks of READ", []string{"READ\nwork.Step7", "READ\nwork.Step8", "# So\n\n```\nREAD\nkey.name\n```\nis parsed."}, "# So\n\n```\nREAD\nkey.name\n```\nis parsed.", "", 3},
		{"words, then reads on", []string{"READ\nwork.Step7", "READ\nwork.Step8", "Once more.\n\nREAD\nwork.Step9"}, "Once more.\n\nREAD\nwork.Step9", "asked for more sources", 3},
		{"bold", []string{"**ANSWER:** It is."}, "It is.", "", 1},
		{"an empty answer", []string{"READ\nwork.Step7", "ANSWER\n"}, "", "", 2},
		{"says nothing", []string{"READ\nwork.Step7", " "}, "", "", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, e, in := longRun(t)
			var script []llmtest.Step
			for _, text := range tt.script {
				script = append(script, llmtest.Say(text))
			}
			k, srv := asker(t, s, script...)
			c, err := k.Prepare(Question{Text: in.Question, Input: in, About: []store.Entry{e}})
			if err != nil {
				t.Fatal(err)
			}
			var stream strings.Builder
			out, err := k.Ask(context.Background(), c, &stream)
			if tt.want == "" {
				if err == nil {
					t.Errorf("no error, answer %q", out.Text)
				}
				return
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if out.Text != tt.want || tt.err == "" && stream.String() != tt.want {
				t.Errorf("answer %q, streamed %q, want %q", out.Text, stream.String(), tt.want)
			}
			if n := len(srv.Requests()); n != tt.asked {
				t.Errorf("asked %d times, want %d", n, tt.asked)
			}
		})
	}
}

// A failure in a later round is an error, and what was answered until then is saved.
func TestRoundFails(t *testing.T) {
	s, e, in := longRun(t)
	k, _ := asker(t, s, llmtest.Say("READ\nwork.Step7"), llmtest.Refuse(401, "no"))
	c, err := k.Prepare(Question{Text: in.Question, Input: in, About: []store.Entry{e}})
	if err != nil {
		t.Fatal(err)
	}
	var refused *llm.Error
	if _, err = k.Ask(context.Background(), c, nil); !errors.As(err, &refused) {
		t.Errorf("error %v", err)
	}
	k, _ = asker(t, s, llmtest.Say("READ\nwork.Step7"), llmtest.DropAfter("ANSWER\nIt steps and then "))
	if c, err = k.Prepare(Question{Text: in.Question, Input: in, About: []store.Entry{e}}); err != nil {
		t.Fatal(err)
	}
	out, err := k.Ask(context.Background(), c, nil)
	if err == nil || !strings.HasPrefix(out.Text, "It steps and") || out.File == "" {
		t.Errorf("%+v, %v", out, err)
	}
	if saved, _ := s.Answers(e); len(saved) != 1 || !saved[0].Incomplete {
		t.Errorf("saved: %+v", saved)
	}
}

// What asks for one prompt has one, and so has a short one.
func TestOneShot(t *testing.T) {
	_, e, in := longRun(t)
	k := &Asker{}
	for name, q := range map[string]Question{
		"asked for":      {OneShot: true},
		"a budget":       {Options: prompt.Options{Budget: 4000}},
		"a paper's":      {Options: prompt.Options{Variant: prompt.Full}},
		"another format": {Options: prompt.Options{Format: prompt.XML}},
		"a template":     {Options: prompt.Options{Template: "{{.Question}}"}},
	} {
		q.Text, q.Input, q.About = in.Question, in, []store.Entry{e}
		if c, err := k.Prepare(q); err != nil || c.InRounds() {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	in.Source = nil
	if c, err := k.Prepare(Question{Text: "Why?", Input: in, About: []store.Entry{e}}); err != nil || c.InRounds() {
		t.Errorf("short: %v, %v", c, err)
	}
}

// A question behind one that the first round answered is asked in rounds, too: else nobody
// would read what the model asks for, nor take off the word that begins its answer.
func TestGoOnBehindAnAnswerToTheFirstRound(t *testing.T) {
	s, e, in := longRun(t)
	k, srv := asker(t, s, llmtest.Say("ANSWER\nIt steps."), llmtest.Say("READ\nwork.Step7"), llmtest.Say("ANSWER\nSince it must."))
	for i, want := range []string{"It steps.", "Since it must."} {
		c, err := k.Prepare(Question{Text: in.Question, Input: in, About: []store.Entry{e}, GoOn: i == 1})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := k.Ask(context.Background(), c, nil); err != nil || out.Text != want {
			t.Errorf("answer %q, %v, want %q", out.Text, err, want)
		}
	}
	if n := len(srv.Requests()); n != 3 || !strings.Contains(sent(srv, 2), "func Step7()") {
		t.Errorf("asked %d times", n)
	}
}

// A list of requests that broke off is no answer to a question before.
func TestGoOnBehindAListThatBrokeOff(t *testing.T) {
	s, e, in := longRun(t)
	k, srv := asker(t, s, llmtest.Say("READ\nwork.Step7"), llmtest.DropAfter("READ\nwork.Step8\nwork.St"), llmtest.Say("ANSWER\nIt is."))
	for i := range 2 {
		c, err := k.Prepare(Question{Text: in.Question, Input: in, About: []store.Entry{e}, GoOn: i == 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Ask(context.Background(), c, nil); (err == nil) != (i == 1) {
			t.Errorf("question %d: %v", i+1, err)
		}
	}
	if text := sent(srv, 2); strings.Contains(text, "## Earlier answer\n\nREAD") || !strings.Contains(text, "func Step7()") {
		t.Errorf("the second question:\n%s", text)
	}
}

// A reply of one line and a long second one is written once, however small the pieces are
// that it comes in.
func TestRepliesAreHeldInLinearTime(t *testing.T) {
	r := &reply{}
	for range 1000 {
		r.Write([]byte("Well\n"))
	}
	if n := r.held.Len(); n > 100 {
		t.Errorf("%d bytes are held, and read again with each piece", n)
	}
}

// A conversation about two runs does not go on about one of them without a word.
func TestGoOnAboutOtherTraces(t *testing.T) {
	s, e, in := longRun(t)
	k, _ := asker(t, s, llmtest.Say("ANSWER\nThey differ."))
	two := Question{Text: in.Question, Input: in, About: []store.Entry{e, e}}
	c, err := k.Prepare(two)
	if err == nil {
		_, err = k.Ask(context.Background(), c, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	var other *OtherTracesError
	if _, err := k.Prepare(Question{Text: "And why?", Input: in, About: []store.Entry{e}, GoOn: true}); !errors.As(err, &other) || len(other.Traces) != 2 {
		t.Errorf("error %v", err)
	}
	two.GoOn = true
	if _, err := k.Prepare(two); err != nil {
		t.Error(err)
	}
}

// The names of what was read are saved without secrets.
func TestReadIsMasked(t *testing.T) {
	secret := "Step77" + strings.Repeat("x", 10) // in a function's name
	s, e, in := longRun(t)
	in.Runs[0].Tree.Walk(func(n *calltree.Node, _ int) bool {
		if n.Func.Name == "example.com/m/work.Step77" {
			n.Func.Name = "example.com/m/work." + secret
		}
		return true
	})
	k, _ := asker(t, s, llmtest.Step{Text: "READ\nwork." + secret}, llmtest.Step{Text: "ANSWER\nIt steps."})
	k.Mask = session.NewMasker(func() *redact.Redactor { return redact.New(redact.Secret{Kind: "token", Value: secret}) })
	c, err := k.Prepare(Question{Text: in.Question, Input: in, About: []store.Entry{e}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Ask(context.Background(), c, new(strings.Builder)); err != nil || len(c.Read) != 1 || strings.Contains(c.Read[0], secret) {
		t.Errorf("read %q, %v", c.Read, err)
	}
}
