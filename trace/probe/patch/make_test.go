package patch

import (
	"testing"

	"tracerag/trace/probe/patch/patchtest"
	"tracerag/trace/probe/patch/plan"
)

// TestShare: nearly all functions that the compiler made can be hooked.
func TestShare(t *testing.T) {
	f, c := patchtest.Open(t, "tablecat")
	p, err := Make(f, c, func(pkg string) bool { return delicate(pkg) == "" }, Options{})
	if err != nil {
		t.Fatal(err)
	}
	hooked, not := 0, 0
	for _, h := range p.Hooks {
		if h.Kind.Entry() && h.Kind != plan.CallSites {
			hooked++
		}
	}
	for _, u := range p.Unhooked {
		if fn := &f.Funcs[u.Func]; !fn.Asm && u.Why != partOfRuntime {
			not++
			t.Logf("not hooked: %s: %s", fn.Name, u.Why)
		}
	}
	if hooked < 1000 || not*100 > hooked {
		t.Errorf("%d functions are hooked and %d are not", hooked, not)
	}
}
