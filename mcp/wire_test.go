package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// talk is a session of raw lines.
type talk struct {
	t   testing.TB
	in  io.WriteCloser
	out *bufio.Reader
}

// startTalk starts a server, and a session in a version of the protocol.
func startTalk(t testing.TB, version string) *talk {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(context.Background(), Options{Backend: newFake(), Dir: t.TempDir(), Mask: hide}, inRead, outWrite)
		outWrite.Close()
	}()
	k := &talk{t, inWrite, bufio.NewReader(outRead)}
	t.Cleanup(func() {
		inWrite.Close()
		go io.Copy(io.Discard, outRead)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the session ended with %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("the server goes on after its input has ended")
		}
	})
	if version != "" {
		k.send(`{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
		if got := k.line(); !strings.Contains(got, `"protocolVersion":"`+version+`"`) {
			t.Fatalf("initialize is answered with %s", got)
		}
		k.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return k
}

func (k *talk) send(line string) {
	k.t.Helper()
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(k.in, line+"\n")
		sent <- err
	}()
	select {
	case err := <-sent:
		if err != nil {
			k.t.Fatalf("%.100q: %v", line, err)
		}
	case <-time.After(20 * time.Second):
		k.t.Fatalf("%.100q: the server reads no more", line)
	}
}

func (k *talk) line() string {
	k.t.Helper()
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := k.out.ReadString('\n')
		got <- read{line, err}
	}()
	select {
	case r := <-got:
		if r.err != nil {
			k.t.Fatalf("the session has ended: %v", r.err)
		}
		return strings.TrimSpace(r.line)
	case <-time.After(20 * time.Second):
		k.t.Fatal("the server does not answer")
		return ""
	}
}

// goesOn fails the test unless a request is answered.
func (k *talk) goesOn(n int) {
	k.t.Helper()
	k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"list_traces","arguments":{}}}`, n))
	if got := k.line(); !strings.Contains(got, fmt.Sprintf(`"id":%d`, n)) || !strings.Contains(got, "c5c5c5c5") {
		k.t.Errorf("the session does not go on: %.300s", got)
	}
}

