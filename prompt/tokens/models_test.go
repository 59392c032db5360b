package tokens

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLookup(t *testing.T) {
	tests := []struct {
		model  string
		window int
		known  bool
	}{
		{"gpt-4", 8192, true},
		{"gpt-4-0613", 8192, true},
		{"gpt-4-32k", 32768, true},
		{"gpt-4o-2024-08-06", 128_000, true},
		{"gpt-4.1", 1_047_576, true},
		{"gpt-5-mini", 400_000, true},
		{"anthropic/claude-sonnet-5", 1_000_000, true},
		{"claude-3-5-haiku-latest", 200_000, true},
		{"claude-opus-4-6", 200_000, true}, // the smaller of two
		{"claude-mythos-5", 1_000_000, true},
		{"x-ai/grok-4.20", 200_000, true},
		{"gemini-2.5-pro", 1_048_576, true},
		{"llama3:8b", 8192, true},
		{"meta.llama3-1-70b-instruct-v1:0", 8192, true}, // errs downwards
		{"mine", 128_000, false},
		{"", 128_000, false},
	}
	for _, tt := range tests {
		m, known := Lookup(tt.model)
		if m.Window != tt.window || known != tt.known {
			t.Errorf("Lookup(%q) has a window of %d, known %v; want %d, %v", tt.model, m.Window, known, tt.window, tt.known)
		}
	}
}

// A name listed twice would make the order of lines matter.
func TestTableHasNoDoubles(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range builtin() {
		if seen[m.Name] {
			t.Errorf("models.txt lists %s twice", m.Name)
		}
		seen[m.Name] = true
	}
}

func TestLoadModels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "models.txt")
	text := "# mine\nmine 16_000 # local\n\nmine-big 64000 cl100k_base\nother 9 o200k_base 1.5\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	ms, err := LoadModels(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Model{
		"mine:7b":    {"mine", 16_000, "o200k_base", 1.2},
		"mine-big:x": {"mine-big", 64_000, "cl100k_base", 1},
		"x/other":    {"other", 9, "o200k_base", 1.5},
	} {
		if got, known := ms.Lookup(name); got != want || !known {
			t.Errorf("Lookup(%q) = %+v, %v; want %+v", name, got, known, want)
		}
	}
	m, _ := ms.Lookup("other")
	if c := m.Counter(); c.Encoding() != "o200k_base x 1.50" || c.Exact() {
		t.Errorf("the counter of other is %s", c.Encoding())
	}
	if _, known := ms.Lookup("gpt-4o"); known {
		t.Error("a user's table knows gpt-4o, which it does not list")
	}
	if _, err := LoadModels(path + "x"); err == nil || !strings.Contains(err.Error(), path+"x") {
		t.Errorf("the error for a missing file does not name it: %v", err)
	}
}

func TestReadModelsErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a":                      "line 1: 1 fields",
		"a 1\nb many":            `line 2: window "many" of b`,
		"a -1":                   `window "-1" of a`,
		"a 1 p50k_base":          `vocabulary "p50k_base" of a: want o200k_base or cl100k_base`,
		"a 1 o200k_base nan":     `factor "nan" of a`,
		"a 1 o200k_base 0":       `factor "0" of a`,
		"a 1 o200k_base 1 extra": "5 fields",
	} {
		if _, err := ReadModels(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadModels(%q): error %v, want %q in it", text, err, want)
		}
	}
}
