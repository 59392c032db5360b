package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"tracerag/llm/llmtest"
)

// TestConfigNeverShowsTheKey: however it is printed.
func TestConfigNeverShowsTheKey(t *testing.T) {
	zero := 0.0
	cfg := Config{Model: "m", APIKey: testKey, BaseURL: "https://user:" + testKey + "@example.com/v1?key=" + testKey, Temperature: &zero, Timeout: time.Second}
	client, err := New(Config{Model: "m", APIKey: testKey})
	if err != nil {
		t.Fatal(err)
	}
	js, err := json.Marshal(map[string]any{"config": cfg, "pointer": &cfg})
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "config", cfg)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "config", cfg)
	for name, text := range map[string]string{
		"%v": fmt.Sprintf("%v", cfg), "%+v": fmt.Sprintf("%+v", cfg), "%#v": fmt.Sprintf("%#v", cfg), "%s": fmt.Sprintf("key %s", cfg), "%q": fmt.Sprintf("%q", cfg),
		"pointer": fmt.Sprintf("%v %+v %#v", &cfg, &cfg, &cfg),
		"within":  fmt.Sprintf("%v %+v %#v", struct{ C Config }{cfg}, struct{ C Config }{cfg}, []Config{cfg}),
		"client":  fmt.Sprintf("%v %+v %#v", client, client, *client),
		"json":    string(js), "slog": logged.String(),
	} {
		if strings.Contains(text, testKey) {
			t.Errorf("%s shows the key: %s", name, text)
		}
		if name != "client" && !strings.Contains(text, redacted) {
			t.Errorf("%s does not say that there is a key: %s", name, text)
		}
	}
}

// TestErrorsNeverShowTheKey: servers and proxies echo requests in every way.
func TestErrorsNeverShowTheKey(t *testing.T) {
	keys := []string{testKey, "AIzaSyTest-0123456789abcdefgh", "abc/def+ghi=\"quoted\"&<key>", "shortk", "$1^(.*)[key]12345"}
	echoes := []func(key string) llmtest.Step{
		func(k string) llmtest.Step { return llmtest.Refuse(401, "Incorrect API key provided: "+k+".") },
		func(k string) llmtest.Step {
			return llmtest.Refuse(400, strings.Repeat("x", maxMessage-len(k)/2-1)+" "+k)
		},
		func(k string) llmtest.Step { return llmtest.RefuseCode(404, "model_not_found", "no model for "+k) },
		func(k string) llmtest.Step {
			return llmtest.Step{Status: 502, Body: "<html><title>" + k + "</title>Authorization: Bearer " + k}
		},
		func(k string) llmtest.Step {
			return llmtest.Step{Status: 400, Body: "POST /v1/chat/completions\r\nAuthorization: Bearer " + k + "\r\n\x1b[31mapi-key: " + k}
		},
		func(k string) llmtest.Step {
			return llmtest.Step{Status: 404, Body: "no such URL: /x?key=" + url.QueryEscape(k)}
		},
		func(k string) llmtest.Step { return llmtest.Step{Body: "hello " + k} },
		func(k string) llmtest.Step { return llmtest.Step{Body: "data: {garbage " + k + "\n\n"} },
		func(k string) llmtest.Step {
			b, _ := json.Marshal(map[string]any{"error": map[string]any{"message": "you sent " + k, "type": k, "code": k, "param": k}})
			return llmtest.Step{Body: "data: " + string(b) + "\n\n"}
		},
		func(k string) llmtest.Step {
			return llmtest.Step{Status: 302, Header: map[string]string{"Location": "https://example.com/login/" + url.PathEscape(k) + "?key=" + url.QueryEscape(k)}}
		},
		func(k string) llmtest.Step {
			return llmtest.Step{Status: 500, Header: map[string]string{"X-Request-Id": k}, Body: "x"}
		},
		func(k string) llmtest.Step { // not HTTP at all
			return llmtest.Step{Handle: func(w http.ResponseWriter, _ *http.Request) {
				if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
					io.WriteString(conn, "who is "+k+"\r\n\r\n")
					conn.Close()
				}
			}}
		},
	}
	for _, key := range keys {
		for i, echo := range echoes {
			srv := llmtest.New(t, echo(key))
			c, _ := newClient(t, srv.URL(), func(cfg *Config) {
				cfg.APIKey, cfg.MaxRetries = key, 1
				cfg.OnRetry = func(_ int, _ time.Duration, reason string) {
					if strings.Contains(reason, key) {
						t.Errorf("OnRetry is told %q", reason)
					}
				}
			})
			if i%2 == 1 {
				c.cfg.Azure, c.cfg.BaseURL = true, strings.TrimSuffix(srv.URL(), "/v1")
			}
			_, err := c.Ask(t.Context(), question, nil)
			if err == nil {
				t.Fatalf("echo %d: no error", i)
			}
			checkNoKey(t, key, err)
			checkNoKey(t, url.QueryEscape(key), err)
			checkNoKey(t, url.PathEscape(key), err)
			if sent := srv.Requests()[0].Header; sent.Get("Authorization") != "Bearer "+key && sent.Get("Api-Key") != key {
				t.Fatalf("the key was not sent: %v", sent)
			}
		}
	}
}

