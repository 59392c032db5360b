package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The SDK ends the session at the first message that it cannot decode: bytes that are no
// JSON, another version of JSON-RPC, null, an empty batch, a long line. An agent that
// writes one bad message would lose its tools. So a layer of ours reads the lines
// first. It answers malformed messages with an error, as JSON-RPC wants it, and hands
// on what is one. Batches, which the protocol had until 2025-03-26, are taken apart here
// and their answers put together, since the SDK ends the session on those, too, after
// another version was agreed on.

const (
	// mostMessage is how many bytes a message to the server has at most. The longest
	// that are of use are questions.
	mostMessage = 1 << 20
	// mostBatch is how many messages a batch has at most: each is answered, and an answer
	// may be a hundred times as long as an empty message.
	mostBatch = 100
)

// wire is the layer between a client's streams and the SDK: the SDK reads from it and
// writes to it, one message and a line break each.
type wire struct {
	in     *bufio.Reader
	inEnd  io.Closer
	rest   []byte   // of the message that the SDK is reading
	queued [][]byte // messages of a batch that come next

	mu      sync.Mutex // of what follows, and of out
	out     io.WriteCloser
	pending map[string]*batch // requests that are not answered, by id; nil: of no batch
	opening string            // id of an initialize that is not answered
	version string            // of the protocol, as agreed on
	settled chan struct{}     // closed when no request is pending any more; nil: nothing waits
}

// batch gathers the answers to the requests of one.
type batch struct {
	answers []json.RawMessage
	missing int
}

func newWire(in io.ReadCloser, out io.WriteCloser) *wire {
	return &wire{in: bufio.NewReaderSize(in, 1<<16), inEnd: in, out: out, pending: map[string]*batch{}}
}

// reader and writer are the two ends for the SDK, which closes both.
type (
	wireReader struct{ *wire }
	wireWriter struct{ *wire }
)

func (w wireReader) Close() error { return w.inEnd.Close() }
func (w wireWriter) Close() error { return w.out.Close() }

// Read returns bytes of the next message that is one.
func (w wireReader) Read(p []byte) (int, error) {
	for len(w.rest) == 0 {
		if len(w.queued) > 0 {
			w.rest, w.queued = append(w.queued[0], '\n'), w.queued[1:]
			break
		}
		line, err := w.line()
		switch {
		case errors.Is(err, errTooLong):
			if err := w.fail(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message has more than %d bytes", mostMessage)); err != nil {
				return 0, err
			}
		case len(line) > 0:
			if err := w.accept(line); err != nil {
				return 0, err
			}
		case err != nil:
			w.settle()
			return 0, err
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

// patience is how long requests may still be answered after the input has ended. The
// SDK cancels them at once, and anyone who pipes a few lines into the server would see no
// answer; a client that is gone waits for nothing, and its program is not to run on.
const patience = 5 * time.Second

// settle waits until all requests are answered.
func (w *wire) settle() {
	w.mu.Lock()
	if len(w.pending) == 0 {
		w.mu.Unlock()
		return
	}
	settled := make(chan struct{})
	w.settled = settled
	w.mu.Unlock()
	select {
	case <-settled:
	case <-time.After(patience):
	}
}

var errTooLong = errors.New("the line is too long")

// line reads a line, without the white space about it. One that is too long is skipped,
// and never in memory as a whole. The last one may lack its end.
func (w *wire) line() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := w.in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > mostMessage+len("\r\n"); tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong:
			return nil, errTooLong
		}
		return bytes.Trim(line, " \t\r\n"), err
	}
}

