package llm

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"tracerag/llm/llmtest"
)

// testKey is looked for in every error of every test: see checkNoKey.
const testKey = "sk-test-5up3rs3cr3tk3y0123456789"

var question = Request{Messages: []Message{
	{Role: "system", Content: "answer from the trace"},
	{Role: "user", Content: "which function draws the border?"},
}}

// newClient asks srv; its waits take no time and are recorded.
func newClient(t *testing.T, baseURL string, change func(*Config)) (*Client, *[]time.Duration) {
	t.Helper()
	cfg := Config{Model: "test-model", BaseURL: baseURL, APIKey: testKey, Timeout: 10 * time.Second}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var waits []time.Duration
	c.sleep = func(ctx context.Context, d time.Duration) error { waits = append(waits, d); return ctx.Err() }
	c.random = func() float64 { return 0 }
	return c, &waits
}

// failure gives the error as *Error and looks for the key in everything that it prints.
func failure(t *testing.T, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T) is not an *Error", err, err)
	}
	checkNoKey(t, testKey, err)
	return e
}

func checkNoKey(t *testing.T, key string, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		for _, text := range []string{err.Error(), Hint(err), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
			if strings.Contains(text, key) {
				t.Errorf("the key appears in %q", text)
			}
			if strings.ContainsAny(strings.ReplaceAll(text, "\n", ""), "\x1b\x00\r\x7f") {
				t.Errorf("control characters in %q", text)
			}
		}
	}
}

func TestAskStreams(t *testing.T) {
	srv := llmtest.New(t, llmtest.Step{Text: "drawBorder draws it.", Usage: &llmtest.Usage{PromptTokens: 1200, CompletionTokens: 5, CachedTokens: 1024, ReasoningTokens: 2}})
	c, _ := newClient(t, srv.URL(), nil)
	var pieces pieceWriter
	got, err := c.Ask(t.Context(), question, &pieces)
	if err != nil {
		t.Fatal(err)
	}
	want := Answer{Text: "drawBorder draws it.", Model: "test-model", FinishReason: "stop",
		Usage: &Usage{PromptTokens: 1200, CompletionTokens: 5, TotalTokens: 1205, CachedTokens: 1024, ReasoningTokens: 2}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("answer %+v, want %+v", got, want)
	}
	if want := (pieceWriter{"drawBorder ", "draws ", "it."}); !reflect.DeepEqual(pieces, want) {
		t.Errorf("streamed %q, want %q", pieces, want)
	}

	req := srv.Requests()[0]
	if req.Path != "/v1/chat/completions" || req.Header.Get("Authorization") != "Bearer "+testKey {
		t.Errorf("asked %s with %q", req.Path, req.Header.Get("Authorization"))
	}
	if !req.Chat.Stream || req.Chat.StreamOptions == nil || !req.Chat.StreamOptions.IncludeUsage {
		t.Errorf("the request does not ask for a stream with usage: %s", req.Body)
	}
	if m := req.Chat.Messages; len(m) != 2 || m[0].Role != "system" || m[1].Content != question.Messages[1].Content {
		t.Errorf("messages sent: %+v", m)
	}
	for _, absent := range []string{"temperature", "max_tokens", "max_completion_tokens"} {
		if bytes.Contains(req.Body, []byte(absent)) {
			t.Errorf("%s was sent though it was not set: %s", absent, req.Body)
		}
	}
}

type pieceWriter []string

func (p *pieceWriter) Write(b []byte) (int, error) { *p = append(*p, string(b)); return len(b), nil }

