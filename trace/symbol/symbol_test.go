package symbol

import "testing"

func TestNames(t *testing.T) {
	for _, c := range []struct{ name, pkg, local, short string }{
		{"main.main", "main", "main", "main.main"},
		{"main.main.func1.2", "main", "main.func1.2", "main.main.func1.2"},
		{"github.com/a/b.(*T).M", "github.com/a/b", "(*T).M", "b.(*T).M"},
		{"gopkg.in/yaml%2ev3.Unmarshal", "gopkg.in/yaml.v3", "Unmarshal", "yaml.v3.Unmarshal"},
		{"example.com/x.Map[go.shape.struct { github.com/q/r.F int }]", "example.com/x", "Map[go.shape.struct { github.com/q/r.F int }]", "x.Map[go.shape.struct { github.com/q/r.F int }]"},
		{"example.com/x.(*List[...]).Push", "example.com/x", "(*List[...]).Push", "x.(*List[...]).Push"},
		{"vendor/golang.org/x/net/idna.ToASCII", "vendor/golang.org/x/net/idna", "ToASCII", "idna.ToASCII"},
		{"type:.eq.main.T", "", "type:.eq.main.T", "type:.eq.main.T"},
		{"go:buildid", "", "go:buildid", "go:buildid"},
		{"_cgo_panic", "", "_cgo_panic", "_cgo_panic"},
		{"", "", "", ""},
		{"a%zz/b%2", "", "a%zz/b%2", "a%zz/b%2"},
	} {
		if got := Package(c.name); got != c.pkg {
			t.Errorf("Package(%q) = %q, want %q", c.name, got, c.pkg)
		}
		if got := Local(c.name); got != c.local {
			t.Errorf("Local(%q) = %q, want %q", c.name, got, c.local)
		}
		if got := Short(c.name); got != c.short {
			t.Errorf("Short(%q) = %q, want %q", c.name, got, c.short)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add("github.com/a/b%2ec.(*T[...]).M-fm")
	f.Fuzz(func(t *testing.T, name string) {
		_ = Package(name)
		if l := Local(name); len(l) > len(name) {
			t.Errorf("Local(%q) is longer", name)
		}
		_ = Short(name)
	})
}
