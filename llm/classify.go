package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// refusal explains a response that is not an answer; nil when it may be one.
func (x *exchange) refusal() *Error {
	r := x.response
	switch {
	case r.StatusCode >= 200 && r.StatusCode < 300:
		return nil
	case r.StatusCode < 400:
		return x.redirected()
	}
	body, err := io.ReadAll(io.LimitReader(x.body, maxErrorBody))
	if err != nil && x.caller.Err() != nil {
		return ended(x.caller)
	}
	s := parseSaid(body)
	if !s.after.told {
		s.after = retryAfter(r.Header, x.client.now())
	}
	html := looksHTML(body)
	if html {
		s.message = "an HTML page" + htmlTitle(body)
	}
	e := x.serverSays(s, r.StatusCode)
	if html && e.Kind == KindRequest {
		e.Kind, e.what = KindURL, "a web page answered, not an OpenAI-compatible endpoint"
		e.hint = x.urlHint()
	}
	for _, name := range []string{"X-Request-Id", "Request-Id", "Apim-Request-Id"} {
		if id := r.Header.Get(name); id != "" {
			e.RequestID = x.client.redact.clean(id)
			break
		}
	}
	// OpenAI's and Anthropic's own word on whether to come back; it does not
	// make a refusal retryable.
	if r.Header.Get("X-Should-Retry") == "false" {
		e.retry = false
	}
	return e
}

var (
	quotaCode  = lazily(`^(?:insufficient_quota|billing_hard_limit_reached|billing_not_active|insufficient_balance)$`)
	keyWords   = lazily(`(?i)api key not valid|api key expired|invalid api key|incorrect api key`)
	modelCode  = lazily(`^(?:model_not_found|DeploymentNotFound|invalid_model|unknown_model|model_not_available)$`)
	modelWords = lazily("(?i)" +
		"(?:model|deployment)s?\\b.{0,120}(?:not (?:be )?found|does ?n[o']t exist|not exist\\b|not (?:a )?valid|is not available|no longer available|decommissioned|not supported|have access)" +
		"|invalid model|unknown model|no such model|not a valid model|^model: ")
	tlsWords   = lazily(`(?i)http request to an https server|plain http request was sent to https`)
	rateCode   = lazily(`(?i)rate_?limit|too_many_requests|resource_exhausted`)
	serverCode = lazily(`(?i)overloaded|server_?error|internal|unavailable|timeout`)
)

// retryable are the statuses that may pass: 529 is Anthropic's "overloaded".
var retryable = map[int]bool{408: true, 429: true, 500: true, 502: true, 503: true, 504: true, 529: true}

