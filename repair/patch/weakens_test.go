package patch

import (
	"strings"
	"testing"
)

var guarded = map[string]string{
	"go.mod":            "module example.com/m\n\ngo 1.26\n",
	"a.go":              "package a\n\nimport \"os\"\n\nconst limit = 3\n\n// F is.\nfunc F() int { return 1 }\n\nfunc home() string { return os.TempDir() }\n",
	"a_test.go":         "package a\n\nimport \"testing\"\n\nconst want = 2\n\n// TestF tests.\nfunc TestF(t *testing.T) {\n\tif F() != want {\n\t\tt.Error(F())\n\t}\n}\n\nfunc helper() int { return 1 }\n\nfunc ExampleF() {\n\tF()\n\t// Output: 2\n}\n",
	"check/check.go":    "package check\n\nimport \"testing\"\n\nfunc Equal(t *testing.T, a, b int) {\n\tif a != b {\n\t\tt.Error(a)\n\t}\n}\n",
	"testdata/a.golden": "x\n",
	"golden/a.json":     "{}\n",
	"must/must.go":      "package must\n\ntype T interface{ Errorf(string, ...any) }\n\nfunc Equal(t T, a, b int) {\n\tif a != b {\n\t\tt.Errorf(\"%d\", a)\n\t}\n}\n",
	"log/log.go":        "package log\n\ntype Logger interface {\n\tInfof(string, ...any)\n\tErrorf(string, ...any)\n}\n\nfunc Say(l Logger) { l.Infof(\"a\") }\n",
	"cmd/main.go":       "package main\n\nimport \"os\"\n\nfunc main() {\n\tif run() != nil {\n\t\tos.Exit(1)\n\t}\n}\n\nfunc run() error { return nil }\n",
}

