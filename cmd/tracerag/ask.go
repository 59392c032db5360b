package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tracerag/llm"
	"tracerag/phrase"
	"tracerag/prompt"
	"tracerag/prompt/tokens"
	"tracerag/terminal"
	"tracerag/trace/store"
)

const askHelp = `
ask sends the question, the call tree and the source of the called functions to a
language model and streams its answer. Citations absent from the prompt are flagged.
The conversation is saved beside the trace.

Any OpenAI-compatible endpoint works:
  export OPENAI_API_KEY=...                                       OpenAI
  export OPENAI_BASE_URL=http://localhost:11434/v1 TRACERAG_MODEL=qwen3   Ollama
Without one, ask prints the prompt, to be pasted into any chat.

QUESTION "-" is read from standard input.`

// modelFlags choose the endpoint.
type modelFlags struct {
	baseURL     string
	timeout     time.Duration
	maxTokens   int
	temperature *float64
	maxAnswer   byteSize
	retries     int
}

func (m *modelFlags) add(f *pflag.FlagSet) {
	f.StringVar(&m.baseURL, "base-url", "", "the endpoint's `URL` (default: $OPENAI_BASE_URL, or OpenAI's)")
	f.DurationVar(&m.timeout, "timeout", 0, "give up after this `TIME` of silence from the model (default 10m)")
	f.IntVar(&m.maxTokens, "max-tokens", 0, "let the answer have at most this many `TOKENS`")
	f.Var(&m.maxAnswer, "max-answer", "cut an answer off after this `SIZE` of text (default 1MiB; with --max-tokens at\nmost 64 bytes a token)")
	f.Func("temperature", "sampling temperature, a `NUMBER` from 0 to 2 (default: the model's own)", func(s string) error {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return errors.New("not a number")
		}
		m.temperature = &n
		return nil
	})
	f.IntVar(&m.retries, "retries", 0, "try a busy or failing endpoint `N` times again (default 4; -1: never)")
}

func (a *app) modelConfig(m *modelFlags, model string) (llm.Config, error) {
	c := llm.Config{Model: model, BaseURL: m.baseURL, Timeout: m.timeout, MaxTokens: m.maxTokens, MaxRetries: m.retries, Temperature: m.temperature,
		MaxAnswer: int(min(m.maxAnswer, math.MaxInt32)), UserAgent: userAgent()}
	c.OnRetry = func(attempt int, wait time.Duration, reason string) {
		a.note("%s: trying again in %s (attempt %d failed)", reason, wait.Round(100*time.Millisecond), attempt)
	}
	return llm.FromEnv(a.getenv, c)
}

// server is the endpoint as it is shown: without a query, which may hold a key.
func server(c llm.Config) string {
	base, _, _ := strings.Cut(cmp.Or(c.BaseURL, llm.DefaultBaseURL), "?")
	return base
}

func runAsk(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, askHelp)
	var t treeFlags
	var p promptFlags
	var m modelFlags
	more := f.Bool("continue", false, "go on with the newest conversation about the trace")
	dry := f.Bool("dry-run", false, "print what would be sent and its size, and send nothing")
	compare := f.StringArray("compare", nil, "ask about two `TRACES`: --compare A B QUESTION")
	toClipboard := f.Bool("copy", false, "without a model: copy the prompt to the clipboard instead of printing it")
	a.section(f, "The model")
	p.addModel(f)
	m.add(f)
	a.section(f, "The prompt")
	p.add(f)
	a.redactFlag(f)
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
	names, question, err := a.operands(s, *compare, f.Args(), true)
	if err != nil {
		return a.usage(c, err.Error())
	}
	q := &inquiry{names: names, question: question, dry: *dry, more: *more, copy: *toClipboard, tree: &t, prompt: &p, model: &m}
	if err := a.ask(ctx, s, q); err != nil {
		return a.fail(err)
	}
	return exitOK
}

// inquiry is one question about one trace or two.
type inquiry struct {
	names           []string
	question        string
	dry, more, copy bool
	tree            *treeFlags
	prompt          *promptFlags
	model           *modelFlags
}

func (a *app) ask(ctx context.Context, s *store.Store, q *inquiry) error {
	cfg, cfgErr := a.modelConfig(q.model, q.prompt.model)
	if cfgErr != nil && !errors.Is(cfgErr, llm.ErrNotConfigured) {
		return cfgErr
	}
	q.prompt.model = cfg.Model
	conv, text, about, err := a.conversation(s, q)
	if err != nil {
		return err
	}
	switch {
	case q.dry:
		a.paginate()
		return a.dryRun(conv, text, cfg, cfgErr)
	case cfgErr != nil:
		// The default that needs nothing: the prompt itself.
		a.paginate()
		if err := a.deliver(text, q.copy); err != nil {
			return err
		}
		a.note("no model was asked: paste the prompt into any chat, or configure a model\n%s", llm.Hint(cfgErr))
		return text.CheckWindow()
	}
	if err := text.CheckWindow(); err != nil {
		return err
	}
	client, err := llm.New(cfg)
	if err != nil {
		return err
	}
	a.note("asking %s: %s", cfg.Model, text.Size())
	var req llm.Request
	for _, m := range conv.Messages {
		req.Messages = append(req.Messages, llm.Message{Role: m.Role, Content: m.Content})
	}
	// Ctrl-C ends the answer, and what came of it is kept.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	start := time.Now()
	began := a.wait("waiting for " + cfg.Model)
	out := &terminal.UntilDone{Context: ctx, To: a.stdout}
	answer, askErr := client.Ask(ctx, req, terminal.OnFirstWrite{Writer: out, Began: began})
	stop() // another Ctrl-C ends what is left to do
	began()
	if answer.Text != "" {
		if !strings.HasSuffix(answer.Text, "\n") {
			fmt.Fprintln(out)
		}
		if askErr == nil && answer.FinishReason == "length" {
			answer.Incomplete = true
			askErr = errTokenLimit
		}
		a.afterAnswer(conv, answer, time.Since(start))
		if err := a.saveAnswer(s, about, conv, cfg.Model, answer); err != nil {
			return errors.Join(askErr, fmt.Errorf("the answer was not saved: %w", err))
		}
	}
	return askErr
}

