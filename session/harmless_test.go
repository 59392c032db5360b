package session

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"tracerag/redact"
)

// TestHarmless: a file without secrets is looked through once, one with a secret each time,
// and what is kept has nothing of it.
func TestHarmless(t *testing.T) {
	for name, learn := range map[string]func(m *Masker, texts ...string){
		"of a run": func(m *Masker, texts ...string) {
			l := m.Redactor().Learner()
			for _, text := range texts {
				m.learnText(l, text)
			}
			m.harmless.save()
		},
		"together": func(m *Masker, texts ...string) { m.LearnTexts(texts) },
	} {
		t.Run(name, func(t *testing.T) { testHarmless(t, learn) })
	}
}

func testHarmless(t *testing.T, learnTexts func(m *Masker, texts ...string)) {
	dir := t.TempDir()
	filler := strings.Repeat("// a line of a file without secrets\n", 40)
	secret := "gh" + "p_" + "x7Kd9Qm2Vw4Rb8Tn6Yc1Zp5Ls3Jf0Hg2Da4"
	with := filler + "const token = \"" + secret + "\"\n"
	masker := func() *Masker {
		m := NewMasker(func() *redact.Redactor { return redact.New() })
		m.KeepIn(dir)
		return m
	}
	learn := func(m *Masker) { learnTexts(m, filler, with) }
	for round := range 2 {
		m := masker()
		learn(m)
		if got := m.Text("the token is " + secret); strings.Contains(got, secret) {
			t.Errorf("round %d: %q is shown", round, got)
		}
		if m := masker(); !m.harmless.has(filler) || m.harmless.has(with) {
			t.Errorf("round %d: harmless are %v and %v, want true, false", round, m.harmless.has(filler), m.harmless.has(with))
		}
	}
	file := kept{dir}.path(harmlessName)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 1
		if decodeHarmless(bad) != nil || decodeHarmless(whole[:i]) != nil {
			t.Errorf("it is used with byte %d changed or missing", i)
		}
	}
	bad := bytes.Clone(whole)
	bad[len(bad)-1] ^= 1
	if err := os.WriteFile(file, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	m := masker()
	if m.harmless.has(filler) {
		t.Error("a damaged file is used")
	}
	learn(m)
	if !masker().harmless.has(filler) {
		t.Error("a damaged file is not made anew")
	}
	if m := NewMasker(nil); m.harmless.has(filler) {
		t.Error("a masker without a directory knows something")
	}
}
