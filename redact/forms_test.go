package redact

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/redact/redacttest"
)

var update = flag.Bool("update", false, "write docs/redaction.md anew")

// seeds are enough that a form which is found by luck is not.
const seeds = 3

// masked is what becomes of a sample where it is shown.
func masked(s redacttest.Sample) string {
	r := New()
	switch s.Place {
	case redacttest.Value:
		return r.Value(s.Name, s.Text)
	case redacttest.Args:
		return strings.Join(r.Args(s.Args), " ")
	case redacttest.Env:
		return r.Args([]string{"env", s.Text, "app"})[1]
	}
	if s.Place.Go() {
		return r.Text("func f() {\n\t" + s.Text + "\n}\n")
	}
	return r.Text(s.Text)
}

// columns of the table are places that are much alike.
var columns = []struct {
	name   string
	places []redacttest.Place
}{
	{"source", []redacttest.Place{redacttest.Assign, redacttest.Field, redacttest.Map, redacttest.Compare, redacttest.Call}},
	{"value", []redacttest.Place{redacttest.Value}},
	{"arguments", []redacttest.Place{redacttest.Args, redacttest.Env}},
	{"text", []redacttest.Place{redacttest.JSON, redacttest.YAML, redacttest.HTTP, redacttest.URL, redacttest.Message}},
}

// TestForms looks for secrets of every form in every place, and holds the table of
// what is found against docs/redaction.md.
func TestForms(t *testing.T) {
	type cell struct{ found, of int }
	table := map[string][]cell{}
	for seed := range uint64(seeds) {
		for _, f := range redacttest.Forms(seed + 1) {
			row := table[f.Name]
			if row == nil {
				row = make([]cell, len(columns))
			}
			for i, c := range columns {
				for _, p := range c.places {
					s, ok := f.In(p)
					if !ok {
						continue
					}
					row[i].of++
					left := f.Left(masked(s))
					if left == "" {
						row[i].found++
					}
					if left != "" && f.Kind != redacttest.Hidden {
						t.Errorf("seed %d, %s in %s: %q stays of\n\t%s\n\t%s", seed+1, f.Name, p, left, s.Text, masked(s))
					}
				}
			}
			table[f.Name] = row
		}
	}

	var b strings.Builder
	b.WriteString("| form | seen by | " + columns[0].name + " | " + columns[1].name + " | " + columns[2].name + " | " + columns[3].name + " |\n|---|---|---|---|---|---|\n")
	found, forms := 0, redacttest.Forms(1)
	for _, f := range forms {
		fmt.Fprintf(&b, "| %s | %s |", f.Name, f.Kind)
		all := true
		for _, c := range table[f.Name] {
			said := "-"
			switch {
			case c.of == 0:
			case c.found == c.of:
				said = "found"
			case c.found == 0:
				said, all = "**missed**", false
			default:
				said, all = fmt.Sprintf("**%d of %d**", c.found, c.of), false
			}
			b.WriteString(" " + said + " |")
		}
		b.WriteByte('\n')
		if all {
			found++
		}
	}
	fmt.Fprintf(&b, "\n%d of %d forms are found in all of their places.\n", found, len(forms))
	inDocument(t, b.String())
}

// inDocument holds a text against what is between two marks of docs/redaction.md.
func inDocument(t *testing.T, text string) {
	const begin, end = "<!-- by TestForms: go test ./redact -run TestForms -update -->\n", "<!-- end of what TestForms writes -->\n"
	path := filepath.Join("..", "docs", "redaction.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no marks for the table", path)
	}
	if old == text {
		return
	}
	if !*update {
		t.Errorf("the table of %s is not what is found: go test ./redact -run TestForms -update", path)
		return
	}
	if err := os.WriteFile(path, []byte(before+begin+text+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