// conversation returns what is to be sent, a new conversation or one that goes on,
// and the trace that it is saved beside. The prompt is that of its newest question.
func (a *app) conversation(s *store.Store, q *inquiry) (*store.Conversation, *prompt.Prompt, store.Entry, error) {
	p, views, err := a.build(s, q.names, q.question, q.tree, q.prompt)
	if err != nil {
		return nil, nil, store.Entry{}, err
	}
	a.warnings(p)
	a.noteMasked()
	question := a.masker().Text(q.question)
	entry := views[0].Entry
	if !q.more {
		conv := &store.Conversation{Question: question, Messages: []store.Message{{Role: "user", Content: p.Text}}}
		for _, v := range views {
			conv.Traces = append(conv.Traces, v.Entry.ID)
		}
		return conv, p, entry, nil
	}
	old, err := s.Answers(entry)
	if err != nil {
		return nil, nil, entry, err
	}
	if len(old) == 0 {
		return nil, nil, entry, fmt.Errorf("no conversation about trace %s to go on with: ask without --continue first", entry.ID)
	}
	last := &old[len(old)-1]
	conv := &store.Conversation{Question: question, Traces: last.Traces, Messages: last.Next(question)}
	var all []string
	for i := range conv.Messages {
		m := &conv.Messages[i]
		m.Content = a.masker().Clean(a.masker().Text(m.Content)) // which may have been sent with --no-redact
		all = append(all, m.Content)
	}
	return conv, recount(p, strings.Join(all, "\n\n")), entry, nil
}

// recount is the account of a conversation that began with another prompt: all
// of it is sent again.
func recount(p *prompt.Prompt, text string) *prompt.Prompt {
	out := *p
	out.Text = text
	out.Total = tokens.For(p.Model).Count(text)
	out.Left = out.Window - out.Total
	out.Sections, out.Functions = nil, nil
	return &out
}

func (a *app) dryRun(conv *store.Conversation, p *prompt.Prompt, cfg llm.Config, cfgErr error) error {
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
	a.note("%s", p.Size())
	if usd, ok := llm.EstimateCost(cfg.Model, llm.Usage{PromptTokens: p.Total}); ok {
		a.note("the prompt would cost about $%.4f (list prices of %s)", usd, llm.PricesAsOf)
	}
	return p.CheckWindow()
}

// afterAnswer prints what is to be said about an answer: what it cost, and what
// it cites that it was not told.
func (a *app) afterAnswer(conv *store.Conversation, answer llm.Answer, took time.Duration) {
	for _, n := range append(answer.Notes, answerNotes(answer, took)...) {
		a.note("%s", n)
	}
	var sent []string
	for _, m := range conv.Messages {
		sent = append(sent, m.Content)
	}
	if answer.Incomplete && len(answer.Text) > mostChecked {
		a.note("the answer's citations were not checked: it was cut after %s bytes", phrase.Number(len(answer.Text)))
		return
	}
	var unknown []string
	for _, c := range prompt.CheckCitations(answer.Text, strings.Join(sent, "\n")) {
		if !c.Known {
			unknown = append(unknown, c.Text)
		}
	}
	if len(unknown) > 0 {
		a.note("cited, but not in the prompt (from the model's memory, or made up): %s", strings.Join(unknown, ", "))
	}
}

// answerNotes say what an answer cost, and whether it was cut.
func answerNotes(answer llm.Answer, took time.Duration) []string {
	var notes []string
	if u := answer.Usage; u != nil {
		line := fmt.Sprintf("%s prompt + %s answer tokens", phrase.Number(u.PromptTokens), phrase.Number(u.CompletionTokens))
		if u.CachedTokens > 0 {
			line += fmt.Sprintf(" (%s cached)", phrase.Number(u.CachedTokens))
		}
		if usd, ok := llm.EstimateCost(answer.Model, *u); ok {
			line += fmt.Sprintf(", about $%.4f", usd)
		}
		notes = append(notes, fmt.Sprintf("%s by the server's count, %s", line, took.Round(100*time.Millisecond)))
	}
	return notes
}

// errTokenLimit is the failure of an answer that the server has cut.
var errTokenLimit = errors.New("the answer was cut at a limit of tokens\nraise --max-tokens, or ask to go on with --continue")

// mostChecked bounds the answer whose citations are looked for.
const mostChecked = 256 << 10

func (a *app) saveAnswer(s *store.Store, about store.Entry, conv *store.Conversation, model string, answer llm.Answer) error {
	conv.Model, conv.Answer, conv.Incomplete = model, a.masker().Clean(answer.Text), answer.Incomplete // as it was shown
	if u := answer.Usage; u != nil {
		conv.Usage = store.Usage(*u)
	}
	path, err := s.SaveAnswer(about, *conv)
	if err != nil {
		return err
	}
	a.note("saved: %s", path)
	return nil
}
