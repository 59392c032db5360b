package rank

import (
	"slices"
	"testing"
	"unicode/utf8"
)

func TestQuestionTerms(t *testing.T) {
	weights := Default
	weights.Related = 0
	a := ask(Question{Text: "pkg: fix (*T).readAll (#4488)\n\nSee https://example.com/widget.\n\nFixes owner/name#12\nReviewed-by: Some Body <some@example.com>\nwidget 42, 2+3*4"}, &weights)
	want := []string{"packag", "read", "all", "=readall", "widget"}
	got := slices.DeleteFunc(slices.Clone(a.terms), func(s string) bool { return s == "t" || s == "see" || s == "all" })
	want = slices.DeleteFunc(want, func(s string) bool { return s == "all" })
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if !a.titled["pkg"] {
		t.Error("the title's package is lost")
	}
}

// A word brings those that mean nearly the same, which count less; what the question says
// itself counts as it does.
func TestRelated(t *testing.T) {
	a := ask(Question{Text: "shown"}, &Default)
	reads := newReader(a, &Default)
	weight := func(word string) (sum float64) {
		for _, i := range reads.find(word).terms {
			sum += a.weight[i]
		}
		return sum
	}
	if w := weight("printAll"); w <= 0 || w >= weight("show") || weight("printAndFormat") != 2*w {
		t.Errorf("print weighs %g, show %g", w, weight("show"))
	}
	if w := weight("shows"); w != a.weight[a.index["show"]] {
		t.Errorf("the word itself counts %g", w)
	}
}

func TestQuoted(t *testing.T) {
	const question = `it says "reduce of empty array with no initial value", don't know why`
	for text, want := range map[string]string{
		`errors.New("reduce of empty array")`:                        "reduce of empty array",
		`fmt.Errorf("reduce of empty %s with no initial value", k)`:  "reduce of empty",
		`fmt.Errorf("%-3d: with no initial value\n", k)`:             "with no initial value",
		"errors.New(`Reduce of EMPTY array`)":                        "Reduce of EMPTY array",
		`x := "reduce"`:                                              "", // one word
		`x := "of a"`:                                                "", // too short
		`// says "reduce of empty array"`:                            "", // a comment
		`/* "reduce of empty array" */ f('"', "with no initial va")`: "with no initial va",
		`f("\"", "with no initial value")`:                           "with no initial value",
		`"unterminated`:                                              "",
		`a / b`:                                                      "",
		`/`:                                                          "",
	} {
		if got := quoted(text, question); got != want {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
}

// Sources are whatever a repository holds: reading them ends, and ends well.
func FuzzRead(f *testing.F) {
	f.Add("func f() { x(\"a\\\"b\", 'c', `d`) } // e", "why does 'a b' HTTPServer2 fail?")
	f.Add("/*", "")
	f.Add("\xff\"\\", "\xff\n#12")
	f.Fuzz(func(t *testing.T, text, question string) {
		fs := []Function{{Package: text, Name: text, Doc: text, Text: text}, {Text: question}}
		rs := Rank(Question{Text: question, Test: text}, Corpus{Functions: fs}, Default)
		if len(rs) != 2 || rs[0].Function+rs[1].Function != 1 {
			t.Fatalf("not an order of two functions: %+v", rs)
		}
		for _, r := range rs {
			if !(r.Score >= 0) {
				t.Errorf("a score of %v", r.Score)
			}
			if utf8.ValidString(text) && utf8.ValidString(question) && !utf8.ValidString(r.Why()) {
				t.Errorf("reasons that are no text: %q", r.Why())
			}
		}
	})
}
