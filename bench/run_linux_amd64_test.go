package bench

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tracerag/trace"
)

// BenchmarkRun is how much longer a program runs when everything in it outside the
// standard library is recorded, inlined calls too: from the moment when it is let
// go to its end. On a busy machine the ratio of the processors' time tells more
// than that of the clock.
func BenchmarkRun(b *testing.B) {
	for _, p := range []struct {
		name string
		make func(testing.TB) run
	}{
		{"gojq", func(t testing.TB) run { return largeGojq(t, 50e6) }},
		{"hugo", func(t testing.TB) run { return largeHugo(t, 10) }},
		{"hugo-code", func(t testing.TB) run { return largeHugo(t, 1) }},
		{"esbuild", largeEsbuild},
	} {
		b.Run(p.name, func(b *testing.B) {
			r := p.make(b)
			plans := b.TempDir()
			r.alone(b, false) // its files are read once
			var alone, recorded, aloneCPU, recordedCPU []time.Duration
			var last report
			for range *rounds {
				o := r.alone(b, false)
				alone, aloneCPU = append(alone, o.wall), append(aloneCPU, o.cpu)
				last, _ = r.recorded(b, job{Recorder: "probe", CacheDir: plans}, false)
				recorded, recordedCPU = append(recorded, last.Run), append(recordedCPU, last.CPU)
			}
			tr := readTrace(b, last.Path)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(milliseconds(median(alone)), "alone-ms")
			b.ReportMetric(milliseconds(median(recorded)), "recorded-ms")
			b.ReportMetric(float64(median(recorded))/float64(median(alone)), "ratio")
			b.ReportMetric(float64(slices.Min(recorded))/float64(slices.Min(alone)), "ratio-of-minima")
			b.ReportMetric(float64(median(recordedCPU))/float64(median(aloneCPU)), "cpu-ratio")
			b.ReportMetric(float64(tr.Calls())/1e6, "Mcalls")
			b.ReportMetric(float64(len(tr.Nodes)), "nodes")
			b.ReportMetric(mebibytes(last.Shared), "shared-MiB")
			b.ReportMetric(mebibytes(last.Peak), "tracerag-MiB")
			for _, line := range busiest(tr, *functions) {
				b.Log(line)
			}
		})
	}
}

// BenchmarkWhole is `tracerag run` from its start to its end. What it adds is the
// time beyond that in which the program itself was running, as the trace has it;
// over-alone is the time beyond the program's own without a recorder. Warm is with the
// plan of an earlier run in the cache, cold without. The prompt's figures are
// what --quiet does not calculate.
func BenchmarkWhole(b *testing.B) {
	for _, p := range []struct {
		name string
		make func(testing.TB) run
	}{
		{"tablecat", tablecat},
		{"gojq-small", func(t testing.TB) run { return small(t, "gojq") }},
		{"hugo-small", func(t testing.TB) run { return small(t, "hugo") }},
		{"hugo", func(t testing.TB) run { return largeHugo(t, 10) }},
		{"esbuild", largeEsbuild},
	} {
		b.Run(p.name, func(b *testing.B) {
			r := p.make(b)
			self := tracerag(b)
			store, kept := b.TempDir(), b.TempDir()
			record := func(cache string, flags ...string) (added, wall time.Duration) {
				args := slices.Concat([]string{self, "run", "--recorder=probe", "--dir", store}, flags, []string{"--"}, r.args)
				cmd := r.command(args...)
				cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+cache)
				cmd.Stdout = null(b)
				o := finish(b, cmd)
				if o.code != 0 {
					b.Fatalf("%q: exit code %d\n%s", r.args, o.code, o.stderr)
				}
				return o.wall - readTrace(b, newest(b, store)).Duration, o.wall
			}
			record(kept, "--quiet")
			var alone, cold, warm, prompt, overAlone []time.Duration
			for range *rounds {
				a := r.alone(b, false).wall
				alone = append(alone, a)
				d, _ := record(b.TempDir(), "--quiet")
				cold = append(cold, d)
				d, wall := record(kept, "--quiet")
				warm, overAlone = append(warm, d), append(overAlone, wall-a)
				d, _ = record(kept)
				prompt = append(prompt, d)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(milliseconds(median(alone)), "alone-ms")
			b.ReportMetric(milliseconds(median(cold)), "added-cold-ms")
			b.ReportMetric(milliseconds(median(warm)), "added-warm-ms")
			b.ReportMetric(milliseconds(median(overAlone)), "over-alone-ms")
			b.ReportMetric(milliseconds(median(prompt)-median(warm)), "prompt-ms")
		})
	}
}

// BenchmarkStages is where the time of a recording goes. Setup is planning,
// starting and patching; convert is from the shared memory to a trace.
func BenchmarkStages(b *testing.B) {
	for _, p := range []struct {
		name string
		make func(testing.TB) run
	}{
		{"tablecat", tablecat},
		{"hugo", func(t testing.TB) run { return largeHugo(t, 10) }},
		{"esbuild", largeEsbuild},
	} {
		b.Run(p.name, func(b *testing.B) {
			r := p.make(b)
			kept := b.TempDir()
			r.recorded(b, job{Recorder: "probe", CacheDir: kept}, false)
			var find, cold, warm, during, convert, save []time.Duration
			for range *rounds {
				rep, _ := r.recorded(b, job{Recorder: "probe", CacheDir: b.TempDir()}, false)
				cold = append(cold, rep.Start)
				rep, _ = r.recorded(b, job{Recorder: "probe", CacheDir: kept}, false)
				find, warm, during = append(find, rep.Find), append(warm, rep.Start), append(during, rep.Run)
				convert, save = append(convert, rep.Convert), append(save, rep.Save)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(milliseconds(median(find)), "find-ms")
			b.ReportMetric(milliseconds(median(cold)), "setup-cold-ms")
			b.ReportMetric(milliseconds(median(warm)), "setup-warm-ms")
			b.ReportMetric(milliseconds(median(during)), "run-ms")
			b.ReportMetric(milliseconds(median(convert)), "convert-ms")
			b.ReportMetric(milliseconds(median(save)), "save-ms")
		})
	}
}

// newest is the trace that was saved last.
func newest(t testing.TB, store string) string {
	t.Helper()
	traces, err := filepath.Glob(filepath.Join(store, "*.pb.gz"))
	if err != nil || len(traces) == 0 {
		t.Fatalf("no trace was saved in %s", store)
	}
	return traces[len(traces)-1] // names begin with the time
}

// busiest lists the n functions that were called most.
func busiest(tr *trace.Trace, n int) []string {
	m := byPosition(tr)
	sorted := slices.SortedFunc(maps.Keys(m), func(a, b position) int {
		return cmp.Or(cmp.Compare(m[b].n, m[a].n), cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	var lines []string
	for _, at := range sorted[:min(n, len(sorted))] {
		lines = append(lines, fmt.Sprintf("%d calls of %s", m[at].n, strings.Join(m[at].names, ", ")))
	}
	return lines
}