func TestRetries(t *testing.T) {
	again := func(status int, header ...string) llmtest.Step {
		s := llmtest.Step{Status: status, Body: `{"error":{"message":"not now"}}`, Header: map[string]string{}}
		for i := 0; i < len(header); i += 2 {
			s.Header[header[i]] = header[i+1]
		}
		return s
	}
	ok := llmtest.Say("yes")
	const s = time.Second
	for _, test := range []struct {
		name    string
		script  []llmtest.Step
		retries int // Config.MaxRetries
		waits   []time.Duration
		kind    Kind // "" when the answer comes
	}{
		{"429 with Retry-After", []llmtest.Step{again(429, "Retry-After", "7"), ok}, 0, []time.Duration{7 * s}, ""},
		{"429 with Retry-After 0", []llmtest.Step{again(429, "Retry-After", "0"), ok}, 0, []time.Duration{0}, ""},
		{"429 with retry-after-ms, which is more exact", []llmtest.Step{again(429, "Retry-After", "1", "retry-after-ms", "250"), ok}, 0, []time.Duration{250 * time.Millisecond}, ""},
		{"429 with a date", []llmtest.Step{again(429, "Retry-After", "Wed, 21 Oct 2026 07:28:05 GMT", "Date", "Wed, 21 Oct 2026 07:28:00 GMT"), ok}, 0, []time.Duration{5 * s}, ""},
		{"429 that asks for an hour", []llmtest.Step{again(429, "Retry-After", "3600"), ok}, 0, nil, KindRateLimit},
		{"503 that asks for two hours", []llmtest.Step{again(503, "Retry-After", "7200"), ok}, 0, nil, KindServer},
		{"Gemini's retryDelay", []llmtest.Step{{Status: 429, Body: `[{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}]`}, ok}, 0, []time.Duration{34 * s}, ""},
		{"500 502 504 408, waits that double", []llmtest.Step{again(500), again(502), again(504), again(408), ok}, 0, []time.Duration{s, 2 * s, 4 * s, 8 * s}, ""},
		{"Anthropic's 529", []llmtest.Step{again(529), ok}, 0, []time.Duration{s}, ""},
		{"503 for ever", []llmtest.Step{again(503)}, 0, []time.Duration{s, 2 * s, 4 * s, 8 * s}, KindServer},
		{"429 for ever", []llmtest.Step{again(429)}, 2, []time.Duration{s, 2 * s}, KindRateLimit},
		{"no retries wanted", []llmtest.Step{again(503), ok}, -1, nil, KindServer},
		{"the server says not to come back", []llmtest.Step{again(503, "X-Should-Retry", "false"), ok}, 0, nil, KindServer},
		{"501 is for ever", []llmtest.Step{again(501), ok}, 0, nil, KindServer},
		{"a refusal is final", []llmtest.Step{again(400), ok}, 0, nil, KindRequest},
		{"no credit is final", []llmtest.Step{llmtest.RefuseCode(429, "insufficient_quota", "You exceeded your current quota"), ok}, 0, nil, KindQuota},
		{"a prompt over the account's limit is final", []llmtest.Step{llmtest.RefuseCode(429, "rate_limit_exceeded", "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 45000."), ok}, 0, nil, KindTooLarge},
		{"dropped before the first word", []llmtest.Step{{Drop: true}, ok}, 0, []time.Duration{s}, ""},
		{"overloaded amid the stream, before the first word", []llmtest.Step{{Body: "event: error\ndata: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"}, ok}, 0, []time.Duration{s}, ""},
		{"an empty response", []llmtest.Step{{Handle: func(http.ResponseWriter, *http.Request) {}}, ok}, 0, []time.Duration{s}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			srv := llmtest.New(t, test.script...)
			var told []time.Duration
			c, waits := newClient(t, srv.URL(), func(cfg *Config) {
				cfg.MaxRetries = test.retries
				cfg.OnRetry = func(attempt int, wait time.Duration, reason string) {
					told = append(told, wait)
					if attempt != len(told) || reason == "" {
						t.Errorf("OnRetry(%d, %v, %q) as call %d", attempt, wait, reason, len(told))
					}
				}
			})
			got, err := c.Ask(t.Context(), question, nil)
			if test.kind == "" {
				if err != nil || got.Text != "yes" || got.Incomplete {
					t.Fatalf("Ask = %+v, %v", got, err)
				}
			} else if e := failure(t, err); e.Kind != test.kind || e.Attempts != len(test.waits)+1 {
				t.Errorf("kind %q after %d attempts, want %q after %d: %v", e.Kind, e.Attempts, test.kind, len(test.waits)+1, err)
			}
			if !reflect.DeepEqual(*waits, test.waits) || !reflect.DeepEqual(told, test.waits) {
				t.Errorf("waited %v, told %v, want %v", *waits, told, test.waits)
			}
			if n := len(srv.Requests()); n != len(test.waits)+1 {
				t.Errorf("%d requests, want %d", n, len(test.waits)+1)
			}
		})
	}
}

