package rebuild_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tracerag/fixtures/real"
	"tracerag/trace"
	"tracerag/trace/recordtest"
)

// TestTreesOfPrograms holds the trees of real programs against those of the probe: the same program without inlining, on one processor.
// Hugo's goroutines run in another order each time, so of it the calls of each function are compared.
func TestTreesOfPrograms(t *testing.T) {
	if os.Getenv("TRACERAG_REAL") == "" {
		t.Skip("TRACERAG_REAL is not set")
	}
	for _, p := range real.Selected() {
		t.Run(p.Name, func(t *testing.T) {
			// The scheduler and the collector of memory run goroutines, too.
			env := []string{"GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1", "GOGC=off"}
			record := func(flags []string) recordtest.Result {
				path := real.Install(t, p, flags...)
				return recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: append([]string{path}, p.Args...), Dir: p.Dir(t)}, Stdin: strings.NewReader(p.Stdin), Env: env})
			}
			want, got := record(flags), record(lined(t))
			if got.Stdout != want.Stdout || got.Code != want.Code {
				t.Errorf("it ends with %d and prints\n%s\nwith the probe with %d, and\n%s", got.Code, got.Stdout, want.Code, want.Stdout)
			}
			t.Logf("%d nodes, %d calls", len(got.Trace.Nodes), got.Trace.Calls())
			if p.Name == "hugo" {
				sameCounts(t, got.Trace, want.Trace)
				return
			}
			a, b := pruned(got.Trace, want.Trace), pruned(want.Trace, got.Trace)
			if p.Name == "esbuild" { // its goroutines read files, and run in any order
				a, b = sorted(a), sorted(b)
			}
			same(t, a, b)
		})
	}
}

// outlined matches what the compiler makes of a package's maps. It has no source.
var outlined = regexp.MustCompile(`\.map\.init\.\d+$`)

// shuffled matches functions of esbuild that sort what was in a map, in another order each time.
var shuffled = regexp.MustCompile(`Array\.(Less|Swap)$`)

// unseen are functions that one of two traces names as not recorded: the probe those without room for a jump, this recorder assembly, and
// what is marked go:nosplit.
func unseen(a, b *trace.Trace) map[string]bool {
	out := map[string]bool{}
	for _, l := range slices.Concat(a.Losses, b.Losses) {
		if l.Kind == trace.LossNotHooked {
			out[l.Function] = true
		}
	}
	return out
}

// pruned is the tree of a trace without functions that another trace does not have for a reason.
func pruned(tr, other *trace.Trace) string {
	not := unseen(tr, other)
	var out []string
	var gone []int // depths of the lines above that are gone
	for line := range strings.Lines(recordtest.Tree(tr)) {
		text := strings.TrimLeft(line, " ")
		depth := len(line) - len(text)
		for len(gone) > 0 && depth <= gone[len(gone)-1] {
			gone = gone[:len(gone)-1]
		}
		name := strings.TrimPrefix(text, "[init] ")
		name = strings.Fields(name)[0]
		if not[name] || outlined.MatchString(name) || shuffled.MatchString(name) {
			gone = append(gone, depth)
			continue
		}
		out = append(out, line[2*len(gone):])
	}
	return strings.Join(out, "")
}

// sorted is a tree with siblings in the order of their text, and not of their first calls.
func sorted(tree string) string {
	var siblings func(lines []string, depth int) string
	siblings = func(lines []string, depth int) string {
		var all []string
		for len(lines) > 0 {
			n := 1
			for n < len(lines) && strings.HasPrefix(lines[n], strings.Repeat("  ", depth+1)) {
				n++
			}
			all = append(all, lines[0]+siblings(lines[1:n], depth+1))
			lines = lines[n:]
		}
		slices.Sort(all)
		return strings.Join(all, "")
	}
	return siblings(slices.Collect(strings.Lines(tree)), 0)
}

// sameCounts compares how often each function was called.
func sameCounts(t *testing.T, got, want *trace.Trace) {
	t.Helper()
	not := unseen(got, want)
	g, w := recordtest.Counts(got), recordtest.Counts(want)
	names := maps.Clone(w)
	maps.Copy(names, g)
	n, different := 0, 0
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if not[name] || outlined.MatchString(name) {
			continue
		}
		if n++; g[name] != w[name] {
			different++
			t.Errorf("%s: %d calls, the probe has %d", name, g[name], w[name])
		}
	}
	t.Logf("%d functions, %d with other counts", n, different)
}
