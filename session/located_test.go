package session_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/knowledge"
	"tracerag/locate"
	"tracerag/rank"
	"tracerag/redact"
	"tracerag/session"
)

// TestLocatedHasNoSecrets: a located function, its file, a commit and a test carry a token, and
// a commit a password that only the source names as one.
func TestLocatedHasNoSecrets(t *testing.T) {
	token := "ghp_" + strings.Repeat("aB3dE6gH9", 4)
	password := "Ru1bara" + "bTor7e99x"
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.go"), []byte("package a\n\nconst password = \""+password+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &locate.Answer{
		Functions: []locate.Function{
			{Repository: "r", File: "a.go", Name: "F", Reasons: []rank.Reason{{What: "rotate " + token + " and " + password}}},
			{Repository: "r", File: token + ".go", Name: token},
		},
		Files:        []locate.Place{{Repository: "r", File: token + ".go", Functions: []string{token}}},
		Packages:     []locate.Place{{Package: "example.com/" + token}},
		Repositories: []locate.Repository{{Name: "r", Root: root}},
		Runs:         []knowledge.Run{{Command: "./app --token " + token, Test: "Test_" + token}},
		Record:       &locate.Record{Dir: root, Package: ".", Test: "Test_" + token},
		Stale:        []string{token + ".go"},
	}
	session.NewMasker(func() *redact.Redactor { return redact.New() }).Located(a)
	text, err := json.Marshal(struct {
		*locate.Answer
		All []knowledge.Run
	}{a, a.Runs})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{token, password} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%s is in the answer: %s", secret, text)
		}
	}
	if !strings.Contains(string(text), "[REDACTED:") || a.Functions[0].File != "a.go" {
		t.Errorf("it says %s", text)
	}
	var none *session.Masker
	none.Located(a)
}
