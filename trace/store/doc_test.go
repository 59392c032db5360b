package store_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"tracerag/trace/store"
)

func TestTheDocumentNamesEveryFieldOfAConversation(t *testing.T) {
	doc, err := os.ReadFile("../../docs/trace-format.md")
	if err != nil {
		t.Fatal(err)
	}
	s := store.Open(t.TempDir())
	path, err := s.SaveAnswer(save(t, s, "app"), store.Conversation{
		Messages: []store.Message{{Role: "user"}}, Incomplete: true, Created: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if key, _, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.Contains(string(doc), "`"+strings.Trim(key, `"`)+"`") {
			t.Errorf("docs/trace-format.md does not mention %s", key)
		}
	}
	if !json.Valid(data) {
		t.Errorf("not JSON: %s", data)
	}
}
