package patch

import (
	"os"
	"os/exec"
	"testing"

	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/patchtest"
	"tracerag/trace/probe/patch/plan"
	"tracerag/trace/probe/patch/stubs"
)

// BenchmarkMake plans the program that PATCH_BENCH names, or the go command, which
// has about 15,000 functions, with everything hooked that may be. It reports
// which share of the functions that the compiler made and that are not the
// runtime's are hooked, and of the inlined calls in these.
func BenchmarkMake(b *testing.B) {
	path := os.Getenv("PATCH_BENCH")
	if path == "" {
		var err error
		if path, err = exec.LookPath("go"); err != nil {
			b.Skip(err)
		}
	}
	f, err := executable.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	var p *plan.Plan
	b.ReportAllocs()
	for b.Loop() {
		if f, err = executable.Open(path); err != nil { // it caches what Make asks for
			b.Fatal(err)
		}
		code, err := f.Code()
		if err != nil {
			b.Fatal(err)
		}
		if p, err = Make(f, code, func(string) bool { return true }, Options{Inlined: true}); err != nil {
			b.Fatal(err)
		}
	}
	hooked, inlined, not := 0, 0, 0
	for _, h := range p.Hooks {
		if h.Kind.Entry() {
			hooked++
		}
		inlined += len(h.Begins)
	}
	for _, u := range p.Unhooked {
		if fn := &f.Funcs[u.Func]; !fn.Asm && refuse(fn) == "" {
			not++
		}
	}
	b.ReportMetric(float64(len(f.Funcs)), "funcs")
	b.ReportMetric(100*float64(hooked)/float64(hooked+not), "%hooked")
	b.ReportMetric(100*float64(inlined)/float64(inlined+len(p.Missed)), "%inlined")
}

// BenchmarkEmit writes the stubs and patches of the same plan.
func BenchmarkEmit(b *testing.B) {
	f, c := patchtest.Open(b, "tablecat")
	p, err := Make(f, c, func(string) bool { return true }, Options{Inlined: true})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := stubs.Emit(p, 0x10000000, 0, stubs.Entries{Enter: 0x10000000, Go: 0x10000100, Block: 0x10000200, Leaf: 0x10000300}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(p.Hooks)), "hooks")
}
