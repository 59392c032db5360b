package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"tracerag/export"
	"tracerag/session"
	"tracerag/trace"
	"tracerag/trace/store"
)

// hostileFile is a trace or a profile that a few bytes make large.
type hostileFile struct {
	name  string
	write func(w *profileWriter)
	// refused: every command that reads the nodes reports why it does not.
	refused string
}

// profileWriter writes the fields of a pprof profile one by one.
type profileWriter struct {
	*bufio.Writer
	strings int
}

func (w *profileWriter) bytes(field protowire.Number, b []byte) {
	w.Write(protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), b))
}

// text adds a string and returns its index.
func (w *profileWriter) text(s string) uint64 {
	w.bytes(6, []byte(s))
	w.strings++
	return uint64(w.strings - 1)
}

// zeros adds one string of that many zeros.
func (w *profileWriter) zeros(field protowire.Number, n int) {
	w.Write(protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.BytesType), uint64(n)))
	io.CopyN(w, zeroReader{}, int64(n))
	if field == 6 {
		w.strings++
	}
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// packed is a repeated field of numbers, and numbers one without repetition each.
func packed(b []byte, field protowire.Number, list ...uint64) []byte {
	var data []byte
	for _, v := range list {
		data = protowire.AppendVarint(data, v)
	}
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), data)
}

func numbered(pairs ...uint64) (b []byte) {
	for i := 0; i < len(pairs); i += 2 {
		b = protowire.AppendVarint(protowire.AppendTag(b, protowire.Number(pairs[i]), protowire.VarintType), pairs[i+1])
	}
	return b
}

// sample is one of a value with a path, innermost first, and labels.
func (w *profileWriter) sample(value int64, path []uint64, labels ...[]byte) {
	b := packed(packed(nil, 1, path...), 2, uint64(value))
	for _, l := range labels {
		b = protowire.AppendBytes(protowire.AppendTag(b, 3, protowire.BytesType), l)
	}
	w.bytes(2, b)
}

// function adds a function with its location, both of this id.
func (w *profileWriter) function(id, name uint64, lines ...[]byte) {
	w.bytes(5, numbered(1, id, 2, name, 3, name))
	b := numbered(1, id)
	if lines == nil {
		lines = [][]byte{numbered(1, id)}
	}
	for _, l := range lines {
		b = protowire.AppendBytes(protowire.AppendTag(b, 4, protowire.BytesType), l)
	}
	w.bytes(4, b)
}

// begin writes the strings that the others refer to by these indexes.
func (w *profileWriter) begin(typ string) {
	for _, s := range []string{"", typ, "count", "tracerag.parent", "tracerag.root", "main", "main.f"} {
		w.text(s)
	}
	w.bytes(1, numbered(1, 1, 2, 2))
}

func (w *profileWriter) comments(list ...string) {
	for _, c := range list {
		w.Write(numbered(13, w.text(c)))
	}
}

func (w *profileWriter) ours(calls int64, nodes int) {
	w.comments("tracerag.format=1", fmt.Sprintf(`tracerag.total={"calls":%d,"nodes":%d}`, calls, nodes), `tracerag.recorder="probe"`, `tracerag.exit={"code":0}`)
}

var rootLabel = numbered(1, 4, 2, 5)

func parentLabel(n int) []byte { return numbered(1, 3, 3, uint64(n)) }

// upTo is n, n-1, ... 1.
func upTo(n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = uint64(n - i)
	}
	return out
}

func (w *profileWriter) functions(n int) {
	for id := range n {
		w.function(uint64(id+1), w.text(fmt.Sprintf("main.f%d", id)))
	}
}

const tooMuch = "TRACERAG_READ_MEMORY="

