package phrase

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text, indent string
		width        int
		want         string
	}{
		{"a b c", "", 0, "a b c\n"},
		{"a b c", "  ", 5, "  a b\n  c\n"},
		{"größer als das", "", 6, "größer\nals\ndas\n"},
		{"abcdefgh ij", " ", 5, " abcd\n efgh\n ij\n"},
		{"", "  ", 5, ""},
		{"abc", "     ", 3, "     a\n     b\n     c\n"},
	} {
		if got := Wrap(tt.text, tt.width, tt.indent); got != tt.want {
			t.Errorf("%q in %d: %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		line  string
		width int
		want  string
	}{{"größer", 0, "größer"}, {"größer", 6, "größer"}, {"größer", 5, "größ…"}, {"ab   cd", 5, "ab…"}, {"ab", 1, "…"}} {
		if got := Cut(tt.line, tt.width); got != tt.want {
			t.Errorf("%q in %d: %q, want %q", tt.line, tt.width, got, tt.want)
		}
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("what ranks first is kept whole", 12)
	f.Fuzz(func(t *testing.T, text string, width int) {
		if width < 3 || width > 200 || !utf8.ValidString(text) {
			return
		}
		got := Wrap(text, width, "  ")
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("a line of %d characters in %d: %q", n, width, line)
			}
		}
		bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if bare(got) != bare(text) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
