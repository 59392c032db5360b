package llm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"
)

const (
	maxErrorBody = 64 << 10 // of a refusal, as much as is read
	maxHeaders   = 256 << 10
	maxRedirects = 5

	// usageGrace is how long the usage may come after the answer has ended.
	usageGrace = 10 * time.Second
)

var (
	// errTooMuch says that the server has sent more than it may.
	errTooMuch = errors.New("the server sends without end")
	// errNoAnswer is the cause of a context that ended because only signs of life came.
	errNoAnswer = errors.New("only signs of life came")
)

// patienceFactor is for how many times the longest silence signs of life are taken
// for a word.
const patienceFactor = 6

// errSilent is the cause of a context that our own time-out ended.
var errSilent = errors.New("the server is silent")

// exchange is one HTTP request and its response. It is the HTTP client that
// go-openai is given: it sends what the library built, keeps the response for
// itself and hands the library an empty body, so that there is one reader of
// headers, refusals and streams.
type exchange struct {
	client *Client
	caller context.Context // of Ask
	ctx    context.Context // of the request: ends with the caller's, or by errSilent
	cancel context.CancelCauseFunc
	idle   time.Duration // longest silence, <= 0: no limit
	timer  *time.Timer
	alive  *time.Timer // runs while nothing but signs of life comes

	zeroTemperature bool

	response *http.Response // nil: none came
	failure  error          // of the connection
	body     io.Reader      // response's, under the time-out and the size limit
}

func (c *Client) newExchange(ctx context.Context, zeroTemperature bool) *exchange {
	x := &exchange{client: c, caller: ctx, idle: c.cfg.Timeout, zeroTemperature: zeroTemperature}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	x.timer = time.AfterFunc(time.Hour, func() { x.cancel(errSilent) })
	x.timer.Stop()
	x.alive = time.AfterFunc(time.Hour, func() { x.cancel(errNoAnswer) })
	x.alive.Stop()
	return x
}

func (x *exchange) close() {
	x.timer.Stop()
	x.alive.Stop()
	x.cancel(nil)
	if x.response != nil {
		x.response.Body.Close()
	}
}

// expect starts the clock of silence; the function returned stops it. It runs
// only while we wait for the server: a slow reader of the answer (a pager) is
// not the server's silence.
func (x *exchange) expect() (stop func()) {
	if x.idle <= 0 {
		return func() {}
	}
	x.timer.Reset(x.idle)
	return func() { x.timer.Stop() }
}

// patience is how long nothing but signs of life may come; <= 0: no limit.
func (x *exchange) patience() time.Duration { return patienceFactor * x.idle }

// await starts the clock of patience; the function returned stops it.
func (x *exchange) await() (stop func()) {
	if x.idle <= 0 {
		return func() {}
	}
	x.alive.Reset(x.patience())
	return func() { x.alive.Stop() }
}

// hurry shortens the silence allowed, once only the usage is still to come.
func (x *exchange) hurry() {
	if x.idle <= 0 || x.idle > usageGrace {
		x.idle = usageGrace
	}
	time.AfterFunc(x.idle, func() { x.cancel(errSilent) }) // signs of life are none now
}

// send has the library build the request, by build, and waits for the response's headers.
func (x *exchange) send(build func(context.Context, *openai.Client) error) *Error {
	c := x.client
	key := c.key()
	cfg := openai.DefaultConfig(key)
	if c.cfg.Azure {
		cfg = openai.DefaultAzureConfig(key, c.cfg.BaseURL)
		cfg.APIVersion = c.cfg.APIVersion
		// The model is the deployment's name as it is: the library's default
		// takes dots and colons out of it.
		cfg.AzureModelMapperFunc = url.PathEscape
	}
	cfg.BaseURL = c.cfg.BaseURL
	cfg.HTTPClient = x
	err := build(x.ctx, openai.NewClientWithConfig(cfg))
	switch {
	case x.response != nil:
		return nil // whatever the library made of the empty body
	case x.failure != nil:
		return x.noResponse(x.failure)
	default: // refused by the library, nothing was sent
		return &Error{Kind: KindRequest, what: "the request is not valid for the model", Message: c.redact.clean(err.Error())}
	}
}

// Do is openai.HTTPDoer.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if x.zeroTemperature {
		if err := addZeroTemperature(req); err != nil {
			x.failure = err
			return nil, err
		}
	}
	req.Header.Set("User-Agent", x.client.cfg.UserAgent)
	stop := x.expect()
	resp, err := x.client.http.Do(req)
	stop()
	if err != nil {
		x.failure = err
		return nil, err
	}
	x.response = resp
	x.body = &watched{x, resp.Body, x.client.cfg.received()}
	empty := *resp
	empty.Body = http.NoBody
	return &empty, nil
}

// watched is a body read under the clock of silence, and up to a size, which is that
// of what it unpacks to.
type watched struct {
	x    *exchange
	body io.Reader
	left int64
}

func (w *watched) Read(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, errTooMuch
	}
	stop := w.x.expect()
	n, err := w.body.Read(p[:min(int64(len(p)), w.left)])
	stop()
	w.left -= int64(n)
	return n, err
}

// addZeroTemperature writes the field that the library leaves out when it is 0.
func addZeroTemperature(req *http.Request) error {
	old, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	body := append([]byte(`{"temperature":0,`), bytes.TrimPrefix(old, []byte("{"))...)
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.ContentLength = int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return nil
}

// newHTTPClient is base with our rules: no limit on the whole answer, and no
// redirect to another origin or with another method. net/http would take the
// Authorization header off such a redirect (not Azure's api-key), but the prompt
// would go along; and a POST redirected by 301 or 302 arrives as a GET.
func newHTTPClient(base *http.Client) *http.Client {
	h := &http.Client{}
	if base != nil {
		*h = *base
	}
	if t, ok := http.DefaultTransport.(*http.Transport); ok && h.Transport == nil {
		t = t.Clone()
		t.MaxResponseHeaderBytes = maxHeaders
		h.Transport = t
	}
	h.Timeout = 0
	h.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		first := via[0]
		if len(via) > maxRedirects || req.Method != first.Method ||
			req.URL.Scheme != first.URL.Scheme || !strings.EqualFold(req.URL.Host, first.URL.Host) {
			return http.ErrUseLastResponse
		}
		return nil
	}
	return h
}
