package patch

import (
	"bytes"
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tracerag/code"
)

// Reason is a way in which a Patch may make tests pass without a fix.
type Reason struct {
	Kind Weakening
	File string
	Name string // declaration, "" of the file as a whole
	What string // one sentence without a full stop
}

func (r Reason) String() string {
	if r.Name != "" {
		return r.File + ": " + r.Name + ": " + r.What
	}
	return r.File + ": " + r.What
}

// Weakening says what a [Reason] is about.
type Weakening byte

// The kinds of reasons.
const (
	TestChanged  Weakening = iota + 1 // an existing test, benchmark, fuzz target, example or helper
	TestRemoved                       // a test file that is gone or has another name
	TestData                          // what tests read
	BuildChanged                      // constraints, package clauses, directives: what is built at all
	Dependencies                      // go.mod, go.sum, go.work, vendor
	BeforeTests                       // TestMain, init or a variable: it runs before the tests
	Exits                             // the process ends early
	AsksForTest                       // code that finds out whether a test runs it, or writes as one
	Shadows                           // a name of the language gets another meaning
	Unreadable                        // it can't be judged: it does not parse, or is no Go
)

// Weakens returns all reasons to refuse the Patch if tests are to prove it.
// It goes by syntax, and is strict: a good change may have a reason. New tests and new test files have none.
func (p *Patch) Weakens() []Reason {
	var out []Reason
	for i := range p.Files {
		g := &guard{file: &p.Files[i]}
		g.look(p)
		out = append(out, g.reasons...)
	}
	return append(out, p.moved()...)
}

type guard struct {
	file    *File
	reasons []Reason
}

func (g *guard) say(kind Weakening, name, what string, args ...any) {
	r := Reason{kind, g.file.Name, name, fmt.Sprintf(what, args...)}
	if !slices.Contains(g.reasons, r) {
		g.reasons = append(g.reasons, r)
	}
}

// expectations are names of files that hold what tests expect.
var expectations = regexp.MustCompile(`(?i)\.(golden|txtar|want|expected|snap|approved|out)$|(^|[/_.-])(golden|goldens|expected|expect|fixtures?|snapshots?|__snapshots__)([/_.-]|$)`)

var native = []string{".s", ".sx", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".for", ".f90", ".swig", ".swigcxx", ".syso", ".a", ".so"}

func (g *guard) look(p *Patch) {
	f := g.file
	base := path.Base(f.Name)
	parts := strings.Split(f.Name, "/")
	switch {
	case slices.Contains([]string{"go.mod", "go.sum", "go.work", "go.work.sum", "go.env"}, strings.ToLower(base)):
		g.say(Dependencies, "", "it decides which code is built")
		return
	case slices.Contains(parts[:len(parts)-1], "vendor"):
		g.say(Dependencies, "", "it is the code of others")
		return
	case slices.Contains(parts[:len(parts)-1], "testdata") && f.Before != nil:
		g.say(TestData, "", "tests read it")
		return
	case f.Before != nil && !strings.HasSuffix(base, ".go") && expectations.MatchString(f.Name):
		g.say(TestData, "", "it looks like what tests expect")
		return
	case slices.Contains(native, strings.ToLower(path.Ext(base))):
		g.say(Unreadable, "", "it is built into the program and is no Go")
		return
	case !strings.HasSuffix(base, ".go") || slices.Contains(parts[:len(parts)-1], "testdata"):
		return
	}
	test := strings.HasSuffix(base, "_test.go")
	if f.After == nil {
		if test {
			g.say(TestRemoved, "", "a test file is removed or renamed")
		} else {
			g.removed(p)
		}
		return
	}
	after, problems := parse(f.After, false)
	if problems != nil {
		g.say(Unreadable, "", "it does not parse: line %d: %s", problems[0].Line, problems[0].What)
		return
	}
	before, problems := parse(f.Before, false)
	if f.Before == nil {
		before, problems = parse([]byte("package "+after.tree.Name.Name), false)
	}
	if problems != nil {
		g.say(Unreadable, "", "it does not parse before the change")
		return
	}
	g.built(before, after, test)
	g.declared(before, after, test)
	g.suspicious(before, after, test)
}

