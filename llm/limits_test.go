package llm

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"
)

// oddKey, with all that forms differ in, is made here so that no key is in the repository.
func oddKey() string {
	return "sk-" + "proj-" + strings.Repeat("aZ9_", 5) + "/+=x" + strings.Repeat("7Qd-", 4)
}

// answering is a client of a server that answers as handle does.
func answering(t testing.TB, o Config, handle http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // or the server does not see the client go
		handle(w, r)
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	o.Model, o.BaseURL, o.APIKey, o.MaxRetries = "m", s.URL, oddKey(), -1
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var aQuestion = Request{Messages: []Message{{Role: "user", Content: "Why?"}}}

func event(field, text string) string {
	quoted, _ := json.Marshal(text)
	return `data: {"choices":[{"delta":{"` + field + `":` + string(quoted) + `}}]}` + "\n\n"
}

// forever writes piece again and again until the client has gone.
func forever(w http.ResponseWriter, piece string) {
	many := strings.Repeat(piece, 1+64<<10/len(piece))
	for {
		if _, err := io.WriteString(w, many); err != nil {
			return
		}
	}
}

// TestAnswersHaveACeiling: whatever a server sends without end comes to an end, what
// came of the answer is kept, and memory stays flat.
func TestAnswersHaveACeiling(t *testing.T) {
	begun := event("content", "It begins")
	for _, test := range []struct {
		name   string
		o      Config
		handle http.HandlerFunc
		kind   Kind
		text   int // bytes of the answer that are kept
		says   string
	}{
		{"an answer without end", Config{}, func(w http.ResponseWriter, _ *http.Request) { forever(w, event("content", "all work and no play ")) }, KindTooLong, DefaultMaxAnswer, "longer than 1 MiB"},
		{"more than a limit of tokens", Config{MaxTokens: 1000}, func(w http.ResponseWriter, _ *http.Request) { forever(w, event("content", "all work and no play ")) }, KindTooLong, 64000, "longer than 62 KiB"},
		{"another limit", Config{MaxAnswer: 5 << 20}, func(w http.ResponseWriter, _ *http.Request) { forever(w, event("content", strings.Repeat("a", 1000))) }, KindTooLong, 5 << 20, "longer than 5 MiB"},
		{"thinking without end", Config{}, func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, begun)
			forever(w, event("reasoning", strings.Repeat("hm ", 300)))
		}, KindTooLong, 9, "more than 64 MiB"},
		{"signs of life without end", Config{}, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, begun); forever(w, ": alive\n\n") }, KindTooLong, 9, "more than 64 MiB"},
		{"a line without end", Config{}, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, begun); forever(w, "x") }, KindProtocol, 9, "longer than 4 MiB"},
		{"data of lines without end", Config{}, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, begun); forever(w, "data: x\n") }, KindProtocol, 9, "longer than 4 MiB"},
		{"a document without end", Config{}, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{"); forever(w, `"a":"b",`) }, KindProtocol, 0, "longer than 4 MiB"},
		{"an error without end", Config{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400); forever(w, "no ") }, KindRequest, 0, "HTTP 400"},
		{"headers without end", Config{}, raw(func(w io.Writer) {
			io.WriteString(w, "HTTP/1.1 200 OK\r\n")
			for i := range 100_000 {
				fmt.Fprintf(w, "X-%d: %s\r\n", i, strings.Repeat("x", 1000))
			}
		}), KindConnect, 0, "exceeded"},
		{"chunks that are none", Config{}, raw(func(w io.Writer) {
			io.WriteString(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			fmt.Fprintf(w, "%x\r\n%s\r\n", len(begun), begun)
			io.WriteString(w, "zzzz\r\nffffffffffffffffffff\r\n")
		}), KindDropped, 9, "ended before"},
		{"a bomb", Config{}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			zw := gzip.NewWriter(w)
			io.WriteString(zw, begun)
			zeros := bytes.Repeat([]byte(": "), 1<<20)
			for range 200 {
				if _, err := zw.Write(append(zeros, '\n')); err != nil {
					return
				}
			}
			zw.Close()
		}, KindTooLong, 9, "more than 64 MiB"},
		{"another type", Config{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			io.WriteString(w, begun+"data: [DONE]\n\n")
		}, "", 9, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			stream := &counter{}
			a, err := answering(t, test.o, test.handle).Ask(t.Context(), aQuestion, stream)
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64<<20 {
				t.Errorf("the heap has grown by %d MiB", grown>>20)
			}
			if test.kind == "" {
				if err != nil || len(a.Text) != test.text {
					t.Errorf("%d bytes, %v", len(a.Text), err)
				}
				return
			}
			var e *Error
			if !errors.As(err, &e) || e.Kind != test.kind || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("error %v, want one of kind %q with %q", err, test.kind, test.says)
			}
			if len(a.Text) != test.text || stream.n != test.text || a.Incomplete != (test.text > 0) {
				t.Errorf("%d bytes kept, %d shown, incomplete %v, want %d", len(a.Text), stream.n, a.Incomplete, test.text)
			}
		})
	}
}