// answer is the answer to a bad message: the error's code and the id; of a batch, each.
func answerOf(line string) string {
	var all []json.RawMessage
	if json.Unmarshal([]byte(line), &all) == nil {
		var parts []string
		for _, one := range all {
			parts = append(parts, answerOf(string(one)))
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	var m struct {
		Version string           `json:"jsonrpc"`
		ID      *json.RawMessage `json:"id"`
		Result  json.RawMessage  `json:"result"`
		Error   *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "2.0" || m.Error != nil && m.Error.Message == "" {
		return "no answer: " + line
	}
	id := "null"
	if m.ID != nil {
		id = string(*m.ID)
	}
	if m.Error != nil {
		return fmt.Sprintf("%d %s", m.Error.Code, id)
	}
	return "result " + id
}

// TestBadMessages sends malformed messages. Each is answered by a JSON-RPC error, and so
// is the good request after it.
func TestBadMessages(t *testing.T) {
	k := startTalk(t, "2025-06-18")
	for i, tt := range []struct{ name, line, want string }{
		{"cut off", `{"jsonrpc":"2.0","id":1,"method":`, "-32700 null"},
		{"words", `hello`, "-32700 null"},
		{"two on a line", `{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0"}`, "-32700 null"},
		{"binary", "\x00\x01\xff\xfe\x7fELF\x1b[31m", "-32700 null"},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "-32700 null"},
		{"nested", strings.Repeat("[", 200_000), "-32700 null"},
		{"nested, and whole", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`, "-32600 1"},
		{"null", `null`, "-32600 null"},
		{"number", `7`, "-32600 null"},
		{"string", `"ping"`, "-32600 null"},
		{"true", `true`, "-32600 null"},
		{"empty object", `{}`, "-32600 null"},
		{"empty batch", `[]`, "-32600 null"},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "-32600 null"},
		{"other version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, "-32600 1"},
		{"version as a number", `{"jsonrpc":2.0,"id":"a","method":"ping"}`, `-32600 "a"`},
		{"no version", `{"id":1,"method":"ping"}`, "-32600 1"},
		{"other case", `{"JSONRPC":"2.0","id":1,"method":"ping"}`, "-32600 1"},
		{"no method", `{"jsonrpc":"2.0","id":1}`, "-32600 1"},
		{"no method, no id", `{"jsonrpc":"2.0","params":{}}`, "-32600 null"},
		{"method is a number", `{"jsonrpc":"2.0","id":1,"method":7}`, "-32600 1"},
		{"method is empty", `{"jsonrpc":"2.0","id":1,"method":""}`, "-32600 1"},
		{"method is null", `{"jsonrpc":"2.0","id":1,"method":null}`, "-32600 1"},
		{"id is null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "-32600 null"},
		{"id is true", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, "-32600 null"},
		{"id is a list", `{"jsonrpc":"2.0","id":[1],"method":"ping"}`, "-32600 null"},
		{"id is an object", `{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, "-32600 null"},
		{"id is a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "-32600 null"},
		{"id is huge", `{"jsonrpc":"2.0","id":1e300,"method":"ping"}`, "-32600 null"},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, "-32601 1"},
		{"params is a list", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, "-32602 1"},
		{"params is a string", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}`, "-32602 1"},
		{"params of a wrong type", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, "-32602 1"},
		{"unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such"}}`, "-32602 1"},
		{"no params", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, "-32600 1"},
		{"too long", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", mostMessage) + `"}`, "-32600 null"},
		{"too long, no JSON", strings.Repeat("x", 5*mostMessage), "-32600 null"},

		// These have no answer: what comes next is the good one's.
		{"empty line", "", ""},
		{"white space", " \t\r", ""},
		{"unknown notification", `{"jsonrpc":"2.0","method":"notifications/no_such"}`, ""},
		{"notification with a bad params", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}`, ""},
		{"cancels what is not there", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, ""},
		{"answer to nothing", `{"jsonrpc":"2.0","id":77,"result":{}}`, ""},
		{"error to nothing", `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`, ""},
		{"longest", `{"jsonrpc":"2.0","method":"notifications/` + strings.Repeat("x", mostMessage-60) + `"}`, ""},
	} {
		k.send(tt.line)
		if tt.want != "" {
			if got := answerOf(k.line()); got != tt.want {
				t.Errorf("%s: answered by %s, want %s", tt.name, got, tt.want)
			}
		}
		k.goesOn(1000 + i)
	}
}

// TestBadBeginnings has a session that begins wrong, which may still begin.
func TestBadBeginnings(t *testing.T) {
	k := startTalk(t, "")
	for _, line := range []string{"GET / HTTP/1.1", "null", "[]", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`} {
		k.send(line)
		if got := answerOf(k.line()); !strings.HasPrefix(got, "-32") && !strings.HasPrefix(got, "0 ") {
			t.Errorf("%s: answered by %s", line, got)
		}
	}
	k.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	if got := k.line(); !strings.Contains(got, `"protocolVersion"`) {
		t.Fatalf("initialize is answered with %s", got)
	}
	k.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	k.goesOn(2)
}

// TestBatches: versions of the protocol until 2025-03-26 have batches.
func TestBatches(t *testing.T) {
	k := startTalk(t, "2025-03-26")
	for i, tt := range []struct{ name, line, want string }{
		{"one", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "[result 1]"},
		{"two", `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":"2","method":"no/such"},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}]`, `[result 1 -32601 "2"]`},
		{"some bad", `[1,{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"1.0","id":2,"method":"ping"},null]`, "[-32600 null -32600 2 -32600 null result 1]"},
		{"all bad", `[1,2]`, "[-32600 null -32600 null]"},
		{"twice the same id", `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "[-32600 null result 1]"},
		{"initialize", `[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]`, "[-32600 1]"},
		{"empty", `[]`, "-32600 null"},
		{"cut off", `[{"jsonrpc":"2.0","id":1,"method":"ping"},`, "-32700 null"},
		{"too many", "[" + strings.Repeat("1,", mostBatch) + "1]", "-32600 null"},
		{"only notifications", `[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}]`, ""},
	} {
		k.send(tt.line)
		if tt.want != "" {
			if got := answerOf(k.line()); got != tt.want {
				t.Errorf("%s: answered by %s, want %s", tt.name, got, tt.want)
			}
		}
		k.goesOn(1000 + i)
	}
}

// TestLongLinesAreNotKept sends a line of 200 MB.
func TestLongLinesAreNotKept(t *testing.T) {
	k := startTalk(t, "2025-06-18")
	part := bytes.Repeat([]byte("x"), 1<<20)
	var most uint64
	for i := range 200 {
		if _, err := k.in.Write(part); err != nil {
			t.Fatal(err)
		}
		if i%20 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
		}
	}
	k.send("")
	if got := answerOf(k.line()); got != "-32600 null" {
		t.Errorf("answered by %s", got)
	}
	if most > 100<<20 {
		t.Errorf("%d MB were in use", most>>20)
	}
	k.goesOn(1)
}

// TestLastLine: the last message may lack its line break.
func TestLastLine(t *testing.T) {
	for line, want := range map[string]string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`: "result 1", `{"jsonrpc":`: "-32700 null"} {
		w := newWire(io.NopCloser(strings.NewReader(line)), &kept{})
		data := make([]byte, len(line)+1)
		n, err := wireReader{w}.Read(data)
		data = data[:n]
		if err != nil && err != io.EOF {
			t.Fatal(err)
		}
		got := w.out.(*kept).String()
		if want == "result 1" && string(data) != line+"\n" || want != "result 1" && answerOf(got) != want {
			t.Errorf("%s: passed on %q, answered %q", line, data, got)
		}
	}
}

type kept struct{ bytes.Buffer }

func (*kept) Close() error { return nil }

// FuzzWire: whatever a client sends, the SDK gets messages that it decodes, one a line,
// and the client gets errors, one a line.
func FuzzWire(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}}` + "\nnull\n[]\n",
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},1]`, "\x00\xff\n{\n\"jsonrpc\"", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":"x"}}`, `{"jsonrpc":"2.0","id":1e2,"method":"\u0000"}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, in []byte, batches bool) {
		w := newWire(io.NopCloser(bytes.NewReader(in)), &kept{})
		if batches {
			w.version = "2025-03-26"
		}
		var passed []byte
		for {
			line, err := w.line()
			if err == io.EOF && len(line) == 0 {
				break
			}
			if len(line) > 0 {
				if err := w.accept(line); err != nil {
					t.Fatal(err)
				}
			}
			for _, m := range w.queued {
				passed = append(append(passed, m...), '\n')
			}
			w.queued = nil
		}
		for line := range strings.Lines(string(passed)) {
			if _, bad := examine([]byte(strings.TrimSuffix(line, "\n"))); bad != nil || !strings.HasSuffix(line, "\n") {
				t.Errorf("%q was passed on: %+v", line, bad)
			}
		}
		for line := range strings.Lines(w.out.(*kept).String()) {
			if got := answerOf(line); !strings.HasPrefix(got, "-32") && !strings.HasPrefix(got, "[-32") {
				t.Errorf("answered %q", line)
			}
		}
	})
}
