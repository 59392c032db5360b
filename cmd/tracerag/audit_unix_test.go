//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"tracerag/knowledge"
	"tracerag/knowledge/postgres/postgrestest"
)

// TestAudit asks as the page does, with a secret in a question, and reads what is kept: without the secret, whoever
// reads it and whatever masks it then.
func TestAudit(t *testing.T) {
	if ok, err := postgrestest.Installed(); !ok {
		t.Skip("PostgreSQL is not installed", err)
	}
	if !ownProcess(t) {
		return
	}
	owner := postgrestest.New(t).Database(t)
	place, password := owner.Environment()
	inDirectory(t, t.TempDir(), []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "GORACE=" + goRace, knowledgeVariable + "=" + place, password})
	a, err := newApp(strings.NewReader(""), io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	a.noRedact = true // what is kept is masked all the same
	guests, end, err := a.guests(t.Context(), &knowledgeFlags{}, "tokens")
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	made := runAsUser(t, "token", "add", "anna")
	secret := strings.TrimSpace(made.stdout)
	if name, err := guests.Holder(t.Context(), secret); name != "anna" || err != nil {
		t.Fatalf("%q, %v holds %q: %s", name, err, made.stdout, made.stderr)
	}
	for _, text := range []string{
		"who sends " + secret + "?",
		"why is postgres://app:Xq7s3crzzzhunter2@db.example.com/shop refused?",
		"the border is cut\nat the left",
		"\x1b[31mred",
	} {
		if err := guests.Asked(t.Context(), knowledge.Question{Who: "anna", What: "locate", Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := guests.Audit(t.Context(), knowledge.QuestionFilter{})
	if err != nil || len(kept) != 4 {
		t.Fatalf("%v, %v", kept, err)
	}
	for _, q := range kept {
		if strings.Contains(q.Text, secret) || strings.Contains(q.Text, "hunter2") || strings.Contains(q.Text, "\x1b") {
			t.Errorf("kept: %q", q.Text)
		}
	}
	if !strings.Contains(kept[3].Text, "who sends [REDACTED:tracerag-token:1]?") || !strings.Contains(kept[2].Text, "[REDACTED:url-password:1]") {
		t.Errorf("kept: %q", kept)
	}
	for _, c := range []struct {
		args, want []string
		not        string
	}{
		{nil, []string{"  anna  locate  the border is cut\n", "who sends [REDACTED:tracerag-token:1]?"}, "at the left"},
		{[]string{"--limit=1"}, []string{`red`, "there are more: --limit=2"}, "border"},
		{[]string{"--json"}, []string{`"text": "the border is cut\nat the left"`, `"what": "locate"`, `"role": "` + owner.Name}, secret},
		{[]string{"--who=bob"}, []string{"nothing was asked"}, "anna"},
	} {
		done := runAsUser(t, append([]string{"audit"}, c.args...)...)
		out := done.stdout + done.stderr
		for _, want := range c.want {
			if done.code != 0 || !strings.Contains(out, want) {
				t.Errorf("audit %q: code %d, %q is not in it:\n%s", c.args, done.code, want, out)
			}
		}
		if strings.Contains(out, c.not) {
			t.Errorf("audit %q has %q:\n%s", c.args, c.not, out)
		}
	}
	if done := runAsUser(t, "token", "list"); !strings.Contains(done.stdout, "last used 20") {
		t.Errorf("the token was used: %s%s", done.stdout, done.stderr)
	}
	if done := runAsUser(t, "token", "rm", "anna"); done.code != 0 {
		t.Error(done.stderr)
	}
	if _, err := guests.Holder(t.Context(), secret); !errors.Is(err, knowledge.ErrRevoked) {
		t.Errorf("a revoked token: %v", err)
	}
}
