package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// maxEvent bounds one event. A server that answers in one piece inside a stream
// sends the whole answer as one.
const maxEvent = 4 << 20

var errEventTooLong = errors.New("an event of the stream is longer than 4 MiB")

// events splits a response into JSON documents: the data of server-sent events,
// or the one document of a server that does not stream (then whole is set).
//
// It is more lenient than the standard for event streams, as servers need it: an
// event also ends at its line's end when that line is a document by itself (some
// leave out the blank line between events), the last line needs no line end, and
// llama.cpp's "error:" field is an error as data would hold it. Comments, names and ids are skipped; they
// are a sign of life anyway.
type events struct {
	r     *bufio.Reader
	begun bool
	whole bool
	seen  bool   // an event was returned
	other []byte // the first line that is no part of an event stream
}

func newEvents(r io.Reader) *events { return &events{r: bufio.NewReaderSize(r, 32<<10)} }

// next gives one event's data: JSON as far as the server keeps to the protocol,
// or "[DONE]". At the end of the response it gives io.EOF; an event that the end
// cuts short is not given.
func (s *events) next() ([]byte, error) {
	if !s.begun {
		s.begun = true
		if err := s.sniff(); err != nil {
			return nil, err
		}
	}
	if s.whole {
		if s.seen {
			return nil, io.EOF
		}
		s.seen = true
		data, err := io.ReadAll(io.LimitReader(s.r, maxEvent+1))
		if len(data) > maxEvent {
			return nil, errEventTooLong
		}
		return data, err
	}
	var pending []byte // of an event of several lines
	for {
		line, err := s.line()
		if err != nil && len(line) == 0 {
			if err == io.EOF && len(pending) > 0 && json.Valid(pending) {
				return s.give(pending), nil
			}
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(bytes.TrimSpace(line)) == 0 {
			if len(pending) > 0 {
				return s.give(pending), nil
			}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "data", "error":
			value = bytes.TrimSpace(value)
			if string(name) == "error" && json.Valid(value) {
				value = slices.Concat([]byte(`{"error":`), value, []byte("}"))
			}
			if len(pending) == 0 && (string(value) == "[DONE]" || json.Valid(value)) {
				return s.give(value), nil
			}
			if err != nil {
				return nil, err // the line that the connection cut
			}
			if len(pending)+len(value) > maxEvent {
				return nil, errEventTooLong
			}
			if len(pending) > 0 {
				pending = append(pending, '\n')
			}
			pending = append(pending, value...)
		case "", "event", "id", "retry": // "" is a comment
		default:
			if s.other == nil {
				s.other = bytes.Clone(line)
			}
		}
	}
}

func (s *events) give(data []byte) []byte {
	s.seen = true
	return data
}

// sniff skips a byte order mark and white space, and tells a document from a stream.
func (s *events) sniff() error {
	if bom, _ := s.r.Peek(3); string(bom) == "\ufeff" {
		s.r.Discard(3)
	}
	for {
		b, err := s.r.ReadByte()
		if err != nil {
			return err
		}
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		case '{', '[', '<':
			s.whole = true
		}
		return s.r.UnreadByte()
	}
}

// line reads up to and with the next line end. At the end of the response it
// gives what is left beside the error.
func (s *events) line() ([]byte, error) {
	var line []byte
	for {
		part, err := s.r.ReadSlice('\n')
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
		if len(line) > maxEvent {
			return nil, errEventTooLong
		}
	}
}

// chunk is what one document of an answer says, streamed or whole.
type chunk struct {
	model, text, finish string
	thought             bool // it holds some of the model's thinking
	usage               *Usage
	err                 *said
}

