package trial

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// said writes a report as the package testing of an observer does.
func said(key [32]byte, file string, texts ...string) string {
	sum := sha256.Sum256(append(key[:], filepath.Base(file)...))
	var b strings.Builder
	for _, text := range texts {
		sum = sha256.Sum256(append(append(append([]byte{}, key[:]...), sum[:]...), text...))
		b.WriteString(hex.EncodeToString(sum[:]) + " " + text + "\n")
	}
	return b.String()
}

// TestReports: what another key wrote, what is moved, left out or repeated counts for nothing from there on.
func TestReports(t *testing.T) {
	o := &observer{key: [32]byte{1, 2, 3}}
	file := filepath.Join(t.TempDir(), "report")
	lines := []string{`start "p"`, `begin "A"`, `fail "A"`, `begin "B"`, `pass "B"`, `done "1"`}
	whole := said(o.key, file, lines...)
	split := strings.SplitAfter(whole, "\n")
	for _, c := range []struct {
		name, text string
		a, b       Outcome
		done       bool
	}{
		{"as it is", whole, Failed, Passed, true},
		{"nothing", "", "", "", false},
		{"cut off", whole[:len(whole)-3], Failed, Passed, false},
		{"without the end", strings.Join(split[:5], ""), Failed, Passed, false},
		{"without the failure", split[0] + split[1] + strings.Join(split[3:], ""), "", "", false},
		{"another order", split[0] + split[3] + split[4] + split[1] + split[2] + split[5], "", "", false},
		{"twice", split[0] + split[0] + strings.Join(split[1:], ""), "", "", false},
		{"another text", strings.Replace(whole, "fail", "pass", 1), "", "", false},
		{"a guessed key", said([32]byte{}, file, lines...), "", "", false},
		{"another run's", said(o.key, "other", lines...), "", "", false},
		{"more after it", whole + split[1], Failed, Passed, false},
		{"no lines", strings.Repeat("x", 1<<20), "", "", false},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := o.read(file)
		if err != nil || r.outcomes["A"] != c.a || r.outcomes["B"] != c.b || r.done != c.done {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
}

func FuzzReport(f *testing.F) {
	o := &observer{key: [32]byte{1}}
	f.Add([]byte(said(o.key, "report", `begin "A"`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "report")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := o.read(file)
		if err != nil || len(r.outcomes) > 0 {
			t.Errorf("an outcome without the key: %+v, %v", r, err)
		}
	})
}

// TestUnknownTesting: a Go installation whose package testing is another is refused by name.
func TestUnknownTesting(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "src", "testing")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, h := range hooks {
		if err := os.WriteFile(filepath.Join(dir, h.file), []byte("package testing\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, err := observe(root, t.TempDir())
	if e := new(UnknownTesting); !errors.As(err, &e) || e.What != "MainStart" {
		t.Error(err)
	}
}

// TestAgainst holds outcomes against those before, rule by rule.
func TestAgainst(t *testing.T) {
	before := func(pairs ...string) *PackageBaseline {
		return &PackageBaseline{Whole: true, Outcomes: outcomes(pairs...)}
	}
	for _, c := range []struct {
		name          string
		before, after []string
		flaky         string
		want          string
	}{
		{"the same", []string{"A", "passed", "B", "failed"}, []string{"A", "passed", "B", "failed"}, "", ""},
		{"repaired", []string{"A", "failed"}, []string{"A", "passed"}, "", ""},
		{"failing, now skipped", []string{"A", "failed"}, []string{"A", "skipped"}, "", ""},
		{"failing, now gone", []string{"A", "failed", "B", "passed"}, []string{"B", "passed"}, "", "p:A is gone: it failed before the change"},
		{"skipped, now passing", []string{"A", "skipped"}, []string{"A", "passed"}, "", ""},
		{"skipped, now failing", []string{"A", "skipped"}, []string{"A", "failed"}, "", "p:A fails: it was skipped before the change"},
		{"skipped, now gone", []string{"A", "skipped"}, nil, "", "p:A is gone: it was skipped before the change"},
		{"passed, now failing", []string{"A", "passed"}, []string{"A", "failed"}, "", "p:A fails: it passed before the change"},
		{"flaky", nil, []string{"A", "failed"}, "A", ""},
		{"new and failing", nil, []string{"A", "failed"}, "", "p:A fails"},
		{"new and skipped", nil, []string{"A", "skipped"}, "", ""},
		{"a subtest renamed", []string{"A", "passed", "A/x", "passed"}, []string{"A", "passed", "A/y", "passed"}, "", ""},
		{"a subtest gone", []string{"A", "passed", "A/x", "passed", "A/y", "passed"}, []string{"A", "passed", "A/y", "passed"}, "", "p:A/x is gone: it passed before the change"},
		{"a subtest fails", []string{"A", "passed", "A/x", "passed"}, []string{"A", "failed", "A/x", "failed"}, "", "p:A/x fails: it passed before the change"},
		{"a subtest of a failing test fails", []string{"A", "failed", "A/x", "failed"}, []string{"A", "failed", "A/x", "failed", "A/y", "failed"}, "", ""},
		{"a subtest that passed fails in a failing test", []string{"A", "failed", "A/x", "passed"}, []string{"A", "failed", "A/x", "failed"}, "", "p:A/x fails: it passed before the change"},
		{"two", []string{"A", "passed", "B", "passed"}, []string{"A", "failed", "B", "crashed"}, "", "p:A fails: it passed before the change, and so with 1 other test"},
	} {
		b := before(c.before...)
		if c.flaky != "" {
			b.Flaky = []string{c.flaky}
		}
		r := result{Built: true, Began: true, Whole: true, Outcomes: outcomes(c.after...)}
		if _, reason := b.against("p", r, nil); reason != c.want {
			t.Errorf("%s: %q, want %q", c.name, reason, c.want)
		}
	}
	b := before("A", "passed")
	if _, reason := b.against("p", result{Built: true, Began: true, Whole: true, Code: 1, Outcomes: outcomes("A", "passed")}, nil); reason != "the test program of p exits with code 1 though no test fails" {
		t.Error(reason)
	}
	if _, reason := b.against("p", result{Built: true, Outcomes: outcomes()}, nil); reason != "the test program of p ended before its tests began, with exit code 0" {
		t.Error(reason)
	}
}

func outcomes(pairs ...string) map[string]Outcome {
	m := map[string]Outcome{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = Outcome(pairs[i+1])
	}
	return m
}
