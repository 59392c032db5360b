package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Recording is a response as a server sent it, and which requests it answers.
type Recording struct {
	Name     string   // of the file, without .http
	Model    string   // that is asked; "" is any
	Contains []string // texts that the last message has
	Response []byte   // status line, header and body
}

// Recordings reads the *.http files of a directory. Such a file begins with lines that
// say what it answers, and behind an empty line has the response, byte for byte:
//
//	model: gpt-4o
//	contains: which function draws the border?
//
//	HTTP/1.1 200 OK
//	Content-Type: text/event-stream
//
//	data: {"choices":[{"index":0,"delta":{"content":"By "}}]}
//	...
func Recordings(dir string) ([]Recording, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.http"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no recordings (*.http)", dir)
	}
	var all []Recording
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r, err := parseRecording(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		r.Name = strings.TrimSuffix(filepath.Base(file), ".http")
		all = append(all, r)
	}
	return all, nil
}

func parseRecording(data []byte) (Recording, error) {
	var r Recording
	head, response, ok := bytes.Cut(data, []byte("\n\n"))
	if !ok || !bytes.HasPrefix(response, []byte("HTTP/1.")) {
		return r, fmt.Errorf("want lines about the request, an empty line, and a response that begins with HTTP/1.1")
	}
	r.Response = response
	for line := range strings.Lines(string(head)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "model":
			r.Model = value
		case "contains":
			r.Contains = append(r.Contains, value)
		default:
			return r, fmt.Errorf("%q is neither model nor contains", line)
		}
	}
	return r, nil
}

// answers reports whether r is the response to a request.
func (r *Recording) answers(c Chat) bool {
	if len(c.Messages) == 0 || r.Model != "" && r.Model != c.Model {
		return false
	}
	last := c.Messages[len(c.Messages)-1].Content
	return !slices.ContainsFunc(r.Contains, func(s string) bool { return !strings.Contains(last, s) })
}

// Replay starts a server that answers from the recordings in a directory. Of several
// that would do, the one that asks most of the request answers, the first by name of
// those. A request that none answers fails the test.
func Replay(t testing.TB, dir string) *Server {
	t.Helper()
	all, err := Recordings(dir)
	if err != nil {
		t.Fatal(err)
	}
	return New(t, Step{Handle: func(w http.ResponseWriter, req *http.Request) {
		var c Chat
		if body, err := io.ReadAll(req.Body); err != nil || json.Unmarshal(body, &c) != nil {
			http.Error(w, "not a chat", http.StatusBadRequest)
			return
		}
		var best *Recording
		for i := range all {
			if r := &all[i]; r.answers(c) && (best == nil || len(r.Contains) > len(best.Contains)) {
				best = r
			}
		}
		if best == nil {
			t.Errorf("no recording in %s answers %s asked %.300q", dir, c.Model, c.Messages)
			http.Error(w, `{"error":{"message":"nothing is recorded for this"}}`, http.StatusNotFound)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		if _, err := conn.Write(best.Response); err != nil {
			t.Errorf("%s: %v", best.Name, err)
		}
	}})
}
