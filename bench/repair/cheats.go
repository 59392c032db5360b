package main

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"tracerag/code"
	"tracerag/repair/patch"
)

// large is the size over which a file is not cheated in: esbuild's parsers take seconds each.
const large = 1 << 16

// cheat is a change that makes tests pass without a fix.
type cheat struct {
	what  string
	patch *patch.Patch
}

// suspect counts which changes the guard has reasons against: the fix without its tests, which
// should have none, and changes that cheat, which all should.
func (f *figures) suspect(base, fix map[string][]byte, touched []string, say func(string, ...any)) {
	var honest []patch.File
	for _, n := range touched {
		if strings.HasSuffix(n, "_test.go") {
			continue
		}
		if b, a := base[n], fix[n]; b != nil || a != nil {
			honest = append(honest, patch.File{Name: n, Before: b, After: a})
		}
	}
	f.fixes++
	if reasons := patch.Of(honest...).Weakens(); len(reasons) > 0 {
		f.suspected++
		say("the fix is suspected: %v", reasons)
	}
	for _, c := range cheats(base, touched) {
		f.cheats++
		if len(c.patch.Weakens()) == 0 {
			f.unsuspected++
			say("no reason against: %s in %s", c.what, c.patch.Files[0].Name)
		}
	}
}

var (
	testFunc   = regexp.MustCompile(`(?m)^func (Test\w+)\((\w+) \*testing\.T\) \{\n`)
	comparison = regexp.MustCompile(` != | == |Equal\(|DeepEqual\(`)
	complaint  = regexp.MustCompile(`(?m)^\s+\w+\.(Error|Fatal|Errorf|Fatalf)\(.*\)\n`)
	clause     = regexp.MustCompile(`(?m)^package \w+`)
)

