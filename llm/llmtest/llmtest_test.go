package llmtest_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tracerag/llm/llmtest"
)

func post(t *testing.T, url, body string) (*http.Response, string, error) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, string(b), err
}

// TestScript: a step a request, the last one for ever, and all of them recorded.
func TestScript(t *testing.T) {
	srv := llmtest.New(t, llmtest.RefuseCode(429, "rate", "slow down"), llmtest.DropAfter("half "), llmtest.Say("a b"))
	url := srv.URL() + "/chat/completions"
	const stream = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"q"}]}`

	resp, body, err := post(t, url, stream)
	if err != nil || resp.StatusCode != 429 || resp.Header.Get("Retry-After-Ms") != "1" || !strings.Contains(body, `"code":"rate"`) {
		t.Errorf("first: %v %v %s", err, resp, body)
	}
	if _, body, err = post(t, url, stream); err == nil || !strings.Contains(body, "half ") {
		t.Errorf("second: a dropped stream reads as %q without an error", body)
	}
	for range 2 {
		_, body, err = post(t, url, stream)
		var events []string
		for sc := bufio.NewScanner(strings.NewReader(body)); sc.Scan(); {
			if data, ok := strings.CutPrefix(sc.Text(), "data: "); ok {
				events = append(events, data)
			}
		}
		if err != nil || len(events) != 5 || !strings.Contains(events[0], `"content":"a "`) || !strings.Contains(events[2], `"finish_reason":"stop"`) ||
			!strings.Contains(events[3], `"prompt_tokens":10`) || events[4] != "[DONE]" {
			t.Errorf("last: %v %q", err, events)
		}
	}
	if _, body, _ = post(t, url, `{"model":"m"}`); !strings.Contains(body, `"content":"a b"`) || strings.Contains(body, "data:") {
		t.Errorf("without a stream: %s", body)
	}
	if resp, _, _ = post(t, strings.TrimSuffix(srv.URL(), "/v1")+"/chat/completions", stream); resp.StatusCode != 404 {
		t.Errorf("without /v1: %d", resp.StatusCode)
	}
	got := srv.Requests()
	if len(got) != 6 || got[0].Chat.Messages[0].Content != "q" || got[0].Header.Get("Content-Type") != "application/json" {
		t.Errorf("recorded %+v", got)
	}
}

// TestServeWithoutATest: for programs; Close ends requests that hang.
func TestServeWithoutATest(t *testing.T) {
	if _, err := llmtest.Serve(nil); err == nil {
		t.Error("a server without a script")
	}
	srv, err := llmtest.Serve([]llmtest.Step{{Text: "half ", Hang: true}})
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, srv.Close)
	if _, body, err := post(t, srv.URL()+"/chat/completions", `{"stream":true}`); err == nil || !strings.Contains(body, "half") {
		t.Errorf("a hanging answer ended well: %q", body)
	}
	srv.Close()
}
