package words_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tracerag/code/words"
)

func TestTerms(t *testing.T) {
	for text, want := range map[string]string{
		"func (p *Parser) parseHTTPArgs(maxLen2 int)": "parser pars http argument =parsehttpargs maximum length =maxlen2",
		"the args, an argument: ARGS":                 "argument argument argument",
		"max_width 42 x":                              "maximum width =maxwidth",
		"":                                            "",
	} {
		if got := strings.Join(words.Terms(text), " "); got != want {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
}

// TestQuestion finds of a question what an index has of a text with the same words.
func TestQuestion(t *testing.T) {
	const report = "cmd/x: parsing HTTPArgs fails (#12)\n\nSee https://example.com/widget.\nReviewed-by: Some Body <some@example.com>\nIt shows HTTPArgs twice."
	terms, related := words.Question(report)
	want := []string{"cmd", "pars", "http", "argument", "=httpargs", "fail", "see", "show", "twice"}
	want[0] = words.Stem("cmd")
	if !slices.Equal(terms, want) {
		t.Errorf("terms are %q, want %q", terms, want)
	}
	if !slices.Contains(related, "print") || !slices.Contains(related, words.Stem("invalid")) || slices.Contains(related, "show") {
		t.Errorf("related are %q", related)
	}
	for _, term := range words.Terms(words.WithoutReferences(report)) {
		if !slices.Contains(terms, term) {
			t.Errorf("the index has %q, the question has not", term)
		}
	}
}

func FuzzTerms(f *testing.F) {
	f.Add("parseHTTP2 über_größe \xff %*d #12 a@b.c")
	f.Fuzz(func(t *testing.T, text string) {
		var s words.Splitter
		terms := s.AppendVerbs(s.Append(nil, text), text)
		if again := s.AppendVerbs(s.Append(nil, text), text); !slices.Equal(terms, again) {
			t.Errorf("%q, and again %q", terms, again)
		}
		own := words.Terms(text)
		var asked []string
		words.Asked(text, func(t words.Term) {
			if !t.Group {
				asked = append(asked, t.Text)
			}
		})
		if !slices.Equal(own, asked) {
			t.Errorf("an index has %q, a question %q", own, asked)
		}
		for _, term := range terms {
			if term == "" || strings.ContainsAny(term, " \n") {
				t.Errorf("%q is no term", term)
			}
		}
		words.Question(text)
	})
}

func ExampleSplit() {
	fmt.Println(words.Split("parseHTTPRequest"))
	// Output: [parse http request]
}
