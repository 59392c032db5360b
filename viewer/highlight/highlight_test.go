package highlight

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func text1(lines []Line) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		for k := 1; k < len(l); k += 2 {
			b.WriteString(l[k])
		}
	}
	return b.String()
}

func TestHighlight(t *testing.T) {
	tests := []struct{ src, want string }{
		{"func f(n int) {", "k:func| |f:f|(|i:n| |b:int|) {"},
		{`x := "a" + 'b' + 0x1f // c`, `i:x| := |s:"a"| + |s:'b'| + |n:0x1f| |c:// c`},
		{"s := `a\nb` + len(t)", "i:s| := |s:`a\ns:b`| + |b:len|(|i:t|)"},
		{"/* a\n\nb */ x", "c:/* a\n\nc:b */| |i:x"},
		{"t.Render (x)", "i:t|.|i:Render| (|i:x|)"},
		{"return 'unclosed", "k:return| |s:'unclosed"},
		{"\"unclosed\nx", "s:\"unclosed\ni:x"},
		{"`unclosed\n\\", "s:`unclosed\ns:\\"},
		{"#$ \x00 ü", "#$ \x00 |i:ü"},
		{"", ""},
	}
	for _, tt := range tests {
		var got []string
		for _, l := range Go(tt.src) {
			var pieces []string
			for k := 0; k < len(l); k += 2 {
				piece := l[k+1]
				if l[k] != classPlain {
					piece = l[k] + ":" + piece
				}
				pieces = append(pieces, piece)
			}
			got = append(got, strings.Join(pieces, "|"))
		}
		if s := strings.Join(got, "\n"); s != tt.want {
			t.Errorf("Go(%q)\n got %q\nwant %q", tt.src, s, tt.want)
		}
	}
}

// Sources that were compiled come out as they went in, byte for byte.
func TestHighlightLosesNothing(t *testing.T) {
	files, err := filepath.Glob("../../*/*.go")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		src := strings.TrimSuffix(string(data), "\n")
		if got := text1(Go(src)); got != src {
			t.Errorf("%s comes out as another text", path)
		}
	}
}

func FuzzHighlight(f *testing.F) {
	for _, s := range []string{"func f() {}", "/*\r\n*/ `\r` // x\r", "\xff\"\xff", "a\n\n", "/*", "//", "\ufeffx", "'\\", "1_0x.e+", "..."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if got, want := text1(Go(src)), strings.TrimSuffix(src, "\n"); got != want && got != src {
			t.Fatalf("%q comes out as %q", src, got)
		}
		for _, l := range Go(src) {
			if len(l)%2 != 0 || strings.Contains(fmt.Sprint(l), "\n") {
				t.Fatalf("%q has the line %q", src, l)
			}
		}
	})
}
