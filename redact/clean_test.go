package redact

import (
	"strings"
	"testing"
)

// TestClean masks a secret in a text in which the rules found nothing, once another text
// has told what it is.
func TestClean(t *testing.T) {
	r := New()
	text := "greet(Tr0ub4dor-and-3)"
	for range 2 {
		if got := r.Text(text); got != text {
			t.Fatalf("nothing tells of a secret in %q", got)
		}
	}
	if found := r.LearnAll([]string{text, `dbPassword := "Tr0ub4dor-and-3"`}); found[0] || !found[1] {
		t.Errorf("the rules find something: %v", found)
	}
	for range 2 {
		if got := r.Text(text); strings.Contains(got, "Tr0ub4dor") || !strings.Contains(got, "[REDACTED:") {
			t.Errorf("the secret is in %q", got)
		}
	}
	secret := `dbPassword := "another-Tr0ub4dor-4"`
	for range 2 { // what has a secret is looked through each time
		if got := r.Text(secret); strings.Contains(got, "Tr0ub4dor") {
			t.Errorf("the secret is in %q", got)
		}
	}
}
