package locate

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestLongReportsAreBounded: a log of megabytes is searched by its ends and by the lines that
// say what failed. Words of data, as base64 has them, and colours are no words.
func TestLongReportsAreBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var log strings.Builder
	log.WriteString("table loses its border\n")
	middle := func() {
		for log.Len()%(2<<20) < 1<<20 {
			for range 12 {
				for range 3 + r.IntN(6) {
					log.WriteByte(byte('a' + r.IntN(26)))
				}
				log.WriteByte(' ')
			}
			log.WriteByte('\n')
		}
	}
	middle()
	log.WriteString("    error: cell is narrower than its padding\n")
	for range 1 << 16 {
		log.WriteString("=== RUN quiet\n")
	}
	log.WriteString("\x1b[31mFAIL\x1b[0m example.com/app/table\n")
	got := read(log.String())
	if len(got.text) > mostText+1 || len(got.weights()) > 5000 {
		t.Errorf("%d bytes and %d words are searched", len(got.text), len(got.weights()))
	}
	for _, want := range []string{"table loses its border", "cell is narrower than its padding", "\nFAIL example.com/app/table"} {
		if !strings.Contains(got.text, want) {
			t.Errorf("%q is not searched", want)
		}
	}
	if got.title != "table loses its border" {
		t.Errorf("the title is %q", got.title)
	}
	data := strings.Repeat("aB3+", 1<<18)
	for text, want := range map[string]string{
		"short report\nof two lines":     "short report\nof two lines",
		"border " + data + " lost":       "border  lost",
		data:                             "",
		"a\n" + data + "\nb":             "a\n\nb",
		strings.Repeat("x", longestWord): strings.Repeat("x", longestWord),
	} {
		if got := read(text).text; got != want {
			t.Errorf("of %.30q %.60q is searched", text, got)
		}
	}
}