var hostileFiles = []hostileFile{
	{name: "a string of 1 GB of zeros", refused: tooMuch, write: func(w *profileWriter) { w.begin("calls"); w.zeros(6, 1<<30); w.ours(0, 0) }},
	{name: "a field of 256 MB that nobody knows", refused: "import", write: func(w *profileWriter) { w.begin("calls"); w.zeros(99, 1<<28) }},
	{name: "a sample of 1 GB", refused: "has 1073741824 bytes", write: func(w *profileWriter) { w.begin("calls"); w.zeros(2, 1<<30) }},
	{name: "a million equal nodes", refused: tooMuch, write: func(w *profileWriter) {
		const n = 1_000_000
		w.begin("calls")
		w.sample(1, []uint64{1}, rootLabel)
		for range n {
			w.sample(1, []uint64{2, 1}, parentLabel(1))
		}
		w.functions(2)
		w.ours(n+1, n+1)
	}},
	{name: "2 million losses in one string", refused: tooMuch, write: func(w *profileWriter) {
		w.begin("calls")
		w.ours(0, 0)
		loss := w.text(`tracerag.loss={"kind":"other","detail":"x"}`)
		for range 2_000_000 {
			w.Write(numbered(13, loss))
		}
	}},
	{name: "a name of 1 MB on 100,000 nodes", refused: tooMuch, write: func(w *profileWriter) {
		const n = 100_000
		w.begin("calls")
		w.sample(1, []uint64{1}, rootLabel)
		for range n {
			w.sample(1, []uint64{2, 1}, parentLabel(1))
		}
		w.function(1, 6)
		w.function(2, w.text("main."+strings.Repeat("x", 1<<20)))
		w.ours(n+1, n+1)
	}},
	{name: "100,000 goroutines that start each other", refused: "levels deep", write: func(w *profileWriter) {
		const n = 100_000
		w.begin("calls")
		goroutine, creator := w.text("goroutine"), w.text("tracerag.go.creator")
		w.sample(1, []uint64{1}, rootLabel)
		for i := range n {
			w.sample(1, []uint64{uint64(i + 2)}, numbered(1, 4, 2, goroutine), numbered(1, creator, 3, uint64(i+1)))
		}
		w.functions(n + 1)
		w.ours(n+1, n+1)
	}},
	{name: "a circle of goroutines", refused: "its own creator", write: func(w *profileWriter) {
		w.begin("calls")
		goroutine, creator := w.text("goroutine"), w.text("tracerag.go.creator")
		for i := range 2 {
			w.sample(1, []uint64{1}, numbered(1, 4, 2, goroutine), numbered(1, creator, 3, uint64(2-i)))
		}
		w.functions(1)
		w.ours(2, 2)
	}},
	{name: "negative parents and creators", refused: "damaged", write: func(w *profileWriter) {
		w.begin("calls")
		w.sample(1, []uint64{1}, numbered(1, 3, 3, math.MaxUint64))
		w.functions(1)
		w.ours(1, 1)
	}},
	{name: "counts that overflow", refused: "64 bits", write: func(w *profileWriter) {
		w.begin("calls")
		for range 2 {
			w.sample(math.MaxInt64, []uint64{1}, rootLabel)
		}
		w.functions(1)
		w.ours(-2, 2)
	}},
	{name: "lines inlined 100,000 deep, met 10,000 times", refused: "import", write: func(w *profileWriter) {
		inlinedSamples(w, 100_000, 10_000)
	}},
	{name: "a node inlined 100,000 deep", refused: "does not extend", write: func(w *profileWriter) {
		w.begin("calls")
		w.sample(1, []uint64{1}, rootLabel)
		w.sample(1, []uint64{2, 1}, parentLabel(1))
		lines := make([][]byte, 100_000)
		for i := range lines {
			lines[i] = numbered(1, 1, 2, uint64(i))
		}
		w.function(1, 6)
		w.function(2, 6, lines...)
		w.ours(2, 2)
	}},
	{name: "a chain of 3,000 functions", write: func(w *profileWriter) { chain(w, 3_000) }},
	{name: "a chain of 60,000 functions in one sample", refused: "import", write: func(w *profileWriter) {
		w.begin("samples")
		w.sample(1, upTo(60_000))
		w.functions(60_000)
	}},
	{name: "a chain of 120,000 functions in one sample", refused: "import", write: func(w *profileWriter) {
		w.begin("samples")
		w.sample(1, upTo(120_000))
		w.functions(120_000)
	}},
	{name: "8,000 samples of one stack of 10,000", refused: "import", write: func(w *profileWriter) {
		w.begin("samples")
		path := upTo(10_000)
		for range 8_000 {
			w.sample(1, path)
		}
		w.functions(10_000)
	}},
	{name: "a million labels", refused: "import", write: func(w *profileWriter) {
		w.begin("samples")
		label := numbered(1, 5, 2, 5)
		labels := make([][]byte, 1_000_000)
		for i := range labels {
			labels[i] = label
		}
		w.sample(1, []uint64{1}, labels...)
		w.functions(1)
	}},
}