// removed is about a file that is gone and whose declarations are built under conditions now.
func (g *guard) removed(p *Patch) {
	dir := path.Dir(g.file.Name)
	for _, f := range p.Files {
		if f.Before != nil || f.After == nil || path.Dir(f.Name) != dir || !strings.HasSuffix(f.Name, ".go") {
			continue
		}
		parsed := code.Parse(f.After)
		if tags, ok := code.Tags(code.Built{Name: path.Base(f.Name), Constraint: parsed.Constraint}); !ok || len(tags) > 0 || parsed.Constraint != "" || platformed(f.Name) {
			g.say(BuildChanged, "", "it is removed, and %s comes that is built under conditions", f.Name)
		}
		if strings.HasSuffix(f.Name, "_test.go") {
			g.say(BuildChanged, "", "it is removed, and %s comes, which only tests have", f.Name)
		}
	}
}

var systems = strings.Fields("aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows zos 386 amd64 amd64p32 arm arm64 armbe arm64be loong64 mips mips64 mips64le mips64p32 mips64p32le mipsle ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm")

func platformed(name string) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".go"), "_test")
	parts := strings.Split(name, "_")
	return len(parts) > 1 && slices.Contains(systems, parts[len(parts)-1])
}

// built is about what decides whether and as what the file is built.
func (g *guard) built(before, after *source, test bool) {
	f := g.file
	if f.Before != nil {
		if a, b := before.tree.Name.Name, after.tree.Name.Name; a != b {
			g.say(BuildChanged, "", "its package clause changes from %s to %s", a, b)
		}
	}
	was, is := directives(f.Before), directives(f.After)
	for _, d := range is {
		name, _, _ := strings.Cut(strings.TrimSpace(strings.TrimLeft(d, "/* ")), " ")
		if i := slices.Index(was, d); i >= 0 {
			was = slices.Delete(was, i, i+1)
			continue
		}
		switch name {
		case "go:generate", "go:noinline", "go:fix", "go:norace":
		case "go:build", "+build":
			if f.Before != nil {
				g.say(BuildChanged, "", "the build constraint %q is new", d)
			}
		default:
			g.say(BuildChanged, "", "the directive %q is new", d)
		}
	}
	for _, d := range was {
		switch name, _, _ := strings.Cut(strings.TrimPrefix(d, "//"), " "); name {
		case "go:generate", "go:noinline", "go:fix", "go:norace", "go:nosplit":
		default:
			if name == "go:build" && len(directives(f.After)) < len(directives(f.Before)) && !test {
				g.say(BuildChanged, "", "the build constraint %q is gone", d)
				continue
			}
			g.say(BuildChanged, "", "the directive %q is gone", d)
		}
	}
	// A name that existing code uses must stand for what it stood for.
	a, b := before.imports(), after.imports()
	used := after.uses(anywhere)
	for _, i := range b {
		if slices.Contains(a, i) {
			continue
		}
		switch {
		case i.path == "C", i.path == "plugin", i.path == "unsafe":
			g.say(BuildChanged, "", "it imports %q now", i.path)
		case i.name == ".":
			g.say(Shadows, "", "it imports all names of %q now", i.path)
		case !test && (i.path == "testing" || strings.HasPrefix(i.path, "testing/")):
			g.say(AsksForTest, "", "it imports %q, and is no test", i.path)
		}
	}
	if f.Before == nil {
		return
	}
	for _, i := range a {
		if slices.Contains(b, i) || !i.bound() {
			continue
		}
		names := plausible(i.path)
		if i.name != "" {
			names = []string{i.name}
		}
		for _, n := range names {
			if _, still := used[n]; still && test {
				g.say(TestChanged, n, "it no longer is %q", i.path)
			}
		}
	}
	if test {
		for _, i := range a {
			if i.name == "_" && !slices.Contains(b, i) {
				g.say(TestChanged, "", "it no longer imports %q", i.path)
			}
		}
	}
}

// helps reports whether a file that is no test serves tests.
func helps(name string, s *source) bool {
	pkg := s.tree.Name.Name
	if strings.HasSuffix(pkg, "test") || strings.HasPrefix(pkg, "testutil") || strings.HasPrefix(pkg, "testing") || strings.HasPrefix(pkg, "testhelp") || pkg == "assert" || pkg == "require" || s.asserts() {
		return true
	}
	return slices.ContainsFunc(s.imports(), func(i imported) bool {
		return i.path == "testing" || strings.HasPrefix(i.path, "testing/") || strings.HasPrefix(i.path, "github.com/stretchr/testify") ||
			strings.HasPrefix(i.path, "gotest.tools") || strings.HasPrefix(i.path, "github.com/onsi/")
	})
}

