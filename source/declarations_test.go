package source

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFunctionsOf(t *testing.T) {
	const file = `// Package p is one.
package p

// T is no function.
type T struct {
	F func()
}

// One does
// something.
func One() {
	if true {
	}
}

// This comment is apart.

func (t *T) Two() int { return 2 }
func three(
	a int,
) {
	_ = ` + "`" + `
func notOne() {
` + "`" + `
}

var x = func() {
}
func last() {`
	var got []string
	for f := range functionsOf(file) {
		got = append(got, strings.Join(strings.Fields(f), " "))
	}
	want := []string{
		"// One does // something. func One() { if true { } }",
		"func (t *T) Two() int { return 2 }",
		"func three( a int, ) { _ = ` func notOne() { ` }",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestFunctionsOfModules(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "app")
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/app\n")
	write("a.go", "package app\n\nfunc a() {}\n")
	write("a_test.go", "package app\n\nfunc test() {}\n")
	write("testdata/x.go", "package x\n\nfunc x() {}\n")
	write("nested/go.mod", "module example.com/app/nested\n")
	write("nested/n.go", "package nested\n\nfunc n() {}\n")
	write("sub/b.go", "package sub\n\nfunc b() {}\n")
	write("../mod/example.com/dep@v1.0.0/c.go", "package dep\n\nfunc c() {}\n")
	write("../mod/example.com/app2@v1.0.0/d.go", "package app2\n\nfunc d() {}\n")
	r := New(Config{
		Main: Module{Path: "example.com/app", Dir: dir}, GOMODCACHE: filepath.Join(dir, "../mod"),
		Deps: []Module{{Path: "example.com/dep", Version: "v1.0.0"}, {Path: "example.com/app2", Version: "v1.0.0"}},
	})
	for _, test := range []struct {
		packages string
		limit    int64
		want     string
	}{
		{"example.com/app/sub", 1 << 20, "func a() {} func b() {}"},
		{"example.com/dep/deep", 1 << 20, "func c() {}"},
		{"example.com/dep example.com/app2", 1 << 20, "func c() {} func d() {}"},
		{"example.com/app2", 10, ""},
		{"example.com/app example.com/dep example.com/app2", 60, "func a() {} func b() {}"},
		{"example.com/app example.com/dep example.com/app2", 80, "func a() {} func b() {} func c() {}"},
		{"example.org/none", 1 << 20, ""},
	} {
		var got []string
		for f := range r.Functions(strings.Fields(test.packages), test.limit) {
			got = append(got, strings.TrimSpace(f))
		}
		if g := strings.Join(got, " "); g != test.want {
			t.Errorf("%s: got %s, want %s", test.packages, g, test.want)
		}
		for range r.Functions(strings.Fields(test.packages), test.limit) {
			break
		}
	}
}

// TestModulesID: a module's files have another ID after a change, and none right after it.
func TestModulesID(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.go")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/app\n")
	write("a.go", "package app\n\nfunc a() {}\n")
	id := func() string {
		t.Helper()
		r := New(Config{Main: Module{Path: "example.com/app", Dir: dir}})
		modules := r.Modules([]string{"example.com/app"}, 1<<20)
		if len(modules) != 1 {
			t.Fatalf("%d modules, want 1", len(modules))
		}
		return modules[0].ID
	}
	if id() != "" {
		t.Error("a file that was just written has an ID: it may change within the same moment")
	}
	if runtime.GOOS != "linux" {
		return
	}
	time.Sleep(2200 * time.Millisecond)
	first := id()
	if first == "" || first != id() {
		t.Errorf("the ID is %q, then %q", first, id())
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	write("a.go", "package app\n\nfunc b() {}\n") // of the same size
	if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2200 * time.Millisecond)
	if again := id(); again == first || again == "" {
		t.Errorf("after a change the ID is %q, before it was %q", again, first)
	}
}