// serverSays sorts a server's error. status is 0 for an error within a stream
// that had begun well. The order matters: a wording is looked for before the
// status, which the servers use loosely.
func (x *exchange) serverSays(s said, status int) *Error {
	c := x.client
	e := &Error{Status: status, Message: c.redact.clean(s.message), param: c.redact.clean(s.param), after: s.after}
	if n := count(json.Number(s.code)); status == 0 && n >= 400 && n < 600 {
		status, e.Status = n, n // OpenRouter and vLLM put the status there
	}
	prompt, limit, long := matchSizes(overflowSizes(), s.message)
	code := s.code
	if code == "" {
		code = s.kind
	}
	switch {
	case status == 429 && first(&prompt, &limit, requestLimit(), s.message):
		e.Kind, e.what = KindTooLarge, "the prompt is larger than the account may send in one request"
		e.hint = "make the prompt smaller, ask a model with a higher limit, or raise the account's tier; waiting does not help"
		e.PromptTokens, e.LimitTokens = prompt, limit
		e.what += sizes(prompt, limit)
	case status != 401 && status != 429 && (long || overflowCode().MatchString(s.code) || overflowCode().MatchString(s.kind)), status == 413:
		e.Kind, e.what = KindTooLarge, fmt.Sprintf("the prompt does not fit the context of model %q", c.cfg.Model)
		e.PromptTokens, e.LimitTokens = max(prompt, s.prompt), max(limit, s.limit)
		e.what += sizes(e.PromptTokens, e.LimitTokens)
		if c.isOllama(s.message) {
			e.hint = "make the prompt smaller, or give the model a larger context (OLLAMA_CONTEXT_LENGTH, num_ctx)"
		}
	case status == 402 || quotaCode().MatchString(s.code) || quotaCode().MatchString(s.kind):
		e.Kind, e.what = KindQuota, "the account has no credit left"
	case modelCode().MatchString(s.code) || slices.Contains([]int{400, 403, 404, 422}, status) && modelWords().MatchString(s.message) && !blamesParameter(s):
		e.Kind, e.what = KindModel, fmt.Sprintf("the server does not know the model %q, or does not give it to this key", c.cfg.Model)
		e.hint = c.modelHint(s.message)
	case status == 401 || status == 403 || keyWords().MatchString(s.message):
		e.Kind, e.what = KindAuth, "the API key is refused"
		if c.key() == "" {
			e.what = "the server wants an API key and none is configured"
			e.hint = "set OPENAI_API_KEY, or TRACERAG_API_KEY_FILE to a file that holds the key"
		}
	case status == 404 || status == 405:
		e.Kind, e.what = KindURL, "no chat endpoint at "+c.redact.clean(c.cfg.BaseURL)
		e.hint = x.urlHint()
	case tlsWords().MatchString(s.message):
		e.Kind, e.what = KindURL, "the server speaks https"
		e.hint = "write the base URL with https:// (OPENAI_BASE_URL)"
	case status == 429 || status == 0 && rateCode().MatchString(code):
		e.Kind, e.what, e.retry = KindRateLimit, "the server limits the rate of requests", true
	case status == 408:
		e.Kind, e.what, e.retry = KindTimeout, "the server gave up waiting", true
	case status >= 500 || status == 0 && serverCode().MatchString(code):
		e.Kind, e.what, e.retry = KindServer, "the server failed", status == 0 || retryable[status]
		if strings.Contains(strings.ToLower(s.message), "loading model") { // llama.cpp
			e.what, e.hint = "the server is still loading the model", "ask again in a minute"
		}
	case status == 0:
		e.Kind, e.what = KindServer, "the server broke the answer off"
	default:
		e.Kind, e.what = KindRequest, "the server refuses the request"
	}
	if e.retry && e.after.tooLong() {
		e.retry = false
		wait := e.after.d.Round(time.Second)
		e.what += fmt.Sprintf(" and asks to wait %v", wait)
		e.hint = fmt.Sprintf("ask again in %v, or ask another model; at most %v are waited for", wait, MaxRetryAfter)
	}
	return e
}

// first fills in the sizes when one of patterns matches.
func first(prompt, limit *int, patterns []*regexp.Regexp, message string) bool {
	p, l, ok := matchSizes(patterns, message)
	if ok {
		*prompt, *limit = p, l
	}
	return ok
}

// blamesParameter tells "temperature is not supported with this model" from an
// unknown model: OpenAI names the parameter.
func blamesParameter(s said) bool {
	if s.param != "" && s.param != "model" {
		return true
	}
	return slices.ContainsFunc(adaptations, func(a adaptation) bool { return a.words().MatchString(s.message) }) ||
		strings.Contains(strings.ToLower(s.message), "parameter")
}

func sizes(prompt, limit int) string {
	switch {
	case prompt > 0 && limit > 0:
		return fmt.Sprintf(": %d tokens, %d fit", prompt, limit)
	case limit > 0:
		return fmt.Sprintf(": %d tokens fit", limit)
	case prompt > 0:
		return fmt.Sprintf(": it has %d tokens", prompt)
	}
	return ""
}

// redirected explains a redirect that newHTTPClient did not follow.
func (x *exchange) redirected() *Error {
	e := &Error{Kind: KindURL, Status: x.response.StatusCode, what: "the server redirects"}
	to, err := x.response.Location()
	if err != nil {
		return e
	}
	// Without user, query and fragment: they may carry anything.
	to = &url.URL{Scheme: to.Scheme, Host: to.Host, Path: strings.TrimSuffix(to.Path, "/chat/completions")}
	shown := x.client.redact.clean(to.String())
	e.what = "the server redirects to " + shown + ": not followed, the key and the prompt go only to the configured server"
	e.hint = "if you trust it, make it the base URL (OPENAI_BASE_URL=" + shown + ")"
	return e
}