// TestWeakens: each change has a reason of the kind, or none.
func TestWeakens(t *testing.T) {
	swap := func(file string, pairs ...string) []File {
		after := strings.NewReplacer(pairs...).Replace(guarded[file])
		if after == guarded[file] {
			t.Fatalf("%s: %q changes nothing", file, pairs)
		}
		return []File{{file, []byte(guarded[file]), []byte(after)}}
	}
	new := func(file, text string) []File { return []File{{file, nil, []byte(text)}} }
	gone := func(file string) []File { return []File{{file, []byte(guarded[file]), nil}} }
	add := func(file, text string) []File {
		return []File{{file, []byte(guarded[file]), []byte(guarded[file] + text)}}
	}
	imp := func(file, path, text string) []File {
		return swap(file, "package a\n", "package a\n\nimport "+path+"\n", "func F() int { return 1 }", text)
	}
	for _, c := range []struct {
		what  string
		kind  Weakening
		files []File
	}{
		{"a fix", 0, swap("a.go", "return 1", "return 2")},
		{"a fix with a new test", 0, append(swap("a.go", "return 1", "return 2"), new("b_test.go", "package a\n\nimport \"testing\"\n\nvar cases = []struct{ f func() int }{{func() int { return F() }}}\n\nfunc TestG(t *testing.T) { t.Skip() }\n")...)},
		{"a new test function", 0, add("a_test.go", "\nfunc TestG(t *testing.T) {}\n")},
		{"a test's comment", 0, swap("a_test.go", "TestF tests.", "TestF tests it.")},
		{"a test's layout", 0, swap("a_test.go", "{ return 1 }", "{\n\treturn 1\n}")},
		{"main may exit", 0, swap("cmd/main.go", "os.Exit(1)", "os.Exit(2); os.Exit(1)")},
		{"new test data", 0, new("testdata/b.golden", "x")},
		{"a helper of loggers", 0, swap("log/log.go", "Infof(\"a\")", "Errorf(\"a\")")},
		{"a test that counts goroutines", 0, new("b_test.go", "package a\n\nimport (\n\t\"runtime\"\n\t\"testing\"\n)\n\nfunc TestG(t *testing.T) { t.Log(runtime.NumGoroutine()) }\n")},
		{"a text of parts", 0, swap("a.go", "return 1", "println(\"a\" + \"b\"); return 1")},
		{"code moved to another file", 0, append(swap("a.go", "// F is.\nfunc F() int { return 1 }\n", ""), new("b.go", "package a\n\nfunc F() int { return 1 }\n")...)},
		{"a document", 0, new("README.md", "x")},

		{"assertion weakened", TestChanged, swap("a_test.go", "F() != want", "F() == want")},
		{"constant of a test", TestChanged, swap("a_test.go", "want = 2", "want = 1")},
		{"test emptied", TestChanged, swap("a_test.go", "t.Error(F())", "")},
		{"test skipped", TestChanged, swap("a_test.go", "\tif F()", "\tt.Skip()\n\tif F()")},
		{"test renamed", TestChanged, swap("a_test.go", "func TestF", "func testF")},
		{"helper", TestChanged, swap("a_test.go", "return 1", "return 2")},
		{"output of an example", TestChanged, swap("a_test.go", "Output: 2", "Output: 1")},
		{"no output of an example", TestChanged, swap("a_test.go", "// Output: 2", "// 2")},
		{"another package testing", TestChanged, swap("a_test.go", `"testing"`, `testing "example.com/m/fake"`)},
		{"helper of no test file", TestChanged, swap("check/check.go", "a != b", "false")},
		{"helper that imports nothing", TestChanged, swap("must/must.go", "a != b", "false")},
		{"test file removed", TestRemoved, gone("a_test.go")},
		{"test file renamed", TestRemoved, append(gone("a_test.go"), new("b_test.go", guarded["a_test.go"])...)},
		{"test file for windows", TestRemoved, append(gone("a_test.go"), new("a_windows_test.go", guarded["a_test.go"])...)},
		{"constraint on a test", BuildChanged, swap("a_test.go", "package a", "//go:build never\n\npackage a")},
		{"old constraint on a test", BuildChanged, swap("a_test.go", "package a", "// +build never\n\npackage a")},
		{"constraint on code", BuildChanged, swap("a.go", "package a", "//go:build never\n\npackage a")},
		{"package clause of a test", BuildChanged, swap("a_test.go", "package a\n", "package a_test\n")},
		{"code for windows", BuildChanged, append(gone("a.go"), new("a_windows.go", guarded["a.go"])...)},
		{"code for tests", BuildChanged, append(gone("a.go"), new("aa_test.go", guarded["a.go"])...)},
		{"a function for tests", BuildChanged, append(swap("a.go", "// F is.\nfunc F() int { return 1 }\n", ""), new("b_test.go", "package a\n\nfunc F() int { return 2 }\n")...)},
		{"a constant for tests", BuildChanged, append(swap("a.go", "const limit = 3\n", ""), swap("a_test.go", "const want = 2\n", "const want = 2\n\nvar limit = 4\n")...)},
		{"TestMain", BeforeTests, add("a_test.go", "\nfunc TestMain(m *testing.M) {}\n")},
		{"TestMain in a new file", BeforeTests, new("m_test.go", "package a\n\nimport \"testing\"\n\nfunc TestMain(m *testing.M) {}\n")},
		{"init of a test", BeforeTests, new("m_test.go", "package a\n\nfunc init() {}\n")},
		{"variable of a test", BeforeTests, new("m_test.go", "package a\n\nvar _ = hack()\n\nfunc hack() int { return 1 }\n")},
		{"called literal", BeforeTests, new("m_test.go", "package a\n\nvar _ = func() int { return 1 }()\n")},
		{"method in tests", TestChanged, new("m_test.go", "package a\n\nfunc (T) Equal(T) bool { return true }\n")},
		{"golden file", TestData, []File{{"testdata/a.golden", []byte("x\n"), []byte("y\n")}}},
		{"golden file removed", TestData, gone("testdata/a.golden")},
		{"golden file elsewhere", TestData, []File{{"golden/a.json", []byte("{}\n"), []byte("[]\n")}}},
		{"go.mod", Dependencies, add("go.mod", "replace a => b\n")},
		{"go.mod of a part", Dependencies, new("sub/go.mod", "module m\n")},
		{"go.sum", Dependencies, new("go.sum", "x\n")},
		{"go.work", Dependencies, new("go.work", "go 1.26\n")},
		{"vendor", Dependencies, new("vendor/x/x.go", "package x\n")},
		{"exit in init", Exits, add("a.go", "\nfunc init() { os.Exit(0) }\n")},
		{"exit in a variable", Exits, add("a.go", "\nvar _ = func() int { os.Exit(0); return 1 }()\n")},
		{"exit by a value", Exits, add("a.go", "\nvar quit = os.Exit\n\nfunc init() { quit(0) }\n")},
		{"exit in a function", Exits, swap("a.go", "return 1", "os.Exit(0); return 1")},
		{"exit under another name", Exits, imp("a.go", `o "os"`, "func F() int { o.Exit(0); return 1 }")},
		{"exit by a system call", Exits, imp("a.go", `"syscall"`, "func F() int { syscall.Exit(0); return 1 }")},
		{"raw exit", Exits, imp("a.go", `"syscall"`, "func F() int { syscall.RawSyscall(231, 0, 0, 0); return 1 }")},
		{"exit by exec", Exits, imp("a.go", `"syscall"`, "func F() int { syscall.Exec(\"/bin/true\", nil, nil); return 1 }")},
		{"Goexit beside a package of that name", Exits, imp("a.go", "(\n\t\"runtime\"\n\t\"example.com/m/runtime\"\n)", "func F() int { runtime.Goexit(); return 1 }")},
		{"Goexit", Exits, imp("a.go", `"runtime"`, "func F() int { runtime.Goexit(); return 1 }")},
		{"exit in a command", Exits, swap("cmd/main.go", "return nil }", "os.Exit(0); return nil }")},
		{"exit in a new test", Exits, new("m_test.go", "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestA(t *testing.T) { os.Exit(0) }\n")},
		{"all names of os", Shadows, imp("a.go", `. "os"`, "func F() int { Exit(0); return 1 }")},
		{"asks testing", AsksForTest, imp("a.go", `"testing"`, "func F() int { if testing.Testing() { return 2 }; return 1 }")},
		{"asks the name", AsksForTest, swap("a.go", "return 1", "if len(os.Args[0]) > 3 { return 2 }; return 1")},
		{"asks flags", AsksForTest, imp("a.go", `"flag"`, "func F() int { if flag.Lookup(\"test.v\") != nil { return 2 }; return 1 }")},
		{"sets flags", AsksForTest, imp("a.go", `"flag"`, "func F() int { flag.Set(\"test\"+\".run\", \"^$\"); return 1 }")},
		{"asks the stack", AsksForTest, imp("a.go", `"runtime"`, "func F() int { _, f, _, _ := runtime.Caller(1); _ = f; return 1 }")},
		{"asks whether flags are parsed", AsksForTest, imp("a.go", `"flag"`, "func F() int { if flag.Parsed() { return 2 }; return 1 }")},
		{"counts flags", AsksForTest, imp("a.go", `"flag"`, "func F() int { return 1 + flag.NFlag() }")},
		{"counts goroutines", AsksForTest, imp("a.go", `"runtime"`, "func F() int { return runtime.NumGoroutine() }")},
		{"asks all stacks", AsksForTest, imp("a.go", `"runtime/pprof"`, "func F() int { return len(pprof.Lookup(\"goroutine\").Name()) }")},
		{"asks the published command line", AsksForTest, imp("a.go", `"expvar"`, "func F() int { return len(expvar.Get(\"cmdline\").String()) }")},
		{"asks for the trial", AsksForTest, swap("a.go", "return 1", "return len(os.Getenv(\"TRACERAG_TRIAL\" + \"_REPORT\"))")},
		{"knows tests' names in parts", AsksForTest, swap("a.go", "return 1", "const x = \"a_te\" + (\"st\" + \".go\"); _ = x; return 1")},
		{"asks the binary", AsksForTest, swap("a.go", "return 1", "x, _ := os.Executable(); _ = x; return 1")},
		{"knows tests' names", AsksForTest, swap("a.go", "return 1", "const x = \"a.test\"; _ = x; return 1")},
		{"writes as a test", AsksForTest, swap("a.go", "return 1", "println(\"--- PASS: TestF\"); return 1")},
		{"writes test data", AsksForTest, swap("a.go", "return 1", "os.WriteFile(\"testdata/a.golden\", nil, 0o666); return 1")},
		{"turns off the output", AsksForTest, swap("a.go", "return 1", "os.Stdout = nil; return 1")},
		{"linkname", BuildChanged, add("a.go", "\n//go:linkname x testing.x\nvar x int\n")},
		{"embed", BuildChanged, add("a.go", "\n//go:embed a_test.go\nvar x string\n")},
		{"line directive", BuildChanged, swap("a.go", "func F", "//line a_test.go:1\nfunc F")},
		{"unsafe", BuildChanged, imp("a.go", `"unsafe"`, "func F() int { return int(unsafe.Sizeof(1)) }")},
		{"cgo", BuildChanged, imp("a.go", `"C"`, "func F() int { return 1 }")},
		{"assembly", Unreadable, new("a_amd64.s", "TEXT x\n")},
		{"does not parse", Unreadable, swap("a.go", "return 1", "return (")},
		{"true is false", Shadows, new("b.go", "package a\n\nconst true = false\n")},
		{"panic is nothing", Shadows, add("a.go", "\nfunc panic(any) {}\n")},
		{"error is another", Shadows, add("a.go", "\ntype error interface{ X() }\n")},
	} {
		p := &Patch{Files: c.files}
		reasons := p.Weakens()
		found := c.kind == 0 && len(reasons) == 0
		for _, r := range reasons {
			found = found || r.Kind == c.kind
			if r.File == "" || r.What == "" || !strings.Contains(r.String(), r.File) {
				t.Errorf("%s: %+v does not say what", c.what, r)
			}
		}
		if !found {
			t.Errorf("%s: reasons %v, kind %d expected", c.what, reasons, c.kind)
		}
	}
}
