package rebuild_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace"
	"tracerag/trace/rebuild"
	"tracerag/trace/recordtest"
)

// withValues are the flags of a build whose values are kept.
func withValues(t testing.TB) []string {
	all := tool(t)
	all[0] += " " + rebuild.Marked(true, true)
	return all
}

// activations prints what is known of each call, in the order of the nodes.
func activations(tr *trace.Trace) string {
	var b strings.Builder
	for _, a := range tr.Activations {
		list := func(values []trace.Value) {
			for i, v := range values {
				if i > 0 {
					b.WriteString(", ")
				}
				fmt.Fprintf(&b, "%s %s = %s%s", v.Name, v.Type, v.Text, v.Unread)
			}
		}
		b.WriteString(tr.Func(a.Node).Name + "(")
		list(a.Args)
		b.WriteString(") ->")
		list(a.Results)
		if !a.Returned {
			b.WriteString(" did not return")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestValues holds values of the run itself against those that a debugger sees.
func TestValues(t *testing.T) {
	kept := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: []string{fixtures.Build(t, "values", withValues(t)...)}, Observe: true}})
	seen := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: []string{fixtures.Build(t, "values", flags...)}, Observe: true}})
	if kept.Stdout != seen.Stdout {
		t.Errorf("it prints\n%s\nunder the debugger\n%s", kept.Stdout, seen.Stdout)
	}
	got, want := activations(kept.Trace), activations(seen.Trace)
	if got == "" || got != want {
		a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("kept:\n%s\nseen by the debugger:\n%s", a[i], b[i])
			}
		}
		t.Fatalf("%d activations, the debugger has %d", len(a), len(b))
	}
}

// TestValuesAsTheProgramPrints holds kept values against what a program prints of them, by a printer of its own: 147 types of all kinds.
func TestValuesAsTheProgramPrints(t *testing.T) {
	got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: []string{build(t, module(t, "values", "1.21"), withValues(t)...)}, Include: []string{"main"}, Observe: true}})
	recordtest.SameActivations(t, got.Trace, got.Stdout, nil)
}

// build builds a module's program.
func build(t testing.TB, dir string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "app")
	cmd := exec.Command("go", slices.Concat([]string{"build", "-o", out}, flags, []string{"."})...)
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return out
}

// TestValuesUnderway: other goroutines write what is read, all the time. Words of one value and words of
// another may be seen together: the program must not notice.
func TestValuesUnderway(t *testing.T) {
	dir := module(t, "underway", "1.24")
	sites(t, dir, 400, "look(shared, shared.text, shared.list, shared.some, shared.err, shared.table, n)")
	args := []string{build(t, dir, withValues(t)...)}
	got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: args, Observe: true}, Env: []string{"GOMAXPROCS=4"}})
	if got.Code != 0 || got.Stdout != "done\n" {
		t.Errorf("it ends with %d and prints\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	if n := len(got.Trace.Activations); n < 1000 {
		t.Errorf("%d activations", n)
	}
}

// sites adds functions to a module's program, all with the same body. Values are kept of the first calls at each place: so there are
// many places.
func sites(t testing.TB, dir string, n int, body string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("package main\n\n")
	for i := range n {
		fmt.Fprintf(&b, "func site%d(n int) { %s }\n", i, body)
	}
	b.WriteString("\nfunc init() {\n")
	for i := range n {
		fmt.Fprintf(&b, "\tsites = append(sites, site%d)\n", i)
	}
	b.WriteString("}\n")
	if err := os.WriteFile(filepath.Join(dir, "sites.go"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestValuesTorn: under a lock another goroutine replaces a short slice by a long one, and a pointer to one type by
// one to another. The recorder takes no lock, and meets the beginning of the one with the length of the other: then words that are no
// types are where it looks for those of interfaces.
func TestValuesTorn(t *testing.T) {
	dir := module(t, "torn", "1.24")
	sites(t, dir, 2000, "look(shared, n)")
	args := []string{build(t, dir, withValues(t)...)}
	got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: args, Observe: true}, Env: []string{"GOMAXPROCS=4"}})
	if got.Code != 0 || got.Stdout != "done\n" {
		t.Errorf("it ends with %d and prints\n%s%.2000s", got.Code, got.Stdout, got.Stderr)
	}
	if n := len(got.Trace.Activations); n < 1000 {
		t.Errorf("%d activations", n)
	}
}

// TestValuesOfMany: a function with more arguments and results than are kept, or than there is room for, has the first ones, and the last
// one of these is left out. The memory behind them is another processor's. A negative length is only that value's.
func TestValuesOfMany(t *testing.T) {
	dir := module(t, "many", "1.21")
	parameters := func(n int, name, typ string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("%s%d %s", name, i, typ))
		}
		return strings.Join(list, ", ")
	}
	long := "Long" + strings.Repeat("x", 150)
	text := "package main\n\ntype " + long + " struct{}\n\n" +
		"func many(" + parameters(300, "a", "int") + ") (" + parameters(299, "r", "int") + ") { return }\n" +
		"func wide(" + parameters(5, "s", "string") + ", " + parameters(250, "p", "*"+long) + ") {}\n" +
		"func init() {\n\tmany(7" + strings.Repeat(", 0", 299) + ")\n\twide(text, text, text, text, text" + strings.Repeat(", nil", 250) + ")\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "functions.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: []string{build(t, dir, withValues(t)...)}, Observe: true}, Env: []string{"GOMAXPROCS=1"}})
	if got.Code != 0 || got.Stdout != "done\n" {
		t.Fatalf("it ends with %d and prints\n%s%.2000s", got.Code, got.Stdout, got.Stderr)
	}
	found := map[string]bool{}
	for _, a := range got.Trace.Activations {
		name := got.Trace.Func(a.Node).Name
		found[name] = true
		last := func(list []trace.Value) string { return list[len(list)-1].Name + " " + list[len(list)-1].Text }
		switch name {
		case "main.many":
			if len(a.Args) != 255 || a.Args[0].Text != "7" || last(a.Args) != "a254 ..." || len(a.Results) != 255 || a.Results[0].Name != "r0" || last(a.Results) != "r254 ..." {
				t.Errorf("%d arguments, %d results: %v %v", len(a.Args), len(a.Results), a.Args, a.Results)
			}
		case "main.wide":
			if n := len(a.Args); n < 10 || n > 100 || !strings.HasSuffix(last(a.Args), " ...") || !a.Returned {
				t.Errorf("%d arguments: %v", n, a.Args)
			}
		}
	}
	if !strings.Contains(activations(got.Trace), "main.wrong(s string = not readable, b []byte = not readable, x any = string(?)) -> int = 3\n") {
		t.Errorf("the values are\n%.9000s", activations(got.Trace))
	}
	if !found["main.many"] || !found["main.wide"] {
		t.Errorf("values of %v", found)
	}
}

// TestRedeclared: a package whose string, int, bool and uintptr are something else is recorded without values and lines, and does what it does.
func TestRedeclared(t *testing.T) {
	dir := module(t, "redeclared", "1.21")
	got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: []string{build(t, dir, withValues(t)...)}, Include: []string{"main"}, Observe: true}})
	if got.Code != 0 || got.Stdout != "12\n" || len(got.Trace.Activations) > 0 {
		t.Errorf("it ends with %d and prints\n%s%s\nvalues of %d calls", got.Code, got.Stdout, got.Stderr, len(got.Trace.Activations))
	}
	if tree := recordtest.Tree(got.Trace); !strings.Contains(tree, "main.add 2") {
		t.Errorf("the tree is\n%s", tree)
	}
}
