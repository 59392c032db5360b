package llm

import (
	"errors"
	"fmt"
	"strings"
)

// Kind says what went wrong, for callers that branch on it and for exit codes.
type Kind string

// The kinds of failure. Those marked "tried again" reach the caller only when
// the retries are used up.
const (
	KindAuth      Kind = "auth"       // 401 or 403: the key is wrong, or may not do this
	KindModel     Kind = "model"      // the server does not know the model
	KindTooLarge  Kind = "too large"  // the prompt does not fit the model's context, or the account's limit for one request
	KindURL       Kind = "url"        // something answered that is not an OpenAI-compatible endpoint
	KindConnect   Kind = "connect"    // no connection, or lost before an answer; tried again
	KindRateLimit Kind = "rate limit" // 429; tried again
	KindQuota     Kind = "quota"      // no credit left on the account
	KindServer    Kind = "server"     // 5xx, or an error amid the stream; tried again
	KindTimeout   Kind = "timeout"    // nothing came for Config.Timeout; tried again once
	KindDropped   Kind = "dropped"    // the stream ended before the answer did; tried again while nothing was delivered
	KindProtocol  Kind = "protocol"   // the answer is not what the protocol says
	KindEmpty     Kind = "empty"      // the answer is complete and has no text
	KindTooLong   Kind = "too long"   // the answer is over Config.MaxAnswer
	KindRequest   Kind = "request"    // the server, or this package, refuses the request
	KindCanceled  Kind = "canceled"   // the caller's context ended: Unwrap gives its error
	KindWrite     Kind = "write"      // the caller's writer failed: Unwrap gives its error
)

// Error is the failure of one [Client.Ask]. No field ever holds the API key,
// nor does any error that it wraps: it wraps only the caller's own (of the
// context, of the writer), because an error of the network or of a library may
// carry bytes that the server sent.
type Error struct {
	Kind      Kind
	Server    string // scheme and host of the base URL
	Model     string
	Status    int    // HTTP status, 0 when there was none
	Message   string // the server's or the network's words: one line, no control characters, redacted
	RequestID string // what the server's operator wants to hear, "" when unknown
	Attempts  int    // requests sent for this question

	// For KindTooLarge, if the server says so: tokens of the prompt and of the
	// most that fits. 0 when it did not.
	PromptTokens, LimitTokens int

	// MoreTokens says that a larger token limit for the answer may help.
	MoreTokens bool

	what  string // what happened, in our words
	hint  string // the way out; "" for the kind's own
	cause error

	retry   bool // may be tried again
	retries int  // at most so often, 0: as Config.MaxRetries says
	after   wait // what the server asked us to wait
	param   string
}

// Error gives one line: the server, what happened, the status, the server's words.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Server != "" {
		b.WriteString(e.Server + ": ")
	}
	b.WriteString(e.what)
	if e.Attempts > 1 && e.retry {
		fmt.Fprintf(&b, " after %d attempts", e.Attempts)
	}
	if e.Status != 0 && e.Status != 200 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request id %s)", e.RequestID)
	}
	return b.String()
}

// Unwrap gives the caller's own error (context, writer) or nil.
func (e *Error) Unwrap() error { return e.cause }

// ErrNotConfigured says that no model, or no key for a server that needs one,
// was named anywhere. Its [Hint] shows how to name one.
var ErrNotConfigured = errors.New("no language model is configured")

const notConfiguredHint = `name a model and, unless the server is on this machine, a key:
  OpenAI     export OPENAI_API_KEY=... TRACERAG_MODEL=gpt-5.4
  Ollama     export OPENAI_BASE_URL=http://localhost:11434/v1 TRACERAG_MODEL=qwen3-coder
  Gemini     export GEMINI_API_KEY=... OPENAI_BASE_URL=https://generativelanguage.googleapis.com/v1beta/openai TRACERAG_MODEL=gemini-2.5-pro
  Anthropic  export ANTHROPIC_API_KEY=... OPENAI_BASE_URL=https://api.anthropic.com/v1 TRACERAG_MODEL=claude-sonnet-4-5
  Azure      export AZURE_OPENAI_API_KEY=... AZURE_OPENAI_ENDPOINT=https://NAME.openai.azure.com AZURE_OPENAI_DEPLOYMENT=...
TRACERAG_API_KEY_FILE names a file (chmod 600) to read the key from instead`

// Hint gives the way out of an error of this package: one or more lines to
// print under it, without a final newline. It is "" when there is nothing to
// add, and for errors of others. Hints are kept apart from the error's text so
// that the text stays one line.
func Hint(err error) string {
	if errors.Is(err, ErrNotConfigured) {
		return notConfiguredHint
	}
	if c, ok := errors.AsType[*configError](err); ok {
		return c.hint
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return ""
	}
	if e.hint != "" {
		return e.hint
	}
	return kindHints[e.Kind]
}

// kindHints holds what helps whichever server it was. Names of variables are
// FromEnv's.
var kindHints = map[Kind]string{
	KindAuth:      "check that the key belongs to this server and is still valid (OPENAI_API_KEY, TRACERAG_API_KEY_FILE, OPENAI_BASE_URL)",
	KindModel:     "name a model that this server has (TRACERAG_MODEL)",
	KindTooLarge:  "make the prompt smaller, or ask a model with a larger context",
	KindURL:       "the base URL is the part before /chat/completions and usually ends in /v1 (OPENAI_BASE_URL)",
	KindConnect:   "check the network, the proxy (HTTPS_PROXY) and the base URL (OPENAI_BASE_URL)",
	KindRateLimit: "wait a little and ask again, or ask another model",
	KindQuota:     "add credit to the account or use another key; asking again will not help",
	KindServer:    "the fault is the server's: ask again later, or ask another model",
	KindTimeout:   "ask again, or allow more time: large prompts and slow machines need minutes before the first word",
	KindDropped:   "ask again",
	KindProtocol:  "the base URL may name something that is not an OpenAI-compatible endpoint (OPENAI_BASE_URL)",
	KindTooLong:   "no honest answer is so long: ask again, or allow a longer answer",
	KindEmpty:     "ask again, or allow more tokens for the answer: a reasoning model spends them on thinking first",
}

// configError is a fault in the configuration, found before anything is sent.
type configError struct{ text, hint string }

func (e *configError) Error() string { return e.text }
