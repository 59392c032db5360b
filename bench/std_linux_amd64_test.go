package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Packages of the standard library whose tests ask much of anyone who changes their code:
// deep recursion, goroutines, reflection, time, signals, other programs, profiles. The
// first four are for a short run.
var stdPackages = []string{
	"sort", "unicode/utf8", "text/template", "encoding/json",
	"archive/zip", "bufio", "bytes", "compress/flate", "context", "crypto/sha256", "database/sql", "encoding/gob", "fmt",
	"go/parser", "go/types", "html/template", "image/png", "iter", "log/slog", "maps", "math/big", "net/http",
	"os/exec", "os/signal", "reflect", "regexp", "runtime/pprof", "slices", "strings", "sync", "time",
}

const fewPackages = 4

// differentTests can tell that they are recorded, and why: by package and name.
// docs/recorders.md lists what remains different.
var differentTests = map[string]map[string]string{}

// stdMode is how much TRACERAG_STD asks for: nothing, "small", or anything else for all.
func stdMode(t *testing.T) (small bool) {
	t.Helper()
	mode := os.Getenv("TRACERAG_STD")
	if mode == "" {
		t.Skip("TRACERAG_STD=1 records the tests of Go's own packages, TRACERAG_STD=small those of a few")
	}
	return mode == "small"
}

// TestStd records the test binaries of Go's own packages: as anybody would, which leaves
// out the standard library, the package alone, and with --include std, once more with
// so little memory that it is full. Every test must end as it does alone.
func TestStd(t *testing.T) {
	packages := stdPackages
	if stdMode(t) {
		packages = packages[:fewPackages]
	}
	if only := os.Getenv("TRACERAG_STD_PACKAGES"); only != "" {
		packages = strings.Fields(only)
	}
	root := goroot(t)
	var results []result
	defer func() { printResults(t, results) }()
	for i, pkg := range packages {
		t.Run(pkg, func(t *testing.T) {
			progress("%s: package %d of %d", pkg, i+1, len(packages))
			defer progress("")
			dir := filepath.Join(root, "src", filepath.FromSlash(pkg))
			path := filepath.Join(t.TempDir(), strings.ReplaceAll(pkg, "/", "-")+".test")
			if out, err := (matrixBuild{}).command("test", dir, path, pkg).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			p := tested{name: pkg, path: path, args: []string{"-test.short", "-test.v"}, dir: dir}
			want := p.alone(t)
			if len(verdicts(want.stdout)) < 2 {
				t.Fatalf("it has no tests:\n%s\n%s", tail(want.stdout), tail(want.stderr))
			}
			for _, mode := range p.modes(t) {
				name := strings.Join(append([]string{"run"}, mode...), " ")
				results = append(results, p.hold(t, name, want, differentTests[pkg], append([]string{"--recorder=probe"}, mode...)...))
			}
		})
	}
}

// modes are the flags with which a package's tests are recorded. Where all that is
// outside the standard library is main, without flags nearly nothing is recorded, or
// nothing at all, which is refused.
func (p tested) modes(t *testing.T) [][]string {
	t.Helper()
	modes := [][]string{{"--include", p.name}, {"--include", "std"}, {"--include", "std", "--memory", "3MiB"}}
	list := p
	list.args = []string{"-test.list", "^$"}
	if o, _, err := list.recorded(t, "--recorder=probe"); err != nil && strings.Contains(o.stderr, "is left to record") {
		return modes
	}
	return append([][]string{nil}, modes...)
}
