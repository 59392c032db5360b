package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"
)

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"` // "system", "user" or "assistant"
	Content string `json:"content"`
}

// Request is what is asked: the conversation so far, the question last.
type Request struct {
	Messages []Message
	// Temperature is that of this question; nil: that of the client.
	Temperature *float64
}

// Usage is the server's own count, in the model's tokens.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"` // thinking included, except at Gemini: see ReasoningTokens
	TotalTokens      int `json:"total_tokens"`
	CachedTokens     int `json:"cached_tokens"` // of PromptTokens, read from the server's prompt cache

	// ReasoningTokens is what the model spent on thinking. Gemini counts it in
	// the total alone; it is computed as the rest of the total then.
	ReasoningTokens int `json:"reasoning_tokens"`
}

// Add adds what another request took.
func (u *Usage) Add(v Usage) {
	u.PromptTokens += v.PromptTokens
	u.CompletionTokens += v.CompletionTokens
	u.TotalTokens += v.TotalTokens
	u.CachedTokens += v.CachedTokens
	u.ReasoningTokens += v.ReasoningTokens
}

// Answer is what the model said.
type Answer struct {
	Text         string `json:"text"`                    // without the model's thinking
	Model        string `json:"model"`                   // as the server names it; the configured name when it does not
	FinishReason string `json:"finish_reason,omitempty"` // "stop", "length" (cut at a token limit), "content_filter"; "" when not told
	Usage        *Usage `json:"usage,omitempty"`         // nil when the server sent none

	// Incomplete says that the stream ended before the answer did: Text is what
	// came. Ask returns an error beside it.
	Incomplete bool `json:"incomplete,omitempty"`

	// Notes are sentences for the user about what was done differently from
	// what was asked: a parameter left out, a prompt that the server seems to
	// have cut.
	Notes []string `json:"notes,omitempty"`
}

// Client asks one model of one server. It may be used by several goroutines.
type Client struct {
	cfg    Config // without the key
	key    func() string
	http   *http.Client
	server string
	redact redactor

	// Replaced in tests.
	sleep  func(context.Context, time.Duration) error
	random func() float64
	now    func() time.Time
}

// New checks the configuration; nothing is sent yet. A missing model or key is
// an error that wraps [ErrNotConfigured].
func New(cfg Config) (*Client, error) {
	cfg, err := cfg.settle()
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(cfg.BaseURL)
	if err != nil {
		return nil, &configError{"the base URL is malformed", ""}
	}
	key := cfg.APIKey
	c := &Client{
		cfg:    cfg,
		key:    func() string { return key }, // a closure: printing a Client shows an address
		http:   newHTTPClient(cfg.HTTPClient),
		server: u.Scheme + "://" + u.Host,
		redact: newRedactor(key),
		sleep:  pause,
		random: rand.Float64,
		now:    time.Now,
	}
	c.cfg.APIKey = ""
	return c, nil
}

// Ask sends the conversation and returns the model's answer, whose pieces are
// written to stream (unless nil) as they come, each in one Write.
//
// Failures that may pass are tried again as [Config.MaxRetries] says, as long as
// nothing of the answer has come. Whatever has come is returned beside an error:
// Text holds it and Incomplete is set when the stream dropped, the writer
// failed or ctx ended. Every error is an [*Error].
func (c *Client) Ask(ctx context.Context, req Request, stream io.Writer) (Answer, error) {
	d, err := c.dialect(req)
	if err != nil {
		return Answer{}, c.name(err, 0)
	}
	var answer Answer
	fail := c.persist(ctx, func() (fail *Error) {
		answer, fail = c.try(ctx, d, stream)
		return fail
	}, d.adapt)
	answer.Notes = d.notes
	switch {
	case fail == nil:
		answer.Notes = append(answer.Notes, c.suspicions(req, answer)...)
		return answer, nil
	case answer.Text != "":
		answer.Incomplete = true
		return answer, fail
	}
	return Answer{}, fail
}

// persist sends a request until it is answered, or the failure is final. adapt may change
// the request to avoid a refusal: that is another request, not another try of the same, so
// it does not wait and counts for nothing.
func (c *Client) persist(ctx context.Context, send func() *Error, adapt func(*Error) bool) *Error {
	for attempt, sent := 1, 1; ; sent++ {
		fail := send()
		if fail == nil {
			return nil
		}
		c.name(fail, sent)
		if adapt(fail) {
			continue
		}
		limit := c.cfg.MaxRetries
		if fail.retries > 0 {
			limit = min(limit, fail.retries)
		}
		if !fail.retry || attempt > limit {
			return fail
		}
		delay := backoff(attempt, fail.after, c.random())
		if c.cfg.OnRetry != nil {
			c.cfg.OnRetry(attempt, delay, fail.reason())
		}
		if err := c.sleep(ctx, delay); err != nil {
			return c.name(ended(ctx), sent)
		}
		attempt++
	}
}

// name completes an error with what only the client knows.
func (c *Client) name(e *Error, sent int) *Error {
	e.Server, e.Model, e.Attempts = c.server, c.cfg.Model, sent
	return e
}

