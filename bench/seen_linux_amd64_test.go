package bench

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tracerag/fixtures/real"
	"tracerag/trace"
	"tracerag/trace/executable"
)

var functions = flag.Int("functions", 0, "list `N` functions: the busiest ones, or those whose calls are not seen, or seen too often")

// noInlining builds a program as trace/gocmd does.
var noInlining = []string{"-gcflags=all=-l", "-gcflags=std="}

// BenchmarkSeen records programs as the go command builds them, and built without
// inlining, where every call in the source is one in the program. The share seen
// is that of the latter's calls which are in the former's trace, at most as many
// as there are of each function; what is more than that is overcounted.
//
// Both run on one processor without garbage collection, so that pools and
// schedules make little difference. No-code is the share of calls that left no
// instruction in the program, for any recorder to see, and seen-of-code the share
// seen of the others; noise is what remains between two runs of the
// build without inlining, measured in the same way.
func BenchmarkSeen(b *testing.B) {
	for _, p := range []struct {
		name, program string
		make          func(testing.TB) run
	}{
		{"gojq", "gojq", nil},
		{"gojq-1MB", "gojq", func(t testing.TB) run { return largeGojq(t, 1e6) }},
		{"esbuild", "esbuild", nil},
		{"hugo", "hugo", nil},
	} {
		b.Run(p.name, func(b *testing.B) {
			prog := program(b, p.program)
			r := small(b, p.program)
			if p.make != nil {
				r = p.make(b)
			}
			r.env = []string{"GOMAXPROCS=1", "GOGC=off"}
			plain, whole := real.Install(b, prog), real.Install(b, prog, noInlining...)
			count := func(path string, noInlined bool) map[position]calls {
				r := r
				r.args = append([]string{path}, r.args[1:]...)
				rep, _ := r.recorded(b, job{Recorder: "probe", NoInlined: noInlined}, false)
				return byPosition(readTrace(b, rep.Path))
			}
			want, again := count(whole, false), count(whole, false)
			got, without := count(plain, false), count(plain, true)
			all := total(want)
			seen, over, never := compare(want, got)
			seenWithout, _, neverWithout := compare(want, without)
			same, extra, _ := compare(want, again)
			percent := func(n int64) float64 { return 100 * float64(n) / float64(all) }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(all), "calls")
			b.ReportMetric(percent(seen), "%seen")
			b.ReportMetric(percent(over), "%over")
			none := noCode(b, plain, want)
			b.ReportMetric(percent(none), "%no-code")
			b.ReportMetric(100*float64(seen)/float64(all-none), "%seen-of-code")
			b.ReportMetric(percent(seenWithout), "%seen-without-inlined")
			b.ReportMetric(float64(len(want)), "functions")
			b.ReportMetric(float64(never), "never-seen")
			b.ReportMetric(float64(neverWithout), "never-seen-without-inlined")
			b.ReportMetric(percent(all-same+extra), "%noise")
			for _, line := range worst(want, got, *functions) {
				b.Log(line)
			}
		})
	}
}

// noCode is how many of the calls are of functions that have no instruction in the
// program: they have empty bodies, or are inlined into nothing.
func noCode(b *testing.B, path string, calls map[position]calls) (n int64) {
	f, err := executable.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	there := map[position]bool{}
	for i := range f.Funcs {
		fn := &f.Funcs[i]
		there[position{fn.File, fn.StartLine}] = true
		for _, in := range f.Inlined(fn) {
			there[position{in.File, in.StartLine}] = true
		}
	}
	for at, c := range calls {
		if !there[at] {
			n += c.n
		}
	}
	return n
}

// position is where a function begins: names differ between the builds, because a
// closure is named after the function that its own was inlined into.
type position struct {
	file string
	line int
}

func (p position) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// calls are those of all functions that begin on one line.
type calls struct {
	n           int64
	names       []string
	approximate bool
}

func byPosition(tr *trace.Trace) map[position]calls {
	m := map[position]calls{}
	for i := range tr.Nodes {
		n, f := &tr.Nodes[i], tr.Func(trace.NodeID(i))
		if n.Calls == 0 {
			continue
		}
		at := position{f.File, f.StartLine}
		c := m[at]
		c.n += n.Calls
		c.approximate = c.approximate || n.Flags.Has(trace.Approximate)
		if !slices.Contains(c.names, f.Name) {
			c.names = append(c.names, f.Name)
		}
		m[at] = c
	}
	return m
}

func total(m map[position]calls) (n int64) {
	for _, c := range m {
		n += c.n
	}
	return n
}

// compare returns how many of want's calls are in got, how many are in got beside
// them, and how many of want's functions are not in got at all.
func compare(want, got map[position]calls) (seen, over int64, never int) {
	for at, w := range want {
		g := got[at]
		seen += min(w.n, g.n)
		if g.n == 0 {
			never++
		}
	}
	for at, g := range got {
		over += max(0, g.n-want[at].n)
	}
	return seen, over, never
}

// worst lists the n functions by which two recordings differ most.
func worst(want, got map[position]calls, n int) []string {
	off := func(at position) int64 { return got[at].n - want[at].n }
	all := map[position]bool{}
	for at := range want {
		all[at] = true
	}
	for at := range got {
		all[at] = true
	}
	sorted := slices.SortedFunc(maps.Keys(all), func(a, b position) int {
		return cmp.Or(cmp.Compare(abs(off(b)), abs(off(a))), cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	var lines []string
	for _, at := range sorted[:min(n, len(sorted))] {
		if off(at) == 0 {
			break
		}
		names := want[at].names
		if names == nil {
			names = got[at].names
		}
		approximate := ""
		if got[at].approximate {
			approximate = " approximate"
		}
		lines = append(lines, fmt.Sprintf("%+d: %d of %d%s %s (%s)", off(at), got[at].n, want[at].n, approximate, strings.Join(names, ", "), at))
	}
	return lines
}

func abs(n int64) int64 { return max(n, -n) }
