package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tracerag/fixtures"
	"tracerag/fixtures/real"
	"tracerag/trace/rebuild"
)

// notInlined builds as for every recorder of what the go command builds.
var notInlined = []string{"-gcflags=all=-l", "-gcflags=std="}

// rebuilt builds with the recorder in the program.
func rebuilt(t testing.TB, lines, values bool) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	flags := append(slices.Clone(notInlined), "-toolexec="+self+" tool")
	if mark := rebuild.Marked(lines, values); mark != "" {
		flags[0] += " " + mark
	}
	return flags
}

// short takes less than the system gives a process at a time, so that most are undisturbed on a busy machine.
var short = fib{20, 500}

// BenchmarkRebuildCall is what a call of fib costs with the recorder in the program, beside the probe's. All are compared with the program
// as it is, which does not inline fib.
func BenchmarkRebuildCall(b *testing.B) {
	f := short
	plain := fixtures.Build(b, "fib")
	variants := []struct {
		name string
		path string
		job  job
	}{
		{name: "alone", path: plain},
		{name: "probe", path: plain, job: job{Recorder: "probe"}},
		{name: "rebuild", path: fixtures.Build(b, "fib", rebuilt(b, false, false)...), job: job{Recorder: "rebuild"}},
		{name: "rebuild-lines", path: fixtures.Build(b, "fib", rebuilt(b, true, false)...), job: job{Recorder: "rebuild"}},
		{name: "rebuild-values", path: fixtures.Build(b, "fib", rebuilt(b, false, true)...), job: job{Recorder: "rebuild", Values: 8}},
	}
	costs := map[string][]float64{}
	for range *rounds {
		for _, v := range variants {
			r := f.run(v.path)
			r.dir = b.TempDir()
			var o output
			if v.job.Recorder == "" {
				o = r.alone(b, true)
			} else {
				_, o = r.recorded(b, v.job, true)
			}
			costs[v.name] = append(costs[v.name], f.nanoseconds(b, o.stdout)...)
		}
	}
	for _, v := range variants {
		b.Run(v.name, func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(slices.Min(costs[v.name])-slices.Min(costs["alone"]), "min-added-ns/call")
			b.ReportMetric(median(costs[v.name])-median(costs["alone"]), "median-added-ns/call")
			b.ReportMetric(f.calls()*float64(len(costs[v.name])), "calls")
		})
	}
}

// BenchmarkRebuild is the processor time of whole runs with the recorder in the program, beside that of the same runs with
// the probe, and of the program without inlining and without a recorder. The ratios are of the least times, to the program as it is.
func BenchmarkRebuild(b *testing.B) {
	for _, p := range []struct {
		name, program string
		lines         bool
		make          func(testing.TB) run
	}{
		{"gojq", "gojq", true, func(t testing.TB) run { return largeGojq(t, 20e6) }},
		{"gojq-no-lines", "gojq", false, func(t testing.TB) run { return largeGojq(t, 20e6) }},
		{"esbuild", "esbuild", true, largeEsbuild},
		{"hugo", "hugo", true, func(t testing.TB) run { return largeHugo(t, 10) }},
	} {
		b.Run(p.name, func(b *testing.B) {
			r, plans := p.make(b), b.TempDir()
			with := func(flags []string) run {
				other := r
				other.args = append([]string{real.Install(b, program(b, p.program), flags...)}, r.args[1:]...)
				return other
			}
			apart, own := with(notInlined), with(rebuilt(b, p.lines, false))
			r.alone(b, false) // its files are read once
			var alone, probed, notInlined, recorded []time.Duration
			var last report
			for range *rounds {
				alone = append(alone, r.alone(b, false).cpu)
				notInlined = append(notInlined, apart.alone(b, false).cpu)
				rep, _ := r.recorded(b, job{Recorder: "probe", CacheDir: plans}, false)
				probed = append(probed, rep.CPU)
				last, _ = own.recorded(b, job{Recorder: "rebuild"}, false)
				recorded = append(recorded, last.CPU)
			}
			tr := readTrace(b, last.Path)
			ratio := func(d []time.Duration) float64 { return float64(slices.Min(d)) / float64(slices.Min(alone)) }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(milliseconds(slices.Min(alone)), "alone-ms")
			b.ReportMetric(ratio(recorded), "cpu-ratio")
			b.ReportMetric(ratio(probed), "probe-cpu-ratio")
			b.ReportMetric(ratio(notInlined), "not-inlined-cpu-ratio")
			b.ReportMetric(float64(tr.Calls())/1e6, "Mcalls")
			b.ReportMetric(float64(len(tr.Nodes)), "nodes")
		})
	}
}

