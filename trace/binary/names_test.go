package binary

import "testing"

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

func TestModuleAndStd(t *testing.T) {
	replaced := Module{Path: "example.com/lib", Version: "v1.0.0", Replace: &Module{Path: "../lib"}}
	f := &File{
		MainPath:   "myapp/cmd/app",
		MainModule: Module{Path: "myapp", Version: "(devel)"},
		Deps: []Module{
			{Path: "example.com/lib/v2", Version: "v2.1.0"},
			replaced,
			{Path: "gopkg.in/yaml.v3", Version: "v3.0.1"},
		},
	}
	for _, c := range []struct {
		pkg, module string
		std         bool
	}{
		{"myapp/cmd/app", "myapp", false},
		{"myapp", "myapp", false},
		{"myapp/internal/x", "myapp", false},
		{"myapp_test", "myapp", false},
		{"myapp.test", "myapp", false},
		{"myapplication/x", "", true}, // by its looks: nothing else is known
		{"example.com/lib/v2/sub", "example.com/lib/v2", false},
		{"example.com/lib/sub", "example.com/lib", false},
		{"example.com/library", "", false},
		{"gopkg.in/yaml.v3", "gopkg.in/yaml.v3", false},
		{"main", "", false},
		{"fmt", "", true},
		{"crypto/internal/fips140/v1.0.0/sha256", "", true},
		{"encoding/json_test", "", true},
		{"vendor/golang.org/x/net/http2/hpack", "", true},
		{"golang.org/x/net/http2/hpack", "", false},
		{"cmd/go/internal/load", "", false},
		{"strings.test", "", false},
		{"", "", true},
	} {
		m, ok := f.Module(c.pkg)
		if m.Path != c.module || ok != (c.module != "") {
			t.Errorf("Module(%q) = %q, %v, want %q", c.pkg, m.Path, ok, c.module)
		}
		if got := f.Std(c.pkg); got != c.std {
			t.Errorf("Std(%q) = %v", c.pkg, got)
		}
	}
	if m, _ := f.Module("example.com/lib"); m.Replace == nil || m.Replace.Path != "../lib" {
		t.Errorf("the replacement is lost: %+v", m)
	}
}

// Without build info only the place of the files tells a package of a dotless
// path from the standard library's.
func TestStdWithoutBuildInfo(t *testing.T) {
	fn := func(name, file string) Func { return Func{Name: name, Package: Package(name), File: file} }
	f := &File{Funcs: []Func{
		fn("runtime.main", "/opt/go/src/runtime/proc.go"),
		fn("time.now", "/opt/go/src/runtime/timestub.go"), // linked by name
		fn("net._Cfunc_getaddrinfo", "_cgo_gotypes.go"),
		fn("net.Dial", "/opt/go/src/net/dial.go"),
		fn("crypto/internal/fips140/v1.0.0/sha256.New", "/mod/golang.org/fips140@v1.0.0/fips140/v1.0.0/sha256/sha256.go"),
		fn("crypto/sha256.New", "/opt/go/src/crypto/sha256/sha256.go"),
		fn("company/app/internal/x.F", "/home/me/company/app/internal/x/x.go"),
		fn("main.main", "/home/me/company/app/main.go"),
	}}
	for pkg, want := range map[string]bool{
		"runtime": true, "time": true, "net": true, "net_test": true, "crypto/internal/fips140/v1.0.0/sha256": true,
		"cmp":                    true, // inlined everywhere, so there is no function: by its looks
		"company/app/internal/x": false, "company/app/other": false, "main": false,
	} {
		if got := f.Std(pkg); got != want {
			t.Errorf("Std(%q) = %v", pkg, got)
		}
	}
}
