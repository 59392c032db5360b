package executable

import (
	"os"
	"os/exec"
	"testing"
)

// benchProgram is the program that the benchmarks read: the one that
// BINARY_BENCH names, or the go command, which has about 15,000 functions.
func benchProgram(b *testing.B) string {
	if p := os.Getenv("BINARY_BENCH"); p != "" {
		return p
	}
	p, err := exec.LookPath("go")
	if err != nil {
		b.Skip(err)
	}
	return p
}

func BenchmarkOpen(b *testing.B) {
	p := benchProgram(b)
	n := 0
	for b.Loop() {
		n = len(mustOpen(b, p).Funcs)
	}
	b.ReportMetric(float64(n), "funcs")
}

// BenchmarkFrames is the cost of frames asked for before, as a recorder does
// at every call.
func BenchmarkFrames(b *testing.B) {
	f := mustOpen(b, benchProgram(b))
	i := 0
	for b.Loop() {
		fn := &f.Funcs[i%1000*len(f.Funcs)/1000]
		f.Frames(fn.Entry)
		i++
	}
}

// BenchmarkFramesFirst is the cost for a function that is seen for the first
// time, with its tables decoded.
func BenchmarkFramesFirst(b *testing.B) {
	f := mustOpen(b, benchProgram(b))
	i := 0
	for b.Loop() {
		k := i * 7919 % len(f.Funcs)
		f.pcs[k] = nil
		clear(f.frames)
		f.Frames(f.Funcs[k].Entry)
		i++
	}
}
