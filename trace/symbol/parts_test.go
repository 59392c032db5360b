package symbol

import (
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	tests := []struct{ name, want string }{
		// The name of a declaration is its own.
		{"main.main", "main.main"},
		{"example.com/m/p.F", "example.com/m/p.F"},
		{"example.com/m/p.T.M", "example.com/m/p.T.M"},
		{"example.com/m/p.(*T).M", "example.com/m/p.(*T).M"},
		{"gopkg.in/yaml%2ev3.Unmarshal", "gopkg.in/yaml%2ev3.Unmarshal"},
		{"main.func1", "main.func1"}, // a function may have that name
		{"p.(*T).func1", "p.(*T).func1"},

		// Closures, and what else the compiler cuts out.
		{"p.F.func1", "p.F"},
		{"p.F.func1.2.1", "p.F"},
		{"p.(*T).M.func12", "p.(*T).M"},
		{"p.T.M.func1", "p.T.M"},
		{"p.F-range1", "p.F"},
		{"p.F.func2-range1", "p.F"},
		{"p.F-range1.func3", "p.F"},
		{"p.F.gowrap1", "p.F"},
		{"p.F.func1.deferwrap2", "p.F"},
		{"p.T.M-fm", "p.T.M"},
		{"p.(*T).M-fm", "p.(*T).M"},

		// Instantiations.
		{"p.Map[...]", "p.Map"},
		{"p.Map[go.shape.int,go.shape.string].func1", "p.Map"},
		{"p.(*List[...]).Push", "p.(*List).Push"},
		{"p.(*List[go.shape.*uint8]).Push.func1", "p.(*List).Push"},
		{"p.List[go.shape.interface { F(a/b.T) }].All-range1", "p.List.All"},
		{"p.Map[go.shape.struct { A int \"json:\\\"a]b\\\"\" },go.shape.struct { main.n int }]", "p.Map"},
		{"example.com/m.Of[example.com/n/q%2ev2.T].func1", "example.com/m.Of"},

		// Package initialisation.
		{"p.init", "p.init"},
		{"p.init.0", "p.init"},
		{"p.init.12.func1", "p.init"},
		{"p.init.func3.1", "p.init"},
		{"p.glob..func2", "p.init"},
		{"p.map.init.0", "p.init"},
		{"p.initial.func1", "p.initial"},

		// Copies in the function that inlined them: both names stay.
		{"p.F.G.func1", "p.F.G"},
		{"p.F.(*T).M.func1.1", "p.F.(*T).M"},

		// Not of the scheme.
		{"type:.eq.main.T", "type:.eq.main.T"},
		{"go:(*struct { sync.Mutex }).Lock", "go:(*struct { sync.Mutex }).Lock"},
		{"_cgo_sys_thread_start", "_cgo_sys_thread_start"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := Canonical(tt.name); got != tt.want {
			t.Errorf("Canonical(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Type arguments are removed wherever they are and whatever they hold. want is the name
// without them, decl the declaration in it.
func TestWithoutArguments(t *testing.T) {
	for _, c := range []struct{ name, want, decl string }{
		{"p.F", "p.F", "F"},
		{"p.F[int]", "p.F", "F"},
		{"p.F[...]", "p.F", "F"},
		{"p.F[...].func1.2", "p.F.func1.2", "F"},
		{"p.F[go.shape.int]-range1", "p.F-range1", "F"},
		{"p.F[go.shape.[]int,go.shape.map[string][4]uint8]", "p.F", "F"},
		{"p.F[example.com/q%2ev2.G[example.com/r.H[int]]].func1", "p.F.func1", "F"},
		{"p.F[go.shape.func(int) (a/b.T, error)]", "p.F", "F"},
		{"p.F[go.shape.struct { A int \"json:\\\"a]b\\\"\" }].gowrap1", "p.F.gowrap1", "F"},
		{"p.F[go.shape.struct { A int `x[\"y` }].func3", "p.F.func3", "F"},
		{"p.T[go.shape.[]int].M", "p.T.M", "T.M"},
		{"p.(*T[...]).M", "p.(*T).M", "(*T).M"},
		{"p.(*T[go.shape.map[a/b.K][]c/d.V]).M-fm", "p.(*T).M-fm", "(*T).M"},
		{"p.(*T[go.shape.int,go.shape.string]).M.func2.1", "p.(*T).M.func2.1", "(*T).M"},
		{"p.(*T[...]).func1", "p.(*T).func1", "(*T).func1"},
		{"p.F[...].(*T[...]).M.func1", "p.F.(*T).M.func1", "F.(*T).M"}, // inlined
		{"p.F]x", "p.F]x", "F]x"},
		{"p.F[x", "p.F", "F"},
		{"p.F[\"x", "p.F", "F"},
	} {
		if got := WithoutArguments(c.name); got != c.want {
			t.Errorf("WithoutArguments(%q) = %q, want %q", c.name, got, c.want)
		}
		if got := strings.ReplaceAll(ElideArguments(c.name), "[...]", ""); got != c.want {
			t.Errorf("ElideArguments(%q) is %q without [...], want %q", c.name, got, c.want)
		}
		if got := Parse(c.name).Declaration(); got != c.decl {
			t.Errorf("Parse(%q) has declaration %q, want %q", c.name, got, c.decl)
		}
	}
}

func TestElideArguments(t *testing.T) {
	for name, want := range map[string]string{
		"p.F":                                "p.F",
		"p.F[...]":                           "p.F[...]",
		"p.F[go.shape.[]int].func1":          "p.F[...].func1",
		"p.(*T[go.shape.map[a/b.K]c/d.V]).M": "p.(*T[...]).M",
		"p.run.F[go.shape.int].func2":        "p.run.F[...].func2",
		"B[go.shape.struct { X int; f func([]int) bool }].M": "B[...].M",
		"odd]": "odd]",
	} {
		if got := ElideArguments(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		"p.F.func1.2", "p.(*T[...]).M-fm", "a/b.F[c/d.T].G-range1", "p.init.0.func1", "p.map.init.0",
		"p.F[\"]\"].func1", "p.(", "p.[", "p..", ".", "/.", "p.F[x", "p.-range1", "p.a[/].b/c.func1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		once := Canonical(name)
		if twice := Canonical(once); twice != once {
			t.Errorf("Canonical(%q) = %q, and of that %q", name, once, twice)
		}
		if len(once) > len(name) {
			t.Errorf("Canonical(%q) = %q is longer", name, once)
		}
	})
}

func TestPackagePathEscapes(t *testing.T) {
	for _, tt := range []struct{ path, escaped string }{
		{"example.com/m/p", "example.com/m/p"},
		{"gopkg.in/yaml.v3", "gopkg.in/yaml%2ev3"},
		{"a.b/c%d", "a.b/c%25d"},
		{"main", "main"},
	} {
		if got := Escape(tt.path); got != tt.escaped {
			t.Errorf("Escape(%q) = %q, want %q", tt.path, got, tt.escaped)
		}
		if got := Unescape(tt.escaped); got != tt.path {
			t.Errorf("Unescape(%q) = %q, want %q", tt.escaped, got, tt.path)
		}
	}
	if got := Unescape("x%2"); !strings.HasSuffix(got, "%2") {
		t.Errorf("a cut escape became %q", got)
	}
}
