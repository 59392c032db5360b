package llm

import (
	"encoding/json"
	"strings"
	"time"
)

// said is a server's error in its own words, from whichever shape it gave them.
type said struct {
	message, kind, code, param string
	prompt, limit              int // llama.cpp tells the sizes as numbers
	after                      wait
}

// parseSaid understands, beside OpenAI's {"error":{...}}: Gemini's list of one,
// Ollama's {"error":"..."}, vLLM's and Mistral's flat {"message":...}, FastAPI's
// {"detail":...}, and OpenRouter's words of the server behind it. A body that is
// none of these is its own message.
func parseSaid(body []byte) said {
	text := strings.TrimSpace(string(body))
	if strings.HasPrefix(text, "[") {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			body = list[0]
		}
	}
	var outer map[string]json.RawMessage
	if json.Unmarshal(body, &outer) != nil {
		return said{message: text}
	}
	inner := outer
	switch raw := outer["error"]; {
	case len(raw) > 0 && raw[0] == '{':
		inner = nil
		if json.Unmarshal(raw, &inner) != nil {
			return said{message: text}
		}
	case str(raw) != "":
		return said{message: str(raw), code: str(outer["code"])}
	}
	s := said{
		message: str(inner["message"]),
		kind:    str(inner["type"]),
		code:    str(inner["code"]),
		param:   str(inner["param"]),
		prompt:  number(inner["n_prompt_tokens"]),
		limit:   number(inner["n_ctx"]),
		after:   retryDelay(inner["details"]),
	}
	if s.kind == "" {
		s.kind = str(inner["status"]) // Gemini
	}
	var upstream struct {
		Raw json.RawMessage `json:"raw"`
	}
	if json.Unmarshal(inner["metadata"], &upstream) == nil && str(upstream.Raw) != "" {
		s.message = strings.TrimSpace(s.message + ": " + str(upstream.Raw))
	}
	if s.message == "" {
		s.message = str(outer["detail"])
	}
	if s.message == "" {
		s.message = text
	}
	return s
}

func number(raw json.RawMessage) int { return count(json.Number(str(raw))) }

// retryDelay is Gemini's way to say Retry-After: {"retryDelay": "34.07s"} among
// the error's details.
func retryDelay(raw json.RawMessage) wait {
	var details []struct {
		RetryDelay string `json:"retryDelay"`
	}
	if json.Unmarshal(raw, &details) != nil {
		return wait{}
	}
	for _, d := range details {
		if t, err := time.ParseDuration(d.RetryDelay); err == nil && t >= 0 {
			return wait{t, true}
		}
	}
	return wait{}
}