// decodeChunk reads one document. Only what is needed is required to be well
// formed: servers put null, arrays and objects where the protocol has strings.
func decodeChunk(data []byte) (chunk, error) {
	var c chunk
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' { // Gemini wraps errors so
		var list []json.RawMessage
		if err := json.Unmarshal(data, &list); err != nil {
			return c, err
		}
		if len(list) == 0 {
			return c, errors.New("an empty list")
		}
		data = list[0]
	}
	type message struct {
		Content          json.RawMessage `json:"content"`
		Refusal          json.RawMessage `json:"refusal"`
		ReasoningContent json.RawMessage `json:"reasoning_content"` // DeepSeek, llama.cpp, vLLM
		Reasoning        json.RawMessage `json:"reasoning"`         // Ollama, OpenRouter, newer vLLM
	}
	var doc struct {
		Object  json.RawMessage `json:"object"`
		Type    json.RawMessage `json:"type"`
		Model   json.RawMessage `json:"model"`
		Error   json.RawMessage `json:"error"`
		Usage   json.RawMessage `json:"usage"`
		Choices []struct {
			Index        json.RawMessage `json:"index"`
			Delta        *message        `json:"delta"`
			Message      *message        `json:"message"`
			FinishReason json.RawMessage `json:"finish_reason"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return c, err
	}
	if isSet(doc.Error) || str(doc.Object) == "error" || str(doc.Type) == "error" {
		e := parseSaid(data)
		c.err = &e
		return c, nil
	}
	c.model = str(doc.Model)
	c.usage = parseUsage(doc.Usage)
	for _, choice := range doc.Choices {
		if i := str(choice.Index); i != "" && i != "0" {
			continue // one answer is asked for; a server that sends two must not mix them
		}
		m := choice.Delta
		if m == nil {
			m = choice.Message
		}
		if m != nil {
			c.text += contentText(m.Content)
			if c.text == "" {
				c.text = str(m.Refusal) // a refusal is the model's answer too
			}
			c.thought = c.thought || str(m.ReasoningContent) != "" || str(m.Reasoning) != ""
		}
		if f := str(choice.FinishReason); f != "" {
			c.finish = f
		}
	}
	return c, nil
}

// contentText is a message's text: a string, null, or a list of parts of which
// those of type text count (Mistral's thinking models).
func contentText(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '[' {
		return str(raw)
	}
	var parts []struct {
		Type string          `json:"type"`
		Text json.RawMessage `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type == "text" {
			b.WriteString(str(p.Text))
		}
	}
	return b.String()
}

// parseUsage gives nil for null, for an empty object and for what is no usage at all.
func parseUsage(raw json.RawMessage) *Usage {
	if !isSet(raw) {
		return nil
	}
	var u struct {
		Prompt     json.Number `json:"prompt_tokens"`
		Completion json.Number `json:"completion_tokens"`
		Total      json.Number `json:"total_tokens"`
		CacheHit   json.Number `json:"prompt_cache_hit_tokens"` // DeepSeek
		PDetails   struct {
			Cached json.Number `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CDetails struct {
			Reasoning json.Number `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return nil
	}
	out := Usage{
		PromptTokens:     count(u.Prompt),
		CompletionTokens: count(u.Completion),
		TotalTokens:      count(u.Total),
		CachedTokens:     max(count(u.PDetails.Cached), count(u.CacheHit)),
		ReasoningTokens:  count(u.CDetails.Reasoning),
	}
	if out == (Usage{}) {
		return nil
	}
	counted := out.PromptTokens + out.CompletionTokens
	if out.TotalTokens == 0 {
		out.TotalTokens = counted
	}
	if out.ReasoningTokens == 0 && out.TotalTokens > counted {
		out.ReasoningTokens = out.TotalTokens - counted
	}
	return &out
}

// maxCount keeps sums of counts, and prices of them, far from overflow.
const maxCount = 1 << 40

func count(n json.Number) int {
	f, err := n.Float64()
	if err != nil || !(f > 0) {
		return 0
	}
	return int(min(f, maxCount))
}

// str is a JSON string's value, a number's digits, and "" for everything else.
func str(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	if raw[0] == '"' {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return ""
		}
		return s
	}
	if raw[0] >= '0' && raw[0] <= '9' || raw[0] == '-' {
		return string(raw)
	}
	return ""
}

func isSet(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != "{}" && string(raw) != `""` && string(raw) != "[]" && string(raw) != "false"
}
