package words

import (
	"strings"
	"testing"
)

func TestStem(t *testing.T) {
	for _, same := range [][]string{
		{"parse", "parses", "parsed", "parsing"},
		{"expr", "expression", "expressions", "exprs"},
		{"args", "arg", "argument"},
		{"index", "idx"},
		{"rewrite", "rewritten", "rewrote", "rewriting"},
		{"show", "shown", "shows"},
		{"override", "overridden"},
	} {
		for _, w := range same[1:] {
			if Stem(w) != Stem(same[0]) {
				t.Errorf("%s is %s, %s is %s", w, Stem(w), same[0], Stem(same[0]))
			}
		}
	}
}

// What a formatting verb does is a word of the text: "%*d" is how code says that numbers
// are padded.
func TestVerbs(t *testing.T) {
	for text, want := range map[string]string{
		`fmt.Sprintf("%*d %-8s", n, s)`:      "pad width pad align",
		`Printf("%02d:%q", 3, x)`:            "pad zero quote",
		`"%.2f" "%x"`:                        "precision decimal hexadecimal",
		`"%d of %s: %v, %w, %[1]d, %+v"`:     "",
		`100% of the time, 5 % done, x%2, %`: "",
	} {
		var got []string
		Verbs(text, func(w string) { got = append(got, w) })
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: %q, want %q", text, g, want)
		}
	}
}

// FuzzLead holds the first letters of a stem against the stem.
func FuzzLead(f *testing.F) {
	for _, word := range strings.Fields("parsing args err ate rewritten took dying lying tying dies ties skis skies idly gently early only news eyed oed ing ied says yes cry by sky yyy outcome") {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, text string) {
		Each(text, func(word string) {
			for _, part := range Split(word) {
				if PassedOver(part) {
					continue
				}
				stem, lead := Stem(part), Lead(part)
				if !strings.HasPrefix(stem, lead) && !(len(stem) == 1 && strings.HasPrefix(lead, stem)) {
					t.Errorf("%q has the stem %q and the lead %q", part, stem, lead)
				}
			}
		})
	})
}
