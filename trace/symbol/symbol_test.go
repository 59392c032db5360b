package symbol

import "testing"

func TestNames(t *testing.T) {
	for _, c := range []struct{ name, pkg, local, short string }{
		{"main.main", "main", "main", "main.main"},
		{"main.main.func1.2", "main", "main.func1.2", "main.main.func1.2"},
		{"github.com/a/b.(*T).M", "github.com/a/b", "(*T).M", "b.(*T).M"},
		{"gopkg.in/yaml%2ev3.Unmarshal", "gopkg.in/yaml.v3", "Unmarshal", "yaml.Unmarshal"},
		{"example.com/x.Map[go.shape.struct { github.com/q/r.F int }]", "example.com/x", "Map[go.shape.struct { github.com/q/r.F int }]", "x.Map[go.shape.struct { github.com/q/r.F int }]"},
		{"example.com/x.(*List[...]).Push", "example.com/x", "(*List[...]).Push", "x.(*List[...]).Push"},
		{"github.com/alecthomas/chroma/v2.(*Iter).Next", "github.com/alecthomas/chroma/v2", "(*Iter).Next", "chroma.(*Iter).Next"},
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
		if got := Join(c.pkg, c.local); c.pkg != "" && got != c.name {
			t.Errorf("Join(%q, %q) = %q, want %q", c.pkg, c.local, got, c.name)
		}
		if got := Short(c.name); got != c.short {
			t.Errorf("Short(%q) = %q, want %q", c.name, got, c.short)
		}
	}
}

func TestPackage(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"main.main", "main"},
		{"main.(*T).M", "main"},
		{"main.(*T).M-fm", "main"},
		{"main.main.func1.2", "main"},
		{"main.main.gowrap1", "main"},
		{"main.init.0", "main"},
		{"main.glob..func1", "main"},
		{"example.com/a/b.F", "example.com/a/b"},
		{"example.com/a.b/c.T.M", "example.com/a.b/c"},
		{"gopkg.in/yaml%2ev3.(*Decoder).Decode", "gopkg.in/yaml.v3"},
		{"example.com/%c3%A9t%C3%a9.F", "example.com/été"},
		{"example.com/100%.F", "example.com/100%"}, // not an escape: left as it is
		{"example.com/%zz.F", "example.com/%zz"},
		{"zoo.Map[go.shape.int,example.com/x.T]", "zoo"},
		{"a/b.(*P[go.shape.struct { c/d.x int }]).M.func1", "a/b"},
		{"a/b.F[...].func1", "a/b"},
		{"vendor/golang.org/x/text/unicode/norm.init", "vendor/golang.org/x/text/unicode/norm"},
		{"type:.eq.main.T", ""},
		{"type:.hash.struct { a/b.x int }", ""},
		{"go:textfipsstart", ""},
		{"_rt0_amd64_linux", ""},
		{"_cgoexp_0f1a_goCallback", ""},
		{"", ""},
		{"a/b/c", ""},
	} {
		if got := Package(c.name); got != c.want {
			t.Errorf("Package(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestBase(t *testing.T) {
	for path, want := range map[string]string{
		"main":                            "main",
		"github.com/a/b":                  "b",
		"github.com/alecthomas/chroma/v2": "chroma",
		"github.com/a/b/v12":              "b",
		"github.com/a/b/v2/c":             "c",
		"math/rand/v2":                    "rand",
		"example.com/x/v0":                "v0", // no major version is called so
		"example.com/x/v2alpha":           "v2alpha",
		"k8s.io/api/core/v1":              "v1",
		"v2":                              "v2",
		"gopkg.in/yaml.v3":                "yaml",
		"gopkg.in/check.v1":               "check",
		"example.com/yaml.v3":             "yaml.v3",
		"":                                "",
	} {
		if got := Base(path); got != want {
			t.Errorf("Base(%q) = %q, want %q", path, got, want)
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
