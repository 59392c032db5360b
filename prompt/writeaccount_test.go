package prompt

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestExplanationFits: at a terminal no line of an explanation is wider, and no reason is lost.
func TestExplanationFits(t *testing.T) {
	position, why := "internal/table/table.go:230", "name and comment match: draws, border; called by what matches best"
	p := &Prompt{Budget: 8000, Total: 10, Window: 128_000, Encoding: "o200k_base", Shown: []Shown{
		{Name: "table.(*Table).constructTopBorder", Position: position, Why: why, Tier: TierFull, Score: 1},
		{Name: "table.(*Table).String", Position: position, Why: why, Tier: TierFolded},
	}}
	bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for _, width := range []int{0, 20, 60, 80, 200} {
		var out strings.Builder
		if err := p.WriteExplanation(&out, width); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(bare(out.String()), bare(position+why)); width > 0 && n != len(p.Shown) {
			t.Errorf("in %d columns there are %d of %d reasons:\n%s", width, n, len(p.Shown), &out)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
				t.Errorf("a line of %d characters in %d columns: %q", n, width, line)
			}
		}
	}
}