func inlinedSamples(w *profileWriter, deep, samples int) {
	w.begin("samples")
	for range samples {
		w.sample(1, []uint64{1})
	}
	lines := make([][]byte, deep)
	for i := range lines {
		lines[i] = numbered(1, 1, 2, uint64(i))
	}
	w.function(1, 6, lines...)
}

// chain is a call chain of n functions: an honest trace whose paths are long.
func chain(w *profileWriter, n int) {
	w.begin("calls")
	path := upTo(n)
	w.sample(1, path[n-1:], rootLabel)
	for i := 1; i < n; i++ {
		w.sample(1, path[n-1-i:], parentLabel(i))
	}
	w.functions(n)
	w.ours(int64(n), n)
}

func (h *hostileFile) make(t *testing.T, path string) int64 {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zw, _ := gzip.NewWriterLevel(f, 3)
	w := &profileWriter{Writer: bufio.NewWriterSize(zw, 1<<20)}
	h.write(w)
	w.Flush()
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// takesTrace is how each command is given a trace; nil: it takes none.
var takesTrace = map[string]func(file string) [][]string{
	"run": nil, "attach": nil, "window": nil, "index": nil, "locate": nil, "fix": nil, "doctor": nil, "completion": nil, "eval": nil,
	"worker": nil, "jobs": nil, "token": nil, "audit": nil, "executed": nil, "pull": nil,
	"push":    nil, // it reads a trace as export does, once it has a database
	"ask":     one("ask", "--dry-run", "TRACE", "what does f do?"),
	"compare": one("compare", "TRACE", "TRACE"),
	"tree": func(f string) [][]string {
		return [][]string{{"tree", f}, {"tree", "--json", f}, {"tree", "--tree=graph", f}, {"tree", "--focus=f1", f}}
	},
	"view":   one("view", "--no-open", "TRACE"),
	"report": one("report", "-o", "-", "TRACE"),
	"prompt": one("prompt", "TRACE", "what does f do?"),
	"rank":   one("rank", "what does f do?", "TRACE"),
	"mcp":    one("mcp"),
	"list":   one("list"),
	"show":   one("show", "TRACE"),
	"rm":     one("rm", "--dir=nowhere", "TRACE"),
	"export": func(f string) (out [][]string) {
		for _, format := range export.Formats() {
			out = append(out, []string{"export", "--format=" + format.Name, f})
		}
		return out
	},
	"import": one("import", "TRACE"),
	"sizes":  one("sizes", "TRACE"),
}

// readers are commands that read traces in every way: whole, their heads,
// all of a directory, those of the same program, as another tool's profile, and for an
// agent. A file that is refused is given to them; the other commands read as tree does.
var readers = []string{"tree", "show", "list", "rank", "import", "mcp"}

func one(words ...string) func(string) [][]string {
	return func(file string) [][]string {
		out := make([]string, len(words))
		for i, w := range words {
			out[i] = w
			if w == "TRACE" {
				out[i] = file
			}
		}
		return [][]string{out}
	}
}

// TestHostileFilesCostLittle gives every command files that a few bytes make large.
// None crashes, none hangs, and none takes more memory than a file of its size may.
func TestHostileFilesCostLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of runs")
	}
	if !ownProcess(t) {
		return
	}
	for _, h := range hostileFiles {
		t.Run(h.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "hostile")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			inDirectory(t, dir, append(os.Environ(), "TRACERAG_DIR="+dir, "OPENAI_API_KEY=", "TRACERAG_MODEL="))
			file := filepath.Join(dir, "20260102-030405.123-ab12cd34.pb.gz")
			size := h.make(t, file)
			allowed := int64(trace.FreeMemory) + trace.MemoryFactor*size
			for _, c := range commands {
				takes, known := takesTrace[c.name]
				if !known {
					t.Errorf("%s: is it given a trace? say so in takesTrace", c.name)
				}
				if takes == nil || h.refused != "" && !slices.Contains(readers, c.name) {
					continue
				}
				runs := takes(file)
				if h.refused != "" {
					runs = runs[:1] // the others read the file in the same way
				}
				for _, args := range runs {
					r := runHostile(t, args)
					t.Logf("%-28s %6d KiB file, peak %5d MiB of %5d, exit %3d, %v: %.120q", strings.Join(args[:min(2, len(args)-1)], " "), size>>10, r.peak>>20, allowed>>20, r.code, r.took.Round(time.Millisecond), lineOne(r.stderr))
					if max := allowed + ownMemory; r.peak > max {
						t.Errorf("%v: took %d MiB of memory for a file of %d KiB, %d MiB are allowed", args, r.peak>>20, size>>10, max>>20)
					}
					reads := c.name != "list" && c.name != "rm" && c.name != "mcp" && c.name != "show"
					if want := h.refused; want != "" && reads {
						if want == "import" && c.name == "import" {
							continue // read or refused, in its own words
						}
						if r.code == 0 || !strings.Contains(r.stderr, want) {
							t.Errorf("%v: exit %d, %q: want an error with %q", args, r.code, r.stderr[:min(len(r.stderr), 500)], want)
						}
					}
				}
			}
		})
	}
}

