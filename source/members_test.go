package source

import (
	"fmt"
	"strings"
	"testing"
)

// The members of a declaration are listed with their lines in the file, comments included.
func TestMembers(t *testing.T) {
	for _, tt := range []struct{ name, keyword, body, want string }{
		{"a struct", "type", `type Table struct {
	sync.Mutex // for rows
	// rows are
	// those of the file
	rows, more []row

	box struct {
		left int
	} // the frame
	*dep.Style[int]
}`, "Mutex+ 11-11; rows,more 12-14; box 16-18; Style+ 19-19"},
		{"one of several types, without its keyword", "type", "T struct {\n\ta int\n\tb int\n}", "a 11-11; b 12-12"},
		{"an interface", "type", "type R interface {\n\tRead([]byte) (int, error)\n\tio.Closer\n\t~int | ~string\n}", "Read 11-11; Closer+ 12-12; + 13-13"},
		{"constants", "const", "const (\n\t// Left is\n\tLeft = iota\n\tRight // not left\n\t_\n\tTop, Bottom = iota, iota\n)", "Left 11-12; Right 13-13; _ 14-14; Top,Bottom 15-15"},
		{"a table", "var", "var widths = []int{\n\t1,\n\t2,\n}", ""},
		{"a function type", "type", "type F func(a,\n\tb int)", ""},
		{"no Go", "type", "type T struct {\n\ta", ""},
	} {
		var got []string
		for _, m := range (Decl{Keyword: tt.keyword, Start: 10, Body: tt.body}).Members() {
			s := strings.Join(m.Names, ",")
			if m.Embedded {
				s += "+"
			}
			got = append(got, fmt.Sprintf("%s %d-%d", s, m.Lines.First, m.Lines.Last))
		}
		if s := strings.Join(got, "; "); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, s, tt.want)
		}
	}
}
