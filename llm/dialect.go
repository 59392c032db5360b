package llm

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/sashabaranov/go-openai"
)

// dialect is one question in the words of one server: the request, which
// changes as the server refuses parts of it, and what to tell the user about that.
type dialect struct {
	request openai.ChatCompletionRequest
	// maxTokens is the answer's limit under its older or its newer name: 0, none.
	maxTokens int
	newLimit  bool
	// zeroTemperature is sent apart from request, whose field cannot hold it:
	// 0 is "not set" there. The smallest float, which go-openai's
	// documentation recommends instead, makes llama.cpp divide by it.
	zeroTemperature bool
	whole           bool // ask for one document, not for a stream
	notes           []string
	used            map[string]bool // adaptations made
}

// thinkingModel matches OpenAI's reasoning models. It is as wide as go-openai's
// own check, which would refuse max_tokens and temperature for these names
// before anything is sent.
var thinkingModel = lazily(`^(?:o[1-9]|gpt-[5-9])`)

// takesNoTemperature tells the models that take no temperature, and the limit
// only as max_completion_tokens, by name, without a router's "openai/".
func takesNoTemperature(model string) bool {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	return thinkingModel().MatchString(name)
}

func (c *Client) dialect(req Request) (*dialect, *Error) {
	d := &dialect{used: map[string]bool{}}
	d.request.Model = c.cfg.Model
	for i, m := range req.Messages {
		switch m.Role {
		case "system", "user", "assistant":
		default:
			return nil, &Error{Kind: KindRequest, what: fmt.Sprintf("message %d has the role %q: it must be system, user or assistant", i+1, m.Role)}
		}
		if strings.TrimSpace(m.Content) == "" {
			return nil, &Error{Kind: KindRequest, what: fmt.Sprintf("message %d (%s) is empty", i+1, m.Role)}
		}
		d.request.Messages = append(d.request.Messages, openai.ChatCompletionMessage{Role: m.Role, Content: m.Content})
	}
	if len(d.request.Messages) == 0 {
		return nil, &Error{Kind: KindRequest, what: "the request has no message"}
	}
	d.request.StreamOptions = &openai.StreamOptions{IncludeUsage: true}

	thinking := takesNoTemperature(c.cfg.Model)
	// OpenAI takes the new name for all its models; Ollama knows only the old.
	d.maxTokens = c.cfg.MaxTokens
	d.newLimit = thinking || c.cfg.Azure || c.cfg.BaseURL == DefaultBaseURL
	if t := cmp.Or(req.Temperature, c.cfg.Temperature); t != nil {
		switch {
		case thinking:
			d.notes = append(d.notes, fmt.Sprintf("the temperature was not sent: %s does not accept one", c.cfg.Model))
		case float32(*t) == 0:
			d.zeroTemperature = true
		default:
			d.request.Temperature = float32(*t)
		}
	}
	return d, nil
}

// wire is the request as it is now.
func (d *dialect) wire() openai.ChatCompletionRequest {
	r := d.request
	if d.newLimit {
		r.MaxCompletionTokens = d.maxTokens
	} else {
		//lint:ignore SA1019 the deprecated name is the only one that Ollama and older servers know
		r.MaxTokens = d.maxTokens
	}
	return r
}

// adaptation is one way of asking differently after a refusal.
type adaptation struct {
	name    string
	param   string                // the parameter that an OpenAI error blames
	words   func() *regexp.Regexp // or the refusal's text
	applies func(*dialect) bool
	apply   func(*dialect)
	note    string
}

// adaptations in the order of trying; each is made once for a question.
var adaptations = []adaptation{
	{
		name:    "new token limit",
		words:   lazily(`(?i)max_completion_tokens`),
		param:   "max_tokens",
		applies: func(d *dialect) bool { return d.maxTokens > 0 && !d.newLimit },
		apply:   func(d *dialect) { d.newLimit = true },
	},
	{
		name:  "old token limit",
		words: lazily(`(?i)max_completion_tokens`),
		param: "max_completion_tokens",
		// go-openai refuses the old name for models of these names.
		applies: func(d *dialect) bool {
			return d.maxTokens > 0 && d.newLimit && !takesNoTemperature(d.request.Model)
		},
		apply: func(d *dialect) { d.newLimit = false },
	},
	{
		name:    "temperature",
		words:   lazily(`(?i)\btemperature\b`),
		param:   "temperature",
		applies: func(d *dialect) bool { return d.request.Temperature != 0 || d.zeroTemperature },
		apply:   func(d *dialect) { d.request.Temperature, d.zeroTemperature = 0, false },
		note:    "the temperature was not sent: the server refuses it for this model",
	},
	{
		name:    "usage",
		words:   lazily(`(?i)stream_options|include_usage`),
		param:   "stream_options",
		applies: func(d *dialect) bool { return d.request.StreamOptions != nil },
		apply:   func(d *dialect) { d.request.StreamOptions = nil },
		note:    "the server does not report usage for streamed answers",
	},
	{
		name:    "stream",
		words:   lazily(`(?i)verified to stream|stream(?:ing)?\W+(?:is |are )?(?:not supported|unsupported)|not support stream`),
		param:   "stream",
		applies: func(d *dialect) bool { return !d.whole },
		apply:   func(d *dialect) { d.whole, d.request.StreamOptions = true, nil },
		note:    "the server does not stream this model to this account: the answer came in one piece",
	},
	{
		name:    "system role",
		words:   lazily(`(?i)system (?:role|message)s?.{0,40}(?:not supported|unsupported)|not support.{0,60}\bsystem\b`),
		applies: func(d *dialect) bool { return d.request.Messages[0].Role == "system" },
		apply:   foldSystem,
		note:    "the model has no system role: the instructions were put before the first question",
	},
}

// adapt changes the request to avoid a refusal, if it knows how.
func (d *dialect) adapt(e *Error) bool {
	// 422 is what FastAPI servers answer to an unknown field; templates without
	// a system role make llama.cpp answer 500.
	if e.Status != 400 && e.Status != 422 && e.Status != 500 || e.Kind != KindRequest && e.Kind != KindServer {
		return false
	}
	for _, a := range adaptations {
		blamed := e.param != "" && e.param == a.param || a.words().MatchString(e.Message)
		if !blamed || d.used[a.name] || !a.applies(d) {
			continue
		}
		d.used[a.name] = true
		a.apply(d)
		if a.note != "" {
			d.notes = append(d.notes, a.note)
		}
		return true
	}
	return false
}

// foldSystem puts leading system messages at the head of the first user message.
func foldSystem(d *dialect) {
	var system []string
	rest := d.request.Messages
	for len(rest) > 0 && rest[0].Role == "system" {
		system = append(system, rest[0].Content)
		rest = rest[1:]
	}
	out := append([]openai.ChatCompletionMessage(nil), rest...)
	text := strings.Join(system, "\n\n")
	if len(out) > 0 && out[0].Role == "user" {
		out[0].Content = text + "\n\n" + out[0].Content
	} else {
		out = append([]openai.ChatCompletionMessage{{Role: "user", Content: text}}, out...)
	}
	d.request.Messages = out
}
