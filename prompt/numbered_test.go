package prompt

import (
	"strings"
	"testing"

	"tracerag/trace"
)

// A listing of one function has the lines and marks that prompts have of it, from any line on.
func TestNumbered(t *testing.T) {
	text := longText(200)
	ran := []trace.Lines{statesOf(200, 3, 5)}
	join := func(from int) string {
		var b strings.Builder
		for _, l := range Numbered(text, ran, from) {
			b.WriteString(l.Text)
		}
		return b.String()
	}
	whole := join(0)
	p := build(t, inputLong(t, text, ran...), Options{Budget: 1_400})
	if p.Functions[0].Tier != TierRan || !strings.Contains(p.Text, "```go\n"+whole+"```") {
		t.Errorf("the prompt has another listing:\n%s\n%s", whole, p.Text)
	}
	if got := join(18); !strings.HasPrefix(got, "18 ") || !strings.HasSuffix(whole, got[strings.IndexByte(got, '\n'):]) {
		t.Errorf("from line 18:\n%s", got)
	}
	for _, l := range Numbered(text, ran, 0) {
		if rest := join(l.From); !strings.HasSuffix(rest, "}\n") || l.From > text.Start && strings.Contains(rest, "func ") {
			t.Errorf("from line %d:\n%s", l.From, rest)
		}
	}
}