// manySites is a program that calls a function with arguments and results of a few types at many places, so often that values of
// some of its calls are kept, and of others not. It prints the nanoseconds of each round over all places.
func manySites(t testing.TB, sites int) string {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n\t\"fmt\"\n\t\"time\"\n)\n\ntype row struct {\n\tname string\n\tcells []int\n\tnext *row\n}\n\nvar failed = fmt.Errorf(\"no such row\")\n\n")
	b.WriteString("//go:noinline\nfunc find(r *row, name string, n int) (*row, int, error) {\n\tif n < 0 {\n\t\treturn nil, 0, failed\n\t}\n\treturn r, n + len(name), nil\n}\n\nfunc round(r *row) (sum int) {\n\tvar n int\n")
	for i := range sites {
		fmt.Fprintf(&b, "\t_, n, _ = find(r, \"row %d\", %d)\n\tsum += n\n", i, i)
	}
	b.WriteString("\treturn sum\n}\n\nfunc main() {\n\tr := &row{name: \"first\", cells: []int{1, 2, 3}}\n\tr.next = &row{name: \"second\"}\n\tfor range 1000 {\n\t\tstart := time.Now()\n\t\tround(r)\n\t\tfmt.Println(time.Since(start).Nanoseconds())\n\t}\n}\n")
	for name, text := range map[string]string{"main.go": b.String(), "go.mod": "module example.com/many\n\ngo 1.24\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// BenchmarkValues is what values cost more than counting alone. The calls of the first rounds are kept; the first of all, which
// makes the nodes, is left out, and so is the last. The least times are compared: a round takes a fraction of a millisecond.
func BenchmarkValues(b *testing.B) {
	const sites, kept = 300, 16
	dir := manySites(b, sites)
	build := func(flags []string) run {
		out := filepath.Join(b.TempDir(), "many")
		cmd := exec.Command("go", slices.Concat([]string{"build", "-o", out}, flags, []string{"."})...)
		cmd.Dir = dir
		if said, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, said)
		}
		return run{args: []string{out}, dir: b.TempDir()}
	}
	times := func(r run, j job) (early, late float64) {
		_, o := r.recorded(b, j, true)
		var all []float64
		for line := range strings.Lines(o.stdout) {
			ns, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, ns/sites)
		}
		return slices.Min(all[1 : kept-1]), slices.Min(all[kept+1:])
	}
	counting, keeping := build(rebuilt(b, false, false)), build(rebuilt(b, false, true))
	f := short
	counted, valued := f.run(fixtures.Build(b, "fib", rebuilt(b, false, false)...)), f.run(fixtures.Build(b, "fib", rebuilt(b, false, true)...))
	var early, late, fibs [2][]float64
	for range *rounds {
		for i, j := range []job{{Recorder: "rebuild"}, {Recorder: "rebuild", Values: kept}} {
			e, l := times([]run{counting, keeping}[i], j)
			early[i], late[i] = append(early[i], e), append(late[i], l)
			_, o := []run{counted, valued}[i].recorded(b, j, true)
			fibs[i] = append(fibs[i], f.nanoseconds(b, o.stdout)...)
		}
	}
	b.Run("many", func(b *testing.B) {
		b.ReportMetric(0, "ns/op")
		b.ReportMetric((slices.Min(early[1])-slices.Min(early[0]))/1000, "kept-us/call")
		b.ReportMetric(slices.Min(late[1])-slices.Min(late[0]), "not-kept-ns/call")
		b.ReportMetric(sites*kept, "kept")
		b.ReportMetric(sites*(1000-kept), "not-kept")
	})
	b.Run("fib", func(b *testing.B) {
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(slices.Min(fibs[1])-slices.Min(fibs[0]), "not-kept-ns/call")
		b.ReportMetric(f.calls()*float64(f.times), "not-kept")
	})
}
