package profiles_test

import (
	"bytes"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"tracerag/trace"
	"tracerag/trace/profiles"
)

// Functions to be found in real profiles of this process.

//go:noinline
func busy(d time.Duration) (n int) {
	for t := time.Now(); time.Since(t) < d; {
		for i := range 1000 {
			n += i * i
		}
	}
	return n
}

//go:noinline
func dig(depth int, d time.Duration) int {
	if depth == 0 {
		return busy(d)
	}
	return dig(depth-1, d) + 1
}

func digDeep(out chan<- int, d time.Duration) { out <- dig(200, d) }

var kept [][]byte

//go:noinline
func hoard() {
	for range 100 {
		kept = append(kept, make([]byte, 4096))
	}
}

//go:noinline
func waiter(started chan<- bool, stop <-chan bool) {
	started <- true
	<-stop
}

// cpuProfile returns a real CPU profile of functions that are busy for twice d.
func cpuProfile(t *testing.T, d time.Duration) []byte {
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		t.Skip("a profile is being taken already: ", err)
	}
	busy(d)
	out := make(chan int)
	go digDeep(out, d)
	<-out
	pprof.StopCPUProfile()
	return b.Bytes()
}

// find returns the nodes of a function of this package.
func find(tr *trace.Trace, name string) (nodes []trace.Node) {
	for i, n := range tr.Nodes {
		if strings.HasSuffix(tr.Func(trace.NodeID(i)).Name, "profiles_test."+name) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func read(t *testing.T, data []byte, o profiles.Options) *trace.Trace {
	t.Helper()
	p, err := trace.ReadProfile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return convert(t, p, o)
}

// How many samples a time gives is the machine's affair, and few on a busy one:
// the profile is taken again, for longer, until it shows both busy functions.
func TestARealCPUProfile(t *testing.T) {
	d := 100 * time.Millisecond
	tr, direct, cut := busySamples(t, d)
	for (direct == 0 || cut == 0) && d < 3*time.Second {
		d *= 2
		tr, direct, cut = busySamples(t, d)
	}
	if len(tr.Losses) == 0 {
		t.Fatal("no samples, however long the profile")
	}
	if direct == 0 {
		t.Errorf("no sample of busy called by cpuProfile:\n%s", dump(tr))
	}
	if last := tr.Losses[len(tr.Losses)-1]; cut == 0 || !strings.Contains(last.Detail, "cut off") || last.Count < cut {
		t.Errorf("the %d samples in cut stacks of dig are not said to be cut (%+v):\n%s", cut, last, dump(tr))
	}
	if !tr.Sampled || tr.Recorder != profiles.Recorder || tr.Duration < d || time.Since(tr.Start) > time.Minute {
		t.Errorf("sampled %v, recorder %q, duration %v, start %v", tr.Sampled, tr.Recorder, tr.Duration, tr.Start)
	}
	if root := find(tr, "busySamples"); len(root) != 1 || root[0].Parent == trace.NoNode {
		t.Errorf("busySamples is not where its caller called it:\n%s", dump(tr))
	}
	if root := find(tr, "TestARealCPUProfile"); len(root) != 1 || root[0].Root != trace.RootGoroutine || !root[0].Flags.Has(trace.Via) {
		t.Errorf("the test is not the first function of a goroutine, via testing.tRunner:\n%s", dump(tr))
	}
}

// busySamples returns the trace of a CPU profile, and how many samples it has of
// busy, called by cpuProfile directly and at the end of a stack that is cut.
//
//go:noinline
func busySamples(t *testing.T, d time.Duration) (tr *trace.Trace, direct, cut int64) {
	p, err := trace.ReadProfile(bytes.NewReader(cpuProfile(t, d)))
	if err != nil {
		t.Fatal(err)
	}
	if tr, err = profiles.Convert(p, profiles.Options{}); err != nil {
		t.Logf("%v of profiling: %v", 2*d, err) // not one sample in so short a time
		return &trace.Trace{}, 0, 0
	}
	for _, n := range find(tr, "busy") {
		for id := n.Parent; id != trace.NoNode; id = tr.Nodes[id].Parent {
			name := tr.Func(id).Name
			switch {
			case strings.HasSuffix(name, "profiles_test.cpuProfile"):
				direct += n.Calls
			case strings.HasSuffix(name, "profiles_test.dig") && tr.Nodes[id].Root == trace.RootCallback:
				cut += n.Calls
			}
		}
	}
	return tr, direct, cut
}

func TestARealAllocationProfile(t *testing.T) {
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1
	hoard()
	runtime.GC() // the profile is of the last collection
	var b bytes.Buffer
	if err := pprof.Lookup("allocs").WriteTo(&b, 0); err != nil {
		t.Fatal(err)
	}
	for typ, least := range map[string]int64{"": 100, "alloc_objects": 100, "alloc_space": 100 * 4096} {
		var got int64
		for _, n := range find(read(t, b.Bytes(), profiles.Options{SampleType: typ}), "hoard") {
			got += n.Calls
		}
		if got < least || got > 10*least {
			t.Errorf("%q: hoard allocated %d, want some more than %d", typ, got, least)
		}
	}
}

func TestARealGoroutineProfile(t *testing.T) {
	started, stop := make(chan bool), make(chan bool)
	defer close(stop)
	for range 3 {
		go waiter(started, stop)
		<-started
	}
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 0); err != nil {
		t.Fatal(err)
	}
	nodes := find(read(t, b.Bytes(), profiles.Options{}), "waiter")
	if len(nodes) != 1 || nodes[0].Calls != 3 || nodes[0].Root != trace.RootGoroutine {
		t.Errorf("three goroutines wait in waiter; the trace has %+v", nodes)
	}
}

// Whatever profile is accepted gives a well-formed trace that loses no sample
// without saying so and survives its file.
func FuzzConvert(f *testing.F) {
	for _, text := range []string{stacks, deep("main.down:5"), "1 2: ?? ?:4 main.f:1 main.f:2"} {
		var raw bytes.Buffer
		if err := parse(cpuTypes, text).WriteUncompressed(&raw); err == nil {
			f.Add(raw.Bytes(), "")
			f.Add(raw.Bytes(), "cpu")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, typ string) {
		p, err := trace.ReadProfile(bytes.NewReader(data))
		if err != nil {
			return
		}
		tr, err := profiles.Convert(p, profiles.Options{SampleType: typ})
		if err != nil {
			return
		}
		if err := tr.Check(); err != nil {
			t.Fatal(err)
		}
		outside := int64(0)
		for _, l := range tr.Losses {
			if strings.Contains(l.Detail, "without a function of the recorded") {
				outside = l.Count
			}
		}
		if total := tr.Losses[0].Count; tr.Calls()+outside != total {
			t.Fatalf("%d samples in the tree, %d outside it, %d in the profile", tr.Calls(), outside, total)
		}
		var first, second bytes.Buffer
		if err := tr.Write(&first); err != nil {
			t.Fatal(err)
		}
		again, err := trace.Read(bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Write(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("write, read, write is not byte-identical: %v", err)
		}
	})
}
