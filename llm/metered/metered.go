// Package metered asks a model many questions under one ceiling of cost and one rate, asks
// none of them twice, and counts what all of them took.
//
//	m := metered.New(metered.Options{Model: "gpt-4o", Ask: client.Ask, ...})
//	err := m.AskInForm(ctx, metered.Question{Kind: "rerank", User: prompt}, parse)
//
// A [Question] is known by a hash of the model and of all that is sent. Its answer is kept by
// a [Keeper] before anybody uses it, so a command that was ended in any way goes on where it
// was. A question that does not fit the model's window is refused before it is sent
// ([TooLongError]). A reply that was cut at its limit of tokens ends with its last whole line, and
// is asked for again by a model that may answer with more.
//
// Secrets are masked in what is sent and in what comes back. [Options.Tell] hears of every exchange,
// the kept ones too: a transcript of a command is complete however often the
// command was interrupted.
package metered

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"tracerag/llm"
	"tracerag/llm/throttle"
)

// Question is what is asked at once.
type Question struct {
	Kind   string // what is asked for, "rerank": for messages, and in the transcript
	System string // "" is none
	User   string
	// Temperature of the answer; nil: the client's own. Equal questions of several samples have
	// an answer each.
	Temperature *float64
	Sample      int
	// Again is how often a reply in no form is asked for again; 0 is once.
	Again int
}

// Keeper keeps answers. It may be used by several goroutines.
type Keeper interface {
	// Answer returns what was kept under a key; nil if nothing was.
	Answer(ctx context.Context, key string) ([]byte, error)
	KeepAnswer(ctx context.Context, key string, answer []byte) error
}

// Exchange is a question with its answer.
type Exchange struct {
	Kind     string        `json:"kind"`
	Messages []llm.Message `json:"messages"`
	// Temperature of the question; nil: the client's own.
	Temperature *float64 `json:"temperature,omitempty"`

	Answer   string  `json:"answer"`
	Kept     bool    `json:"kept,omitempty"` // it was asked earlier
	Cut      bool    `json:"cut,omitempty"`  // at the limit of tokens
	Prompt   int     `json:"prompt_tokens"`
	Answered int     `json:"answer_tokens"`
	Cost     float64 `json:"cost_usd,omitempty"` // that it had, or has had; 0 where no price is known
	Error    string  `json:"error,omitempty"`
}

// Options say who is asked and within which limits.
type Options struct {
	Model  string
	Ask    func(context.Context, llm.Request, io.Writer) (llm.Answer, error) // of an [llm.Client]
	Window int                                                               // tokens that the model takes, with its answer
	// MaxTokens is what an answer may have: as much of the window is left free for it, and the
	// ceiling of cost counts with it.
	MaxTokens int
	Count     func(string) int // tokens of a text
	Limits    throttle.Limits
	Keeper    Keeper              // nil keeps nothing
	Mask      func(string) string // secrets; nil masks none
	Tell      func(Exchange)      // called by one at a time; nil tells nobody
}

// Model is a model that is asked under limits. It may be used by several goroutines.
type Model struct {
	o     Options
	meter *throttle.Meter

	mu     sync.Mutex
	totals Totals
	under  map[string]chan struct{} // questions under way: equal ones wait for each other
}

// Totals is what all questions took until now.
type Totals struct {
	Questions int     `json:"questions"` // that were sent
	Kept      int     `json:"kept"`      // that were answered earlier
	Cut       int     `json:"cut"`       // whose answers were cut at the limit of tokens
	Prompt    int     `json:"prompt_tokens"`
	Answered  int     `json:"answer_tokens"`
	Cost      float64 `json:"cost_usd"` // 0 where no price is known
}

// TooLongError says that a question does not fit the model's window.
type TooLongError struct {
	Kind         string
	Tokens, Room int
}