// predeclared are the names of the language that a package can give another meaning.
var predeclared = strings.Fields("any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr true false iota nil append cap clear close complex copy delete imag len make max min new panic print println real recover")

// declared is about which declarations changed.
func (g *guard) declared(before, after *source, test bool) {
	f := g.file
	helper := !test && f.Before != nil && helps(f.Name, before)
	for _, c := range f.changed() {
		name := bare(c.Symbol)
		first, _, _ := strings.Cut(name, "#")
		if c.How == New && test {
			switch {
			case first == "TestMain":
				g.say(BeforeTests, c.Symbol, "it decides whether tests run")
			case first == "init":
				g.say(BeforeTests, c.Symbol, "it runs before all tests")
			case c.Kind == code.Method && !declares(after, strings.SplitN(first, ".", 2)[0]):
				g.say(TestChanged, c.Symbol, "it gives a type of other files a method in tests alone")
			}
		}
		if !test && !helper {
			continue
		}
		switch c.How {
		case Tokens, Deleted:
			what := "a test's helper changes"
			switch {
			case isTest(first) && c.How == Deleted:
				what = "a test is removed or renamed"
			case isTest(first):
				what = "an existing test changes"
			case c.How == Deleted:
				what = "a test's helper is removed"
			}
			g.say(TestChanged, c.Symbol, "%s", what)
		case Comments:
			if strings.HasPrefix(first, "Example") {
				g.say(TestChanged, c.Symbol, "the output that an example must have is in its comments")
			}
		}
	}
	// All of a group changes with one of its parts, but a name is seen only here.
	had := map[string]bool{}
	for _, d := range before.decls {
		for _, n := range d.names() {
			had[n] = true
		}
	}
	for _, d := range after.decls {
		for _, u := range d.units {
			for _, n := range u.names {
				if u.kind != code.Method && slices.Contains(predeclared, n) && !had[n] {
					g.say(Shadows, n, "it is a name of the language")
				}
			}
		}
	}
}

func declares(s *source, name string) bool { return len(s.find(code.Type, name)) > 0 }