// accept queues what a line says for the SDK, or answers it.
func (w *wire) accept(line []byte) error {
	if !utf8.Valid(line) {
		return w.fail(nil, jsonrpc.CodeParseError, "the message is not UTF-8")
	}
	if !json.Valid(line) {
		var v any
		return w.fail(nil, jsonrpc.CodeParseError, fmt.Sprintf("the message is not JSON: %v", json.Unmarshal(line, &v)))
	}
	if line[0] != '[' {
		m, bad := examine(line)
		if bad == nil {
			bad = w.expect(m, nil)
		}
		if bad != nil {
			return w.answer(bad)
		}
		w.queued = append(w.queued, line)
		return nil
	}
	var all []json.RawMessage
	err := json.Unmarshal(line, &all)
	version := w.agreed()
	switch {
	case err != nil:
		return w.fail(nil, jsonrpc.CodeParseError, fmt.Sprintf("the batch is not JSON: %v", err))
	case len(all) == 0:
		return w.fail(nil, jsonrpc.CodeInvalidRequest, "the batch is empty")
	case version != "2024-11-05" && version != "2025-03-26":
		return w.fail(nil, jsonrpc.CodeInvalidRequest, "a batch: the protocol has had none since 2025-06-18; send its messages one by one")
	case len(all) > mostBatch:
		return w.fail(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the batch has %d messages, and %d at most are allowed", len(all), mostBatch))
	}
	return w.acceptBatch(all)
}

// acceptBatch takes a batch apart.
func (w *wire) acceptBatch(all []json.RawMessage) error {
	b := &batch{missing: 1} // until all of it is known
	for _, raw := range all {
		m, bad := examine(raw)
		if bad == nil && m.method == "initialize" {
			bad = &failure{id: m.id, code: jsonrpc.CodeInvalidRequest, text: "initialize cannot be part of a batch"}
		}
		if bad == nil {
			bad = w.expect(m, b)
		}
		if bad == nil {
			w.queued = append(w.queued, bytes.Clone(raw))
		} else if !bad.silent {
			w.mu.Lock()
			b.answers = append(b.answers, bad.encode())
			w.mu.Unlock()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b.missing--
	return w.finish(b)
}

// message is what the layer has to know of one.
type message struct {
	id     json.RawMessage // of a request; nil: none
	key    string          // of pending
	method string          // "": an answer to a request of the server
}

// failure is an error that is answered.
type failure struct {
	id     json.RawMessage
	code   int
	text   string
	silent bool // to a notification, which is never answered
}

// encode writes the answer.
func (f *failure) encode() []byte {
	id := f.id
	if id == nil {
		id = json.RawMessage("null")
	}
	out, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   any             `json:"error"`
	}{"2.0", id, struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{f.code, f.text}})
	if err != nil {
		panic(err) // an id that was valid JSON is so now
	}
	return out
}

// examine returns what a JSON text says, or why it is malformed.
func examine(raw []byte) (*message, *failure) {
	invalid := func(id json.RawMessage, format string, args ...any) (*message, *failure) {
		return nil, &failure{id: id, code: jsonrpc.CodeInvalidRequest, text: fmt.Sprintf(format, args...)}
	}
	var fields map[string]json.RawMessage
	if raw[0] != '{' || json.Unmarshal(raw, &fields) != nil {
		return invalid(nil, "a message is a JSON object")
	}
	m := &message{}
	if id, ok := fields["id"]; ok {
		if m.key = idKey(id); m.key == "" {
			return invalid(nil, "an id is a string or an integer")
		}
		m.id = id
	}
	var version string
	if v, ok := fields["jsonrpc"]; !ok || json.Unmarshal(v, &version) != nil || version != "2.0" {
		return invalid(m.id, `jsonrpc is not "2.0"`)
	}
	method, ok := fields["method"]
	_, result := fields["result"]
	_, failed := fields["error"]
	switch {
	case !ok && (result || failed) && m.id != nil: // an answer
	case !ok:
		return invalid(m.id, "the message has no method")
	case json.Unmarshal(method, &m.method) != nil || m.method == "":
		return invalid(m.id, "method is not a name")
	}
	if params, ok := fields["params"]; ok && m.method != "" && params[0] != '{' && string(params) != "null" {
		return nil, &failure{id: m.id, code: jsonrpc.CodeInvalidParams, text: "params is not an object", silent: m.id == nil}
	}
	// What the SDK does not decode would end the session anyway.
	if _, err := jsonrpc.DecodeMessage(raw); err != nil {
		return invalid(m.id, "%v", err)
	}
	return m, nil
}

// mostID is the largest integer that every JSON reader keeps.
const mostID = 1 << 53

// idKey returns a text that is equal for equal ids; "" if it is none that can be.
func idKey(raw json.RawMessage) string {
	var s string
	if raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return "s" + s
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil && n <= mostID && n >= -mostID {
		return "n" + strconv.FormatInt(n, 10)
	}
	return ""
}

// expect notes a request that needs an answer.
func (w *wire) expect(m *message, b *batch) *failure {
	if m.method == "" || m.id == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.pending[m.key]; ok {
		return &failure{code: jsonrpc.CodeInvalidRequest, text: "another request with the id " + string(m.id) + " is not answered yet"}
	}
	w.pending[m.key] = b
	if b != nil {
		b.missing++
	}
	if m.method == "initialize" {
		w.opening = m.key
	}
	return nil
}

func (w *wire) agreed() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.version
}

// Write passes on a message of the SDK's, or keeps it until its batch is answered.
func (w wireWriter) Write(p []byte) (int, error) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Result json.RawMessage `json:"result"`
	}
	err := json.Unmarshal(p, &m)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && m.Method == "" && len(m.ID) > 0 {
		key := idKey(m.ID)
		b := w.pending[key]
		delete(w.pending, key)
		if w.settled != nil && len(w.pending) == 0 {
			defer func() { close(w.settled); w.settled = nil }()
		}
		if key == w.opening && w.opening != "" {
			w.opening = ""
			var agreed struct {
				Version string `json:"protocolVersion"`
			}
			if json.Unmarshal(m.Result, &agreed) == nil && agreed.Version != "" {
				w.version = agreed.Version
			}
		}
		if b != nil {
			b.answers = append(b.answers, bytes.TrimSpace(bytes.Clone(p)))
			b.missing--
			return len(p), w.finish(b)
		}
	}
	return w.out.Write(p)
}

// finish writes a batch's answers if they are all there. The lock is held.
func (w *wire) finish(b *batch) error {
	if b.missing > 0 || len(b.answers) == 0 {
		return nil
	}
	out, err := json.Marshal(b.answers)
	if err != nil {
		return err
	}
	_, err = w.out.Write(append(out, '\n'))
	return err
}

func (w *wire) fail(id json.RawMessage, code int, text string) error {
	return w.answer(&failure{id: id, code: code, text: text})
}

func (w *wire) answer(f *failure) error {
	if f.silent {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.out.Write(append(f.encode(), '\n'))
	return err
}
