package probe

import (
	"slices"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace"
	"tracerag/trace/executable"
	"tracerag/trace/probe/patch/plan"
)

// TestMissed: inlined calls that have no hook are lost where the function that
// they are in ran, or has no hook itself so that nobody knows.
func TestMissed(t *testing.T) {
	bin, err := executable.Open(fixtures.Build(t, "inlining"))
	if err != nil {
		t.Fatal(err)
	}
	fn := func(name string) int {
		return slices.IndexFunc(bin.Funcs, func(f executable.Func) bool { return f.Name == name })
	}
	call := func(fn int, name string) int {
		i := slices.IndexFunc(bin.Inlined(&bin.Funcs[fn]), func(c executable.InlinedCall) bool { return c.Name == name })
		if i < 0 {
			t.Fatalf("%s is not inlined into %s", name, bin.Funcs[fn].Name)
		}
		return i
	}
	loop, nested, keep := fn("main.loop"), fn("main.nested"), fn("main.keep")
	plan := &plan.Plan{
		Hooks: []plan.Hook{{Kind: plan.Check, Func: loop}, {Kind: plan.Check, Func: nested}},
		Missed: []plan.Missed{
			{Func: loop, Call: call(loop, "main.add")},
			{Func: loop, Call: call(loop, "main.clamp")},
			{Func: loop, Call: call(loop, "main.add")},
			{Func: nested, Call: call(nested, "main.square")},
			{Func: keep, Call: call(keep, "main.isOdd")},
		},
	}
	c := &converter{bin: bin, plan: plan, inlined: map[int][]executable.InlinedCall{}, places: []place{{}, {known: true, fn: loop}, {fn: nested}}}
	var got []trace.Loss
	for _, l := range c.missed() {
		if l.Kind != trace.LossNotHooked || l.Detail == "" {
			t.Errorf("%+v", l)
		}
		got = append(got, trace.Loss{Function: l.Function, Count: l.Count})
	}
	want := []trace.Loss{{Function: "main.add", Count: 2}, {Function: "main.clamp", Count: 1}, {Function: "main.isOdd", Count: 1}}
	if !slices.Equal(got, want) {
		t.Errorf("missed are %+v, want %+v", got, want)
	}
}