func TestNothingIsAskedTwiceOnceTheAnswerBegan(t *testing.T) {
	for name, step := range map[string]llmtest.Step{
		"broken connection":   llmtest.DropAfter("half an "),
		"polite end":          {Body: "data: " + llmtest.Chunk("m", "half an ", "") + "\n\n"},
		"cut within an event": {Body: "data: " + llmtest.Chunk("m", "half an ", "") + "\n\ndata: {\"choices\":[{\"del"},
		"error in the stream": {Body: "data: " + llmtest.Chunk("m", "half an ", "") + "\n\ndata: {\"error\":{\"message\":\"The server had an error\",\"type\":\"server_error\"}}\n\ndata: [DONE]\n\n"},
		"garbage":             {Body: "data: " + llmtest.Chunk("m", "half an ", "") + "\n\ndata: {{{\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := llmtest.New(t, step, llmtest.Say("another answer"))
			c, waits := newClient(t, srv.URL(), nil)
			var out bytes.Buffer
			got, err := c.Ask(t.Context(), question, &out)
			e := failure(t, err)
			if got.Text != "half an " || out.String() != got.Text || !got.Incomplete {
				t.Errorf("kept %+v, streamed %q", got, out.String())
			}
			if len(srv.Requests()) != 1 || len(*waits) != 0 {
				t.Errorf("asked %d times", len(srv.Requests()))
			}
			if want := map[string]Kind{"error in the stream": KindServer, "garbage": KindProtocol}[name]; want == "" && e.Kind != KindDropped || want != "" && e.Kind != want {
				t.Errorf("kind %q: %v", e.Kind, err)
			}
		})
	}
}

