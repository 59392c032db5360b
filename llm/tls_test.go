package llm

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"tracerag/llm/llmtest"
)

// TestWrongScheme: http and https taken for each other, and a certificate that
// no authority vouches for, are distinguished and not tried again.
func TestWrongScheme(t *testing.T) {
	plain := llmtest.New(t, llmtest.Say("yes"))
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for _, test := range []struct {
		name, url string
		kind      Kind
		hint      string
	}{
		{"https to a plain server", strings.Replace(plain.URL(), "http:", "https:", 1), KindURL, "http://"},
		{"http to a secure server", strings.Replace(secure.URL, "https:", "http:", 1) + "/v1", KindURL, "https://"},
		{"a certificate of its own", secure.URL + "/v1", KindConnect, "SSL_CERT_FILE"},
	} {
		c, waits := newClient(t, test.url, nil)
		_, err := c.Ask(t.Context(), question, nil)
		if e := failure(t, err); e.Kind != test.kind || !strings.Contains(Hint(err), test.hint) || len(*waits) != 0 {
			t.Errorf("%s: kind %q, %d waits, %v; hint %q", test.name, e.Kind, len(*waits), err, Hint(err))
		}
	}
}

// TestOneClientManyQuestions: what one question learns of the server's dialect
// does not leak into another that is asked at the same time.
func TestOneClientManyQuestions(t *testing.T) {
	srv := llmtest.New(t, llmtest.Refuse(400, "stream_options is not known"), llmtest.Refuse(503, "busy"), llmtest.Say("yes"))
	c, err := New(Config{Model: "m", BaseURL: srv.URL()})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := c.Ask(t.Context(), question, nil); err != nil || got.Text != "yes" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	wg.Wait()
	if n := len(srv.Requests()); n != 10 {
		t.Errorf("%d requests, want 8 and the two that were refused", n)
	}
}
