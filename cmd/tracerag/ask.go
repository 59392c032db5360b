package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"tracerag/answer"
	"tracerag/llm"
	"tracerag/prompt"
	"tracerag/session"
	"tracerag/terminal"
	"tracerag/trace/store"
)

const askHelp = `
ask sends the question, the call tree and the source of the called functions to a
language model and streams its answer. Citations absent from the prompt are flagged.
The conversation is saved beside the trace.

Instead of a prompt of more than 16,000 tokens, ask sends the names of the functions
that ran. The model says which sources it wants to read, and answers within three
rounds. --one-shot, --budget and prompt variants send one prompt.

Any OpenAI-compatible endpoint works:
  export OPENAI_API_KEY=...                                       OpenAI
  export OPENAI_BASE_URL=http://localhost:11434/v1 TRACERAG_MODEL=qwen3   Ollama
Without one, ask prints the prompt, to be pasted into any chat.

Where nothing was recorded yet, or with --no-trace, the question is about the functions that
locate finds in the source, with their callers there in place of a call tree.

QUESTION "-" is read from standard input.`

func runAsk(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, askHelp)
	var t treeFlags
	var p promptFlags
	var m modelFlags
	var k knowledgeFlags
	more := f.Bool("continue", false, "go on with the newest conversation about the trace")
	oneShot := f.Bool("one-shot", false, "send one prompt with all sources, however long")
	noTrace := f.Bool("no-trace", false, "ask about the source that locate finds, without a recorded run")
	dry := f.Bool("dry-run", false, "print what would be sent and its size, and send nothing")
	compare := f.StringArray("compare", nil, "ask about two `TRACES`: --compare A B QUESTION")
	toClipboard := f.Bool("copy", false, "without a model: copy the prompt to the clipboard instead of printing it")
	a.section(f, "The model")
	p.addModel(f)
	m.add(f)
	a.section(f, "The prompt")
	p.add(f)
	a.redactFlag(f)
	a.section(f, "Without a run")
	k.add(f)
	a.section(f, "The call tree")
	t.add(f)
	t.addBaseline(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	q := &inquiry{dry: *dry, more: *more, oneShot: *oneShot, copy: *toClipboard, tree: &t, prompt: &p, model: &m, knowledge: &k, noTrace: *noTrace}
	if q.noTrace {
		q.question, err = a.question(f.Args())
		if len(*compare) > 0 {
			err = errors.New("--no-trace and --compare exclude each other: runs are compared")
		}
	} else {
		q.names, q.question, err = a.operands(s, *compare, f.Args(), true)
		q.noTrace = err == nil && len(*compare) == 0 && a.nothingRecorded(s, q.names[0])
	}
	if err != nil {
		return a.usage(c, err.Error())
	}
	if err := a.ask(ctx, s, q); err != nil {
		return a.fail(err)
	}
	return exitOK
}

func (a *app) ask(ctx context.Context, s *store.Store, q *inquiry) error {
	cfg, cfgErr := a.modelConfig(q.model, q.prompt.model)
	if cfgErr != nil && !errors.Is(cfgErr, llm.ErrNotConfigured) {
		return cfgErr
	}
	q.prompt.model = cfg.Model
	asker := &answer.Asker{Store: s, Mask: a.masker(), Config: cfg}
	asker.OnRound = func(round int, requests []prompt.Request, p *prompt.Prompt) {
		a.note("round %d: the model reads %s; %s", round, answer.RequestsText(requests), p.Size())
	}
	q.paste = cfgErr != nil && !q.oneShot
	q.oneShot = q.oneShot || q.paste // without a model the prompt is there to be pasted
	conv, err := a.conversation(ctx, s, asker, q)
	if err != nil {
		return err
	}
	switch {
	case q.dry:
		a.paginate()
		return a.printDryRun(conv, cfg, cfgErr)
	case cfgErr != nil:
		// The default that needs nothing: the prompt itself.
		a.paginate()
		if err := a.deliver(conv.Prompt, q.copy); err != nil {
			return err
		}
		a.note("no model was asked: paste the prompt into any chat, or configure a model\n%s", llm.Hint(cfgErr))
		return conv.Prompt.CheckWindow()
	}
	if err := cmp.Or(conv.Prompt.CheckWindow(), asker.Check()); err != nil {
		return err
	}
	how := ""
	if conv.InRounds() {
		how = " in rounds (--one-shot sends all at once)"
	}
	a.note("asking %s%s: %s", cfg.Model, how, conv.Prompt.Size())
	// Ctrl-C ends the answer, and what came of it is kept.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	began := a.wait("waiting for " + cfg.Model)
	out := &terminal.UntilDone{Context: ctx, To: a.stdout}
	got, err := asker.Ask(ctx, conv, terminal.OnFirstWrite{Writer: out, Began: began})
	stop() // another Ctrl-C ends what is left to do
	began()
	if got.Text != "" && !strings.HasSuffix(got.Text, "\n") {
		fmt.Fprintln(out)
	}
	if got.Text != "" {
		for _, n := range append(got.Notes, got.Citations...) {
			a.note("%s", n)
		}
	}
	if got.File != "" {
		a.note("saved: %s", got.File)
	}
	return err
}

// conversation returns what is to be sent, new or going on.
func (a *app) conversation(ctx context.Context, s *store.Store, asker *answer.Asker, q *inquiry) (*answer.Conversation, error) {
	var in prompt.Input
	var o prompt.Options
	var about []store.Entry
	var err error
	if q.noTrace {
		about = aboutSource(s)
		in, o, err = a.sourceInput(ctx, s, q)
	} else {
		var views []*session.View
		in, o, views, err = a.input(s, q.names, q.question, q.tree, q.prompt)
		about = entriesOf(views)
	}
	if err != nil {
		return nil, err
	}
	if q.paste {
		o.Paste()
	}
	done := a.wait("making the prompt")
	c, err := asker.Prepare(answer.Question{Text: q.question, Input: in, Options: o, About: about, OneShot: q.oneShot, GoOn: q.more})
	done()
	if err != nil {
		return nil, err
	}
	a.warnings(c.Prompt)
	a.noteMasked()
	return c, nil
}

func (a *app) printDryRun(conv *answer.Conversation, cfg llm.Config, cfgErr error) error {
	for i, m := range conv.Messages {
		if len(conv.Messages) > 1 {
			fmt.Fprintf(a.stdout, "--- %d %s ---\n", i+1, m.Role)
		}
		if _, err := io.WriteString(a.stdout, strings.TrimRight(m.Content, "\n")+"\n"); err != nil {
			return err
		}
	}
	to := "none: no model is configured"
	if cfgErr == nil {
		to = cfg.Model + " at " + server(cfg)
	}
	a.note("dry run, nothing was sent. It would go to %s", to)
	if conv.InRounds() {
		a.note("this is the first of at most %d rounds: the model chooses the sources that it reads", prompt.MaxRounds)
	}
	a.note("%s", conv.Prompt.Size())
	if usd, ok := llm.EstimateCost(cfg.Model, llm.Usage{PromptTokens: conv.Prompt.Total}); ok {
		a.note("the prompt would cost about $%.4f (list prices of %s)", usd, llm.PricesAsOf)
	}
	return conv.Prompt.CheckWindow()
}
