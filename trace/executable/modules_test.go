package executable

import (
	"testing"

	"tracerag/trace/symbol"
)

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
	fn := func(name, file string) Func { return Func{Name: name, Package: symbol.Package(name), File: file} }
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
