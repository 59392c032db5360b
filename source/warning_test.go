package source

import (
	"go/build"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// newModule writes a module example.com/m of the given files and describes a
// binary that was built from it an hour after they were written.
func newModule(t *testing.T, files map[string]string) Config {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	written := time.Now().Add(-24 * time.Hour)
	write(t, filepath.Join(dir, "go.mod"), "module example.com/m\n")
	for name, data := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		write(t, name, data)
		if err := os.Chtimes(name, written, written); err != nil {
			t.Fatal(err)
		}
	}
	return Config{
		RootsBy:    "-more",
		Main:       Module{Path: "example.com/m", Version: "(devel)"},
		Dir:        dir,
		GOROOT:     filepath.Join(dir, "goroot"),
		GOMODCACHE: filepath.Join(dir, "modcache"),
		Built:      written.Add(time.Hour),
	}
}

func TestWarnings(t *testing.T) {
	const pkg = "example.com/m/p"
	files := map[string]string{
		"p/f.go":      "package p\n\nfunc Same() {}\n\nfunc Moved() {\n\t_ = func() {}\n}\n\nvar v = func() {}\n",
		"p/other.go":  "package p\n\nfunc Other() {}\n",
		"p/broken.go": "package p\n\nfunc Good() {}\n\nfunc Bad( {\n",
		"p/new.go":    "package p\n\nfunc Edited() {\n\t_ = func() {}\n}\n",
		"p/a.s":       "TEXT ·Asm(SB), $0\n\tRET\n",
	}
	c := newModule(t, files)
	now := time.Now()
	if err := os.Chtimes(filepath.Join(c.Dir, "p", "new.go"), now, now); err != nil {
		t.Fatal(err)
	}
	c.Deps = []Module{
		{Path: "example.com/Gone", Version: "v1.2.3"},
		{Path: "example.com/old", Version: "v1.0.0", ReplacePath: "example.com/fork", ReplaceVersion: "v1.0.1"},
	}

	tests := []struct {
		name    string
		fn      Func
		kind    Kind
		display string
		warning string
	}{
		{"in place", Func{pkg + ".Same", pkg, "example.com/m/p/f.go", 3}, Declared, "p/f.go", ""},
		{"line unknown", Func{pkg + ".Moved", pkg, "example.com/m/p/f.go", 0}, Declared, "p/f.go", ""},
		{"line of the first instruction", Func{pkg + ".Moved", pkg, "example.com/m/p/f.go", 6}, Declared, "p/f.go", ""},
		{"moved inside the file", Func{pkg + ".Moved", pkg, "example.com/m/p/f.go", 40}, Declared, "p/f.go",
			"Moved was at line 40 of p/f.go when the program was built and is at line 5 now"},
		{"moved literal", Func{pkg + ".Moved.func1", pkg, "example.com/m/p/f.go", 41}, Closure, "p/f.go",
			"Moved was at line 41 of p/f.go when the program was built and is at line 6 now"},
		{"moved to another file", Func{pkg + ".Other", pkg, "example.com/m/p/f.go", 3}, Declared, "p/other.go",
			"Other was in f.go when the program was built and is in p/other.go now"},
		{"renamed file", Func{pkg + ".Other", pkg, "example.com/m/p/old.go", 3}, Declared, "p/other.go",
			"Other was in old.go, which no longer exists; it was found in p/other.go"},
		{"gone", Func{pkg + ".None", pkg, "example.com/m/p/f.go", 3}, Missing, "p/f.go",
			"None is not in p/f.go any more"},
		{"literal of a function that is gone", Func{pkg + ".None.func1", pkg, "example.com/m/p/f.go", 30}, Missing, "p/f.go",
			"the closure None.func1 is not in p/f.go any more"},
		{"edited", Func{pkg + ".Edited", pkg, "example.com/m/p/new.go", 3}, Declared, "p/new.go",
			"p/new.go was changed after the program was built, so Edited may not be what ran"},
		{"edited and moved", Func{pkg + ".Edited", pkg, "example.com/m/p/new.go", 9}, Declared, "p/new.go",
			"Edited was at line 9 of p/new.go when the program was built and is at line 3 now: the file was changed since"},
		{"literal in an edited file", Func{pkg + ".Edited.func1", pkg, "example.com/m/p/new.go", 5}, Closure, "p/new.go",
			"Edited was at line 5 of p/new.go when the program was built and is at line 4 now: the file was changed since"},
		{"edited away", Func{pkg + ".None", pkg, "example.com/m/p/new.go", 9}, Missing, "p/new.go",
			"None is not in p/new.go any more, which was changed after the program was built"},
		{"does not parse", Func{pkg + ".Good", pkg, "example.com/m/p/broken.go", 3}, Declared, "p/broken.go",
			"p/broken.go does not parse, so that the text of Good may be cut wrongly"},
		{"assembly", Func{pkg + ".Asm", pkg, "example.com/m/p/a.s", 1}, Assembly, "p/a.s", ""},
		{"file missing", Func{"example.com/m/q.F", "example.com/m/q", "example.com/m/q/q.go", 3}, Missing, "q/q.go",
			"q/q.go of module example.com/m is not on this machine: give the directory that holds it as an extra source directory (-more)"},
		{"module missing", Func{"example.com/Gone/x.F", "example.com/Gone/x", "example.com/Gone@v1.2.3/x/x.go", 3}, Missing, "example.com/Gone@v1.2.3/x/x.go",
			`example.com/Gone@v1.2.3/x/x.go is not in the module cache: "go mod download example.com/Gone@v1.2.3" brings it`},
		{"replacement missing", Func{"example.com/old.F", "example.com/old", "/home/x/go/pkg/mod/example.com/fork@v1.0.1/x.go", 3}, Missing, "example.com/fork@v1.0.1/x.go",
			`example.com/fork@v1.0.1/x.go is not in the module cache: "go mod download example.com/fork@v1.0.1" brings it`},
		{"capital letters of the cache", Func{"example.com/Gone/x.F", "example.com/Gone/x", "/x/pkg/mod/example.com/!gone@v1.2.3/x/x.go", 3}, Missing, "example.com/Gone@v1.2.3/x/x.go",
			`example.com/Gone@v1.2.3/x/x.go is not in the module cache: "go mod download example.com/Gone@v1.2.3" brings it`},
		{"nowhere", Func{"main.F", "main", "/build/x.go", 3}, Missing, "x.go",
			"source file /build/x.go is not on this machine: give the directory that holds it as an extra source directory (-more)"},
		{"out of the module", Func{pkg + ".F", pkg, "example.com/m/../../etc/p/f.go", 3}, Missing, "p/f.go", "F is not in p/f.go any more"},

		{"autogenerated", Func{pkg + ".(*T).M", pkg, "<autogenerated>", 1}, Generated, "", ""},
		{"package init", Func{pkg + ".init", pkg, "example.com/m/p/f.go", 3}, Generated, "", ""},
		{"method value", Func{pkg + ".(*T).M-fm", pkg, "<autogenerated>", 1}, Generated, "", ""},
		{"cgo stub", Func{pkg + "._Cfunc_puts", pkg, "_cgo_gotypes.go", 50}, Generated, "", ""},
		{"C function", Func{"x_cgo_init", "", "", 0}, Generated, "", ""},
		{"test main", Func{"main.main", "main", "_testmain.go", 48}, Generated, "", ""},
	}
	r := New(c)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := r.Find(tt.fn)
			if got.Kind != tt.kind || got.Display != tt.display || got.Warning != tt.warning {
				t.Errorf("got %v in %q: %s\nwant %v in %q: %s", got.Kind, got.Display, got.Warning, tt.kind, tt.display, tt.warning)
			}
			if strings.Contains(got.Warning, c.Dir) || strings.Contains(got.Display, c.Dir) {
				t.Errorf("names a path of this machine: %+v", got)
			}
			if has := got.Body != ""; has != (tt.kind != Missing && tt.kind != Generated) || (got.Path != "") != has {
				t.Errorf("%v has text %q in %q", got.Kind, got.Body, got.Path)
			}
		})
	}
}

