// Package answer has a model answer questions about recorded runs: it makes the
// conversation, new or going on, streams the answer, says what it cost and what it cites
// from nowhere, and saves it beside the trace.
package answer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tracerag/llm"
	"tracerag/phrase"
	"tracerag/prompt"
	"tracerag/prompt/tokens"
	"tracerag/session"
	"tracerag/trace/store"
)

// Asker asks one model.
type Asker struct {
	Store  *store.Store
	Mask   *session.Masker
	Config llm.Config
	// OnRound hears of each round of a question but the first: what the model wants to
	// read, and the prompt that has it.
	OnRound func(round int, requests []prompt.Request, p *prompt.Prompt)

	client *llm.Client
}

// Check says what would keep the model from being asked.
func (k *Asker) Check() (err error) {
	if k.client == nil {
		k.client, err = llm.New(k.Config)
	}
	return err
}

// Conversation is what is sent, and what it is about.
type Conversation struct {
	store.Conversation
	// Prompt is that of the newest question, with the size of all that is sent.
	Prompt *prompt.Prompt
	About  store.Entry // the trace that it is saved beside

	rounds *prompt.Rounds // of a question that is asked in rounds; else nil
	before []string       // prompts of the questions before it, if those are not in Messages
}

// Outcome is what came of a question.
type Outcome struct {
	Text      string
	Notes     []string // of the server, and what the answer cost
	Citations []string // what is to be said about what it cites
	File      string   // the answer is saved there
}

// CutError says that an answer ended at a limit of tokens.
type CutError struct{}

func (*CutError) Error() string { return "the answer was cut at a limit of tokens" }

// NoConversationError says that nobody has asked about a trace yet.
type NoConversationError struct{ Trace string }

func (e *NoConversationError) Error() string {
	return fmt.Sprintf("no conversation about trace %s to go on with", e.Trace)
}

// Begin returns a conversation with a first question about some traces.
func (k *Asker) Begin(question string, p *prompt.Prompt, about ...store.Entry) *Conversation {
	c := &Conversation{Prompt: p, About: about[0]}
	c.Question, c.Messages = k.Mask.Text(question), []store.Message{{Role: "user", Content: p.Text}}
	for _, e := range about {
		c.Traces = append(c.Traces, e.ID)
	}
	return c
}

// GoOn returns the newest conversation about a trace, with one more question. All of it is
// sent again.
func (k *Asker) GoOn(question string, p *prompt.Prompt, about store.Entry) (*Conversation, error) {
	last, err := k.last(about)
	if err != nil {
		return nil, err
	}
	question = k.Mask.Text(question)
	c := &Conversation{About: about, Conversation: store.Conversation{Question: question, Traces: last.Traces, Messages: last.Next(question)}}
	var all []string
	for i := range c.Messages {
		m := &c.Messages[i]
		m.Content = k.Mask.Clean(k.Mask.Text(m.Content)) // which may have been sent unmasked
		all = append(all, m.Content)
	}
	c.Prompt = recount(p, strings.Join(all, "\n\n"))
	return c, nil
}

// last is the newest conversation about a trace.
func (k *Asker) last(about store.Entry) (*store.Conversation, error) {
	old, err := k.Store.Answers(about)
	if err != nil {
		return nil, err
	}
	if len(old) == 0 {
		return nil, &NoConversationError{about.ID}
	}
	return &old[len(old)-1], nil
}

// recount is the account of a conversation that began with another prompt: all of it is
// sent again.
func recount(p *prompt.Prompt, text string) *prompt.Prompt {
	out := *p
	out.Text = text
	out.Total = tokens.For(p.Model).Count(text)
	out.Left = out.Window - out.Total
	out.Sections, out.Functions = nil, nil
	return &out
}

// Ask sends a conversation and writes the answer to stream as it comes. An answer that
// broke off is saved, too; then there is an error beside it.
func (k *Asker) Ask(ctx context.Context, c *Conversation, stream io.Writer) (Outcome, error) {
	if err := k.Check(); err != nil {
		return Outcome{}, err
	}
	if c.rounds != nil {
		return k.askRounds(ctx, c, stream)
	}
	var req llm.Request
	for _, m := range c.Messages {
		req.Messages = append(req.Messages, llm.Message{Role: m.Role, Content: m.Content})
	}
	start := time.Now()
	answer, err := k.client.Ask(ctx, req, stream)
	if answer.Text == "" {
		return Outcome{Notes: answer.Notes}, err
	}
	out, err := k.finish(c, answer, err)
	out.Notes = append(out.Notes, account(answer, time.Since(start))...)
	return out, err
}

// finish checks and saves an answer.
func (k *Asker) finish(c *Conversation, answer llm.Answer, err error) (Outcome, error) {
	out := Outcome{Text: answer.Text, Notes: answer.Notes}
	if err == nil && answer.FinishReason == "length" {
		answer.Incomplete = true
		err = &CutError{}
	}
	out.Citations = citations(c, answer)
	var unsaved error
	if out.File, unsaved = k.save(c, answer); unsaved != nil {
		err = errors.Join(err, fmt.Errorf("the answer was not saved: %w", unsaved))
	}
	return out, err
}

// mostChecked bounds the answer whose citations are looked for, in bytes.
const mostChecked = 256 << 10

// citations says what an answer cites that was not in what was sent.
func citations(c *Conversation, answer llm.Answer) []string {
	if answer.Incomplete && len(answer.Text) > mostChecked {
		return []string{fmt.Sprintf("the answer's citations were not checked: it was cut after %s bytes", phrase.Number(len(answer.Text)))}
	}
	var unknown []string
	for _, cited := range prompt.CheckCitations(answer.Text, c.material()) {
		if !cited.Known {
			unknown = append(unknown, cited.Text)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return []string{"cited, but not in the prompt (from the model's memory, or made up): " + strings.Join(unknown, ", ")}
}

// material is what an answer may cite: all that was sent, but for what the model itself
// said before. A place that it once made up is not known for having been said.
func (c *Conversation) material() string {
	sent := slices.Clone(c.before)
	for _, r := range c.Rounds {
		sent = append(sent, r.Prompt)
	}
	for _, m := range c.Messages {
		if m.Role != "assistant" {
			sent = append(sent, m.Content)
		}
	}
	text := strings.Join(sent, "\n")
	if c.rounds != nil {
		text = c.rounds.WithoutAnswers(text)
	}
	return text
}

// account says what an answer cost.
func account(answer llm.Answer, took time.Duration) []string {
	u := answer.Usage
	if u == nil {
		return nil
	}
	line := fmt.Sprintf("%s prompt + %s answer tokens", phrase.Number(u.PromptTokens), phrase.Number(u.CompletionTokens))
	if u.CachedTokens > 0 {
		line += fmt.Sprintf(" (%s cached)", phrase.Number(u.CachedTokens))
	}
	if usd, ok := llm.EstimateCost(answer.Model, *u); ok {
		line += fmt.Sprintf(", about $%.4f", usd)
	}
	return []string{fmt.Sprintf("%s by the server's count, %s", line, took.Round(100*time.Millisecond))}
}

// save saves an answer as it was shown.
func (k *Asker) save(c *Conversation, answer llm.Answer) (path string, err error) {
	saved := c.Conversation
	saved.Model, saved.Answer, saved.Incomplete = k.Config.Model, k.Mask.Clean(answer.Text), answer.Incomplete
	saved.Usage = storeUsage(answer.Usage)
	return k.Store.SaveAnswer(c.About, saved)
}
