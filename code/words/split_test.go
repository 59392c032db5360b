package words

import (
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for word, want := range map[string]string{
		"parse":            "parse",
		"parseHTTPRequest": "parse http request",
		"HTTPServer":       "http server",
		"max_line_width2":  "max line width 2",
		"_x":               "x",
		"__":               "",
		"UTF8":             "utf 8",
		"v2alpha1":         "v 2 alpha 1",
		"überGröße":        "über größe",
		"ID":               "id",
	} {
		if got := strings.Join(Split(word), " "); got != want {
			t.Errorf("%s is %q, not %q", word, got, want)
		}
	}
}
