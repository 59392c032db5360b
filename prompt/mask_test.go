package prompt

import (
	"fmt"
	"strings"
	"testing"

	"tracerag/calltree"
	"tracerag/source"
	"tracerag/trace"
)

// secrets masks the word it knows, and one that it is shown.
type secrets struct{ learned []string }

func (s *secrets) Learn(text string) {
	if _, rest, ok := strings.Cut(text, "secret="); ok {
		s.learned = append(s.learned, strings.Fields(rest)[0])
	}
}

func (s *secrets) Text(text string) string {
	for _, x := range append(s.learned, "hushhush") {
		text = strings.ReplaceAll(text, x, "[MASKED]")
	}
	return text
}

// TestMaskReachesEverything puts a secret into every text that a prompt is given,
// with letters that JSON and XML spell in other ways. The last function shows that
// what the first one has is a secret, too.
func TestMaskReachesEverything(t *testing.T) {
	const secret, shown = "hushhush", `a<b&"c`
	in := func() Input {
		in := inputTwo(t)
		in.Question += " " + secret
		for i := range in.Runs {
			in.Runs[i].Title += " --password=" + secret
			in.Runs[i].Notes = append(in.Runs[i].Notes, "the recording failed: "+secret)
			in.Runs[i].Processes = append(in.Runs[i].Processes, "helper: helper "+secret)
			in.Runs[i].Tree.Walk(func(n *calltree.Node, _ int) bool {
				n.Values = []trace.Activation{{Args: []trace.Value{{Name: "s", Type: "string", Text: secret}}}}
				return true
			})
		}
		in.Source = func(f trace.Function) source.Text {
			text := find(f)
			text.Doc += "\n// " + secret
			text.Signature += " // " + secret
			text.Warning += " " + secret
			if text.Body == "" {
				return text
			}
			if f.Name == "main.main" {
				text.Body = strings.Replace(text.Body, "\n", " // "+shown+" "+secret+"\n", 1)
			} else {
				text.Body = strings.Replace(text.Body, "\n", " // secret="+shown+" \n", 1)
			}
			return text
		}
		in.Score = func(trace.Function) (float64, string) { return 1, "has " + secret }
		return in
	}
	all := "{{.Question}}{{range .Runs}}{{.Title}}{{.Notes}}{{.Processes}}{{.Tree}}{{range .Every}}{{.Name}}{{.Note}}{{.Source}}{{.Block}}{{end}}{{end}}"
	var tests []Options
	for _, v := range Variants {
		tests = append(tests, Options{Variant: v}, Options{Variant: v, Format: XML}, Options{Variant: v, Format: JSON}, Options{Variant: v, Budget: 1500})
	}
	tests = append(tests, Options{Template: all})
	for _, o := range tests {
		plain, err := Build(in(), o)
		if err != nil {
			t.Fatal(err)
		}
		with := in()
		with.Mask = &secrets{}
		p, err := Build(with, o)
		if err != nil {
			t.Fatal(err)
		}
		everything := fmt.Sprintf("%+v", p)
		for _, s := range []string{secret, shown, "a&lt;b", `a\u003cb`, `a<b&\"c`} {
			if strings.Contains(everything, s) {
				t.Errorf("%+v: %s is in the prompt", o, s)
			}
		}
		if o.Budget == 0 && strings.Count(p.Text, "\n") != strings.Count(plain.Text, "\n") {
			t.Errorf("%+v: masking changes the lines", o)
		}
		if !strings.Contains(plain.Text, secret) || !strings.Contains(p.Text, "[MASKED]") {
			t.Errorf("%+v: there was nothing to mask", o)
		}
	}
}
