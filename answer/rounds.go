package answer

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"tracerag/llm"
	"tracerag/phrase"
	"tracerag/prompt"
	"tracerag/trace/store"
)

// RoundsFrom is the length in tokens from which a question is asked in rounds rather than
// with one prompt. Measured on inquiries about programs of others: one prompt of the best
// 16k tokens had the function that decides in half of those whose words are not those of
// the code; an index of 2k to 8k tokens had it in all.
const RoundsFrom = 16_000

// ReadInsteadError says that the last reply still asks to read.
type ReadInsteadError struct{}

func (*ReadInsteadError) Error() string {
	return "the model asked for more sources instead of answering the last round"
}

// OtherTracesError says that a conversation to go on with is about other traces than those
// that are asked about.
type OtherTracesError struct{ Traces []string } // its own

func (e *OtherTracesError) Error() string {
	return "the newest conversation is about " + strings.Join(e.Traces, " and ")
}

// EmptyError says that nothing is behind the word that begins an answer.
type EmptyError struct{}

func (*EmptyError) Error() string { return "the answer is empty: ask again" }

// Question is what is asked, and of what.
type Question struct {
	Text    string
	Input   prompt.Input
	Options prompt.Options
	About   []store.Entry // the traces
	OneShot bool          // one prompt, however long
	GoOn    bool          // one more question of the newest conversation about the trace
}

// Prepare returns the conversation with a question: in rounds if one prompt would be long,
// and neither it nor a budget or a form of it was asked for.
func (k *Asker) Prepare(q Question) (*Conversation, error) {
	o := q.Options
	plain := !q.OneShot && plain(o)
	if plain && q.GoOn {
		plain = k.inRounds(q.About[0])
	}
	var r *prompt.Rounds
	if plain {
		var err error
		if r, err = prompt.NewRounds(q.Input, o); err != nil {
			return nil, err
		}
		if q.GoOn {
			return k.goOnRounds(q, r)
		}
		if r.SourceTokens() > 2*RoundsFrom {
			return k.beginRounds(q, r), nil
		}
	}
	p, err := prompt.Build(q.Input, o)
	switch {
	case err != nil:
		return nil, err
	case plain && InRounds(o, p.Total):
		return k.beginRounds(q, r), nil
	case q.GoOn:
		return k.GoOn(q.Text, k.clean(p), q.About[0])
	}
	return k.Begin(q.Text, k.clean(p), q.About...), nil
}

// InRounds reports whether a question is asked in rounds rather than with one prompt of so
// many tokens.
func InRounds(o prompt.Options, total int) bool { return plain(o) && total > RoundsFrom }

// plain reports whether no form of a prompt was asked for that rounds do not have.
func plain(o prompt.Options) bool {
	return o.Budget == 0 && o.Template == "" && (o.Format == "" || o.Format == prompt.Markdown) && (o.Variant == "" || o.Variant == prompt.Ordered)
}

func (k *Asker) beginRounds(q Question, r *prompt.Rounds) *Conversation {
	c := k.Begin(q.Text, k.clean(r.First()), q.About...)
	c.Conversation.InRounds = true
	c.rounds = r
	return c
}

// goOnRounds goes on with a conversation in rounds: what was read for the questions before
// is there from the first.
func (k *Asker) goOnRounds(q Question, r *prompt.Rounds) (*Conversation, error) {
	last, err := k.last(q.About[0])
	if err != nil {
		return nil, err
	}
	if len(last.Traces) != len(q.About) {
		return nil, &OtherTracesError{last.Traces}
	}
	var earlier []prompt.Exchange
	for _, e := range append(last.Earlier, store.Exchange{Question: last.Question, Answer: last.Answer}) {
		if reads, _, _ := prompt.ParseLastReply(e.Answer); reads {
			e.Answer = "" // it broke off before there was one
		}
		earlier = append(earlier, prompt.Exchange(e))
	}
	c := k.Begin(q.Text, k.clean(r.Resume(last.Read, earlier)), q.About...)
	c.Conversation.InRounds = true
	for _, e := range earlier {
		c.Earlier = append(c.Earlier, store.Exchange(e))
	}
	c.rounds = r
	for _, round := range last.Rounds {
		c.before = append(c.before, round.Prompt)
	}
	for _, m := range last.Messages {
		c.before = append(c.before, m.Content)
	}
	return c, nil
}

// AskAbout prepares a question and asks it. sent hears of each prompt before it is sent, with
// how many there may be.
func (k *Asker) AskAbout(ctx context.Context, q Question, sent func(round, of int, requests []prompt.Request, p *prompt.Prompt), stream io.Writer) (Outcome, error) {
	c, err := k.Prepare(q)
	if err == nil {
		err = c.Prompt.CheckWindow()
	}
	if err != nil {
		return Outcome{}, err
	}
	of := 1
	if c.InRounds() {
		of = prompt.MaxRounds
	}
	asker := *k
	asker.client = nil // for each question one
	asker.OnRound = func(round int, requests []prompt.Request, p *prompt.Prompt) { sent(round, of, requests, p) }
	asker.OnRound(1, nil, c.Prompt)
	return asker.Ask(ctx, c, stream)
}

