package bench

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tracerag/trace"
	"tracerag/viewer/browsertest"
)

// BenchmarkView is how soon a large trace is on the screen: from the start of
// tracerag view to its URL, from the request for the page to the painted tree, the
// two together, and on to the figure of the whole prompt, for which every source is
// read and counted. The browser runs already. cpu is the time on all processors that
// server and browser take until the tree is painted, or a little longer: on a busy machine
// it tells more than the clock. The server's memory is its peak, after the
// prompt was made twice, with a budget the second time.
func BenchmarkView(b *testing.B) {
	for _, p := range []struct {
		name string
		make func(testing.TB) string // path of a trace
	}{
		{"generated", func(t testing.TB) string { return generated(t, 50_000) }},
		{"esbuild", func(t testing.TB) string {
			last, _ := largeEsbuild(t).recorded(t, job{Recorder: "probe", CacheDir: t.TempDir()}, false)
			return last.Path
		}},
	} {
		b.Run(p.name, func(b *testing.B) {
			path, self, browser := p.make(b), tracerag(b), browsertest.Start(b)
			var listens, paints, both, cpus, prompts []time.Duration
			var most int64
			for range *rounds {
				start := time.Now()
				cmd := exec.Command(self, "view", "--no-open", "--init", path)
				out, err := cmd.StdoutPipe()
				if err != nil {
					b.Fatal(err)
				}
				cmd.Stderr = os.Stderr
				if err := cmd.Start(); err != nil {
					b.Fatal(err)
				}
				url, err := bufio.NewReader(out).ReadString('\n')
				if err != nil {
					cmd.Process.Kill()
					b.Fatalf("view: %v", err)
				}
				listen := time.Since(start)

				page := browser.Open(b, 1440, 900)
				before := browser.CPU(b)
				page.Go(strings.TrimSpace(url))
				page.Wait("performance.getEntriesByName('painted').length")
				cpus = append(cpus, cpuSoFar(b, cmd.Process.Pid)+browser.CPU(b)-before)
				var painted, ready float64 // since the request for the page
				page.Eval("performance.getEntriesByName('painted')[0].startTime", &painted)
				page.Wait("document.querySelector('[data-total]') || !document.querySelector('.draft .error').hidden")
				page.Eval("performance.getEntriesByType('resource').find(r => r.name.endsWith('/api/prompt')).responseEnd", &ready)
				page.Eval("(() => { const b = document.querySelector('#budget'); b.value = 20000; b.dispatchEvent(new Event('change')); })()", nil)
				page.Wait("performance.getEntriesByType('resource').filter(r => r.name.endsWith('/api/prompt')).length > 1")
				if n := peakOf(b, cmd.Process.Pid); n > most {
					most = n
				}
				page.Quiet()
				cmd.Process.Signal(os.Interrupt)
				if err := cmd.Wait(); err != nil {
					b.Errorf("view: %v", err)
				}
				paint := time.Duration(painted * float64(time.Millisecond))
				listens, paints, both = append(listens, listen), append(paints, paint), append(both, listen+paint)
				prompts = append(prompts, time.Duration(ready*float64(time.Millisecond)))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(len(readTrace(b, path).Nodes)), "nodes")
			b.ReportMetric(milliseconds(median(listens)), "listen-ms")
			b.ReportMetric(milliseconds(median(paints)), "paint-ms")
			b.ReportMetric(milliseconds(median(both)), "first-paint-ms")
			b.ReportMetric(milliseconds(median(cpus)), "cpu-ms")
			b.ReportMetric(milliseconds(median(prompts)), "prompt-ms")
			b.ReportMetric(mebibytes(most), "server-MiB")
		})
	}
}

// peakOf is the most memory that a running process has had.
func peakOf(t testing.TB, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kB, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kB << 10
}

// cpuSoFar is the time on all processors that a running process has taken.
func cpuSoFar(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// The name may hold spaces; times are the 12th and 13th field behind it, in
	// hundredths of a second.
	_, rest, _ := strings.Cut(string(stat), ") ")
	var ticks time.Duration
	for _, field := range strings.Fields(rest)[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond
}

// generated is a trace of n nodes and 4,000 functions, each with some twenty lines
// of source in a module of its own: what a program of 80,000 lines looks like
// that runs nearly all of itself.
func generated(t testing.TB, n int) string {
	t.Helper()
	const levels, perLevel = 40, 100
	dir, random := t.TempDir(), rand.New(rand.NewPCG(1, 1))
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/large\n\ngo 1.26\n")
	tr := &trace.Trace{Recorder: "probe", Command: []string{"./large"}, Dir: dir}
	tr.Program.Main.Path, tr.Program.MainPath = "example.com/large", "example.com/large"
	for l := range levels {
		file, line := fmt.Sprintf("p%d/f.go", l), 3
		var text strings.Builder
		fmt.Fprintf(&text, "package p%d\n\n", l)
		for f := range perLevel {
			tr.Functions = append(tr.Functions, trace.Function{Name: fmt.Sprintf("example.com/large/p%d.F%d", l, f),
				Package: fmt.Sprintf("example.com/large/p%d", l), File: filepath.Join(dir, file), StartLine: line})
			fmt.Fprintf(&text, "func F%d(values []int, name string) (sum int) {\n", f)
			for k := range 17 {
				fmt.Fprintf(&text, "\tsum += values[%d] * len(name[%d:]) // step %d of %d\n", random.IntN(100), k, k, f)
			}
			text.WriteString("\treturn sum\n}\n\n")
			line += 21
		}
		write(file, text.String())
	}
	level := make([]int, n)
	for i := range n {
		node := trace.Node{Parent: trace.NoNode, Root: trace.RootMain, Calls: 1 + random.Int64N(9)}
		if i > 0 {
			p := random.IntN(i)
			for level[p] == levels-1 {
				p = random.IntN(i)
			}
			node.Parent, node.Root, node.CallLine, level[i] = trace.NodeID(p), trace.NotRoot, 1+random.IntN(2000), level[p]+1
		}
		node.Func = trace.FuncID(level[i]*perLevel + random.IntN(perLevel))
		tr.Nodes = append(tr.Nodes, node)
	}
	path := filepath.Join(dir, "large.pb.gz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Write(file); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
