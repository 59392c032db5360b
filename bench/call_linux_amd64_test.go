package bench

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/fixtures/real"
)

// fib is a number to calculate, and how often.
type fib struct{ n, times int }

// calls is how often fib(n) calls itself, the first call included.
func (f fib) calls() float64 {
	a, b := 1, 1
	for range f.n {
		a, b = b, a+b
	}
	return float64(2*a - 1)
}

// nanoseconds are those of a call, of each of the times, as the program itself
// measured them.
func (f fib) nanoseconds(t testing.TB, stdout string) []float64 {
	t.Helper()
	var all []float64
	for line := range strings.Lines(stdout) {
		if ns, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil {
			all = append(all, float64(ns)/f.calls())
		}
	}
	if len(all) != f.times {
		t.Fatalf("fib was to be calculated %d times:\n%s", f.times, stdout)
	}
	return all
}

func (f fib) run(path string) run {
	return run{args: []string{path, "-n", strconv.Itoa(f.n), "-times", strconv.Itoa(f.times)}}
}

// BenchmarkCall is what a call of fib costs, by all that counts calls, and what
// is left when the cost without is taken away. The slow ones calculate a smaller
// number.
func BenchmarkCall(b *testing.B) {
	fast, slow := fib{32, 10}, fib{14, 3}
	plain := fixtures.Build(b, "fib")
	dir := b.TempDir()
	alone := func(t testing.TB, f fib, path string, env ...string) []float64 {
		r := f.run(path)
		r.dir, r.env = dir, env
		return f.nanoseconds(t, r.alone(t, true).stdout)
	}
	recorded := func(t testing.TB, f fib, j job) []float64 {
		r := f.run(plain)
		r.dir = dir
		_, o := r.recorded(t, j, true)
		return f.nanoseconds(t, o.stdout)
	}
	variants := []struct {
		name    string
		fib     fib
		measure func(t testing.TB, f fib) []float64
	}{
		{"alone", fast, func(t testing.TB, f fib) []float64 { return alone(t, f, plain) }},
		{"probe", fast, func(t testing.TB, f fib) []float64 { return recorded(t, f, job{Recorder: "probe"}) }},
		{"cover", fast, func(t testing.TB, f fib) []float64 {
			return alone(t, f, fixtures.Build(t, "fib", "-cover", "-covermode=count"), "GOCOVERDIR="+filepath.ToSlash(t.TempDir()))
		}},
		{"cover-atomic", fast, func(t testing.TB, f fib) []float64 {
			return alone(t, f, fixtures.Build(t, "fib", "-cover", "-covermode=atomic"), "GOCOVERDIR="+filepath.ToSlash(t.TempDir()))
		}},
		{"uprobe", fib{18, 3}, func(t testing.TB, f fib) []float64 {
			defer watch(t, plain, "main.fib")()
			return alone(t, f, plain)
		}},
		{"breakpoint", slow, func(t testing.TB, f fib) []float64 { return recorded(t, f, job{Recorder: "breakpoint"}) }},
		{"dlv-trace", fib{8, 3}, func(t testing.TB, f fib) []float64 {
			dlv := real.Install(t, real.Program{Name: "dlv", Package: "github.com/go-delve/delve/cmd/dlv", Version: "v1.27.2"})
			r := f.run(plain)
			r.dir = dir
			o := finish(t, r.command(slices.Concat([]string{dlv, "trace", "--exec", plain, "^main.fib$", "--"}, r.args[1:])...))
			if !strings.Contains(o.stderr+o.stdout, "main.fib(") {
				t.Skipf("not here: dlv traced nothing: %.300s", o.stderr)
			}
			return f.nanoseconds(t, o.stdout)
		}},
	}
	// The quick ones are measured in turns, so that a busy minute is everybody's.
	const quick = 4
	costs := map[string][]float64{}
	for range *rounds - 1 {
		for _, v := range variants[:quick] {
			costs[v.name] = append(costs[v.name], v.measure(b, v.fib)...)
		}
	}
	for _, v := range variants {
		b.Run(v.name, func(b *testing.B) {
			all := append(costs[v.name], v.measure(b, v.fib)...)
			costs[v.name] = all
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(slices.Min(all)-slices.Min(costs["alone"]), "min-added-ns/call")
			b.ReportMetric(median(all)-median(costs["alone"]), "median-added-ns/call")
			b.ReportMetric(v.fib.calls()*float64(len(all)), "calls")
		})
	}
}