// TestLinkname: a function that is published under another package's name is
// found by its directive, though the file has another of that name.
func TestLinkname(t *testing.T) {
	c := newModule(t, map[string]string{
		"p/f.go": "package p\n\nfunc throw() {}\n\n//go:linkname q_throw example.com/m/q.throw\nfunc q_throw() {}\n",
	})
	got := New(c).Find(Func{"example.com/m/q.throw", "example.com/m/q", filepath.ToSlash(c.Dir) + "/p/f.go", 6})
	if got.Decl != "q_throw" || got.Warning != "" {
		t.Errorf("got %+v", got)
	}
}

// TestAliasedReceiver: the linker names a method by its type, the source may
// have an alias of it.
func TestAliasedReceiver(t *testing.T) {
	c := newModule(t, map[string]string{
		"p/f.go": "package p\n\ntype T struct{}\n\ntype A = T\n\nfunc (A) M() {}\n",
	})
	got := New(c).Find(Func{"example.com/m/p.T.M", "example.com/m/p", "example.com/m/p/f.go", 7})
	if got.Kind != Declared || got.Decl != "A.M" || got.Warning != "" {
		t.Errorf("got %+v", got)
	}
}

// TestWorkspace: modules of a go.work file have no version.
func TestWorkspace(t *testing.T) {
	c := newModule(t, map[string]string{
		"go.work":     "go 1.24\n\nuse (\n\t.\n\t./beside\n)\n",
		"beside/b.go": "package beside\n\nfunc F() {}\n",
	})
	write(t, filepath.Join(c.Dir, "beside", "go.mod"), "module example.com/beside\n")
	c.Deps = []Module{{Path: "example.com/beside", Version: "(devel)"}}
	got := New(c).Find(Func{"example.com/beside.F", "example.com/beside", "example.com/beside/b.go", 3})
	if got.Kind != Declared || got.Display != "example.com/beside/b.go" || got.Warning != "" {
		t.Errorf("got %+v", got)
	}
}

