package bench

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// suites are modules with tests: over 200 each, none of the network or of a certain machine. Of each the tests are run as they are
// and with the recorder in them. Nothing of tracerag was made with them in view.
var suites = []struct {
	module string
	race   bool
}{
	{"github.com/BurntSushi/toml@v1.5.0", true},
	{"github.com/gorilla/mux@v1.8.1", true},
	{"github.com/expr-lang/expr@v1.17.6", false},
	{"github.com/spf13/cobra@v1.10.1", false},
	{"github.com/pelletier/go-toml/v2@v2.2.4", false},
	{"github.com/google/go-cmp@v0.7.0", false},
}

// TestSoakSuites runs whole test suites with the recorder in them, as often as TRACERAG_SOAK says: each test passes, fails or is
// skipped as it does alone, and says the same, but for times and addresses.
func TestSoakSuites(t *testing.T) {
	n := soak(t, 0)
	if n == 0 {
		t.Skip("TRACERAG_SOAK=100 runs everything a hundred times")
	}
	for _, s := range suites {
		name, _, _ := strings.Cut(s.module, "@")
		t.Run(filepath.Base(name), func(t *testing.T) {
			dir := copyModule(t, s.module)
			command := []string{"go", "test", "-json", "-count=1"}
			if s.race {
				command = append(command, "-race")
			}
			command = append(command, "./...")
			want, again := runSuite(t, dir, command), runSuite(t, dir, command)
			if len(want) < 200 {
				t.Fatalf("it has %d tests only", len(want))
			}
			steady := 0
			for name, r := range want {
				if again[name].result != r.result {
					t.Fatalf("%s does not end twice alike even alone", name)
				}
				if again[name].says == r.says {
					steady++
				}
			}
			failed := 0
			for round := range n {
				progress("%s: run %d of %d", s.module, round+1, n)
				traces := t.TempDir()
				got := runSuite(t, dir, append([]string{tracerag(t), "run", "--recorder=rebuild", "--quiet", "--dir", traces, "--"}, command...))
				if problems := suiteDifference(want, again, got); len(problems) > 0 {
					t.Errorf("run %d: %s", round+1, strings.Join(problems[:min(5, len(problems))], "\n"))
					if failed++; failed == 3 {
						t.Fatal("given up")
					}
				}
				os.RemoveAll(traces)
			}
			progress("")
			t.Logf("%d tests, %d of them with the same words each time; %d runs, %d failed", len(want), steady, n, failed)
		})
	}
}

// copyModule puts a module of the proxy into a directory that can be written to.
func copyModule(t *testing.T, module string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	var found struct{ Dir string }
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	if err != nil {
		t.Fatalf("%s: %v", module, err)
	}
	dir := filepath.Join(t.TempDir(), "module")
	for _, c := range [][]string{{"cp", "-r", found.Dir, dir}, {"chmod", "-R", "u+w", dir}} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", c, err, out)
		}
	}
	return dir
}

// ending is how a test ended and what it said.
type ending struct{ result, says string }

// runSuite runs tests with -json, and returns them by package and name; "" is the package's own end.
func runSuite(t *testing.T, dir string, command []string) map[string]ending {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	tests := map[string]ending{}
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct{ Action, Package, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Package == "" {
			t.Fatalf("%v prints %q (%v)\n%s", command, lines.Text(), err, stderr.String())
		}
		name := e.Package + " " + changing.ReplaceAllString(e.Test, "*")
		r := tests[name]
		switch e.Action {
		case "pass", "fail", "skip":
			r.result = e.Action
		case "output":
			r.says += e.Output
		}
		tests[name] = r
	}
	for name, r := range tests {
		r.says = changing.ReplaceAllString(r.says, "*")
		tests[name] = r
	}
	return tests
}

// changing is what a test says otherwise each time: times, addresses (with what a stack shows of a dead argument), temporary directories, the time it is, numbers of goroutines.
var changing = regexp.MustCompile(`0x[0-9a-fA-F]+\??|/tmp/\S+|time\.Date\([^)]*\)|goroutine \d+|\d\d:\d\d:\d\d|\b\d+(\.\d+)?(ns|us|µs|ms|s)\b`)

// suiteDifference names the tests that did not end as they do alone, or said something else where they say the same twice alone.
func suiteDifference(want, again, got map[string]ending) (problems []string) {
	all := maps.Clone(want)
	maps.Copy(all, got)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w, g := want[name], got[name]
		switch {
		case w.result != g.result:
			problems = append(problems, name+": "+g.result+", and alone "+w.result+"\n"+g.says)
		case w.says != g.says && w.says == again[name].says:
			problems = append(problems, name+" says\n"+g.says+"and alone\n"+w.says)
		}
	}
	return problems
}