// ended is the error for a context that the caller (not our own time-out) ended.
func ended(ctx context.Context) *Error {
	e := &Error{Kind: KindCanceled, what: "cancelled", cause: ctx.Err()}
	if errors.Is(e.cause, context.DeadlineExceeded) {
		e.what = "the caller's deadline has passed"
	}
	return e
}

// leastTokenBytes is fewer tokens than any tokenizer makes of this many bytes of
// source code: real ones take 3 to 5 bytes a token, deep indentation up to 8.
const leastTokenBytes = 16

// suspicions names what the server did not tell but its numbers do. Ollama cuts
// a prompt that is longer than num_ctx, drops the beginning, and answers the
// rest without a word.
func (c *Client) suspicions(req Request, a Answer) []string {
	if a.Usage == nil || a.Usage.PromptTokens <= 0 {
		return nil
	}
	size := 0
	for _, m := range req.Messages {
		size += len(m.Content)
	}
	if size/leastTokenBytes <= a.Usage.PromptTokens {
		return nil
	}
	return []string{fmt.Sprintf("the server counted %d tokens in a prompt of %d bytes: it has probably cut the prompt to its context size (Ollama: set num_ctx or OLLAMA_CONTEXT_LENGTH)",
		a.Usage.PromptTokens, size)}
}

// try sends one request and reads its answer. The answer may hold text beside
// an error.
func (c *Client) try(ctx context.Context, d *dialect, stream io.Writer) (Answer, *Error) {
	x := c.newExchange(ctx, d.zeroTemperature)
	defer x.close()
	fail := x.send(func(ctx context.Context, api *openai.Client) (err error) {
		if d.whole {
			_, err = api.CreateChatCompletion(ctx, d.wire())
		} else {
			_, err = api.CreateChatCompletionStream(ctx, d.wire())
		}
		return err
	})
	if fail != nil {
		return Answer{}, fail
	}
	if fail := x.refusal(); fail != nil {
		return Answer{}, fail
	}
	return x.read(stream)
}

// read takes the answer from a response that is not a refusal, in whichever form
// it came: the stream that was asked for, or one JSON document from a server that
// does not stream. The first byte decides; Content-Type is often wrong.
func (x *exchange) read(stream io.Writer) (Answer, *Error) {
	c := x.client
	a := Answer{Model: c.cfg.Model}
	out := &answerWriter{mask: c.redact.mask, most: c.cfg.MaxAnswer, stream: stream}
	written := func(err error) *Error {
		switch {
		case err != nil && x.caller.Err() != nil:
			return ended(x.caller)
		case err != nil:
			return &Error{Kind: KindWrite, what: "cannot write the answer", Message: c.redact.clean(err.Error()), cause: err}
		case out.full:
			return &Error{Kind: KindTooLong, what: fmt.Sprintf("the answer was cut: it is longer than %s", megabytes(int64(c.cfg.MaxAnswer)))}
		}
		return nil
	}
	s := newEvents(x.body)
	thought := false
	done := false
	var fail *Error
	for !done && fail == nil {
		stop := x.await()
		data, err := s.next()
		stop()
		if err != nil {
			fail = x.streamEnd(err, a)
			if err == io.EOF && !s.seen && s.other != nil {
				fail = x.foreign(s.other)
			}
			break
		}
		if string(data) == "[DONE]" {
			break
		}
		ch, err := decodeChunk(data)
		if err != nil {
			fail = x.undecodable(data)
			break
		}
		if ch.err != nil {
			fail = x.serverSays(*ch.err, 0)
			break
		}
		if ch.model != "" {
			a.Model = c.redact.clean(ch.model)
		}
		if ch.usage != nil {
			a.Usage = ch.usage
		}
		thought = thought || ch.thought
		if ch.text != "" {
			fail = written(out.add(ch.text))
		}
		if ch.finish != "" && a.FinishReason == "" {
			a.FinishReason = c.redact.clean(ch.finish)
			// What may still come is the usage, at once or never.
			x.hurry()
		}
		done = s.whole
	}
	if err := out.end(); fail == nil {
		fail = written(err)
	}
	a.Text = out.text.String()
	if fail == nil && strings.TrimSpace(a.Text) == "" {
		a.Text = ""
		fail = emptyAnswer(a, thought)
	}
	if fail != nil && a.Text != "" {
		fail.retry = false // its attempts are no longer the point of the message either
	}
	return a, fail
}

// emptyAnswer explains an answer that ended well and says nothing.
func emptyAnswer(a Answer, thought bool) *Error {
	e := &Error{Kind: KindEmpty, what: "the answer is empty", MoreTokens: a.FinishReason != "content_filter"}
	switch {
	case a.FinishReason == "content_filter":
		e.what = "the answer was withheld by the server's content filter"
		e.hint = "put the question differently, or ask another model"
	case a.FinishReason == "length" && thought:
		e.what = "the model thought until its token limit and did not come to an answer"
		e.hint = "allow more tokens for the answer"
	case a.FinishReason == "length":
		e.what = "the answer ended at its token limit before its first word"
		e.hint = "the prompt may fill the model's whole context: make it smaller, or allow more tokens for the answer"
	}
	return e
}
