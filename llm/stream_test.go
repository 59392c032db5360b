package llm

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// served is an HTTP transport that answers every request with the same bytes:
// the stream's path through the real client, without a socket.
type served struct {
	body string
	slow bool // one byte a read
}

func (s served) RoundTrip(r *http.Request) (*http.Response, error) {
	io.Copy(io.Discard, r.Body)
	r.Body.Close()
	var body io.Reader = strings.NewReader(s.body)
	if s.slow {
		body = iotest.OneByteReader(body)
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, nil
}

func askServed(t testing.TB, s served, stream io.Writer) (Answer, error) {
	c, err := New(Config{Model: "test-model", APIKey: testKey, MaxRetries: -1, HTTPClient: &http.Client{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	return c.Ask(t.Context(), question, stream)
}

// TestStreams holds what servers stream, and the text that is in it.
func TestStreams(t *testing.T) {
	usage := &Usage{PromptTokens: 9, CompletionTokens: 3, TotalTokens: 12}
	for _, test := range []struct {
		name   string
		stream string
		text   string
		finish string
		usage  *Usage
		kind   Kind
	}{
		{"plain", `data: {"choices":[{"delta":{"content":"a b"},"finish_reason":null}]}

data: {"choices":[{"delta":{},"finish_reason":"stop"}]}

data: [DONE]

`, "a b", "stop", nil, ""},
		{"Azure: the first event has no choices", `data: {"choices":[],"prompt_filter_results":[{"prompt_index":0}],"model":"","usage":null}

data: {"choices":[{"delta":{"content":"a","role":"assistant"}}]}

data: [DONE]
`, "a", "", nil, ""},
		{"usage comes after the finish reason", `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":null}

data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}

data: [DONE]
`, "a", "stop", usage, ""},
		{"vLLM: usage in every event, the last counts", `data: {"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}

data: {"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}
`, "ab", "stop", usage, ""},
		{"content null, empty and of parts", `data: {"choices":[{"delta":{"role":"assistant","content":null}}]}

data: {"choices":[{"delta":{"content":""}}]}

data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]},"finish_reason":"stop"}]}
`, "a", "stop", nil, ""},
		{"thinking is not the answer", `data: {"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}

data: {"choices":[{"delta":{"reasoning":"hm"}}]}

data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}
`, "a", "stop", nil, ""},
		{"nothing but thinking", `data: {"choices":[{"delta":{"reasoning":"hm"}}]}

data: {"choices":[{"delta":{},"finish_reason":"length"}]}
`, "", "", nil, KindEmpty},
		{"a refusal is an answer", `data: {"choices":[{"delta":{"refusal":"I can't help"}}]}

data: {"choices":[{"delta":{},"finish_reason":"stop"}]}
`, "I can't help", "stop", nil, ""},
		{"the answer's second version is not mixed in", `data: {"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"B"}}]}

data: {"choices":[{"index":1,"delta":{"content":"C"}}]}

data: [DONE]
`, "a", "", nil, ""},
		{"carriage returns, names, ids, comments, no blank lines, no space, no last line end",
			"\ufeff: hello\r\nevent: message\r\nid: 7\r\nretry: 10\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\r\n\r\ndata:[DONE]", "ab", "", nil, ""},
		{"an event of several lines", "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"a\"},\ndata: \"finish_reason\":\"stop\"}]}\n\n", "a", "stop", nil, ""},
		{"one document though a stream was asked for", `
			{"model":"m","choices":[{"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`, "a", "stop", usage, ""},
		{"Gemini: thinking is counted in the total alone", `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":112}}
`, "a", "stop", &Usage{PromptTokens: 9, CompletionTokens: 3, TotalTokens: 112, ReasoningTokens: 100}, ""},
		{"DeepSeek: cache", `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":1}}
`, "a", "stop", &Usage{PromptTokens: 9, CompletionTokens: 3, TotalTokens: 12, CachedTokens: 8}, ""},
		{"usage of odd types does not cost the answer", `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":"none"}
`, "a", "stop", nil, ""},
		{"an end without a finish reason is a drop", `data: {"choices":[{"delta":{"content":"a"}}]}

`, "a", "", nil, KindDropped},
		{"a drop within an event", `data: {"choices":[{"delta":{"content":"a"}}]}

data: {"choices":[{"delta":{"cont`, "a", "", nil, KindDropped},
		{"a document cut short", `{"model":"m","choices":[{"message":{"content":"a`, "", "", nil, KindProtocol},
		{"an error after comments", `: ping

event: error
data: {"error": {"message":"boom","type":"server_error"}}

`, "", "", nil, KindServer},
		{"llama.cpp: the field error", `data: {"choices":[{"delta":{"content":"a"}}]}

error: {"code":400,"message":"request (50 tokens) exceeds the available context size (40 tokens)","type":"exceed_context_size_error"}

`, "a", "", nil, KindTooLarge},
		{"vLLM: an error as an object", `data: {"object":"error","message":"boom","type":"InternalServerError","param":null,"code":500}

data: [DONE]
`, "", "", nil, KindServer},
		{"JSON of another kind", "data: 42\n\ndata: [DONE]\n", "", "", nil, KindProtocol},
		{"nothing", "", "", "", nil, KindDropped},
		{"only [DONE]", "data: [DONE]\n\n", "", "", nil, KindEmpty},
	} {
		for _, slow := range []bool{false, true} {
			var out bytes.Buffer
			got, err := askServed(t, served{test.stream, slow}, &out)
			if got.Text != test.text || out.String() != test.text {
				t.Errorf("%s: text %q, streamed %q, want %q", test.name, got.Text, out.String(), test.text)
			}
			if test.kind != "" {
				if e := failure(t, err); e.Kind != test.kind || got.Incomplete != (test.text != "") {
					t.Errorf("%s: kind %q, want %q: %v; %+v", test.name, e.Kind, test.kind, err, got)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			if got.FinishReason != test.finish || !reflect.DeepEqual(got.Usage, test.usage) {
				t.Errorf("%s: finish %q, usage %+v; want %q, %+v", test.name, got.FinishReason, got.Usage, test.finish, test.usage)
			}
		}
	}
}

func TestEventsAreBounded(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("data: "), neverEnding('x'))
	if _, err := newEvents(endless).next(); err != errEventTooLong {
		t.Errorf("an endless line: %v", err)
	}
	lines := io.MultiReader(strings.NewReader("data: {"), repeating("\ndata: "+strings.Repeat("x", 1<<16)))
	if _, err := newEvents(lines).next(); err != errEventTooLong {
		t.Errorf("an endless event: %v", err)
	}
	if _, err := newEvents(io.MultiReader(strings.NewReader("{"), neverEnding('x'))).next(); err != errEventTooLong {
		t.Errorf("an endless document: %v", err)
	}
}

type neverEnding byte

func (b neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

type repeating string

func (s repeating) Read(p []byte) (int, error) { return copy(p, s), nil }

// FuzzStream: whatever a server sends, Ask ends, streams what it returns, gives
// an error or an answer with text, never shows the key, and does not depend on
// how the bytes were cut into reads.
func FuzzStream(f *testing.F) {
	f.Add("data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	f.Add("data: {\"choices\":\ndata: []}\n\n")
	f.Add("{\"choices\":[{\"message\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":1e9}}")
	f.Add("[{\"error\":{\"message\":\"" + testKey + "\",\"code\":429}}]")
	f.Add("error: {\"message\":\"Bearer " + testKey + "\"}\n\n")
	f.Add("\ufeff<html><title>" + testKey)
	f.Add("data: {\"error\":\"\x1b[31m" + testKey[:10] + "\"}\n")
	f.Fuzz(func(t *testing.T, stream string) {
		var out bytes.Buffer
		got, err := askServed(t, served{stream, false}, &out)
		if got.Text != out.String() {
			t.Errorf("returned %q, streamed %q", got.Text, out.String())
		}
		var e *Error
		switch {
		case err == nil && got.Text == "":
			t.Error("neither text nor error")
		case err == nil && got.Incomplete:
			t.Error("incomplete without an error")
		case err != nil && !errors.As(err, &e):
			t.Errorf("error %T", err)
		case err != nil:
			checkNoKey(t, testKey, err)
			if got.Incomplete != (got.Text != "") {
				t.Errorf("incomplete %v with text %q", got.Incomplete, got.Text)
			}
		}
		again, err2 := askServed(t, served{stream, true}, nil)
		if !reflect.DeepEqual(got, again) || (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
			t.Errorf("bytewise the answer is %+v, %v; at once %+v, %v", again, err2, got, err)
		}
	})
}

func TestHurryAfterTheAnswer(t *testing.T) {
	// A server that ends its answer and leaves the connection open does not
	// keep the caller waiting for the whole time-out.
	x := (&Client{cfg: Config{Timeout: time.Hour}}).newExchange(t.Context(), false)
	defer x.close()
	x.hurry()
	if x.idle != usageGrace {
		t.Errorf("idle %v", x.idle)
	}
}