// InRounds reports whether the question is asked in rounds.
func (c *Conversation) InRounds() bool { return c.rounds != nil }

// inRounds reports whether the newest conversation about a trace was asked in rounds.
func (k *Asker) inRounds(about store.Entry) bool {
	last, err := k.last(about)
	return err == nil && last.InRounds
}

// clean hides what a prompt does not mask itself: names and places.
func (k *Asker) clean(p *prompt.Prompt) *prompt.Prompt {
	p.Text = k.Mask.Clean(p.Text)
	return p
}

// askRounds asks until there is an answer.
func (k *Asker) askRounds(ctx context.Context, c *Conversation, stream io.Writer) (Outcome, error) {
	start := time.Now()
	var used usage
	for {
		r := &reply{to: stream, last: c.rounds.Last()}
		got, err := k.client.Ask(ctx, llm.Request{Messages: []llm.Message{{Role: "user", Content: c.Prompt.Text}}}, r)
		used.add(got.Usage)
		reads, requests, text := c.rounds.Parse(got.Text)
		switch {
		case got.Text != "" && !reads && text == "":
			return Outcome{Notes: got.Notes}, cmp.Or[error](err, &EmptyError{})
		case got.Text == "":
			return Outcome{Notes: got.Notes}, err
		case !reads || err != nil || c.rounds.Last():
			if reads && err == nil {
				err = &ReadInsteadError{}
			}
			if !reads {
				got.Text = text
				err = cmp.Or(err, r.end(text))
			}
			got.Usage = used.sum
			c.Read = c.rounds.Shown()
			for i, name := range c.Read {
				c.Read[i] = k.Mask.Clean(name) // a linker name can hold a secret
			}
			out, err := k.finish(c, got, err)
			out.Notes = append(out.Notes, used.note(got, time.Since(start))...)
			return out, err
		}
		c.Rounds = append(c.Rounds, store.Round{Prompt: c.Prompt.Text, Reply: k.Mask.Clean(got.Text), Usage: storeUsage(got.Usage)})
		c.Prompt = k.clean(c.rounds.Next(requests))
		if err := c.Prompt.CheckWindow(); err != nil {
			return Outcome{Notes: got.Notes}, err
		}
		c.Messages = []store.Message{{Role: "user", Content: c.Prompt.Text}}
		if k.OnRound != nil {
			k.OnRound(c.rounds.Round, requests, c.Prompt)
		}
	}
}

// usage adds up what rounds took.
type usage struct {
	sum    *llm.Usage // nil: the server did not say of one of them
	rounds int
}

func (u *usage) add(of *llm.Usage) {
	u.rounds++
	switch {
	case of == nil || u.sum == nil && u.rounds > 1:
		u.sum = nil
	case u.rounds == 1:
		first := *of
		u.sum = &first
	default:
		u.sum.Add(*of)
	}
}

// note says what all rounds took together.
func (u *usage) note(got llm.Answer, took time.Duration) []string {
	notes := account(got, took)
	for i := range notes {
		notes[i] = phrase.Plural(u.rounds, "round", "rounds") + ": " + notes[i]
	}
	return notes
}

func storeUsage(u *llm.Usage) (out store.Usage) {
	if u != nil {
		out = store.Usage(*u)
	}
	return out
}

// reply passes an answer on as it comes, and holds back what may be a list of requests:
// all that does not begin with the word that begins an answer, but for the last reply.
type reply struct {
	to   io.Writer
	last bool

	held    bytes.Buffer
	through bool // the rest is the answer
	list    bool // the rest is for the end, when all is known
	wrote   bool
}

// answerWord begins an answer in the form that was asked for.
const answerWord = "ANSWER"

func (r *reply) Write(p []byte) (int, error) {
	if r.list {
		return len(p), nil
	}
	if !r.through {
		r.held.Write(p)
		text := strings.TrimLeft(r.held.String(), " \t\r\n")
		first, rest, whole := strings.Cut(text, "\n")
		word := strings.Trim(first, "*#: \t\r")
		switch {
		case whole && word == answerWord:
			text = strings.TrimLeft(rest, "\r\n")
		case r.last && whole && !strings.HasPrefix(word, "READ"):
		default:
			r.list = whole
			return len(p), nil
		}
		r.through = true
		r.held.Reset()
		if text == "" {
			return len(p), nil
		}
		return len(p), r.write(text)
	}
	return len(p), r.write(string(p))
}

func (r *reply) write(text string) error {
	r.wrote = true
	if r.to == nil {
		return nil
	}
	_, err := io.WriteString(r.to, text)
	return err
}

// end writes an answer that was held back until it was whole.
func (r *reply) end(text string) error {
	if r.through && r.wrote || text == "" {
		return nil
	}
	return r.write(text)
}

// RequestsText says what a model wants to read, in one line.
func RequestsText(requests []prompt.Request) string {
	const most = 6
	var names []string
	for _, q := range requests[:min(len(requests), most)] {
		names = append(names, q.String())
	}
	text := strings.Join(names, ", ")
	if n := len(requests) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