// noResponse explains a request that got no response at all.
func (x *exchange) noResponse(err error) *Error {
	if x.caller.Err() != nil {
		return ended(x.caller)
	}
	if context.Cause(x.ctx) == errSilent {
		return x.silent()
	}
	var wrapped *url.Error // repeats method and URL
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	text := err.Error()
	e := &Error{Kind: KindConnect, Message: x.client.redact.clean(text)}
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		e.what = "host not found"
		e.retry = !dns.IsNotFound
		if e.retry {
			e.what = "the host's address cannot be looked up"
		}
		e.hint = "check the spelling of the base URL (OPENAI_BASE_URL) and the network"
	case strings.Contains(text, "server gave HTTP response to HTTPS client"):
		e.Kind, e.what = KindURL, "the server speaks plain http"
		e.hint = "write the base URL with http:// (OPENAI_BASE_URL)"
	case strings.Contains(text, "x509: "), strings.Contains(text, "tls: "):
		e.what = "no secure connection"
		e.hint = "behind a company's proxy, let SSL_CERT_FILE name its certificate; else check the base URL (OPENAI_BASE_URL)"
	case errors.As(err, &op) && op.Op == "dial":
		e.what, e.retry = "no connection", true
		if isLoopback(hostOf(x.client.server)) {
			// Nobody starts a local server within the usual 15 seconds of retries;
			// one that is just restarting is back in 3.
			e.retries = 2
			e.hint = x.client.localHint()
		}
	case strings.Contains(text, "malformed HTTP"):
		e.Kind, e.what = KindURL, "something answered that does not speak HTTP"
	case errors.As(err, &op), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		strings.Contains(text, "server closed idle connection"), strings.Contains(text, "http2: "):
		e.what, e.retry = "the connection was lost before an answer", true
	default:
		e.what = "the request cannot be sent"
	}
	return e
}

func (x *exchange) silent() *Error {
	// A time-out is dear: the server may have worked, and charged, all along.
	return &Error{Kind: KindTimeout, what: fmt.Sprintf("nothing came for %v", x.idle), retry: true, retries: 1}
}

// streamEnd explains why a response ended where it did; nil when the answer had
// ended already.
func (x *exchange) streamEnd(err error, a Answer) *Error {
	if a.FinishReason != "" && err != errEventTooLong {
		return nil // [DONE] or the usage did not come, but the answer did
	}
	switch {
	case errors.Is(err, errTooMuch):
		return &Error{Kind: KindTooLong, what: fmt.Sprintf("the server sent more than %s for one answer", megabytes(x.client.cfg.received()))}
	case context.Cause(x.ctx) == errNoAnswer && x.caller.Err() == nil:
		return &Error{Kind: KindTimeout, what: fmt.Sprintf("the server sent signs of life and no answer for %v", x.patience())}
	case x.caller.Err() != nil:
		return ended(x.caller)
	case context.Cause(x.ctx) == errSilent:
		return x.silent()
	case err == errEventTooLong:
		return &Error{Kind: KindProtocol, what: "the answer cannot be read", Message: err.Error()}
	}
	e := &Error{Kind: KindDropped, what: "the connection ended before the answer did", retry: true}
	if err != io.EOF {
		e.Message = x.client.redact.clean(err.Error())
	}
	return e
}

// undecodable explains data that is not what the protocol says.
func (x *exchange) undecodable(data []byte) *Error {
	if looksHTML(data) {
		return &Error{Kind: KindURL, Status: x.response.StatusCode, what: "a web page answered, not an OpenAI-compatible endpoint" + x.client.redact.clean(htmlTitle(data)), hint: x.urlHint()}
	}
	// Cut to what is worth looking at, not to what is shown: clean must see a
	// key as a whole to know it.
	return &Error{Kind: KindProtocol, what: "the answer is not in the protocol of chat completions",
		Message: x.client.redact.clean(string(data[:min(len(data), maxErrorBody)]))}
}

// foreign explains a response without a single event.
func (x *exchange) foreign(line []byte) *Error {
	e := x.undecodable(line)
	e.Kind = KindURL
	e.hint = x.urlHint()
	return e
}

func looksHTML(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) }

var titleElement = lazily(`(?is)<title[^>]*>(.{1,200}?)</title>`)

func htmlTitle(body []byte) string {
	if m := titleElement().FindSubmatch(body); m != nil {
		return fmt.Sprintf(" (%s)", strings.TrimSpace(string(m[1])))
	}
	return ""
}

// reason is for OnRetry: what happened, without the server's name and words.
func (e *Error) reason() string {
	if e.Status != 0 && e.Status != http.StatusOK {
		return fmt.Sprintf("%s (HTTP %d)", e.what, e.Status)
	}
	return e.what
}
