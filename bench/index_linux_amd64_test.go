package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	split "tracerag/code/words"
	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/sqlite"
)

// indexed is one measurement of BenchmarkIndex: a process.
type indexed struct {
	Files, Lines, Functions int
	Index, CPU              time.Duration
	Search                  time.Duration
	Peak, Size              int64
}

const indexedModule = "k8s.io/kubernetes@v1.34.1"

// indexedQuestion has words that are frequent in the module and words that are not.
const indexedQuestion = "A pod stays in terminating when the kubelet restarts while a volume is being unmounted: the volume manager waits for a mount that another pod made"

// BenchmarkIndex is what it takes to index a module of 1.6 million lines, to index it again when nothing
// and when one file changed, and to search three copies of it: more than 100,000 functions. Each
// measurement is a process of its own, as a command is. That of locate is the whole command, which
// first looks at all files.
func BenchmarkIndex(b *testing.B) {
	from := downloaded(b, indexedModule)
	b.Run("kubernetes", func(b *testing.B) {
		dir := filepath.Join(b.TempDir(), "kubernetes")
		copyTree(b, from, dir)
		file := filepath.Join(b.TempDir(), "knowledge.db")
		var first indexed
		var per, cpu, again, edit []time.Duration
		for i := range *rounds {
			for _, suffix := range []string{"", "-wal", "-shm"} {
				_ = os.Remove(file + suffix)
			}
			m := indexProcess(b, file, dir)
			per, cpu = append(per, m.Index*100_000/time.Duration(m.Lines)), append(cpu, m.CPU*100_000/time.Duration(m.Lines))
			if first.Peak = max(first.Peak, m.Peak); i == 0 {
				first.Files, first.Lines, first.Functions, first.Size = m.Files, m.Lines, m.Functions, m.Size
			}
			again = append(again, indexProcess(b, file, dir).Index)
			appendTo(b, filepath.Join(dir, "pkg", "kubelet", "kubelet.go"), fmt.Sprintf("\nfunc edited%d() {}\n", i))
			if m = indexProcess(b, file, dir); m.Files != 1 {
				b.Fatalf("one file was edited, and %d were read", m.Files)
			}
			edit = append(edit, m.Index)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(first.Files), "files")
		b.ReportMetric(float64(first.Lines), "lines")
		b.ReportMetric(float64(first.Functions), "functions")
		b.ReportMetric(milliseconds(median(per)), "ms/100k-lines")
		b.ReportMetric(milliseconds(median(cpu)), "cpu-ms/100k-lines")
		b.ReportMetric(milliseconds(median(again)), "again-ms")
		b.ReportMetric(milliseconds(median(edit)), "edit-ms")
		b.ReportMetric(mebibytes(first.Peak), "tracerag-MiB")
		b.ReportMetric(mebibytes(first.Size), "store-MiB")
	})
	b.Run("3-kubernetes", func(b *testing.B) {
		file := filepath.Join(b.TempDir(), "knowledge.db")
		functions := 0
		var size int64
		for i := range 3 {
			dir := filepath.Join(b.TempDir(), fmt.Sprint("kubernetes", i))
			copyTree(b, from, dir)
			m := indexProcess(b, file, dir)
			functions, size = functions+m.Functions, m.Size
		}
		var search, cpu, wall, locateCPU []time.Duration
		for range *rounds {
			m := indexProcess(b, file, "")
			search, cpu = append(search, m.Search), append(cpu, m.CPU)
			o := locateCommand(b, file)
			wall, locateCPU = append(wall, o.wall), append(locateCPU, o.cpu)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(functions), "functions")
		b.ReportMetric(milliseconds(median(search)), "search-ms")
		b.ReportMetric(milliseconds(median(cpu)), "search-cpu-ms")
		b.ReportMetric(milliseconds(median(wall)), "locate-ms")
		b.ReportMetric(milliseconds(median(wall)*100_000/time.Duration(functions)), "locate-ms/100k-functions")
		b.ReportMetric(milliseconds(median(locateCPU)), "locate-cpu-ms")
		b.ReportMetric(mebibytes(size), "store-MiB")
	})
}

// downloaded returns the directory of a module in the cache.
func downloaded(t testing.TB, module string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GO111MODULE=on", "GOWORK=off")
	out, err := cmd.Output()
	var m struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &m); err != nil || jsonErr != nil || m.Dir == "" {
		t.Skipf("%s is not to be had: %v %s", module, err, m.Error)
	}
	return m.Dir
}

// copyTree copies a module, which is read-only, to where files can be edited.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-r", "--no-preserve=mode", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func appendTo(t testing.TB, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// locateCommand runs tracerag locate, with no saved runs.
func locateCommand(t testing.TB, file string) output {
	t.Helper()
	cmd := exec.Command(tracerag(t), "locate", "--json", "--knowledge", file, indexedQuestion)
	cmd.Dir = t.TempDir()
	o := finish(t, cmd)
	if o.code != 0 || !strings.Contains(o.stdout, `"function"`) || strings.Contains(o.stderr, "stale") {
		t.Fatalf("%q ended with %d, and found\n%.300s\n%s", cmd.Args, o.code, o.stdout, o.stderr)
	}
	return o
}

const indexVariable = "TRACERAG_BENCH_INDEX"

// indexProcess indexes a directory; without one it searches.
func indexProcess(t testing.TB, file, dir string) (m indexed) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestIndexProcess$")
	cmd.Env = append(os.Environ(), indexVariable+"="+file+"\n"+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return m
}

// TestIndexProcess is the process that BenchmarkIndex measures.
func TestIndexProcess(t *testing.T) {
	file, dir, ok := strings.Cut(os.Getenv(indexVariable), "\n")
	if !ok {
		t.Skip("for BenchmarkIndex")
	}
	ctx := context.Background()
	var m indexed
	before := cpuOfSelf()
	start := time.Now()
	s, err := sqlite.Open(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if dir == "" {
		terms, _ := split.Question(indexedQuestion)
		if _, err := s.Search(ctx, knowledge.Query{Terms: terms, Limit: 50}); err != nil {
			t.Fatal(err)
		}
		m.Search = time.Since(start)
		m.CPU = cpuOfSelf() - before
	} else {
		r, err := index.Update(ctx, s, dir, index.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m.Index = time.Since(start)
		m.CPU = cpuOfSelf() - before
		n, err := s.Counts(ctx, r.Repository.ID)
		if err != nil {
			t.Fatal(err)
		}
		m.Files, m.Lines, m.Functions, m.Size = r.Read, r.Lines, n.Functions, s.Size()
	}
	m.Peak = peak()
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(out))
}
