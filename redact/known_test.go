package redact

import (
	"fmt"
	"strings"
	"testing"
)

func TestKnownOnItsWayOut(t *testing.T) {
	r := New(Secret{"api-key", "sk-0123456789"}, Secret{"env:PW", "functions"})
	for in, want := range map[string]string{
		"the key sk-0123456789!":  "the key [REDACTED:api-key:1]!",
		"malfunctions, functions": "malfunctions, [REDACTED:env:PW:1]",
		"[REDACTED:functions:1]":  "[REDACTED:functions:1]",
		"nothing":                 "nothing",
	} {
		if got := r.Known(in, false); got != want {
			t.Errorf("Known(%q) = %q, want %q", in, got, want)
		}
	}
	if got, want := r.Known(`{"functions":["functions"]}`, true), `{"functions":["[REDACTED:env:PW:1]"]}`; got != want {
		t.Errorf("of JSON: %s, want %s", got, want)
	}
}

// TestLearner: what a value's name shows is masked in a text that came before it in the
// output, under the number that it would have had without being learned.
func TestLearner(t *testing.T) {
	r := New()
	l := r.Learner()
	l.Value("password", `"corr3ct-horse"`)
	l.Args([]string{"app", "--token=tr0ub4dor-and-3"})
	l.Text("plain")
	if len(r.Findings()) != 0 {
		t.Errorf("learned only, and found %v", r.Findings())
	}
	if got, want := r.Text(`use("corr3ct-horse", "tr0ub4dor-and-3")`), `use("[REDACTED:password:1]", "[REDACTED:token:1]")`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	again := r.Numbered()
	if got, want := again.Args([]string{"corr3ct-horse"})[0], "[REDACTED:password:1]"; got != want || len(again.Findings()) != 1 {
		t.Errorf("numbered anew it is %s, want %s", got, want)
	}
	if got, want := r.Clone().Text("tr0ub4dor-and-3"), "[REDACTED:token:1]"; got != want {
		t.Errorf("a clone makes it %s, want %s", got, want)
	}
}

// TestLearnAll: texts that are learned at the same time are masked as those learned one after the
// other, with the same numbers.
func TestLearnAll(t *testing.T) {
	var texts []string
	var all strings.Builder
	for i := range 40 {
		secret := fmt.Sprintf("Corr3ct-horse-%02d!", i)
		texts = append(texts, fmt.Sprintf("password = %q\n", secret))
		fmt.Fprintf(&all, "saw %s\n", secret)
	}
	one, together := New(), New()
	for _, text := range texts {
		one.Learn(text)
	}
	together.LearnAll(texts)
	want, got := one.Text(all.String()), together.Text(all.String())
	if got != want || strings.Contains(got, "horse") {
		t.Errorf("masked as\n%s\nwant\n%s", got, want)
	}
}

// FuzzStream: a text in pieces is masked as the whole is, however it is cut.
func FuzzStream(f *testing.F) {
	f.Add("a sk-0123456789 sk-0123 functions func sk-01234567890functions", uint16(3), false)
	f.Add(`{"functions":"sk-0123456789"}`, uint16(1), true)
	f.Add("sk-01sk-0123456789-----BEGIN\nLINES\nEND", uint16(2), false)
	f.Fuzz(func(t *testing.T, text string, size uint16, json bool) {
		if len(text) > 4096 || strings.Contains(text, "REDACTED") {
			t.Skip()
		}
		secrets := []Secret{{"a", "sk-0123456789"}, {"b", "functions"}, {"c", "BEGIN\nLINES\nEND"}, {"d", "456789-----BEGIN"}, {"e", "sk-01234567890functions"}}
		want := New(secrets...).Known(text, JSONText(json))
		r, s := New(secrets...), Stream{JSON: JSONText(json)}
		var got strings.Builder
		for n := int(size)%7 + 1; len(text) > 0; {
			n = min(n, len(text))
			got.WriteString(s.Next(r, text[:n]))
			text = text[n:]
		}
		got.WriteString(s.Rest(r))
		if got.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", size%7+1, got.String(), want)
		}
	})
}