func isTest(name string) bool {
	for _, p := range [...]string{"Test", "Benchmark", "Fuzz", "Example"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// forbidden are names of packages that new code has no business with: with them it ends the process,
// finds out who called it, or changes how tests run. A "*" stands for what begins so.
var forbidden = map[string]map[string]Weakening{
	"os":            {"Exit": Exits, "Args": AsksForTest, "Executable": AsksForTest},
	"runtime":       {"Goexit": Exits, "Caller": AsksForTest, "Callers": AsksForTest, "CallersFrames": AsksForTest, "FuncForPC": AsksForTest, "Stack": AsksForTest, "GoroutineProfile": AsksForTest, "NumGoroutine": AsksForTest},
	"runtime/pprof": {"Lookup": AsksForTest, "Profiles": AsksForTest},
	"expvar":        {"Get": AsksForTest, "Do": AsksForTest}, // it has the command line
	"runtime/debug": {"Stack": AsksForTest, "PrintStack": AsksForTest, "ReadBuildInfo": AsksForTest},
	"flag":          {"Lookup": AsksForTest, "Set": AsksForTest, "Visit": AsksForTest, "VisitAll": AsksForTest, "CommandLine": AsksForTest, "Parsed": AsksForTest, "NFlag": AsksForTest},
	"syscall":       calls,
	"testing":       {"Testing": AsksForTest, "Init": AsksForTest, "MainStart": AsksForTest, "Main": AsksForTest, "RunTests": AsksForTest},
	"plugin":        {"*": Exits},

	"golang.org/x/sys/unix":    calls,
	"golang.org/x/sys/windows": calls,
}

var calls = map[string]Weakening{"Exit*": Exits, "Kill": Exits, "Tgkill": Exits, "Exec": Exits, "Terminate*": Exits, "RawSyscall*": Exits, "Syscall*": Exits, "Dup*": Exits, "AllThreadsSyscall*": Exits}

// telltale are texts that code needs only to find out about a test, or to write as one does.
var telltale = regexp.MustCompile(`(^|[^a-zA-Z0-9])test\.[a-z]|\.test(\.exe)?$|_test(\.go)?$|_test\.|^testing\.|--- (PASS|FAIL|SKIP)|^PASS\b|=== RUN|\x16|/proc/|(^|/)testdata(/|$)|tRunner|paniconexit0|TRACERAG_TRIAL|tracerag/trials`)

// suspicious is about what new code mentions. A declaration may mention again what it did before.
func (g *guard) suspicious(before, after *source, test bool) {
	was := map[string]int{}
	before.mentions(func(in, what string, _ Weakening, _ bool) { was[in+" "+what]++ })
	after.mentions(func(in, what string, kind Weakening, literal bool) {
		if was[in+" "+what]--; was[in+" "+what] >= 0 {
			return
		}
		// A test counts goroutines to find those that are left behind.
		if test && what == "runtime.NumGoroutine" || literal && test || in == "main" && !test && kind != Exits && after.tree.Name.Name == "main" {
			return
		}
		if in == "main" && what == "os.Exit" && after.tree.Name.Name == "main" {
			return
		}
		switch {
		case literal:
			g.say(kind, in, "it has the text %s", what)
		case kind == BeforeTests && !test:
		default:
			g.say(kind, in, "it uses %s", what)
		}
	})
}

// mentions calls found for all that is forbidden in a file, with the declaration that it is in.
func (s *source) mentions(found func(in, what string, kind Weakening, literal bool)) {
	// A name may be that of several imports, as far as paths tell.
	paths := map[string][]string{}
	for _, i := range s.imports() {
		names := plausible(i.path)
		if i.name != "" {
			names = []string{i.name}
		}
		for _, n := range names {
			paths[n] = append(paths[n], i.path)
		}
	}
	for _, d := range s.tree.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok.String() == "import" {
			continue
		}
		in := "a variable"
		if f, ok := d.(*ast.FuncDecl); ok {
			if in = f.Name.Name; f.Recv != nil && len(f.Recv.List) > 0 {
				in = bare(code.Receiver(f.Recv.List[0].Type) + "." + in)
			}
		}
		s.mentionsIn(d, in, in == "a variable", paths, found)
	}
}

// mentionsIn is mentions for a part of a declaration; initial says that it runs before main.
func (s *source) mentionsIn(part ast.Node, in string, initial bool, paths map[string][]string, found func(in, what string, kind Weakening, literal bool)) {
	ast.Inspect(part, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			if n != part && initial { // what is called in there runs later
				s.mentionsIn(n, in, false, paths, found)
				return false
			}
		case *ast.SelectorExpr:
			id, ok := n.X.(*ast.Ident)
			if !ok || id.Obj != nil {
				return true
			}
			for _, p := range paths[id.Name] {
				for name, kind := range forbidden[p] {
					prefix, open := strings.CutSuffix(name, "*")
					if name == n.Sel.Name || open && strings.HasPrefix(n.Sel.Name, prefix) {
						found(in, p+"."+n.Sel.Name, kind, false)
					}
				}
			}
		case *ast.BinaryExpr: // a text in parts
			if text, ok := joined(n); ok {
				if telltale.MatchString(text) {
					found(in, strconv.Quote(text), AsksForTest, true)
				}
				return false
			}
		case *ast.BasicLit:
			if text, ok := literal(n); ok && telltale.MatchString(text) {
				found(in, n.Value, AsksForTest, true)
			}
		case *ast.CallExpr:
			if initial && !harmless(n, paths) {
				found(in, "the call "+string(bytes.TrimSpace(firstLine(s.span(n.Pos(), n.End()).Of(s.text)))), BeforeTests, false)
			}
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				sel, ok := x.(*ast.SelectorExpr)
				if !ok {
					continue
				}
				id, ok := sel.X.(*ast.Ident)
				if !ok || id.Obj != nil {
					continue
				}
				for _, p := range paths[id.Name] {
					if slices.Contains(globals, p) {
						found(in, "an assignment to "+p+"."+sel.Sel.Name, AsksForTest, false)
					}
				}
			}
		}
		return true
	})
}

// globals are packages whose variables decide what a test does or shows.
var globals = []string{"os", "flag", "testing", "log", "fmt", "io", "runtime", "reflect"}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line
}