type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) { c.n += len(p); return len(p), nil }

// raw answers in bytes that net/http would not send.
func raw(write func(io.Writer)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		conn, out, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		write(out)
		out.Flush()
	}
}

// TestSignsOfLifeAreNotAnAnswer: a server that sends them slowly is left, too.
func TestSignsOfLifeAreNotAnAnswer(t *testing.T) {
	c := answering(t, Config{Timeout: time.Second}, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			io.WriteString(w, ": alive\n")
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	})
	_, err := c.Ask(t.Context(), aQuestion, nil)
	if err == nil || !strings.Contains(err.Error(), "signs of life and no answer for 6s") {
		t.Errorf("Ask gives %v", err)
	}
}

// TestCancellingEndsAtOnce: within a second, wherever the request is.
func TestCancellingEndsAtOnce(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing: TLS waits
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, c := range map[string]*Client{
		"silent": answering(t, Config{}, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		"endless": answering(t, Config{MaxAnswer: 1 << 30}, func(w http.ResponseWriter, _ *http.Request) {
			forever(w, event("content", "x"))
		}),
		"alive": answering(t, Config{MaxAnswer: 1 << 30}, func(w http.ResponseWriter, _ *http.Request) { forever(w, ": alive\n") }),
		"silent after a word": answering(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, event("content", "x"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}),
		"an error without end": answering(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}),
		"waiting to try again": retrying(answering(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(429)
		})),
		"TLS": func() *Client {
			c, err := New(Config{Model: "m", BaseURL: "https://" + silent.Addr().String(), MaxRetries: -1})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}(),
		"connecting": func() *Client { // RFC 5737: nothing answers there
			c, err := New(Config{Model: "m", BaseURL: "http://192.0.2.1", APIKey: oddKey(), AllowPlainHTTP: true})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			begin := time.Now()
			time.AfterFunc(300*time.Millisecond, cancel)
			_, err := c.Ask(ctx, aQuestion, io.Discard)
			if took := time.Since(begin); took > 1300*time.Millisecond {
				t.Errorf("it took %v", took)
			}
			var e *Error
			if !errors.As(err, &e) || e.Kind != KindCanceled && name != "connecting" {
				t.Errorf("Ask gives %v", err)
			}
		})
	}
}

func retrying(c *Client) *Client { c.cfg.MaxRetries = 4; return c }

// TestTheKeyIsMaskedHoweverItComesBack: in the answer, whole or in pieces, and in errors.
func eachByte(format, text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, format, text[i])
	}
	return b.String()
}

