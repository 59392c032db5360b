package sample_test

import (
	"bytes"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"tracerag/trace"
	"tracerag/trace/sample"
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
func dig(depth int) int {
	if depth == 0 {
		return busy(80 * time.Millisecond)
	}
	return dig(depth-1) + 1
}

func digDeep(out chan<- int) { out <- dig(200) }

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

// cpuProfile returns a real CPU profile of busy functions.
func cpuProfile(t *testing.T) []byte {
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		t.Skip("a profile is being taken already: ", err)
	}
	busy(150 * time.Millisecond)
	out := make(chan int)
	go digDeep(out)
	<-out
	pprof.StopCPUProfile()
	return b.Bytes()
}

// find returns the nodes of a function of this package.
func find(tr *trace.Trace, name string) (nodes []trace.Node) {
	for i, n := range tr.Nodes {
		if strings.HasSuffix(tr.Func(trace.NodeID(i)).Name, "sample_test."+name) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func read(t *testing.T, data []byte, o sample.Options) *trace.Trace {
	t.Helper()
	p, err := trace.ReadProfile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return convert(t, p, o)
}

func TestARealCPUProfile(t *testing.T) {
	tr := read(t, cpuProfile(t), sample.Options{})
	if !tr.Sampled || tr.Recorder != sample.Recorder || tr.Duration < 150*time.Millisecond || time.Since(tr.Start) > time.Minute {
		t.Errorf("sampled %v, recorder %q, duration %v, start %v", tr.Sampled, tr.Recorder, tr.Duration, tr.Start)
	}
	var under, cut int64
	for _, n := range find(tr, "busy") {
		if p := n.Parent; p != trace.NoNode && strings.HasSuffix(tr.Func(p).Name, "sample_test.cpuProfile") {
			under += n.Calls
		}
	}
	for _, n := range find(tr, "dig") {
		if n.Root == trace.RootCallback {
			cut++
		}
	}
	if under == 0 {
		t.Errorf("no sample of busy called by cpuProfile:\n%s", dump(tr))
	}
	if last := tr.Losses[len(tr.Losses)-1].Detail; cut == 0 || !strings.Contains(last, "cut off") {
		t.Errorf("the cut stacks of dig are not said to be cut (%q):\n%s", last, dump(tr))
	}
	if root := find(tr, "TestARealCPUProfile"); len(root) == 0 || root[0].Root != trace.RootGoroutine || !root[0].Marks.Has(trace.Via) {
		t.Errorf("the test is not the first function of a goroutine, via testing.tRunner:\n%s", dump(tr))
	}
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
		for _, n := range find(read(t, b.Bytes(), sample.Options{SampleType: typ}), "hoard") {
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
	nodes := find(read(t, b.Bytes(), sample.Options{}), "waiter")
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
		tr, err := sample.Convert(p, sample.Options{SampleType: typ})
		if err != nil {
			return
		}
		if err := tr.Check(); err != nil {
			t.Fatal(err)
		}
		outside := int64(0)
		for _, l := range tr.Losses {
			if strings.Contains(l.Detail, "no function of the recorded") {
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
