package rules

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestDefault: the pinned version is understood whole. That the rules are those that
// the library makes of them is tested in ../gitleaks.
func TestDefault(t *testing.T) {
	set, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	check(t, set)
	// Of another number, see in gitleaks' history what came and what went.
	if len(set.Rules) != 217 || len(set.Allow) != 1 {
		t.Errorf("%d rules and %d allowlists for all of them, want 217 and 1", len(set.Rules), len(set.Allow))
	}
}

// check holds rules against what Rule and Allow promise.
func check(t *testing.T, set Set) {
	t.Helper()
	if len(set.Rules) == 0 {
		t.Error("no rules")
	}
	allow := set.Allow
	for _, r := range set.Rules {
		re, err := regexp.Compile(r.Regex)
		if err != nil || r.ID == "" || r.Group < 0 || r.Group > re.NumSubexp() || len(r.Keywords) == 0 {
			t.Errorf("%+v: %v", r, err)
		}
		for _, k := range r.Keywords {
			if k == "" || strings.ToLower(k) != k || strings.ContainsFunc(k, func(c rune) bool { return c >= 0x80 }) {
				t.Errorf("%s: keyword %q", r.ID, k)
			}
		}
		allow = append(allow, r.Allow...)
	}
	for _, a := range allow {
		if len(a.Regexes)+len(a.StopWords) == 0 {
			t.Error("a list that allows nothing")
		}
		for _, re := range a.Regexes {
			if _, err := regexp.Compile(re); err != nil {
				t.Error(err)
			}
		}
	}
}

const simple = "[[rules]]\nid = 'x'\nregex = 'X(.)'\nkeywords = ['X']\n"

func TestParse(t *testing.T) {
	x := Rule{ID: "x", Regex: "X(.)", Keywords: []string{"x"}}
	for _, tt := range []struct {
		name, text string
		want       Set
	}{
		{"a rule", simple, Set{Rules: []Rule{x}}},
		{"all of one", "title = 't'\nminVersion = 'v9'\n" + simple + "description = 'd'\ntags = ['t']\nsecretGroup = 1\nentropy = 3\n",
			Set{Rules: []Rule{{ID: "x", Regex: "X(.)", Group: 1, Entropy: 3, Keywords: []string{"x"}}}}},
		{"by id", "[[rules]]\nid = 'y'\nregex = 'y'\nkeywords = ['y']\n" + simple, Set{Rules: []Rule{x, {ID: "y", Regex: "y", Keywords: []string{"y"}}}}},
		{"about files", "[[rules]]\nid = 'p'\npath = 'p'\n[[rules]]\nid = 'q'\npath = 'q'\nregex = 'q'\n" + simple, Set{Rules: []Rule{x}}},
		{"allowed", simple + "[[rules.allowlists]]\nregexTarget = 'match'\nregexes = ['a', 'b']\n[[rules.allowlists]]\nstopwords = ['B', 'a', 'b']\n",
			Set{Rules: []Rule{{ID: "x", Regex: "X(.)", Keywords: []string{"x"}, Allow: []Allow{{Match: true, Regexes: []string{"a", "b"}}, {StopWords: []string{"a", "b"}}}}}}},
		{"allowed elsewhere", simple + "[[rules.allowlists]]\nregexTarget = 'line'\nregexes = ['a']\n[[rules.allowlists]]\ncondition = 'and'\npaths = ['p']\nregexes = ['a']\n" +
			"[[rules.allowlists]]\npaths = ['p']\n[[rules.allowlists]]\ncommits = ['c']\n", Set{Rules: []Rule{x}}},
		{"allowed, as it was spelled before", "[allowlist]\nregexes = ['g']\n" + simple + "[rules.allowlist]\nregexTarget = 'secret'\nregexes = ['a']\n",
			Set{Rules: []Rule{{ID: "x", Regex: "X(.)", Keywords: []string{"x"}, Allow: []Allow{{Regexes: []string{"a"}}}}}, Allow: []Allow{{Regexes: []string{"g"}}}}},
		{"allowed to some", "[[allowlists]]\ntargetRules = ['x']\nregexes = ['g']\n[[allowlists]]\nregexes = ['h']\n" + simple + "[[rules.allowlists]]\nregexes = ['a']\n",
			Set{Rules: []Rule{{ID: "x", Regex: "X(.)", Keywords: []string{"x"}, Allow: []Allow{{Regexes: []string{"a"}}, {Regexes: []string{"g"}}}}}, Allow: []Allow{{Regexes: []string{"h"}}}}},
	} {
		got, err := Parse(tt.text)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", tt.name, err, got, tt.want)
		}
	}
}

