// Package llmtest is a language model server for tests: a real HTTP server on
// the loopback interface that speaks the OpenAI-compatible chat protocol from a
// script, one [Step] a request, and records what it was asked.
//
//	srv := llmtest.New(t, llmtest.Refuse(503, "busy"), llmtest.Say("the answer"))
//	... OPENAI_BASE_URL=srv.URL() ...
//	srv.Requests()[1].Chat.Messages
//
// It shares no code with package llm: a mistake about the protocol must not be
// made on both sides.
package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Step is the server's answer to one request.
type Step struct {
	// Status other than 0 and 200 sends Body as it is, with Header.
	Status int
	Header map[string]string
	Body   string // the whole body; "" for a Status of 200: stream Text

	// Text is streamed word by word, then comes Finish ("" is "stop"), Usage
	// when the request asks for it, and [DONE]. A request that does not ask
	// for a stream gets the same as one document.
	Text   string
	Finish string
	Usage  *Usage // nil: 10 tokens in, one out for each piece

	// Reply, when set, makes Text of the last message.
	Reply func(message string) string

	Delay time.Duration // before the first byte, and between pieces
	Drop  bool          // break the connection after Text
	Hang  bool          // after Text send nothing more until the client goes away

	// Embed answers a request for embeddings with the vector of each text.
	Embed func(text string) []float32

	// Handle answers by itself, when set; the other fields are not used.
	Handle http.HandlerFunc
}

// Usage is what the server reports.
type Usage struct {
	PromptTokens, CompletionTokens, CachedTokens, ReasoningTokens int
}

// Say answers with text.
func Say(text string) Step { return Step{Text: text} }

// DropAfter begins to answer with text and breaks the connection.
func DropAfter(text string) Step { return Step{Text: text, Drop: true} }

// Refuse answers with an error in OpenAI's form. It asks to come back after a
// millisecond, so that a client's retries take no time.
func Refuse(status int, message string) Step { return RefuseCode(status, "", message) }

// RefuseCode is Refuse with OpenAI's error code, such as "context_length_exceeded".
func RefuseCode(status int, code, message string) Step {
	e := map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": nil}
	if code != "" {
		e["code"] = code
	}
	return Step{
		Status: status,
		Header: map[string]string{"Content-Type": "application/json", "Retry-After-Ms": "1"},
		Body:   toJSON(map[string]any{"error": e}),
	}
}

