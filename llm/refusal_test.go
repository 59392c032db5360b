package llm

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"tracerag/llm/llmtest"
)

// TestRefusals holds the servers' errors as documentation and issue trackers quote
// them (none was recorded from a live server), and what a user reads.
func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name          string
		status        int
		body          string
		kind          Kind
		prompt, limit int
		says          string // in the error
		hint          string // in the hint
	}{
		// Wrong key.
		{"OpenAI: wrong key", 401, `{"error":{"message":"Incorrect API key provided: ` + testKey + `. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
			KindAuth, 0, 0, "the API key is refused (HTTP 401)", "OPENAI_API_KEY"},
		{"Anthropic: wrong key", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, KindAuth, 0, 0, "invalid x-api-key", "OPENAI_API_KEY"},
		{"Gemini: wrong key is a 400", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, KindAuth, 0, 0, "API key not valid", ""},
		{"forbidden", 403, `{"error":{"message":"Country, region, or territory not supported"}}`, KindAuth, 0, 0, "territory not supported", ""},
		{"proxy's page", 403, "<html><title>Blocked by policy</title></html>", KindAuth, 0, 0, "Blocked by policy", ""},

		// Unknown model.
		{"OpenAI: model", 404, `{"error":{"message":"The model ` + "`gpt-9`" + ` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`,
			KindModel, 0, 0, `the model "test-model"`, "/models"},
		{"OpenAI: project without access", 403, `{"error":{"message":"Project ` + "`proj_x`" + ` does not have access to model ` + "`o3`" + `","type":"invalid_request_error","code":"model_not_found"}}`, KindModel, 0, 0, "", ""},
		{"Azure: deployment", 404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, KindModel, 0, 0, "", ""},
		{"Ollama: model", 404, `{"error":{"message":"model \"llama9\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`, KindModel, 0, 0, "", "ollama pull test-model"},
		{"Ollama: model, bare form", 404, `{"error":"model 'llama9' not found"}`, KindModel, 0, 0, "", ""},
		{"vLLM: model", 404, `{"object":"error","message":"The model ` + "`x`" + ` does not exist.","type":"NotFoundError","param":null,"code":404}`, KindModel, 0, 0, "", ""},
		{"Gemini: model", 404, `[{"error":{"code":404,"message":"models/x is not found for API version v1main, or is not supported for generateContent.","status":"NOT_FOUND"}}]`, KindModel, 0, 0, "", ""},
		{"Anthropic: model", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}`, KindModel, 0, 0, "", ""},
		{"OpenRouter: model", 400, `{"error":{"message":"x/y is not a valid model ID","code":400}}`, KindModel, 0, 0, "", ""},
		{"DeepSeek: model", 400, `{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, KindModel, 0, 0, "", ""},

		// Too long.
		{"OpenAI: context", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 150123 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
			KindTooLarge, 150123, 128000, "150123 tokens, 128000 fit", "make the prompt smaller"},
		{"OpenAI: context, newer", 400, `{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300001 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
			KindTooLarge, 300001, 272000, "", ""},
		{"vLLM: context", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}`,
			KindTooLarge, 5000, 4096, "", ""},
		{"vLLM: context, newer", 400, `{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 900. This model's maximum context length is 4096 tokens and your request has 3500 input tokens (900 > 4096 - 3500).","type":"BadRequestError","param":null,"code":400}}`,
			KindTooLarge, 3500, 4096, "", ""},
		{"vLLM: decoder prompt", 400, `{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that ..."}}`, KindTooLarge, 5000, 4096, "", ""},
		{"llama.cpp: context", 400, `{"error":{"code":400,"message":"request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`,
			KindTooLarge, 5000, 4096, "", ""},
		{"llama.cpp: context, sizes apart", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`,
			KindTooLarge, 5000, 4096, "", ""},
		{"llama.cpp: older, a 500", 500, `{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"server_error"}}`, KindTooLarge, 0, 0, "", ""},
		{"Ollama: context", 400, `{"error":{"message":"prompt too long; exceeded max context length by 65590 tokens"}}`, KindTooLarge, 0, 0, "", ""},
		{"Gemini: context", 400, `[{"error":{"code":400,"message":"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, KindTooLarge, 1100000, 1048576, "", ""},
		{"Anthropic: context", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, KindTooLarge, 210000, 200000, "", ""},
		{"Anthropic: context with the answer", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 190000 + 20000 > 200000, decrease input length or ` + "`max_tokens`" + ` and try again"}}`,
			KindTooLarge, 190000, 200000, "", ""},
		{"Mistral: context", 400, `{"object":"error","message":"Prompt contains 300000 tokens and 0 draft tokens, too large for model with 262144 maximum context length","type":"invalid_request_prompt"}`, KindTooLarge, 300000, 262144, "", ""},
		{"xAI: context", 400, `{"error":"This model's maximum prompt length is 131072 but the request contains 150000 tokens."}`, KindTooLarge, 150000, 131072, "", ""},
		{"body too large for the gateway", 413, "<html><title>413 Request Entity Too Large</title></html>", KindTooLarge, 0, 0, "", ""},

		// Not an endpoint.
		{"Ollama without /v1", 404, "404 page not found", KindURL, 0, 0, "no chat endpoint", ""},
		{"OpenAI: wrong path", 404, `{"error":{"message":"Invalid URL (POST /v2/chat/completions)","type":"invalid_request_error"}}`, KindURL, 0, 0, "", ""},
		{"FastAPI: wrong path", 404, `{"detail":"Not Found"}`, KindURL, 0, 0, "Not Found", ""},
		{"a web site", 404, "<!DOCTYPE html><html><title>Oops</title></html>", KindURL, 0, 0, "an HTML page (Oops)", ""},
		{"a web site that dislikes POST", 405, "", KindURL, 0, 0, "", ""},
		{"a web page instead of an answer", 200, "<!DOCTYPE html><html><title>Log in</title></html>", KindURL, 0, 0, "(Log in)", ""},
		{"text instead of an answer", 200, "Ollama is running", KindURL, 0, 0, "Ollama is running", ""},
		{"TLS port asked in plain http", 400, "Client sent an HTTP request to an HTTPS server.\n", KindURL, 0, 0, "https", "https://"},

		// The rest.
		{"DeepSeek: no balance", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error"}}`, KindQuota, 0, 0, "", "credit"},
		{"another refusal", 400, `{"error":{"message":"messages: at least one message is required","type":"invalid_request_error"}}`, KindRequest, 0, 0, "at least one message", ""},
		{"FastAPI: list of faults", 422, `{"detail":[{"loc":["body","x"],"msg":"field required"}]}`, KindRequest, 0, 0, "field required", ""},
		{"an error as a 200", 200, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":\"boom\"}"}}}`, KindRequest, 0, 0, "boom", ""},
		{"neither answer nor error", 200, `{"hello":"world"}`, KindEmpty, 0, 0, "", ""},
		{"no choices", 200, `{"choices":[],"model":"m"}`, KindEmpty, 0, 0, "", ""},
		{"withheld", 200, `{"choices":[{"index":0,"finish_reason":"content_filter","message":{"content":null}}]}`, KindEmpty, 0, 0, "content filter", ""},
		{"thought too long", 200, `{"choices":[{"index":0,"finish_reason":"length","message":{"content":"","reasoning_content":"hm"}}]}`, KindEmpty, 0, 0, "thought until", "more tokens"},
	} {
		t.Run(test.name, func(t *testing.T) {
			step := llmtest.Step{Status: test.status, Body: test.body}
			srv := llmtest.New(t, step, llmtest.Say("a refusal must be final"))
			c, _ := newClient(t, srv.URL(), nil)
			_, err := c.Ask(t.Context(), question, nil)
			e := failure(t, err)
			if e.Kind != test.kind {
				t.Fatalf("kind %q, want %q: %v", e.Kind, test.kind, err)
			}
			if e.PromptTokens != test.prompt || e.LimitTokens != test.limit {
				t.Errorf("sizes %d, %d; want %d, %d", e.PromptTokens, e.LimitTokens, test.prompt, test.limit)
			}
			if !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %q does not say %q", err, test.says)
			}
			if e.Kind != KindRequest && Hint(err) == "" || !strings.Contains(Hint(err), test.hint) {
				t.Errorf("hint %q, want %q in it", Hint(err), test.hint)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			if len(srv.Requests()) != 1 {
				t.Errorf("asked %d times", len(srv.Requests()))
			}
		})
	}
}

// TestAdapts: a server that refuses a parameter is asked again without it, once.
func TestAdapts(t *testing.T) {
	refuse := func(param, message string) llmtest.Step {
		return llmtest.Step{Status: 400, Body: `{"error":{"message":"` + message + `","type":"invalid_request_error","param":"` + param + `","code":"unsupported_parameter"}}`}
	}
	warm, cold := 0.7, 0.0
	ok := llmtest.Say("yes")
	for _, test := range []struct {
		name   string
		change func(*Config)
		script []llmtest.Step
		notes  int
		check  func(t *testing.T, last llmtest.Request)
	}{
		{"max_tokens", func(c *Config) { c.MaxTokens = 50 },
			[]llmtest.Step{refuse("max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."), ok}, 0,
			func(t *testing.T, r llmtest.Request) {
				if r.Chat.MaxTokens != 0 || r.Chat.MaxCompletionTokens != 50 {
					t.Errorf("sent %s", r.Body)
				}
			}},
		{"temperature", func(c *Config) { c.Temperature = &warm },
			[]llmtest.Step{refuse("temperature", "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported."), ok}, 1,
			func(t *testing.T, r llmtest.Request) {
				if r.Chat.Temperature != nil {
					t.Errorf("sent %s", r.Body)
				}
			}},
		{"max_completion_tokens", func(c *Config) { c.MaxTokens = 50; c.Azure = true },
			[]llmtest.Step{refuse("max_completion_tokens", "Unrecognized request argument supplied: max_completion_tokens"), ok}, 0,
			func(t *testing.T, r llmtest.Request) {
				if r.Chat.MaxTokens != 50 || r.Chat.MaxCompletionTokens != 0 {
					t.Errorf("sent %s", r.Body)
				}
			}},
		{"both", func(c *Config) { c.MaxTokens = 50; c.Temperature = &cold },
			[]llmtest.Step{refuse("max_tokens", "use max_completion_tokens"), refuse("temperature", "Only the default (1) value is supported"), ok}, 1,
			func(t *testing.T, r llmtest.Request) {
				if r.Chat.Temperature != nil || r.Chat.MaxCompletionTokens != 50 {
					t.Errorf("sent %s", r.Body)
				}
			}},
		{"stream_options", nil,
			[]llmtest.Step{{Status: 422, Body: `{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`}, ok}, 1,
			func(t *testing.T, r llmtest.Request) {
				if r.Chat.StreamOptions != nil || !r.Chat.Stream {
					t.Errorf("sent %s", r.Body)
				}
			}},
		{"stream", nil,
			[]llmtest.Step{refuse("stream", "Your organization must be verified to stream this model."), ok}, 1,
			func(t *testing.T, r llmtest.Request) {
				if r.Chat.Stream || r.Chat.StreamOptions != nil {
					t.Errorf("sent %s", r.Body)
				}
			}},
		{"system role", nil,
			[]llmtest.Step{{Status: 500, Body: `{"error":{"code":500,"message":"System role not supported at row 1","type":"server_error"}}`}, ok}, 1,
			func(t *testing.T, r llmtest.Request) {
				if m := r.Chat.Messages; len(m) != 1 || m[0].Role != "user" || m[0].Content != "answer from the trace\n\nwhich function draws the border?" {
					t.Errorf("sent %s", r.Body)
				}
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			srv := llmtest.New(t, test.script...)
			c, waits := newClient(t, srv.URL(), test.change)
			var out strings.Builder
			got, err := c.Ask(t.Context(), question, &out)
			if err != nil || got.Text != "yes" || out.String() != "yes" {
				t.Fatalf("%+v, %v", got, err)
			}
			if len(*waits) != 0 || len(got.Notes) != test.notes {
				t.Errorf("waits %v, notes %q", *waits, got.Notes)
			}
			requests := srv.Requests()
			test.check(t, requests[len(requests)-1])
		})
	}
	t.Run("a server that never agrees", func(t *testing.T) {
		srv := llmtest.New(t, refuse("temperature", "temperature, max_tokens, max_completion_tokens, stream_options: all bad"))
		c, _ := newClient(t, srv.URL(), func(c *Config) { c.MaxTokens = 50; c.Temperature = &warm })
		_, err := c.Ask(t.Context(), question, nil)
		if e := failure(t, err); e.Kind != KindRequest || len(srv.Requests()) > len(adaptations)+1 {
			t.Errorf("%v after %d requests", err, len(srv.Requests()))
		}
	})
}

// TestDialectByName: what a model's name tells is not left to a refusal.
func TestDialectByName(t *testing.T) {
	warm, cold := 0.7, 0.0
	for _, test := range []struct {
		model       string
		temperature *float64
		want        string // in the body
		not         string
	}{
		{"gpt-4o", &warm, `"temperature":0.7`, "max_completion_tokens"},
		{"gpt-4o", &cold, `"temperature":0,`, "max_completion_tokens"},
		{"qwen3:30b", nil, `"max_tokens":50`, "temperature"},
		{"o3-mini", &warm, `"max_completion_tokens":50`, "temperature"},
		{"gpt-5.4", &cold, `"max_completion_tokens":50`, "temperature"},
		{"gpt-6-sol", &warm, `"max_completion_tokens":50`, "temperature"},
		{"openai/gpt-5-mini", &warm, `"max_completion_tokens":50`, "temperature"},
	} {
		srv := llmtest.New(t, llmtest.Say("yes"))
		c, _ := newClient(t, srv.URL(), func(cfg *Config) {
			cfg.Model, cfg.Temperature, cfg.MaxTokens = test.model, test.temperature, 50
		})
		got, err := c.Ask(t.Context(), question, nil)
		if err != nil {
			t.Errorf("%s: %v", test.model, err)
			continue
		}
		body := string(srv.Requests()[0].Body)
		if !strings.Contains(body, test.want) || strings.Contains(body, test.not) {
			t.Errorf("%s was sent %s; want %s and no %s", test.model, body, test.want, test.not)
		}
		if dropped := test.not == "temperature" && test.temperature != nil; dropped != (len(got.Notes) == 1) {
			t.Errorf("%s: notes %q", test.model, got.Notes)
		}
	}
}

func TestAzure(t *testing.T) {
	srv := llmtest.New(t, llmtest.Say("yes"))
	base := strings.TrimSuffix(srv.URL(), "/v1")
	c, _ := newClient(t, base+"/openai/deployments/other/chat/completions?api-version=2020-01-01", func(cfg *Config) {
		cfg.Azure, cfg.Model, cfg.MaxTokens = true, "my.gpt:4", 5
	})
	if _, err := c.Ask(t.Context(), question, nil); err != nil {
		t.Fatal(err)
	}
	r := srv.Requests()[0]
	if r.Path != "/openai/deployments/my.gpt:4/chat/completions" || r.Query != "api-version="+DefaultAPIVersion {
		t.Errorf("asked %s?%s", r.Path, r.Query)
	}
	if r.Header.Get("Api-Key") != testKey || r.Header.Get("Authorization") != "" {
		t.Errorf("headers %v", r.Header)
	}
}

func TestRequestIDIsTold(t *testing.T) {
	srv := llmtest.New(t, llmtest.Step{Handle: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "req_42")
		http.Error(w, `{"error":{"message":"no"}}`, 400)
	}})
	c, _ := newClient(t, srv.URL(), nil)
	_, err := c.Ask(t.Context(), question, nil)
	var e *Error
	if !errors.As(err, &e) || e.RequestID != "req_42" || !strings.Contains(err.Error(), "req_42") {
		t.Errorf("%v", err)
	}
}
