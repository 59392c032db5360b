package calltree

import "testing"

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"abc", "abc", 0},
		{"abc", "", 3},
		{"abc", "abxc", 1},
		{"abc", "ac", 1},
		{"abc", "axc", 1},
		{"abc", "acb", 1},
		{"abcd", "badc", 2},
		{"kitten", "sitting", 3},
	} {
		if got := editDistance(c.a, c.b, 9); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := editDistance(c.b, c.a, 9); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.b, c.a, got, c.want)
		}
		if got := editDistance(c.a, c.b, 2); got != min(c.want, 2) {
			t.Errorf("%q to %q, stopped at 2: %d", c.a, c.b, got)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true},
		{"*", "a.B", true},
		{"a.*", "a.B", true},
		{"a.*", "aa.B", false},
		{"*B", "a.B", true},
		{"*B", "a.Bc", false},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"a*b*c", "a1b2b3c", true},
		{"a*b*c", "acb", false},
		{"a*bc*bc", "abc", false},
		{"**", "x", true},
	} {
		if got := glob(c.pattern, c.s); got != c.want {
			t.Errorf("glob(%q, %q) = %v", c.pattern, c.s, got)
		}
	}
}

func TestPlain(t *testing.T) {
	for name, want := range map[string]string{
		"b.F":                           "b.F",
		"b.(*T).M":                      "b.T.M",
		"b.(*T[go.shape.int]).M":        "b.T.M",
		"b.Map[...]":                    "b.Map",
		"b.Map[go.shape.[]uint8].func1": "b.Map.func1",
		`b.Map[go.shape.struct { A int "a]b" }].func1`: "b.Map.func1",
		"b.(*T).M-fm":                     "b.T.M-fm",
		"b.Map[map[string]struct{ a.b }]": "b.Map",
	} {
		if got := plain(name); got != want {
			t.Errorf("plain(%q) = %q, want %q", name, got, want)
		}
	}
}
