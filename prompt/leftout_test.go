package prompt

import (
	"fmt"
	"strings"
	"testing"

	"tracerag/trace"
)

// What has no source is named with the line where it begins, once, and an answer may cite that.
func TestLeftOutIsNamed(t *testing.T) {
	in := large(400, 1)
	in.Score = about("pkg17.Function17")
	for _, format := range []Format{Markdown, XML, JSON} {
		p := build(t, in, Options{Budget: 4_000, Format: format})
		names := leftOutLine().FindAllStringSubmatch(p.Text, -1)
		if len(names) < 10 {
			t.Fatalf("%s: %d files of left out functions", format, len(names))
		}
		for _, m := range names {
			for name := range strings.SplitSeq(m[2], ", ") {
				function, line, _ := strings.Cut(name, " ")
				line, _, _ = strings.Cut(line, " ")
				if strings.Contains(p.Text, "."+function+"  pkg") || strings.Contains(p.Text, "."+function+`","position`) || strings.Contains(p.Text, "."+function+`" position`) {
					t.Errorf("%s: %s is named, and shown as well", format, name)
				}
				if at := m[1] + ":" + line; !CheckCitations("See "+at+".", p.Text)[0].Known {
					t.Errorf("%s: %s cannot be cited", format, at)
				}
			}
		}
	}
	for _, v := range Variants[1:] {
		if p := build(t, in, Options{Budget: 4_000, Variant: v}); strings.Contains(p.Text, "## Left out") {
			t.Errorf("%s names what is left out: it is the paper's", v)
		}
	}
}

func TestLinesOfNames(t *testing.T) {
	text := "## Left out\n\ndep/a/b.go: (*T).M 12, .N 30 A, type T 7\nc.go: f 3\n"
	for at, known := range map[string]bool{"a/b.go:12": true, "b.go:30": true, "b.go:7": true, "b.go:8": false, "c.go:3": true, "c.go:12": false} {
		if got := CheckCitations("See "+at+".", text); got[0].Known != known {
			t.Errorf("%s is known: %v", at, got[0].Known)
		}
	}
}

// Of two runs, what only one called and where they part count more.
func TestWhereRunsPart(t *testing.T) {
	in := inputTwo(t)
	in.Score = func(trace.Function) (float64, string) { return 1, "asked" }
	p := build(t, in, Options{Budget: 1_000})
	why := map[string]string{}
	for _, s := range p.Shown {
		why[s.Name] = fmt.Sprintf("%.2f %s", s.Score, s.Why)
	}
	// A has two functions to itself, B has two.
	for name, want := range map[string]string{
		"main.main":               "1.00 asked",
		"main.show":               "1.25 asked; where the runs part",
		"csvview.pad":             "1.00 asked",
		"csvview.(*Table).Render": "1.25 asked; only one run calls it",
		"mdview.Render":           "1.25 asked; only one run calls it",
		"mdview.walk":             "1.25 asked; only one run calls it",
	} {
		if why[name] != want {
			t.Errorf("%s: %q, want %q", name, why[name], want)
		}
	}
}