// TestOtherSecretsAreCut: keys that are not ours, and masked forms of ours.
func TestOtherSecretsAreCut(t *testing.T) {
	r := newRedactor(testKey)
	for text, want := range map[string]string{
		"Incorrect API key provided: sk-proj-****cdef.": "Incorrect API key provided: [redacted]",
		"got Bearer abcdefghijklmnop, sorry":            "got [redacted], sorry",
		"authorization: Basic dXNlcjpwYXNz\nHost: x":    "[redacted] Host: x",
		`{"api_key":"zzz","a":1}`:                       `{"[redacted]","a":1}`,
		"use a Bearer token":                            "use a Bearer token",
		"the basic plan, tasks-like":                    "the basic plan, tasks-like",
		"a\x1b[2Jb\u202ec\x00d":                         "a [2Jb c d",
	} {
		if got := r.clean(text); got != want {
			t.Errorf("clean(%q) = %q, want %q", text, got, want)
		}
	}
	if got := newRedactor("none").clean("none of the nonempty"); got != "[redacted] of the nonempty" {
		t.Errorf("a short key is cut to %q", got)
	}
}

// TestRedirects: within the origin they are followed; elsewhere neither key nor
// prompt goes.
func TestRedirects(t *testing.T) {
	to := func(status int, location string) llmtest.Step {
		return llmtest.Step{Handle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(status)
		}}
	}
	t.Run("same origin", func(t *testing.T) {
		srv := llmtest.New(t, to(307, "/v1/api/chat/completions"), llmtest.Say("yes"))
		zero := 0.0
		c, _ := newClient(t, srv.URL(), func(cfg *Config) { cfg.Temperature = &zero })
		got, err := c.Ask(t.Context(), question, nil)
		if err != nil || got.Text != "yes" {
			t.Fatalf("%+v, %v", got, err)
		}
		r := srv.Requests()[1]
		if r.Path != "/v1/api/chat/completions" || len(r.Chat.Messages) != 2 || r.Chat.Temperature == nil || r.Header.Get("Authorization") == "" {
			t.Errorf("the second request: %s %v %s", r.Path, r.Header, r.Body)
		}
	})
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, azure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d elsewhere, azure %v", status, azure), func(t *testing.T) {
				other := llmtest.New(t, llmtest.Say("trapped"))
				srv := llmtest.New(t, to(status, other.URL()+"/chat/completions?secret=1"))
				c, _ := newClient(t, srv.URL(), func(cfg *Config) { cfg.Azure = azure })
				_, err := c.Ask(t.Context(), question, nil)
				if e := failure(t, err); e.Kind != KindURL || !strings.Contains(err.Error(), other.URL()) || strings.Contains(err.Error(), "secret") {
					t.Errorf("%v", err)
				}
				if n := len(other.Requests()); n != 0 {
					t.Errorf("the other host got %d requests", n)
				}
				if n := len(srv.Requests()); n != 1 {
					t.Errorf("asked %d times", n)
				}
			})
		}
	}
	t.Run("in a circle", func(t *testing.T) {
		srv := llmtest.New(t, to(307, "/v1/chat/completions"))
		c, _ := newClient(t, srv.URL(), nil)
		_, err := c.Ask(t.Context(), question, nil)
		if e := failure(t, err); e.Kind != KindURL || len(srv.Requests()) > maxRedirects+1 {
			t.Errorf("%v after %d requests", err, len(srv.Requests()))
		}
	})
}

func TestPlainHTTP(t *testing.T) {
	for _, test := range []struct {
		url, key string
		allow    bool
		ok       bool
	}{
		{"http://localhost:11434/v1", testKey, false, true},
		{"http://127.0.0.1:8080/v1", testKey, false, true},
		{"http://[::1]:8080/v1", testKey, false, true},
		{"http://192.168.1.7:8000/v1", testKey, false, false},
		{"http://192.168.1.7:8000/v1", testKey, true, true},
		{"http://192.168.1.7:8000/v1", "", false, true},
		{"http://127.0.0.1.example.com/v1", testKey, false, false},
		{"http://localhost.example.com/v1", testKey, false, false},
		{"http://api.example.com/v1", testKey, false, false},
		{"https://api.example.com/v1", testKey, false, true},
	} {
		_, err := New(Config{Model: "m", BaseURL: test.url, APIKey: test.key, AllowPlainHTTP: test.allow})
		if (err == nil) != test.ok {
			t.Errorf("%s, key %v, allowed %v: %v", test.url, test.key != "", test.allow, err)
		}
		if err != nil {
			checkNoKey(t, testKey, err)
			if !strings.Contains(Hint(err), "https") || errors.Is(err, ErrNotConfigured) {
				t.Errorf("%v: hint %q", err, Hint(err))
			}
		}
	}
}