// TestOtherRelease: the standard library at hand is of another release than
// the binary, unless the module cache has the right one.
func TestOtherRelease(t *testing.T) {
	const src = "package fmt\n\nfunc Println() {}\n"
	c := newModule(t, map[string]string{
		"goroot/VERSION":          "go1.30.2\ntime 2027\n",
		"goroot/src/fmt/print.go": src,
	})
	c.GoVersion = "go1.29.1 X:something"
	for _, file := range []string{"fmt/print.go", "/usr/lib/go-1.29/src/fmt/print.go", filepath.ToSlash(c.GOROOT) + "/src/fmt/print.go"} {
		got := New(c).Find(Func{"fmt.Println", "fmt", file, 3})
		const warning = "the standard library here is of go1.30.2, the program was built with go1.29.1"
		if got.Display != "std/fmt/print.go" || got.Warning != warning {
			t.Errorf("%s: %q, warning %q", file, got.Display, got.Warning)
		}
	}

	toolchain := filepath.Join(c.GOMODCACHE, "golang.org", "toolchain@v0.0.1-go1.29.1."+runtime.GOOS+"-"+runtime.GOARCH)
	write(t, filepath.Join(toolchain, "VERSION"), "go1.29.1\n")
	write(t, filepath.Join(toolchain, "src", "fmt", "print.go"), src)
	got := New(c).Find(Func{"fmt.Println", "fmt", "fmt/print.go", 3})
	if got.Warning != "" || !strings.HasPrefix(got.Path, toolchain) || got.Display != "std/fmt/print.go" {
		t.Errorf("with the toolchain in the module cache: %+v", got)
	}
}

// TestUntrustedFiles: what a repository can put in the way of a reader.
func TestUntrustedFiles(t *testing.T) {
	const pkg = "example.com/m/p"
	c := newModule(t, map[string]string{
		"p/big.go": "package p\n\nfunc F() {}\n//" + strings.Repeat("x", maxFile),
		"p/ok.go":  "package p\n\nfunc Ok() {}\n",
	})
	outside := filepath.Join(t.TempDir(), "secret.go")
	write(t, outside, "package p\n\nfunc Secret() {}\n")
	inside := filepath.Join(c.Dir, "p", "link.go")
	if err := os.Symlink(outside, inside); err != nil {
		t.Skip(err)
	}
	if err := os.Mkdir(filepath.Join(c.Dir, "p", "folder.go"), 0o777); err != nil {
		t.Fatal(err)
	}
	r := New(c)
	for _, f := range []Func{
		{pkg + ".Secret", pkg, filepath.ToSlash(c.Dir) + "/p/ok.go", 3}, // which has the link beside it
		{pkg + ".F", pkg, "example.com/m/p/big.go", 3},
		{pkg + ".Secret", pkg, "example.com/m/p/link.go", 3},
		{pkg + ".Secret", pkg, "example.com/m/p/ok.go", 3},
		{pkg + ".F", pkg, "example.com/m/p/folder.go", 3},
		{pkg + ".F", pkg, "/etc/passwd", 1},
	} {
		if got := r.Find(f); got.Kind != Missing || got.Body != "" || got.Warning == "" {
			t.Errorf("%s: %+v", f.File, got)
		}
	}
}

// TestClosureWithoutLiteral: a generic function used as a value makes a closure
// too. It takes a number, so that the literals' numbers do not fit.
func TestClosureWithoutLiteral(t *testing.T) {
	c := newModule(t, map[string]string{
		"p/f.go": "package p\n\nfunc F() {\n\ttake(generic[int])\n\ttake(func() {})\n}\n",
	})
	const pkg = "example.com/m/p"
	r := New(c)
	got := r.Find(Func{pkg + ".F.func1", pkg, pkg + "/f.go", 4})
	if got.Kind != Generated || got.Parent != pkg+".F" || got.Warning != "" {
		t.Errorf("the function value: %+v", got)
	}
	got = r.Find(Func{pkg + ".F.func2", pkg, pkg + "/f.go", 5})
	if got.Kind != Closure || got.Body != "func() {}" || got.Warning != "" {
		t.Errorf("the literal: %+v", got)
	}
}

func TestDefaultsOfEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GOMODCACHE", dir)
	t.Setenv("GOROOT", "")
	p := New(Config{GoVersion: runtime.Version()}).places
	if p.GOMODCACHE != dir {
		t.Errorf("module cache %s, want %s", p.GOMODCACHE, dir)
	}
	if build.Default.GOROOT != "" && !p.isStd("fmt") {
		t.Errorf("no fmt in %+v", p.goroots)
	}
	if p.isStd("main") || p.isStd("example.com/x") || p.isStd("../x") {
		t.Error("these are not of the standard library")
	}
}
