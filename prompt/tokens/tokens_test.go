package tokens

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// goFile returns a Go file of this package: a text like those of prompts.
func goFile(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Counts short enough to be told by hand: func| main|()| {\n|\tfmt|.Println|
// ("|hi|")\n|}\n.
func TestCountKnown(t *testing.T) {
	tests := []struct {
		model, text string
		want        int
	}{
		{"gpt-4o", "", 0},
		{"gpt-4o", "hello world", 2},
		{"gpt-4", "hello world", 2},
		{"gpt-4o", "func main() {\n\tfmt.Println(\"hi\")\n}\n", 10},
		{"gpt-4", "func main() {\n\tfmt.Println(\"hi\")\n}\n", 10},
		{"gpt-4", "안녕하세요", 5}, // o200k_base knows more of Korean
		{"gpt-4o", "안녕하세요", 2},
		{"gpt-4o", "<|endoftext|>", 7}, // in a source it is text, no control token
	}
	for _, tt := range tests {
		if got := For(tt.model).Count(tt.text); got != tt.want {
			t.Errorf("%s: Count(%q) = %d, want %d", tt.model, tt.text, got, tt.want)
		}
	}
}

func TestPartsAddUp(t *testing.T) {
	texts := map[string]string{
		"go":              goFile(t, "tokens_test.go"),
		"slash lines":     "a +\n//\n//\n// b\n/* c */\nd\n/",
		"blank lines":     "a\n\n\nb\n \n\t\nc\r\n\r\nd\n",
		"wide blanks":     "a\n\u00a0b\n\u2028c\n\u0085d",
		"symbols":         "### x\n```go\n)}\n\n}\n```\n\n### y\n",
		"not ascii":       "é\nä\n漢字\n🙂\n\u0301x\n",
		"invalid":         "a\xff\n\xfeb\n",
		"begins with one": "\nx\n",
	}
	for name, text := range texts {
		for _, v := range vocabularies {
			t.Run(name+"/"+v.name, func(t *testing.T) {
				if got, want := v.Count(text), whole(v, text); got != want {
					t.Errorf("parts sum to %d tokens, the whole has %d", got, want)
				}
			})
		}
		var b strings.Builder
		for p := range parts(text) {
			b.WriteString(p)
		}
		if b.String() != text {
			t.Errorf("%s: parts are not the text", name)
		}
	}
}

// A file that no person wrote must not stop the program: the tokenizer alone
// needs minutes for the first of these.
func TestCountLongRuns(t *testing.T) {
	v := For("gpt-4o")
	for name, s := range map[string]string{
		"letters":   strings.Repeat("a", 100_000),
		"spaces":    strings.Repeat(" ", 100_000) + "x",
		"symbols":   strings.Repeat("=", 100_000),
		"han":       strings.Repeat("漢", 30_000),
		"marks":     "a" + strings.Repeat("\u0301", 30_000),
		"slashes":   strings.Repeat("//\n", 30_000),
		"blank":     strings.Repeat("\n", 100_000),
		"upperCase": strings.Repeat("Q", 100_000),
	} {
		start := time.Now()
		n := v.Count(s)
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s: %d tokens took %v", name, n, d)
		}
		if n == 0 || n > len(s) {
			t.Errorf("%s: %d tokens of %d bytes", name, n, len(s))
		}
	}
}

// Runs below the limit are never cut, and cuts lose nothing.
func TestShortRuns(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		pieces     int
	}{
		{"empty", "", 0},
		{"prose", strings.Repeat("word ", 10_000), 1},
		{"digits", strings.Repeat("7", 10_000), 1},
		{"base64", strings.Repeat("QUJD1", 10_000), 1},
		{"at the limit", strings.Repeat("a", maxRun), 1},
		{"over it", strings.Repeat("a", maxRun+1), 2},
		{"characters stay whole", strings.Repeat("漢", maxRun), 3},
	} {
		var b strings.Builder
		n := 0
		for p := range shortRuns(tt.text) {
			if !utf8.ValidString(p) {
				t.Errorf("%s: a cut within a character", tt.name)
			}
			b.WriteString(p)
			n++
		}
		if b.String() != tt.text {
			t.Errorf("%s: pieces are not the text", tt.name)
		}
		if n != tt.pieces {
			t.Errorf("%s: %d pieces, want %d", tt.name, n, tt.pieces)
		}
	}
}

func TestFor(t *testing.T) {
	tests := []struct {
		model, encoding string
		exact           bool
	}{
		{"gpt-4", "cl100k_base", true},
		{"gpt-4-turbo-2024-04-09", "cl100k_base", true},
		{"gpt-3.5-turbo", "cl100k_base", true},
		{"gpt-4o-mini", "o200k_base", true},
		{"gpt-4.1-nano", "o200k_base", true},
		{"gpt-5.6-sol", "o200k_base", true},
		{"openai/gpt-5", "o200k_base", true},
		{"ft:gpt-4o-mini-2024-07-18:org::id", "o200k_base", true},
		{"O3-mini", "o200k_base", true},
		{"claude-sonnet-4-20250514", "o200k_base x 1.30", false},
		{"us.anthropic.claude-opus-5-v1:0", "o200k_base x 1.70", false},
		{"models/gemini-3.5-flash", "o200k_base x 1.20", false},
		{"llama3.1:8b", "o200k_base x 1.10", false},
		{"qwen2.5-coder:32b", "o200k_base x 1.10", false},
		{"my-own", "o200k_base x 1.20", false},
		{"", "o200k_base", true},
	}
	for _, tt := range tests {
		c := For(tt.model)
		if c.Encoding() != tt.encoding || c.Exact() != tt.exact {
			t.Errorf("For(%q) is %s, exact %v; want %s, %v", tt.model, c.Encoding(), c.Exact(), tt.encoding, tt.exact)
		}
	}
	exact, guess := For("gpt-4o").Count(goFile(t, "models.go")), For("gemini-3").Count(goFile(t, "models.go"))
	if got := float64(guess) / float64(exact); got < 1.19 || got > 1.21 {
		t.Errorf("the estimate is %.3f times the count, want 1.2", got)
	}
}

func BenchmarkCount(b *testing.B) {
	text := goFile(b, "tokens_test.go")
	v := newVocabulary("o200k_base", splitO200k)
	v.Count("load")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		clear(v.counts)
		v.Count(text)
	}
}

func BenchmarkCountCached(b *testing.B) {
	text := goFile(b, "tokens_test.go")
	v := For("gpt-4o")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		v.Count(text)
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		newVocabulary("o200k_base", splitO200k).load()
	}
}
