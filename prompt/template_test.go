package prompt

import (
	"strings"
	"testing"
	"time"
)

func TestTemplate(t *testing.T) {
	const text = `{{.Question}}
{{range .Runs}}run {{.Label}}: {{.Title}}{{range .Notes}} ({{.}}){{end}}
{{.Tree}}{{range .Only}}{{fence .Source}}{{.Lang}} {{.Name}}
{{.Source}}
{{fence .Source}}
{{end}}{{end}}both:
{{range .Both}}{{.Block}}{{end}}`
	p := build(t, inputTwo(t), Options{Template: text, Model: "gpt-4o"})
	golden(t, "template.txt", p.Text)
	if len(p.Sections) != 1 || p.Sections[0].Tokens != p.Total {
		t.Errorf("sections %v, total %d", p.Sections, p.Total)
	}
	times := map[string]int{}
	for _, f := range p.Functions {
		times[f.Name] = f.Times
	}
	// Only's sources are asked for three times: the fences look at them too.
	if times["mdview.Render"] != 3 || times["csvview.pad"] != 1 {
		t.Errorf("functions %v", p.Functions)
	}
}

func TestTemplateHelpExample(t *testing.T) {
	_, example, ok := strings.Cut(TemplateHelp, "Example:\n")
	if !ok {
		t.Fatal("no example")
	}
	p := build(t, inputCSV(t), Options{Template: example})
	for _, want := range []string{"Which function draws the border?", "./app --csv data.csv", "### main.main  main.go:10-12\n```go\n", "x12 csvview/column.go:5"} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("the example's prompt lacks %q:\n%s", want, p.Text)
		}
	}
}

func TestTemplateErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{{.Question}}\n\n{{if}}":                                      "prompt template, line 3: missing value for if",
		"a\n{{.Nothing}}":                                              "prompt template, line 2:2: ",
		"\n{{range .Runs}}{{.Functions.Name}}{{end}}":                  "prompt template, line 2:27: ",
		"{{env \"HOME\"}}":                                             `prompt template, line 1: function "env" not defined`,
		"{{range 9223372036854775807}}{{end}}":                         "steps",
		"{{range 9223372036854775807}}{{continue}}{{end}}":             "steps",
		`{{range 100}}{{printf "%1000000d" 1}}{{end}}`:                 "longer than 16 MB",
		`{{$x := "ab"}}{{range 60}}{{$x = print $x $x}}{{end}}`:        "longer than 16 MB",
		`{{$x := "<<"}}{{range 60}}{{$x = html (print $x $x)}}{{end}}`: "longer than 16 MB",
		`{{define "x"}}{{template "x"}}{{end}}{{template "x"}}`:        "prompt template",
		`{{with .Runs}}{{range .}}{{template "none"}}{{end}}{{end}}`:   `"none" not defined`,
		`{{(index .Runs 7).Tree}}`:                                     "index out of range",
		`{{(index (index .Runs 0).Functions 0).item.path}}`:            "item",
		`{{block "b" .}}{{range 9223372036854775807}}{{end}}{{end}}`:   "steps",
		// Over the limit only if each of the three counts.
		`{{if true}}{{range 100000}}{{end}}{{end}}{{with 1}}{{range 100000}}{{end}}{{end}}{{if false}}{{else}}{{range 100000}}{{end}}{{end}}`: "steps",
	} {
		start := time.Now()
		_, err := Build(inputCSV(t), Options{Template: text})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nerror %v, want %q in it", text, err, want)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s\ntook %v", text, d)
		}
	}
}

// Whatever a template says, it ends soon, with a text or an error that says
// where it comes from.
func FuzzTemplate(f *testing.F) {
	f.Add(TemplateHelp)
	f.Add(`{{define "x"}}{{.}}{{end}}{{range $i, $r := .Runs}}{{template "x" $r.Tree}}{{end}}`)
	f.Add(`{{range .Runs}}{{range .Every}}{{.Block | html | printf "%q"}}{{else}}{{break}}{{end}}{{end}}`)
	f.Add("{{range 1000000000}}{{- /* */ -}}{{end}}")
	f.Add(`{{block "a" 3}}{{slice "abc" . }}{{end}}`)
	in := inputTwo(f)
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" {
			return
		}
		p, err := Build(in, Options{Template: text, Counter: long{}})
		switch {
		case err != nil:
			if !strings.HasPrefix(err.Error(), "prompt template") {
				t.Errorf("error %q", err)
			}
		case len(p.Text) > maxTemplateOutput:
			t.Errorf("%d bytes", len(p.Text))
		}
	})
}