// ownMemory is what a command takes for itself, and what the agents' server has of two
// answers at once: rules of redaction,
// vocabularies of tokens.
const ownMemory = 128 << 20

type hostileRun struct {
	ranHere
	peak int64 // bytes of resident memory above what this process had before
}

// runHostile runs a command in this process, and measures it.
func runHostile(t *testing.T, args []string) (r hostileRun) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdin io.Reader = strings.NewReader("")
	if args[0] == "mcp" {
		stdin = strings.NewReader(strings.Join([]string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_traces","arguments":{}}}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"call_tree","arguments":{"trace":"ab12cd34"}}}`,
			"", // a line end
		}, "\n"))
	}
	if resident(t, "VmRSS:") > rested+16<<20 { // else there is nothing to give back
		debug.FreeOSMemory()
		rested = resident(t, "VmRSS:")
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Skipf("the peak of memory cannot be measured: %v", err)
	}
	before := resident(t, "VmHWM:")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		start := time.Now()
		var stderr bytes.Buffer
		// Nobody reads what is printed, but the viewer has to be ended once it serves.
		r.code = run(ctx, args, stdin, io.Discard, &ending{&stderr, cancel})
		r.stderr, r.took = stderr.String(), time.Since(start)
	}()
	select {
	case <-ended:
	case <-time.After(4 * time.Minute):
		t.Fatalf("%v: hung", args)
	}
	r.peak = resident(t, "VmHWM:") - before
	return r
}

// rested is what this process has when what commands left behind is given back.
var rested int64

// resident is a figure of this process's memory, in bytes: VmRSS what it has, VmHWM the
// most that it had since that was last forgotten.
func resident(t *testing.T, figure string) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), figure)
	n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// ending ends the viewer once it serves.
type ending struct {
	io.Writer
	end func()
}

func (w *ending) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("Ctrl-C ends it")) {
		w.end()
	}
	return w.Writer.Write(p)
}

func lineOne(s string) string { line, _, _ := strings.Cut(s, "\n"); return line }