func (e *TooLongError) Error() string {
	if e.Room <= 0 {
		return fmt.Sprintf("the question (%s) has %d tokens: the model's answer alone may fill its window", e.Kind, e.Tokens)
	}
	return fmt.Sprintf("the question (%s) has %d tokens: the model has room for %d", e.Kind, e.Tokens, e.Room)
}

// NoCeilingError says that questions cost money, and that no limit says how much may be spent.
type NoCeilingError struct {
	Model string  // that costs money; "": those that are asked
	Task  string  // what it is to do, "make 7 summaries"; "" is not said
	Need  float64 // US dollars that are enough, with what was spent; 0: not known
}

func (e *NoCeilingError) Error() string {
	what := "these questions cost money"
	switch {
	case e.Task != "":
		what = e.Model + " is to " + e.Task
	case e.Model != "":
		what = e.Model + " costs money"
	}
	return what + ": set a cost limit"
}

// FormError says that a model's reply was not in the form asked for, when asked a second time.
type FormError struct {
	Kind  string
	Reply string // the last one
	Err   error  // what is wrong with it
}

func (e *FormError) Error() string {
	return fmt.Sprintf("the model's reply (%s) is not in the form asked for: %v", e.Kind, e.Err)
}

func (e *FormError) Unwrap() error { return e.Err }

// New returns a model.
func New(o Options) *Model {
	if o.Mask == nil {
		o.Mask = func(s string) string { return s }
	}
	return &Model{o: o, meter: throttle.NewMeter(o.Limits), under: map[string]chan struct{}{}}
}

// clientTokens is what an answer may have if the configuration does not say.
const clientTokens = 4000

// Client returns a model of a server. An interruption does not break off what is asked already:
// its answer is paid for, and kept.
func Client(c llm.Config, o Options) (*Model, error) {
	if c.MaxTokens == 0 {
		c.MaxTokens = clientTokens
	}
	client, err := llm.New(c)
	if err != nil {
		return nil, err
	}
	o.Model, o.MaxTokens = c.Model, c.MaxTokens
	o.Ask = func(ctx context.Context, r llm.Request, w io.Writer) (llm.Answer, error) {
		return client.Ask(context.WithoutCancel(ctx), r, w)
	}
	return New(o), nil
}

// Totals returns what all questions took until now.
func (m *Model) Totals() Totals {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.totals
}

// Name is the model's name.
func (m *Model) Name() string { return m.o.Model }

// overhead is what a server's own form of a conversation takes of the window.
const overhead = 64

// Room is how many tokens a question may have, beside so many that it has already.
func (m *Model) Room(taken ...string) int {
	room := m.o.Window - m.o.MaxTokens - overhead
	for _, s := range taken {
		room -= m.o.Count(s)
	}
	return room
}

// Affordable returns a [NoCeilingError] if the model has a known price and no ceiling. It is for who has
// many questions; task may say what they are for.
func (m *Model) Affordable(task string) error {
	if _, priced := llm.EstimateCost(m.o.Model, llm.Usage{PromptTokens: 1}); priced && m.o.Limits.MaxCost == 0 {
		return &NoCeilingError{Model: m.o.Model, Task: task}
	}
	return nil
}

// AnswerTokens is how many tokens an answer may have.
func (m *Model) AnswerTokens() int { return m.o.MaxTokens }

// Count returns the tokens of a text.
func (m *Model) Count(text string) int { return m.o.Count(text) }

// Ask returns the answer to a question.
func (m *Model) Ask(ctx context.Context, q Question) (string, error) {
	reply, _, err := m.ask(ctx, m.exchange(q))
	return reply, err
}