// Chat is the part of a request's body that tests look at.
type Chat struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	Stream        bool `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           int      `json:"max_tokens"`
	MaxCompletionTokens int      `json:"max_completion_tokens"`
	Temperature         *float64 `json:"temperature"`
}

// Request is what the server was sent.
type Request struct {
	Method, Path, Query string
	Header              http.Header
	Body                []byte
	Chat                Chat // Body decoded
}

// Server answers from its script. When the script is used up, its last step
// answers every further request.
type Server struct {
	listener net.Listener
	http     *http.Server
	closed   chan struct{}
	close    sync.Once

	mu       sync.Mutex
	script   []Step
	requests []Request
}

// New starts a server that ends with the test.
func New(t testing.TB, script ...Step) *Server {
	t.Helper()
	s, err := Serve(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Serve starts a server without a test, for a program: Close ends it.
func Serve(script []Step) (*Server, error) {
	if len(script) == 0 {
		return nil, fmt.Errorf("the fake model server has no script")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the fake model server cannot listen: %w", err)
	}
	s := &Server{listener: l, script: script, closed: make(chan struct{})}
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute}
	go s.http.Serve(l)
	return s, nil
}

// URL is the base URL to configure: it ends in /v1.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/v1" }

// Requests are those received so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Close ends the server and every connection.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.closed)
		s.http.Close()
	})
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	req := Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: body}
	r.Body = io.NopCloser(bytes.NewReader(body)) // for Step.Handle
	valid := json.Unmarshal(body, &req.Chat) == nil
	s.mu.Lock()
	step := s.script[min(len(s.requests), len(s.script)-1)]
	s.requests = append(s.requests, req)
	s.mu.Unlock()

	switch {
	case step.Handle != nil:
		step.Handle(w, r)
	case r.URL.Path == "/v1/embeddings" && (step.Embed != nil || step.Status != 0):
		s.embed(w, r, step, body)
	case !strings.HasSuffix(r.URL.Path, "/chat/completions") || !strings.HasPrefix(r.URL.Path, "/v1/") && !strings.HasPrefix(r.URL.Path, "/openai/"):
		http.Error(w, "404 page not found", http.StatusNotFound)
	case r.Method != http.MethodPost || !valid:
		http.Error(w, `{"error":{"message":"we could not parse the JSON body of your request"}}`, http.StatusBadRequest)
	default:
		s.play(w, r, step, req.Chat)
	}
}

func (s *Server) embed(w http.ResponseWriter, r *http.Request, step Step, body []byte) {
	if step.Embed == nil {
		s.play(w, r, step, Chat{})
		return
	}
	var in struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	if json.Unmarshal(body, &in) != nil {
		http.Error(w, `{"error":{"message":"input must be a list of texts"}}`, http.StatusBadRequest)
		return
	}
	data := []any{}
	for i, text := range in.Input {
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": step.Embed(text)})
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, toJSON(map[string]any{"object": "list", "model": in.Model, "data": data, "usage": usageJSON(step.Usage, 0)}))
}

func (s *Server) play(w http.ResponseWriter, r *http.Request, step Step, chat Chat) {
	if !s.wait(r, step.Delay) {
		return
	}
	for k, v := range step.Header {
		w.Header().Set(k, v)
	}
	if step.Body != "" || step.Status != 0 && step.Status != http.StatusOK {
		w.WriteHeader(max(step.Status, http.StatusOK))
		io.WriteString(w, step.Body)
		return
	}
	if n := len(chat.Messages); step.Reply != nil && n > 0 {
		step.Text = step.Reply(chat.Messages[n-1].Content)
	}
	pieces := strings.SplitAfter(step.Text, " ")
	finish := step.Finish
	if finish == "" {
		finish = "stop"
	}
	usage := usageJSON(step.Usage, len(pieces))
	if !chat.Stream {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, toJSON(map[string]any{
			"id": "chatcmpl-1", "object": "chat.completion", "model": chat.Model, "usage": usage,
			"choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": map[string]any{"role": "assistant", "content": step.Text}}},
		}))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(data string) {
		fmt.Fprintf(w, "data: %s\n\n", data)
		http.NewResponseController(w).Flush()
	}
	for i, piece := range pieces {
		if i > 0 && !s.wait(r, step.Delay) {
			return
		}
		send(Chunk(chat.Model, piece, ""))
	}
	if step.Hang {
		s.wait(r, time.Hour)
	}
	if step.Hang || step.Drop {
		panic(http.ErrAbortHandler) // net/http's way to break the connection without a word
	}
	send(Chunk(chat.Model, "", finish))
	if chat.StreamOptions != nil && chat.StreamOptions.IncludeUsage {
		send(toJSON(map[string]any{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": chat.Model, "choices": []any{}, "usage": usage}))
	}
	send("[DONE]")
}

// wait says whether the client and the server are still there after d.
func (s *Server) wait(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
	case <-s.closed:
	}
	return false
}

// Chunk is one event's data of a streamed answer: a piece of text, or, with text
// "", the finish reason.
func Chunk(model, text, finish string) string {
	delta := map[string]any{}
	if text != "" {
		delta["content"] = text
	}
	choice := map[string]any{"index": 0, "delta": delta, "finish_reason": nil}
	if finish != "" {
		choice["finish_reason"] = finish
	}
	return toJSON(map[string]any{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": model, "choices": []any{choice}})
}

func usageJSON(u *Usage, pieces int) map[string]any {
	if u == nil {
		u = &Usage{PromptTokens: 10, CompletionTokens: pieces}
	}
	return map[string]any{
		"prompt_tokens":             u.PromptTokens,
		"completion_tokens":         u.CompletionTokens,
		"total_tokens":              u.PromptTokens + u.CompletionTokens,
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.CachedTokens},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.ReasoningTokens},
	}
}

func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings and numbers only
	}
	return string(b)
}