// TestExportsHaveACeiling: every format stops at it with an error, and leaves the file
// as it was.
func TestExportsHaveACeiling(t *testing.T) {
	dir := t.TempDir()
	h := hostileFile{write: func(w *profileWriter) { chain(w, 1000) }}
	h.make(t, filepath.Join(dir, "run.pb.gz"))
	out := filepath.Join(dir, "out")
	inDirectory(t, dir, os.Environ())
	for _, f := range export.Formats() {
		if err := os.WriteFile(out, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := here(t.Context(), strings.NewReader(""), "export", "--format="+f.Name, "--max-size=4096", "-o", out, "./run.pb.gz")
		text, err := os.ReadFile(out)
		if r.code != 1 || !strings.Contains(r.stderr, "larger than 4,096 bytes\n  --max-size allows more") || string(text) != "old" {
			t.Errorf("%s: exit %d, %q, the file has %d bytes, %v", f.Name, r.code, r.stderr, len(text), err)
		}
		if r := here(t.Context(), strings.NewReader(""), "export", "--format="+f.Name, "-o", out, "./run.pb.gz"); r.code != 0 {
			t.Errorf("%s: exit %d, %q", f.Name, r.code, r.stderr)
		}
	}
}

// TestMemoryIsInProportion: a large honest trace is written and read with the memory that
// trace.Limit reckons for it, and a list of traces with next to none.
func TestMemoryIsInProportion(t *testing.T) {
	if !ownProcess(t) {
		return
	}
	nodes := 20_000
	if n, err := strconv.Atoi(os.Getenv("TRACERAG_TEST_NODES")); err == nil {
		nodes = n
	} else if testing.Short() {
		t.Skip("some seconds")
	}
	dir := t.TempDir()
	s := store.Open(dir)
	e, err := s.Save(programTrace(nodes))
	if err != nil {
		t.Fatal(err)
	}
	inDirectory(t, dir, append(os.Environ(), "TRACERAG_DIR="+dir, "OPENAI_API_KEY=", "TRACERAG_MODEL="))
	here(t.Context(), strings.NewReader(""), "prompt", e.Path, "what is read once and kept?")
	for _, c := range commands {
		takes := takesTrace[c.name]
		if takes == nil || c.name == "rm" {
			continue
		}
		for _, args := range takes(e.Path) {
			if args[0] == "tree" && slices.Contains(args, "--tree=graph") {
				continue // which has a limit of nodes of its own
			}
			r := runHostile(t, args)
			each := r.peak / int64(nodes)
			t.Logf("%-24s %5d MiB, %5d bytes a node, %v, exit %d %.100s", strings.Join(args[:min(2, len(args)-1)], " "), r.peak>>20, each, r.took.Round(10*time.Millisecond), r.code, lineOne(r.stderr))
			most := int64(1400) // 1,024 and twice the names
			switch c.name {
			case "list", "show":
				most = 100
			case "compare":
				most *= 2
			case "ask", "prompt", "report", "sizes":
				most += session.PromptMemory
			}
			if each > most+garbage/int64(nodes) {
				t.Errorf("%v: %d bytes a node, %d are reckoned", args, each, most)
			}
		}
	}
}

// garbage is what the heap may have beside what is in use, and what a command takes for
// itself but for rules and vocabularies, which are there.
const garbage = 96 << 20

// programTrace is a tree like a program's: calls and returns at random.
func programTrace(nodes int) *trace.Trace {
	tr := &trace.Trace{Recorder: "probe", Command: []string{"./app"}}
	b := trace.NewBuilder(tr)
	r := rand.New(rand.NewPCG(1, 1))
	const functions = 5000
	fn := make([]trace.FuncID, functions)
	for i := range fn {
		fn[i] = b.Func(trace.Function{Name: fmt.Sprintf("example.com/module/package%d.(*Type).Method%d", i/50, i), Package: fmt.Sprintf("example.com/module/package%d", i/50), File: fmt.Sprintf("/src/module/package%d/file.go", i/50), StartLine: i})
	}
	path := []trace.NodeID{b.Root(trace.Root{Kind: trace.RootMain}, trace.Frame{Func: fn[0]}, 1)}
	for len(tr.Nodes) < nodes {
		for len(path) > 1 && (r.IntN(2) == 0 || len(path) > 40) {
			path = path[:len(path)-1]
		}
		f := r.IntN(functions)
		id := b.Child(path[len(path)-1], trace.Frame{Func: fn[f], CallLine: f%200 + r.IntN(3)}, int64(r.IntN(1000)))
		if !tr.Nodes[id].Flags.Has(trace.Recursive) {
			path = append(path, id)
		}
	}
	return b.Finish()
}
