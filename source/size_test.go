package source

import (
	"debug/elf"
	"debug/gosym"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// functions lists all functions of a Linux binary. Their line is that of the
// first instruction, which is not always that of the func keyword.
func functions(t testing.TB, exe string) []Func {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := f.Section(".gopclntab").Data()
	if err != nil {
		t.Fatal(err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, f.Section(".text").Addr))
	if err != nil {
		t.Fatal(err)
	}
	var list []Func
	for _, fn := range table.Funcs {
		file, line, _ := table.PCToLine(fn.Entry)
		list = append(list, Func{Name: fn.Name, File: file, StartLine: line})
	}
	return list
}

// buildWhole makes the test program for Linux, which the debug/elf package reads on
// any system.
func buildWhole(t testing.TB, env ...string) (Config, []Func) {
	t.Helper()
	dir := unpack(t)
	app, exe := filepath.Join(dir, "app"), filepath.Join(dir, "app.exe")
	env = append([]string{"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0"}, env...)
	goTool(t, app, env, "build", "-o", exe, "./cmd/app")
	c := configOf(t, exe)
	c.Dir = app
	return c, functions(t, exe)
}

// TestEveryFunction resolves all of a program, the standard library with it:
// nothing is missing, and no text is that of another function.
func TestEveryFunction(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	t.Parallel()
	c, funcs := buildWhole(t)
	if len(funcs) < 1000 {
		t.Fatalf("the program has %d functions", len(funcs))
	}
	r := New(c)
	kinds := make(map[Kind]int)
	for _, f := range funcs {
		got := r.Find(f)
		kinds[got.Kind]++
		if got.Kind == Missing || got.Warning != "" {
			t.Errorf("%+v: %v %s", f, got.Kind, got.Warning)
		}
		if got.Kind != Declared {
			continue
		}
		checkText(t, got)
		if !strings.HasPrefix(got.Body, "func ") {
			t.Errorf("%+v: text %q", f, got.Body)
		}
		if last := got.Decl[strings.LastIndexByte(got.Decl, '.')+1:]; !strings.Contains(got.Signature, last) {
			t.Errorf("%+v: signature %q has no %s", f, got.Signature, last)
		}
	}
	for _, k := range []Kind{Declared, Closure, Generated, Assembly} {
		if kinds[k] == 0 {
			t.Errorf("no function is %v", k)
		}
	}
	t.Logf("%d functions: %v", len(funcs), kinds)
}

// TestCgo: the compiler sees what cgo made of a file, the binary names the file.
func TestCgo(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	if out, err := exec.Command("go", "env", "CGO_ENABLED").Output(); err != nil || strings.TrimSpace(string(out)) != "1" {
		t.Skip("no cgo")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no C compiler")
	}
	t.Parallel()
	dir := unpack(t)
	app, exe := filepath.Join(dir, "app"), filepath.Join(dir, "app.exe")
	write(t, filepath.Join(app, "shape", "twin_a.go"), `//go:build !twin

package shape

// static int twice(int n) { return 2 * n; }
import "C"

import "example.com/here"

// twin calls C.
func twin() {
	_ = C.twice(2)
	func() {
		_ = C.twice(3)
		here.Call("cgo literal")
	}()
	here.Call("cgo")
}
`)
	goTool(t, app, []string{"CGO_ENABLED=1"}, "build", "-o", exe, "./cmd/app")
	c := configOf(t, exe)
	c.Dir = app
	funcs := calls(t, exe)
	r := New(c)
	got := r.Find(funcs["cgo"])
	if got.Decl != "twin" || got.Display != "shape/twin_a.go" || got.Warning != "" || !strings.HasPrefix(got.Body, "func twin() {\n\t_ = C.twice(2)") {
		t.Errorf("%+v: %+v", funcs["cgo"], got)
	}
	got = r.Find(funcs["cgo literal"])
	if got.Kind != Closure || got.Warning != "" || !strings.HasPrefix(got.Body, "func() {\n\t\t_ = C.twice(3)") {
		t.Errorf("%+v: %+v", funcs["cgo literal"], got)
	}
}

func BenchmarkFind(b *testing.B) {
	c, funcs := buildWhole(b)
	funcs = funcs[:1000]
	b.ReportAllocs()
	for b.Loop() {
		r := New(c)
		for _, f := range funcs {
			r.Find(f)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(funcs)), "µs/func")
}
