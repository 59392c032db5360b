package llm

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"tracerag/llm/llmtest"
)

// embedder answers with a body.
func embedder(body string) llmtest.Step {
	return llmtest.Step{Handle: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, body)
	}}
}

// TestEmbed asks for two vectors, which come in the other order after a busy server.
func TestEmbed(t *testing.T) {
	srv := llmtest.New(t, llmtest.Refuse(503, "busy"),
		embedder(`{"object":"list","data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[1,0]}],"model":"small","usage":{"prompt_tokens":7,"total_tokens":7}}`))
	c, waits := newClient(t, srv.URL(), nil)
	got, err := c.Embed(t.Context(), []string{"first", "second"})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Vectors) != 2 || got.Vectors[0][0] != 1 || got.Vectors[1][1] != 2 || got.Model != "small" || got.Usage == nil || got.Usage.PromptTokens != 7 {
		t.Errorf("got %+v", got)
	}
	if len(*waits) != 1 {
		t.Errorf("waited %v", *waits)
	}
	asked := srv.Requests()[1]
	var sent struct {
		Input []string `json:"input"`
		Model string   `json:"model"`
	}
	if err := json.Unmarshal(asked.Body, &sent); err != nil || asked.Path != "/v1/embeddings" || len(sent.Input) != 2 || sent.Input[1] != "second" || sent.Model != "test-model" {
		t.Errorf("%s was sent %s (%v)", asked.Path, asked.Body, err)
	}
}

// TestEmbedRefusesBadVectors lists answers of servers that would spoil a store.
func TestEmbedRefusesBadVectors(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want Kind
	}{
		"too few":                 {`{"data":[{"index":0,"embedding":[1]}]}`, KindProtocol},
		"the same twice":          {`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, KindProtocol},
		"an index past the end":   {`{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}`, KindProtocol},
		"a negative index":        {`{"data":[{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}]}`, KindProtocol},
		"other lengths":           {`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`, KindProtocol},
		"nothing in it":           {`{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`, KindProtocol},
		"no direction":            {`{"data":[{"index":0,"embedding":[0]},{"index":1,"embedding":[1]}]}`, KindProtocol},
		"a number that is none":   {`{"data":[{"index":0,"embedding":[1e999]},{"index":1,"embedding":[1]}]}`, KindProtocol},
		"no JSON":                 {`data: {}`, KindProtocol},
		"a page":                  {`<html><title>Welcome</title>`, KindURL},
		"an error in the answer":  {`{"error":{"message":"no such model"}}`, KindServer},
		"a chat model's document": {`{"choices":[{"message":{"content":"hello"}}]}`, KindProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			srv := llmtest.New(t, embedder(c.body))
			client, _ := newClient(t, srv.URL(), func(cfg *Config) { cfg.MaxRetries = -1 })
			got, err := client.Embed(t.Context(), []string{"a", "b"})
			if e := failure(t, err); e.Kind != c.want || len(got.Vectors) > 0 {
				t.Errorf("%v (%s), vectors %v", err, e.Kind, got.Vectors)
			}
		})
	}
}

// TestEmbedSendsNoEmptyText holds what servers answer with a refusal of the whole request.
func TestEmbedSendsNoEmptyText(t *testing.T) {
	srv := llmtest.New(t, embedder(`{}`))
	c, _ := newClient(t, srv.URL(), nil)
	if _, err := c.Embed(t.Context(), []string{"a", ""}); failure(t, err).Kind != KindRequest {
		t.Error(err)
	}
	if got, err := c.Embed(t.Context(), nil); err != nil || len(got.Vectors) != 0 {
		t.Error(got, err)
	}
	if n := len(srv.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func FuzzVectors(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":"x"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := New(Config{Model: "m", BaseURL: "http://localhost:1/v1", APIKey: testKey})
		if err != nil {
			t.Fatal(err)
		}
		x := &exchange{client: c, response: &http.Response{StatusCode: 200}}
		got, fail := x.vectors(body, 1)
		if fail == nil && (len(got.Vectors) != 1 || len(got.Vectors[0]) == 0) {
			t.Errorf("%s is taken for %v", body, got.Vectors)
		}
	})
}