// AskInForm asks a question and has parse read the reply. If parse refuses it, the model is
// told why and asked again, as often as the question says; if that is refused, too, the error is a [FormError].
func (m *Model) AskInForm(ctx context.Context, q Question, parse func(reply string) error) error {
	x := m.exchange(q)
	for again := max(q.Again, 1); ; again-- {
		reply, cut, err := m.ask(ctx, x)
		if tooLong := (*TooLongError)(nil); x.asked != nil && errors.As(err, &tooLong) {
			return x.asked // the replies filled the window
		}
		if err != nil {
			return err
		}
		wrong := parse(reply)
		if wrong == nil {
			return nil
		}
		x.asked = &FormError{q.Kind, reply, wrong}
		if again == 0 {
			return x.asked
		}
		if cut {
			wrong = fmt.Errorf("it was cut at %d tokens (%w): answer in fewer", m.o.MaxTokens, wrong)
		}
		if reply != "" { // servers refuse a message that is empty
			x.messages = append(x.messages, llm.Message{Role: "assistant", Content: reply})
		}
		x.messages = append(x.messages, llm.Message{Role: "user", Content: m.o.Mask(fmt.Sprintf("This is not in the form that was asked for: %v. Answer again in that form, with nothing before or after it.", wrong))})
	}
}

// exchange is a question on its way to an answer.
type exchange struct {
	kind        string
	messages    []llm.Message
	temperature *float64
	sample      int
	asked       error // what was wrong with the reply before
}

func (m *Model) exchange(q Question) *exchange {
	return &exchange{kind: q.Kind, messages: m.messages(q), temperature: q.Temperature, sample: q.Sample}
}

