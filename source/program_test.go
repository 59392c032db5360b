package source

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tracerag/trace/symbol"
)

// unpack copies the modules of testdata/programs to a new directory. Each of
// their functions passes here.Call a string that is nowhere else in them;
// here.Call prints it with what the runtime says of its caller, so that a test
// can look for the string in the text that was found.
func unpack(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // as the go command does
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "programs"))); err != nil {
		t.Fatal(err)
	}
	// Not checked in with CRLF: version control likes to change that.
	name := filepath.Join(dir, "app", "shape", "crlf.go")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, strings.ReplaceAll(string(data), "\n", "\r\n"))
	return dir
}

func write(t testing.TB, name, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
}

// goTool runs the go command without a network.
func goTool(t testing.TB, dir string, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOPROXY=off", "GOSUMDB=off", "GOFLAGS=-buildvcs=false", "GOWORK=off", "PWD="+dir)
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// configOf describes a binary as a caller of this package would.
func configOf(t testing.TB, exe string) Config {
	t.Helper()
	info, err := buildinfo.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(exe)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{
		Main:        Module{Path: info.Main.Path, Version: info.Main.Version},
		MainPackage: info.Path,
		GoVersion:   info.GoVersion,
		Built:       fi.ModTime(),
	}
	for _, d := range info.Deps {
		m := Module{Path: d.Path, Version: d.Version}
		if d.Replace != nil {
			m.ReplacePath, m.ReplaceVersion = d.Replace.Path, d.Replace.Version
		}
		c.Deps = append(c.Deps, m)
	}
	return c
}

// calls runs a program and returns what it printed of its functions, by the
// string that each passed to here.Call.
func calls(t testing.TB, exe string) map[string]Func {
	t.Helper()
	out, err := exec.Command(exe).Output()
	if err != nil {
		t.Fatal(err)
	}
	m := make(map[string]Func)
	for line := range strings.Lines(string(out)) {
		w := strings.Split(strings.TrimSpace(line), "\t")
		if len(w) != 4 {
			t.Fatalf("the program printed %q", line)
		}
		n, err := strconv.Atoi(w[3])
		if err != nil {
			t.Fatal(err)
		}
		m[w[0]] = Func{Name: w[1], Package: symbol.Package(w[1]), File: w[2], StartLine: n}
	}
	return m
}

// want is what a function of the test program resolves to.
type want struct {
	id      string
	kind    Kind
	decl    string
	parent  string
	display string // "dep:" represents the dependency's module
	first   string // first line of the text
	without string // must not be in the text
}

const shapeFile = "shape/shape.go"

var wants = []want{
	{"main", Declared, "main", "", "cmd/app/main.go", "func main() {", "init"},
	{"main other", Declared, "inOther", "", "cmd/app/other.go", "func inOther() { here.Call(\"main other\") }", ""},
	{"init 0", Declared, "init", "", "cmd/app/main.go", "func init() { here.Call(\"init 0\") }", ""},
	{"init 1 literal", Closure, "init", "main.init.1", "cmd/app/main.go", "func() { here.Call(\"init 1 literal\") }", ""},
	{"value method", Declared, "T.Value", "", shapeFile, "func (t T) Value() { here.Call(\"value method\") }", ""},
	{"pointer method", Declared, "(*T).Pointer", "", shapeFile, "func (t *T) Pointer() { here.Call(\"pointer method\") }", ""},
	{"generic method", Declared, "(*List).Push", "", shapeFile, "func (l *List[E]) Push(e E) {", ""},
	{"generic method literal", Closure, "(*List).Push", "example.com/app/shape.(*List).Push", shapeFile, "func() { here.Call(\"generic method literal\"); _ = e }", ""},
	{"generic function", Declared, "Map", "", shapeFile, "func Map[A, B any](in []A, f func(A) B) (out []B) {", ""},
	{"argument", Closure, "All", "example.com/app/shape.All", shapeFile, "func(n int) string { here.Call(\"argument\"); return \"\" }", ""},
	{"parent", Declared, "Parent", "", shapeFile, "func Parent() {", ""},
	{"first of a line", Closure, "Parent", "example.com/app/shape.Parent", shapeFile, "func() { here.Call(\"first of a line\") }", "second"},
	{"second of a line", Closure, "Parent", "example.com/app/shape.Parent", shapeFile, "func() { here.Call(\"second of a line\") }", "first"},
	{"outer", Closure, "Parent", "example.com/app/shape.Parent", shapeFile, "func() {", "parent"},
	{"inner", Closure, "Parent", "example.com/app/shape.Parent", shapeFile, "func() {", "outer"},
	{"copied", Closure, "Inlined", "example.com/app/shape.Inlined", shapeFile, "func() {", "run("},
	{"range body", Closure, "rangeOver", "example.com/app/shape.rangeOver", shapeFile, "for range l.Each {", ""},
	{"literal in range body", Closure, "rangeOver", "example.com/app/shape.rangeOver", shapeFile, "func() { here.Call(\"literal in range body\") }", ""},
	{"variable", Closure, "single", "example.com/app/shape.single", shapeFile, "var single = func() {", ""},
	{"literal in variable", Closure, "single", "example.com/app/shape.single", shapeFile, "var single = func() {", ""},
	{"grouped", Closure, "grouped", "example.com/app/shape.grouped", shapeFile, "grouped = map[string]func(){", "before"},
	{"twin a", Declared, "twin", "", "shape/twin_a.go", "func twin() { here.Call(\"twin a\") }", ""},
	{"crlf", Declared, "crlf", "", "shape/crlf.go", "func crlf() {", "\r"},
	{"dep", Declared, "Declared", "", "dep:deep/dep.go", "func Declared() { here.Call(\"dep\") }", ""},
	{"dep literal", Closure, "Literal", "example.com/Dep/deep.Literal", "dep:deep/dep.go", "func() {", "run("},
	{"grammar", Declared, "Parse", "", "dep:deep/grammar.go", "func Parse() {", ""},
	{"grammar literal", Closure, "Parse", "example.com/Dep/deep.Parse", "dep:deep/grammar.go", "func() {", "yaccpar"},
	{"grammar elsewhere", Declared, "Parse2", "", "dep:deep/grammar.go", "func Parse2() { here.Call(\"grammar elsewhere\") }", ""},
}

// check resolves all functions that a program printed. dep is how the
// dependency's module is displayed.
func check(t *testing.T, c Config, funcs map[string]Func, dep string) {
	t.Helper()
	r := New(c)
	for _, w := range wants {
		f, ok := funcs[w.id]
		if !ok {
			t.Errorf("%s: the program did not print it", w.id)
			continue
		}
		got := r.Find(f)
		display := w.display
		if rest, ok := strings.CutPrefix(display, "dep:"); ok {
			display = dep + "/" + rest
		}
		first, _, _ := strings.Cut(got.Body, "\n")
		if got.Kind != w.kind || got.Decl != w.decl || got.Parent != w.parent || got.Display != display || first != w.first || got.Warning != "" {
			t.Errorf("%s: %+v\n got %v %s, parent %q, in %s, %q, warning %q\nwant %v %s, parent %q, in %s, %q",
				w.id, f, got.Kind, got.Decl, got.Parent, got.Display, first, got.Warning,
				w.kind, w.decl, w.parent, display, w.first)
			continue
		}
		if !strings.Contains(got.Body, "here.Call(\""+w.id+"\")") {
			t.Errorf("%s: the text has no such call:\n%s", w.id, got.Body)
		}
		if w.without != "" && strings.Contains(got.Body, w.without) {
			t.Errorf("%s: the text has %q:\n%s", w.id, w.without, got.Body)
		}
		checkText(t, got)

		// A closure's Parent leads to the text that holds the closure's.
		if got.Parent != "" {
			p := r.Find(Func{Name: got.Parent, Package: f.Package, File: f.File})
			if p.Kind != Declared || p.Warning != "" || !strings.Contains(p.Body, got.Body) {
				t.Errorf("%s: parent %s is %v %q:\n%s", w.id, got.Parent, p.Kind, p.Warning, p.Body)
			}
		}
	}
	// The statements' functions were called by wrappers without a call of
	// here.Call of their own; their callee is found like any other.
	for _, id := range []string{"in go statement", "in defer statement"} {
		if got := r.Find(funcs[id]); got.Decl != "sendTo" || got.Warning != "" {
			t.Errorf("%s: %s, warning %q", id, got.Decl, got.Warning)
		}
	}
}

// checkText compares a text with the file that it claims to be from.
func checkText(t *testing.T, got Text) {
	t.Helper()
	data, err := os.ReadFile(got.Path)
	if err != nil {
		t.Error(err)
		return
	}
	lines := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	text := strings.Join(lines[got.Start-1:got.End], "\n")
	if !strings.Contains(text, got.Body) {
		t.Errorf("lines %d-%d of %s are not the text of %s", got.Start, got.End, got.Path, got.Decl)
	}
	if !strings.HasPrefix(got.Body, got.Signature) {
		t.Errorf("signature %q does not begin the text of %s", got.Signature, got.Decl)
	}
	doc := strings.Join(lines[got.DocStart-1:got.Start-1], "\n")
	if strings.TrimSpace(doc) != got.Doc {
		t.Errorf("doc of %s is %q, the file has %q", got.Decl, got.Doc, doc)
	}
}

func TestBuiltPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	tests := []struct {
		name  string
		flags []string
	}{
		{"default", nil},
		{"no inlining", []string{"-gcflags=example.com/...=-l"}},
		{"trimpath", []string{"-trimpath"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := unpack(t)
			app := filepath.Join(dir, "app")
			exe := filepath.Join(dir, "app.exe")
			goTool(t, app, nil, slices.Concat([]string{"build", "-o", exe}, tt.flags, []string{"./cmd/app"})...)
			c := configOf(t, exe)
			c.Dir = app
			funcs := calls(t, exe)
			check(t, c, funcs, "example.com/Dep")

			// From another directory. Names that are not absolute need
			// the module's directory then: trimmed ones and those of
			// //line directives.
			c.Dir, c.Roots = t.TempDir(), []string{app}
			check(t, c, funcs, "example.com/Dep")

			// The binary comes from another machine.
			if tt.name == "default" {
				for id, f := range funcs {
					if rest, ok := strings.CutPrefix(f.File, filepath.ToSlash(dir)+"/"); ok {
						f.File = "C:/build/" + strings.Replace(rest, "app/", "src/", 1)
						funcs[id] = f
					}
				}
				c.Dir, c.Roots = filepath.Join(app, "shape"), nil // below the module's directory
				// Nothing tells where this comes from, but for its path.
				copied := New(c).Find(funcs["dep literal"])
				if copied.Kind != Closure || copied.Parent != "example.com/Dep/deep.Literal" || !strings.Contains(copied.Warning, "by the end of its path") {
					t.Errorf("copied literal: %+v", copied)
				}
				f := funcs["dep literal"]
				f.Package = "example.com/Dep/deep"
				funcs["dep literal"] = f
				check(t, c, funcs, "example.com/Dep")
			}
		})
	}
}

func TestVendored(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	t.Parallel()
	dir := unpack(t)
	app := filepath.Join(dir, "app")
	exe := filepath.Join(dir, "app.exe")
	goTool(t, app, nil, "mod", "vendor")
	goTool(t, app, nil, "build", "-o", exe, "-mod=vendor", "./cmd/app")
	// Nothing but the vendor directory has the dependency.
	if err := os.RemoveAll(filepath.Join(dir, "dep")); err != nil {
		t.Fatal(err)
	}
	c := configOf(t, exe)
	c.Dir = app
	check(t, c, calls(t, exe), "example.com/Dep")
}