func TestSilence(t *testing.T) {
	t.Run("before the first byte: tried again once", func(t *testing.T) {
		srv := llmtest.New(t, llmtest.Step{Delay: time.Minute})
		c, waits := newClient(t, srv.URL(), func(cfg *Config) { cfg.Timeout = 50 * time.Millisecond })
		_, err := c.Ask(t.Context(), question, nil)
		if e := failure(t, err); e.Kind != KindTimeout || len(*waits) != 1 {
			t.Errorf("%v after %d waits", err, len(*waits))
		}
		if errors.Is(err, context.Canceled) {
			t.Error("our time-out looks like the caller's cancelling")
		}
	})
	t.Run("amid the answer: what came is kept", func(t *testing.T) {
		srv := llmtest.New(t, llmtest.Step{Text: "one two", Hang: true})
		c, _ := newClient(t, srv.URL(), func(cfg *Config) { cfg.Timeout = 100 * time.Millisecond })
		got, err := c.Ask(t.Context(), question, nil)
		if e := failure(t, err); e.Kind != KindTimeout || got.Text != "one two" || !got.Incomplete {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("a long answer is not silence", func(t *testing.T) {
		srv := llmtest.New(t, llmtest.Step{Text: strings.Repeat("word ", 12), Delay: 20 * time.Millisecond})
		c, _ := newClient(t, srv.URL(), func(cfg *Config) { cfg.Timeout = 150 * time.Millisecond })
		if _, err := c.Ask(t.Context(), question, nil); err != nil {
			t.Error(err)
		}
	})
	t.Run("a slow reader is not silence", func(t *testing.T) {
		srv := llmtest.New(t, llmtest.Say("one two"))
		c, _ := newClient(t, srv.URL(), func(cfg *Config) { cfg.Timeout = 100 * time.Millisecond })
		slow := writerFunc(func(b []byte) (int, error) { time.Sleep(200 * time.Millisecond); return len(b), nil })
		if _, err := c.Ask(t.Context(), question, slow); err != nil {
			t.Error(err)
		}
	})
	t.Run("keep-alive comments are signs of life", func(t *testing.T) {
		srv := llmtest.New(t, llmtest.Step{Handle: func(w http.ResponseWriter, r *http.Request) {
			for range 12 {
				io.WriteString(w, ": still thinking\n\n")
				http.NewResponseController(w).Flush()
				time.Sleep(20 * time.Millisecond)
			}
			fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", llmtest.Chunk("m", "yes", ""))
		}})
		c, _ := newClient(t, srv.URL(), func(cfg *Config) { cfg.Timeout = 150 * time.Millisecond })
		if got, err := c.Ask(t.Context(), question, nil); err != nil || got.Text != "yes" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestCancel(t *testing.T) {
	t.Run("amid the answer", func(t *testing.T) {
		srv := llmtest.New(t, llmtest.Step{Text: "one two", Hang: true})
		c, _ := newClient(t, srv.URL(), nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		got, err := c.Ask(ctx, question, writerFunc(func(b []byte) (int, error) {
			if n++; n == 2 {
				cancel()
			}
			return len(b), nil
		}))
		if e := failure(t, err); e.Kind != KindCanceled || !errors.Is(err, context.Canceled) || got.Text != "one two" || !got.Incomplete {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("while waiting to try again", func(t *testing.T) {
		srv := llmtest.New(t, llmtest.Refuse(503, "busy"))
		c, _ := newClient(t, srv.URL(), nil)
		ctx, cancel := context.WithCancel(t.Context())
		c.cfg.OnRetry = func(int, time.Duration, string) { cancel() }
		c.sleep = pause
		_, err := c.Ask(ctx, question, nil)
		if e := failure(t, err); e.Kind != KindCanceled || len(srv.Requests()) != 1 {
			t.Errorf("%v after %d requests", err, len(srv.Requests()))
		}
	})
	t.Run("the caller's deadline", func(t *testing.T) {
		srv := llmtest.New(t, llmtest.Step{Delay: time.Minute})
		c, _ := newClient(t, srv.URL(), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := c.Ask(ctx, question, nil)
		if e := failure(t, err); e.Kind != KindCanceled || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

func TestWriterFails(t *testing.T) {
	srv := llmtest.New(t, llmtest.Say("one two three"))
	c, _ := newClient(t, srv.URL(), nil)
	got, err := c.Ask(t.Context(), question, writerFunc(func([]byte) (int, error) { return 0, io.ErrClosedPipe }))
	if e := failure(t, err); e.Kind != KindWrite || !errors.Is(err, io.ErrClosedPipe) || !got.Incomplete || len(srv.Requests()) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close() // nothing listens there now
	c, waits := newClient(t, "http://"+address+"/v1", nil)
	_, err = c.Ask(t.Context(), question, nil)
	if e := failure(t, err); e.Kind != KindConnect || len(*waits) != 2 {
		t.Errorf("%v after %d waits", err, len(*waits))
	}
	if !strings.Contains(Hint(err), "running") {
		t.Errorf("hint %q", Hint(err))
	}
}

func TestConnectionResetBeforeTheAnswer(t *testing.T) {
	reset := llmtest.Step{Handle: func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.(*net.TCPConn).SetLinger(0) // RST
			conn.Close()
		}
	}}
	srv := llmtest.New(t, reset, llmtest.Say("yes"))
	c, waits := newClient(t, srv.URL(), nil)
	got, err := c.Ask(t.Context(), question, nil)
	if err != nil || got.Text != "yes" || len(*waits) != 1 {
		t.Errorf("%+v, %v after %v", got, err, *waits)
	}
}

func TestGzip(t *testing.T) {
	srv := llmtest.New(t, llmtest.Step{Handle: func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("gzip is not asked for")
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprintf(z, "data: %s\n\ndata: [DONE]\n\n", llmtest.Chunk("m", "packed", ""))
		z.Close()
	}})
	c, _ := newClient(t, srv.URL(), nil)
	if got, err := c.Ask(t.Context(), question, nil); err != nil || got.Text != "packed" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRequestsThatAreNotSent(t *testing.T) {
	srv := llmtest.New(t, llmtest.Say("yes"))
	c, _ := newClient(t, srv.URL(), nil)
	for _, req := range []Request{
		{},
		{Messages: []Message{{Role: "user", Content: " \n"}}},
		{Messages: []Message{{Role: "robot", Content: "hello"}}},
	} {
		_, err := c.Ask(t.Context(), req, nil)
		if e := failure(t, err); e.Kind != KindRequest {
			t.Errorf("%+v: %v", req, err)
		}
	}
	if n := len(srv.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestSuspicionOfACutPrompt(t *testing.T) {
	long := Request{Messages: []Message{{Role: "user", Content: strings.Repeat("if err != nil { return err }\n", 10_000)}}}
	for _, test := range []struct {
		counted int
		want    bool
	}{{4096, true}, {70_000, false}, {0, false}} {
		srv := llmtest.New(t, llmtest.Step{Text: "yes", Usage: &llmtest.Usage{PromptTokens: test.counted, CompletionTokens: 1}})
		c, _ := newClient(t, srv.URL(), nil)
		got, err := c.Ask(t.Context(), long, nil)
		if err != nil {
			t.Fatal(err)
		}
		if (len(got.Notes) == 1) != test.want {
			t.Errorf("%d tokens counted: notes %q", test.counted, got.Notes)
		}
	}
}
