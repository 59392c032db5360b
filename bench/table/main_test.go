package main

import (
	"strings"
	"testing"
)

func TestTables(t *testing.T) {
	const in = `goos: linux
pkg: tracerag/bench
cpu: Some Processor
BenchmarkCall
BenchmarkCall/alone-2         	       1	  2000 calls	         0 median-added-ns/call	         0 min-added-ns/call
BenchmarkCall/probe-2         	       1	  2000 calls	         4.804 median-added-ns/call	        -0.5 min-added-ns/call
--- SKIP: BenchmarkCall/uprobe-2
    uprobe_linux_amd64_test.go:38: not here: permission denied
BenchmarkSeen/gojq-2         	       1	  0 ns/op	  91.5 %seen	   1234567 calls
    seen_linux_amd64_test.go:61: a line of -functions
PASS
ok  	tracerag/bench	22.567s
`
	const want = `cpu: Some Processor
    seen_linux_amd64_test.go:61: a line of -functions

What a call costs more than alone (fib)
          min-added-ns/call  median-added-ns/call  calls
  alone                   0                     0  2,000
  probe               -0.50                  4.80  2,000
  uprobe  not here: permission denied
  bar MISSED: probe median-added-ns/call is 4.80: at most 4

Source-level calls seen in a program as it is, of those made by a build without inlining
            calls  %seen
  gojq  1,234,567  91.50
  bar met: gojq %seen is 91.50: at least 90
`
	var out strings.Builder
	ok, err := tables(&out, strings.NewReader(in))
	if err != nil || !ok {
		t.Errorf("ok %v, error %v", ok, err)
	}
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

// TestFailure is passed on: what fails must not look like a table without rows.
func TestFailure(t *testing.T) {
	const in = "--- FAIL: BenchmarkRun/hugo\n    run_test.go:3: exit code 1\nFAIL\nFAIL\ttracerag/bench\t1.0s\n"
	var out strings.Builder
	ok, err := tables(&out, strings.NewReader(in))
	if ok || err != nil || out.String() != in {
		t.Errorf("ok %v, error %v, %q", ok, err, &out)
	}
}

// TestBars name what the benchmarks report.
func TestBars(t *testing.T) {
	for _, b := range bars {
		l := layouts[b.benchmark]
		if rank(b.benchmark, b.unit) == len(l.units) || (b.most == 0) == (b.least == 0) {
			t.Errorf("no such figure or no such bar: %+v", b)
		}
	}
}