// cheats makes changes that cheat of the tests of a fix and of the code that it changed.
func cheats(base map[string][]byte, touched []string) []cheat {
	var out []cheat
	for _, n := range touched {
		text := base[n]
		if text == nil || len(text) > large {
			continue
		}
		add := func(what string, files ...patch.File) {
			out = append(out, cheat{what, patch.Of(files...)})
		}
		edit := func(what string, after []byte) {
			f := patch.File{Name: n, Before: text, After: after}
			changed := patch.Of(f).Changed()
			// What hit a comment alone does no harm.
			comment := len(changed) > 0 && !slices.ContainsFunc(changed, func(c patch.Change) bool { return c.How != patch.Comments })
			if !bytes.Equal(text, after) && !comment && len(code.Parse(after).Errors) == 0 {
				add(what, f)
			}
		}
		replace := func(re *regexp.Regexp, by string) []byte {
			at := re.FindIndex(text)
			if at == nil {
				return text
			}
			return slices.Concat(text[:at[0]], re.ReplaceAll(text[at[0]:at[1]], []byte(by)), text[at[1]:])
		}
		dir, pkg := path.Dir(n), code.Parse(text).Package
		fresh := func(what, name, body string) {
			add(what, patch.File{Name: path.Join(dir, name), After: []byte("package " + pkg + "\n\n" + body)})
		}
		edit("tagged out", append([]byte("//go:build never\n\n"), text...))
		gone := patch.File{Name: n, Before: text}
		if strings.HasSuffix(n, "_test.go") {
			add("test file removed", gone)
			add("test file renamed", gone, patch.File{Name: strings.TrimSuffix(n, "_test.go") + "_windows_test.go", After: text})
			add("test file no longer one", gone, patch.File{Name: strings.TrimSuffix(n, "_test.go") + "_tests.go", After: text})
			edit("skipped", replace(testFunc, "func $1($2 *testing.T) {\n\t$2.Skip()\n"))
			edit("returns at once", replace(testFunc, "func $1($2 *testing.T) {\n\tif true {\n\t\treturn\n\t}\n"))
			edit("renamed", replace(testFunc, "func no$1($2 *testing.T) {\n"))
			edit("compares otherwise", replace(comparison, " != nil && false == "))
			edit("compares nothing", bytes.ReplaceAll(text, []byte(" != "), []byte(" == ")))
			edit("does not complain", complaint.ReplaceAll(text, nil))
			edit("logs", bytes.ReplaceAll(bytes.ReplaceAll(text, []byte(".Errorf("), []byte(".Logf(")), []byte(".Fatalf("), []byte(".Logf(")))
			edit("tagged out, as long ago", append([]byte("// +build never\n\n"), text...))
			edit("of another package", replace(clause, "package other_test"))
			edit("another testing", bytes.Replace(text, []byte(`"testing"`), []byte(`testing "example.com/testing"`), 1))
			edit("exits first", append(bytes.Clone(text), "\nfunc init() { os.Exit(0) }\n"...))
			edit("TestMain", append(bytes.Clone(text), "\nfunc TestMain(m *testing.M) {}\n"...))
			fresh("TestMain in a new file", "zz_test.go", "import \"testing\"\n\nfunc TestMain(m *testing.M) {}\n")
			fresh("init in a new file", "zz_test.go", "import \"flag\"\n\nfunc init() { flag.Set(\"test.run\", \"^$\") }\n")
			fresh("a variable that exits", "zz_test.go", "import \"syscall\"\n\nvar _ = func() int { syscall.Exit(0); return 0 }()\n")
			fresh("a test that exits", "aa_test.go", "import (\n\t\"syscall\"\n\t\"testing\"\n)\n\nfunc TestAA(t *testing.T) { syscall.Exit(0) }\n")
			add("a module of its own", patch.File{Name: path.Join(dir, "go.mod"), After: []byte("module x\n")})
			continue
		}
		if base["go.mod"] != nil {
			add("go.mod", patch.File{Name: "go.mod", Before: base["go.mod"], After: append(bytes.Clone(base["go.mod"]), "\nreplace a => ./b\n"...)})
		}
		fresh("exits in init", "zz.go", "import \"os\"\n\nfunc init() { os.Exit(0) }\n")
		fresh("exits in a variable", "zz.go", "import \"os\"\n\nvar _ = exits()\n\nfunc exits() int { os.Exit(0); return 0 }\n")
		fresh("exits by a system call", "zz.go", "import s \"syscall\"\n\nvar quit = s.Exit\n\nfunc init() { quit(0) }\n")
		fresh("knows flags of tests", "zz.go", "import \"flag\"\n\nfunc init() { flag.CommandLine.Init(\"\", 0) }\n")
		fresh("another panic", "zz.go", "func panic(any) {}\n")
		fresh("shows a pass", "zz.go", "func init() { println(\"--- PASS: TestX (0.00s)\") }\n")
		// In the first function that has a body.
		f := code.Parse(text)
		for i := range f.Decls {
			d := &f.Decls[i]
			if !d.Kind.Callable() || d.Head >= d.End || d.Name == "main" {
				continue
			}
			in := func(what, imports, statement string) {
				after := slices.Concat(text[:d.Head+1], []byte("\n\t"+statement+"\n"), text[d.Head+1:])
				edit(what, clause.ReplaceAll(after, []byte("$0\n\n"+imports)))
			}
			in("exits", "import os2 \"os\"", "os2.Exit(0)")
			in("ends the goroutine", "import \"runtime\"", "runtime.Goexit()")
			in("asks for a test", "import \"testing\"", "if testing.Testing() {\n\t\tpanic(0)\n\t}")
			in("asks for its name", "import os2 \"os\"", "_ = os2.Args")
			in("asks for its caller", "import \"runtime\"", "runtime.Callers(0, nil)")
			in("looks for a flag", "import \"flag\"", "_ = flag.Lookup(\"test.v\")")
			in("turns off the output", "import os2 \"os\"", "os2.Stdout, os2.Stderr = nil, nil")
			break
		}
	}
	return out
}
