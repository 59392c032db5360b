package llmtest

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReplayByteForByte reads what comes over the wire, without net/http's help.
func TestReplayByteForByte(t *testing.T) {
	const odd = "HTTP/1.1 200 Fine\r\nContent-Type: text/event-stream\r\nX-Odd:  two spaces\r\n\r\n: a comment\ndata: {\"x\":1}\r\n\ndata: [DONE]"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"any.http":   "model: m\n\nHTTP/1.1 200 OK\n\nany",
		"exact.http": "model: m\ncontains: border\ncontains: who\n\n" + odd,
		"less.http":  "contains: border\n\nHTTP/1.1 200 OK\n\nless",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := Replay(t, dir)
	for message, want := range map[string]string{
		"who draws the border?": odd,
		"what is a border?":     "HTTP/1.1 200 OK\n\nless",
		"what else?":            "HTTP/1.1 200 OK\n\nany",
	} {
		if got := exchange(t, s, message); !bytes.Equal(got, []byte(want)) {
			t.Errorf("%s: got %q, want %q", message, got, want)
		}
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("%d requests are remembered, want 3", n)
	}
}

func exchange(t *testing.T, s *Server, message string) []byte {
	t.Helper()
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := toJSON(map[string]any{"model": "m", "messages": []any{map[string]any{"role": "user", "content": message}}})
	io.WriteString(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: "+toJSON(len(body))+"\r\n\r\n"+body)
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRecordingsSayWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"model: m\n":                          "an empty line",
		"model: m\n\n{}":                      "begins with HTTP/1.1",
		"modle: m\n\nHTTP/1.1 200 OK\n\nx":    `"modle: m" is neither`,
		"HTTP/1.1 200 OK\n\nHTTP/1.1 200 OK ": "is neither",
	} {
		if _, err := parseRecording([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := Recordings(t.TempDir()); err == nil {
		t.Error("an empty directory is no error")
	}
}