// key knows a question by all that decides about its answer.
func (x *exchange) key(model string) (string, error) {
	data, err := json.Marshal(x.messages)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s", model, data)
	if x.temperature != nil || x.sample > 0 {
		how, err := json.Marshal([]any{x.temperature, x.sample})
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "\x00%s", how)
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

func (m *Model) messages(q Question) []llm.Message {
	var out []llm.Message
	if q.System != "" {
		out = append(out, llm.Message{Role: "system", Content: m.o.Mask(q.System)})
	}
	return append(out, llm.Message{Role: "user", Content: m.o.Mask(q.User)})
}

// kept is how an answer is kept.
type kept struct {
	Text     string  `json:"text"`
	Prompt   int     `json:"prompt_tokens"`
	Answered int     `json:"answer_tokens"`
	Cost     float64 `json:"cost_usd,omitempty"`
	Cut      int     `json:"cut,omitempty"` // the limit of tokens at which it was cut
}

func (m *Model) ask(ctx context.Context, q *exchange) (reply string, cut bool, err error) {
	key, err := q.key(m.o.Model)
	if err != nil {
		return "", false, err
	}
	release, err := m.alone(ctx, key)
	if err != nil {
		return "", false, err
	}
	defer release()
	kind := q.kind
	x := Exchange{Kind: kind, Messages: q.messages, Temperature: q.temperature}
	if a, err := m.earlier(ctx, key); err != nil {
		return "", false, err
	} else if a != nil {
		x.Answer, x.Kept, x.Prompt, x.Answered, x.Cut = a.Text, true, a.Prompt, a.Answered, a.Cut > 0
		m.tell(x, a.Cost)
		return x.Answer, x.Cut, nil
	}
	for _, msg := range q.messages {
		x.Prompt += m.o.Count(msg.Content)
	}
	if room := m.Room(); x.Prompt > room {
		return "", false, &TooLongError{kind, x.Prompt, room}
	}
	most, priced := llm.EstimateCost(m.o.Model, llm.Usage{PromptTokens: x.Prompt, CompletionTokens: m.o.MaxTokens})
	cost := 0.0
	err = m.meter.Ask(ctx, throttle.Job{Name: kind, Model: m.o.Model, Tokens: x.Prompt, Most: most, MostTokens: x.Prompt + m.o.MaxTokens, Used: func() int { return x.Prompt + x.Answered }, Ask: func(ctx context.Context) (float64, error) {
		got, err := m.o.Ask(ctx, llm.Request{Messages: q.messages, Temperature: q.temperature}, nil)
		if refused, ok := errors.AsType[*llm.Error](err); ok && refused.Kind == llm.KindEmpty {
			err = nil // a silence that has come to its end is an answer: one in no form
		}
		text, limit := got.Text, 0
		if err == nil && got.FinishReason == "length" {
			text, limit, x.Cut = wholeLines(text), m.o.MaxTokens, true
		}
		x.Answer, x.Answered = m.o.Mask(text), m.o.Count(got.Text)
		if got.Usage != nil {
			x.Prompt, x.Answered = got.Usage.PromptTokens, got.Usage.CompletionTokens
		}
		if cost = most; priced && got.Usage != nil {
			cost, _ = llm.EstimateCost(m.o.Model, *got.Usage)
		}
		if err != nil {
			err, taken := Classify(ctx, got, err)
			if !taken {
				cost = 0
			}
			return cost, err
		}
		return cost, m.keep(ctx, key, kept{x.Answer, x.Prompt, x.Answered, cost, limit})
	}})
	if err != nil {
		x.Error = err.Error()
	}
	if err == nil || x.Answer != "" {
		m.tell(x, cost)
	}
	if err != nil {
		return "", false, err
	}
	return x.Answer, x.Cut, nil
}

// wholeLines is a text without its last line: a place that was cut may read like another one,
// a name like a shorter name.
func wholeLines(text string) string {
	return text[:strings.LastIndexByte(text, '\n')+1]
}

// alone has equal questions wait for each other: the second finds the first's answer.
func (m *Model) alone(ctx context.Context, key string) (release func(), err error) {
	for {
		m.mu.Lock()
		other, busy := m.under[key]
		if !busy {
			done := make(chan struct{})
			m.under[key] = done
			m.mu.Unlock()
			return func() {
				m.mu.Lock()
				delete(m.under, key)
				m.mu.Unlock()
				close(done)
			}, nil
		}
		m.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (m *Model) earlier(ctx context.Context, key string) (*kept, error) {
	if m.o.Keeper == nil {
		return nil, nil
	}
	data, err := m.o.Keeper.Answer(ctx, key)
	if err != nil || data == nil {
		return nil, err
	}
	a := new(kept)
	if err := json.Unmarshal(data, a); err != nil {
		return nil, fmt.Errorf("an answer that was kept: %w", err)
	}
	if a.Cut > 0 && m.o.MaxTokens > a.Cut {
		return nil, nil
	}
	return a, nil
}

// keep keeps an answer. One that cannot be kept would be paid for again each time: nothing
// more is asked then.
func (m *Model) keep(ctx context.Context, key string, a kept) error {
	if m.o.Keeper == nil {
		return nil
	}
	data, err := json.Marshal(a)
	if err == nil {
		// It is paid for: an interruption that comes now does not lose it.
		err = m.o.Keeper.KeepAnswer(context.WithoutCancel(ctx), key, data)
	}
	if err != nil {
		return &throttle.StopError{Err: fmt.Errorf("an answer was not kept: %w", err)}
	}
	return nil
}

func (m *Model) tell(x Exchange, cost float64) {
	x.Cost = cost
	m.mu.Lock()
	defer m.mu.Unlock()
	if x.Cut {
		m.totals.Cut++
	}
	if x.Kept {
		m.totals.Kept++
	} else {
		m.totals.Questions++
		m.totals.Prompt += x.Prompt
		m.totals.Answered += x.Answered
		m.totals.Cost += cost
	}
	if m.o.Tell != nil {
		m.o.Tell(x)
	}
}

// Classify marks an error of [llm.Client.Ask] for package throttle, and reports whether the
// server may have taken the question nevertheless, so that it may have cost something.
func Classify(ctx context.Context, got llm.Answer, err error) (marked error, taken bool) {
	taken = ctx.Err() != nil || got.Text != ""
	refused, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err, taken
	}
	switch refused.Kind {
	case llm.KindAuth, llm.KindModel, llm.KindURL, llm.KindQuota:
		err = &throttle.FinalError{Err: err}
	case llm.KindTooLarge:
		err = &throttle.QuestionError{Err: err}
	case llm.KindTimeout, llm.KindDropped:
		taken = true
	}
	return err, taken
}
