package visible

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                      "plain",
		"a\tb\nc":                    "a\tb\nc",
		"two\r\nlines":               "two\nlines",
		"over\rwritten":              `over\rwritten`,
		"\x1b[2J\a":                  `\x1b[2J\x07`,
		"\x7f\u0085\u009b31m":        `\x7f\u0085\u009b31m`,
		"\u202eexe.txt\u2066\u200f":  `\u202eexe.txt\u2066\u200f`,
		"\ufeffpackage\u200bx":       `\ufeffpackage\u200bx`,
		"\u2028\u2029":               `\u2028\u2029`,
		"\U000e0041\U000e0101\u3164": `\U000e0041\U000e0101\u3164`,
		"\xff\xfe ok \xc3":           `\xff\xfe ok \xc3`,
		"naïve 日本語 ❤️ \u00a0 \ufffd": "naïve 日本語 ❤️ \u00a0 \ufffd",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%+q) = %q, want %q", in, got, want)
		}
		if got := Text(want); got != want {
			t.Errorf("Text(%q) = %q: escaped a second time", want, got)
		}
	}
	if got, want := Line("a\tb\r\nc"), `a\tb\r\nc`; got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
}

// FuzzJSON: JSON loses nothing, InJSON is Text of each string, and neither has a
// hidden character.
func FuzzJSON(f *testing.F) {
	f.Add("a\x1b\u202e\U000e0041\r\n\\u001b\x7f\"\\")
	f.Add("\\ud800\xff\r")
	f.Fuzz(func(t *testing.T, s string) {
		data, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		valid := strings.ToValidUTF8(s, "\ufffd")
		if !utf8.ValidString(s) {
			valid = strings.Map(func(r rune) rune { return r }, s) // a replacement for each byte, as JSON has it
		}
		for name, x := range map[string]struct{ text, want string }{
			"JSON": {JSON(string(data)), valid}, "InJSON": {InJSON(string(data)), Text(valid)},
		} {
			if Text(x.text) != x.text || strings.ContainsAny(x.text, "\r\n\t") {
				t.Errorf("%s(%q) = %q has a hidden character", name, data, x.text)
			}
			var got map[string]string
			if err := json.Unmarshal([]byte(x.text), &got); err != nil {
				t.Fatalf("%s(%q) = %q: %v", name, data, x.text, err)
			}
			if got[x.want] != x.want {
				t.Errorf("%s(%q) = %q, want %q", name, data, got, x.want)
			}
		}
		if Line(s) != Text(Line(s)) || strings.ContainsAny(Line(s), "\n\t") {
			t.Errorf("Line(%q) = %q", s, Line(s))
		}
	})
}
