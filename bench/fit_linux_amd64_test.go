package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tracerag/calltree"
	"tracerag/prompt"
	"tracerag/prompt/tokens"
	"tracerag/rank"
	"tracerag/source"
	"tracerag/trace"
)

// fitted is one measurement of BenchmarkFit.
type fitted struct {
	Nodes, Functions, Bytes int
	Find, Rank, Fit         time.Duration
	CPU                     time.Duration // of Rank and Fit, on all processors
	Peak                    int64
	Total                   int // tokens of the prompt
}

// BenchmarkFit is what a prompt within 8,000 tokens of budget takes for traces of
// some functions of the standard library, with a call tree made up by chance: to find and
// read the sources, to rank the functions for a question, and to fit the best of
// them into the budget. Each measurement is a process of its own, as a command is,
// so that nothing is counted already, and the memory is its peak.
func BenchmarkFit(b *testing.B) {
	for _, n := range []int{1_000, 5_000, 20_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "trace.pb.gz")
			f, err := os.Create(path)
			if err != nil {
				b.Fatal(err)
			}
			if err := errors.Join(madeUp(b, n).Write(f), f.Close()); err != nil {
				b.Fatal(err)
			}
			var last fitted
			var find, ranks, fits, both, cpu []time.Duration
			for range *rounds {
				cmd := exec.Command(os.Args[0], "-test.run=^TestFitProcess$")
				cmd.Env = append(os.Environ(), fitProcess+"="+path)
				out, err := cmd.Output()
				if err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				line, _, _ := strings.Cut(string(out), "\n")
				if err := json.Unmarshal([]byte(line), &last); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				find, ranks, fits = append(find, last.Find), append(ranks, last.Rank), append(fits, last.Fit)
				both, cpu = append(both, last.Rank+last.Fit), append(cpu, last.CPU)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(last.Nodes), "nodes")
			b.ReportMetric(float64(last.Bytes)/1e6, "source-MB")
			b.ReportMetric(milliseconds(median(find)), "find-ms")
			b.ReportMetric(milliseconds(median(ranks)), "rank-ms")
			b.ReportMetric(milliseconds(median(fits)), "fit-ms")
			b.ReportMetric(milliseconds(median(both)), "rank-and-fit-ms")
			b.ReportMetric(milliseconds(median(cpu)), "rank-and-fit-cpu-ms")
			b.ReportMetric(mebibytes(last.Peak), "tracerag-MiB")
			b.ReportMetric(float64(last.Total), "tokens")
		})
	}
}

const fitProcess = "TRACERAG_BENCH_FIT"

// TestFitProcess is the process that BenchmarkFit measures.
func TestFitProcess(t *testing.T) {
	path := os.Getenv(fitProcess)
	if path == "" {
		t.Skip("for BenchmarkFit")
	}
	tr := readTrace(t, path)
	sources := source.New(source.Config{GOROOT: goroot(t), GoVersion: runtime.Version()})
	text := func(f trace.Function) source.Text {
		return sources.Find(source.Func{Name: f.Name, Package: f.Package, File: f.File, StartLine: f.StartLine})
	}
	tree, err := calltree.Build(tr, calltree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := fitted{Nodes: tree.Size, Functions: len(tr.Functions)}
	start := time.Now()
	for _, f := range tr.Functions {
		found := text(f)
		if found.Body == "" {
			t.Fatalf("%s: %s", f.Name, found.Warning)
		}
		m.Bytes += len(found.Body)
	}
	m.Find = time.Since(start)

	const question = "Why does a request with a chunked body and a Content-Length header hang?\n\nThe server waits for the trailer after \"0\\r\\n\", and the client gets \"http: unexpected EOF reading trailer\" after a timeout."
	tokens.For("").Count("load the vocabulary") // what is no part of fitting, and takes some 20 ms
	before := cpuOfSelf()
	start = time.Now()
	r := rank.Runs(question, []rank.Run{{Trace: tr, Tree: tree, Source: text}}, rank.Evidence{})
	m.Rank = time.Since(start)

	start = time.Now()
	p, err := prompt.Build(prompt.Input{Question: question, Runs: []prompt.Run{{Tree: tree}}, Source: text, Score: r.Score}, prompt.Options{Budget: 8_000})
	if err != nil {
		t.Fatal(err)
	}
	m.Fit, m.CPU, m.Total, m.Peak = time.Since(start), cpuOfSelf()-before, p.Total, peak()
	line, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
}

// madeUp is a trace of n functions of the standard library, that are as far apart
// there as they can, and of half as many nodes more.
func madeUp(t testing.TB, n int) *trace.Trace {
	all := standard(t)
	if len(all) < n {
		t.Fatalf("the standard library has %d functions, not %d", len(all), n)
	}
	tr := &trace.Trace{}
	b := trace.NewBuilder(tr)
	random := rand.New(rand.NewPCG(1, 1))
	var nodes []trace.NodeID
	for i := range n + n/2 {
		f := all[i%n*(len(all)/n)]
		if i >= n {
			f = all[random.IntN(n)*(len(all)/n)]
		}
		frame := trace.Frame{Func: b.Func(f), CallLine: 1 + random.IntN(100)}
		if i == 0 {
			nodes = append(nodes, b.Root(trace.Root{Kind: trace.RootMain}, frame, 1))
			continue
		}
		// Most calls come from one of the last functions, so that the tree has depth.
		caller := nodes[max(0, len(nodes)-1-random.IntN(1+random.IntN(200)))]
		nodes = append(nodes, b.Child(caller, frame, 1+int64(random.IntN(30))))
	}
	return b.Finish()
}

// standard lists the functions of the standard library that are for this system, in
// the order of their files.
func standard(t testing.TB) []trace.Function {
	root := filepath.Join(goroot(t), "src")
	var all []trace.Function
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == "cmd" || name == "vendor"):
			return filepath.SkipDir
		case d.IsDir(), !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"):
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		if strings.Contains(pkg, ".") {
			return nil // the linker would escape it
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil || f.Name.Name == "_" || f.Name.Name == "init" || strings.HasPrefix(f.Name.Name, "_cgo_") {
				continue
			}
			name, ok := methodOf(f)
			if !ok {
				continue
			}
			all = append(all, trace.Function{Name: pkg + "." + name, Package: pkg, File: path, StartLine: fset.Position(f.Pos()).Line})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.CompactFunc(all, func(a, b trace.Function) bool { return a.Name == b.Name })
}

// goroot is the directory of the Go distribution that the go command belongs to.
func goroot(t testing.TB) string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// methodOf names a function within its package as the linker does, if it is no
// method of a generic type.
func methodOf(f *ast.FuncDecl) (string, bool) {
	if f.Recv == nil {
		return f.Name.Name, true
	}
	switch x := f.Recv.List[0].Type.(type) {
	case *ast.Ident:
		return x.Name + "." + f.Name.Name, true
	case *ast.StarExpr:
		if id, ok := x.X.(*ast.Ident); ok {
			return "(*" + id.Name + ")." + f.Name.Name, true
		}
	}
	return "", false
}