// TestNotUnderstood: one rule that is not is enough, and the error says which.
func TestNotUnderstood(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no TOML", "rules", "gitleaks' configuration: toml: "},
		{"TOML that its decoder does not survive", "[[rules.0]]", "gitleaks' configuration: toml: "},
		{"no rules", "title = 't'\n", "configuration has no rules"},
		{"rules about files alone", "[[rules]]\nid = 'p'\npath = 'p'\n", "configuration has no rules"},
		{"of another type", simple + "entropy = 'high'\n", "gitleaks' configuration: toml: "},
		{"another field", simple + "negativeRegex = 'y'\n", "what rules.negativeRegex means is not known"},
		{"a rule that needs another", simple + "[[rules.required]]\nid = 'y'\n", "what rules.required"},
		{"a configuration on top of another", "[extend]\nuseDefault = true\n" + simple, "what extend"},
		{"no id", "[[rules]]\nregex = 'x'\nkeywords = ['x']\n", `rule "": it has no id`},
		{"no regex", "[[rules]]\nid = 'x'\nkeywords = ['x']\n", `rule "x": it has no id, or no regex`},
		{"no Go regex", simple + "[[rules]]\nid = 'y'\nregex = 'y(?=z)'\nkeywords = ['y']\n", `rule "y": error parsing regexp: `},
		{"no such group", simple + "secretGroup = 2\n", `rule "x": its regex has no group 2, only 1`},
		{"no keywords", "[[rules]]\nid = 'x'\nregex = 'x'\n", `rule "x": it has no keywords`},
		{"an empty keyword", "[[rules]]\nid = 'x'\nregex = 'x'\nkeywords = ['x', '']\n", `rule "x": the keyword "" is empty`},
		{"a foreign keyword", "[[rules]]\nid = 'x'\nregex = 'x'\nkeywords = ['é']\n", `rule "x": the keyword "é" is`},
		{"allowed in both spellings", simple + "[rules.allowlist]\nregexes = ['a']\n[[rules.allowlists]]\nregexes = ['b']\n", `rule "x": allowlist and allowlists exclude`},
		{"allowed to all in both spellings", "[allowlist]\nregexes = ['a']\n[[allowlists]]\nregexes = ['b']\n" + simple, "allowlists of all rules: allowlist and"},
		{"another condition", simple + "[[rules.allowlists]]\ncondition = 'XOR'\nregexes = ['a']\n", `rule "x": the condition "XOR"`},
		{"another target", simple + "[[rules.allowlists]]\nregexTarget = 'file'\nregexes = ['a']\n", `rule "x": the regexTarget "file"`},
		{"allowed by no Go regex", "[[allowlists]]\nregexes = ['(']\n" + simple, "allowlists of all rules: error parsing regexp: "},
	} {
		if set, err := Parse(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) || len(set.Rules) > 0 {
			t.Errorf("%s: error %v, want %q; %d rules", tt.name, err, tt.want, len(set.Rules))
		}
	}
}

// FuzzParse: whatever is understood keeps what Rule and Allow promise.
func FuzzParse(f *testing.F) {
	f.Add(simple + "secretGroup = 1\nentropy = 3.5\n[[rules.allowlists]]\nregexTarget = 'match'\nregexes = ['a']\n")
	f.Add("[[allowlists]]\ntargetRules = ['x']\nstopwords = ['É']\n" + simple)
	f.Add("[allowlist]\ncondition = '&&'\nregexes = ['(']\n" + simple)
	f.Fuzz(func(t *testing.T, text string) {
		if set, err := Parse(text); err == nil {
			check(t, set)
		}
	})
}

// BenchmarkDefault is what the first text costs that is masked.
func BenchmarkDefault(b *testing.B) {
	for b.Loop() {
		if _, err := Default(); err != nil {
			b.Fatal(err)
		}
	}
}