func TestTheKeyIsMaskedHoweverItComesBack(t *testing.T) {
	key := oddKey()
	quoted, _ := json.Marshal(key)
	all := ""
	for i := range len(key) {
		all += fmt.Sprintf("%%%02X", key[i])
	}
	forms := map[string]string{
		"as it is": key, "query": url.QueryEscape(key), "path": url.PathEscape(key), "escaped wholly": all, "escaped in small letters": strings.ToLower(url.QueryEscape(key)[:0]) + lowerEscapes(url.QueryEscape(key)),
		"JSON": strings.Trim(string(quoted), `"`), "hex": hex.EncodeToString([]byte(key)),
		"HTML, decimal": eachByte("&#%d;", key), "HTML, hex": eachByte("&#x%x;", key), "escapes of a literal": eachByte(`\x%02x`, key), "octal escapes": eachByte(`\%03o`, key),
		"base32": base32.StdEncoding.EncodeToString([]byte("user:" + key + "@host")), "base32 in small letters": strings.ToLower(base32.StdEncoding.EncodeToString([]byte(key + "@host"))),
		"base64 twice": base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte("user:" + key + "@host")))),
	}
	for _, enc := range []struct {
		name string
		*base64.Encoding
	}{{"std", base64.StdEncoding}, {"raw", base64.RawStdEncoding}, {"URL", base64.URLEncoding}, {"raw URL", base64.RawURLEncoding}} {
		for _, user := range []string{"", "u:", "us:", "use:", "user:"} {
			forms[fmt.Sprintf("base64 (%s) of %q and the key", enc.name, user)] = enc.EncodeToString([]byte(user + key))
			forms[fmt.Sprintf("base64 (%s) of %q, the key and more", enc.name, user)] = enc.EncodeToString([]byte(user + key + "@host"))
		}
	}
	for name, form := range forms {
		// What only this form has: its middle.
		secret := form[6 : len(form)-8]
		for _, size := range []int{1, 3, 7, len(form), 10_000} {
			text := "The key is " + form + ", is it not? sk-" + " The end: s"
			c := answering(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
				for i := 0; i < len(text); i += size {
					io.WriteString(w, event("content", text[i:min(i+size, len(text))]))
				}
				io.WriteString(w, "data: [DONE]\n\n")
			})
			var stream strings.Builder
			a, err := c.Ask(t.Context(), aQuestion, &stream)
			if err != nil || strings.Contains(a.Text, secret) || !strings.Contains(a.Text, redacted) || stream.String() != a.Text {
				t.Errorf("%s in pieces of %d: %q, shown %q, %v", name, size, a.Text, stream.String(), err)
			}
			if !strings.HasPrefix(a.Text, "The key is ") || !strings.HasSuffix(a.Text, ", is it not? sk- The end: s") {
				t.Errorf("%s in pieces of %d: more than the key is gone: %q", name, size, a.Text)
			}
		}
		c := answering(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			io.WriteString(w, "you sent <"+form+">")
		})
		if _, err := c.Ask(t.Context(), aQuestion, nil); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s in an error: %v", name, err)
		}
	}
	// An answer that breaks off amid the key shows no more of it than its beginning.
	c := answering(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, event("content", "It is "+key[:len(key)-2]))
	})
	if a, err := c.Ask(t.Context(), aQuestion, nil); err == nil || a.Text != "It is "+redacted {
		t.Errorf("broken off: %q, %v", a.Text, err)
	}
}

// lowerEscapes writes %2F as %2f.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] == '%' {
			copy(b[i:i+3], bytes.ToLower(b[i:i+3]))
		}
	}
	return string(b)
}

func TestServersAreToldWhoAsks(t *testing.T) {
	var got string
	c := answering(t, Config{UserAgent: "tracerag/v1.2.3"}, func(w http.ResponseWriter, r *http.Request) {
		got = r.UserAgent()
		io.WriteString(w, event("content", "x")+"data: [DONE]\n\n")
	})
	if _, err := c.Ask(t.Context(), aQuestion, nil); err != nil || got != "tracerag/v1.2.3" {
		t.Errorf("User-Agent %q, %v", got, err)
	}
}

// BenchmarkLongStream reads a gigabyte of thinking, and reports how far the heap grows.
func BenchmarkLongStream(b *testing.B) {
	piece := strings.Repeat(event("reasoning", strings.Repeat("all work and no play ", 50)), 50)
	c := answering(b, Config{MaxAnswer: 32 << 20}, func(w http.ResponseWriter, _ *http.Request) {
		for n := 0; n < 1<<30; n += len(piece) {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
		io.WriteString(w, event("content", "x")+"data: [DONE]\n\n")
	})
	b.SetBytes(1 << 30)
	for b.Loop() {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if a, err := c.Ask(b.Context(), aQuestion, nil); err != nil || a.Text != "x" {
			b.Fatal(a.Text, err)
		}
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(int64(after.HeapSys)-int64(before.HeapSys))/(1<<20), "heap-MiB")
	}
}
