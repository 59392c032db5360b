package affected

import (
	"fmt"
	"testing"
)

// TestOrder: first what adds most for its time; then what fits into the budget, also behind what does not; then the rest. A
// test program is not started for what the one that is started has, too.
func TestOrder(t *testing.T) {
	p := &program{Package: "p", Ran: []reached{{declared: declared{"p", "F"}}}}
	for i, x := range []struct {
		seconds float64
		ways    []uint32
	}{
		{0.01, []uint32{1, 2, 3}}, // TestA: most
		{0.01, []uint32{1, 2}},    // TestB: nothing new
		{9, []uint32{4, 5}},       // TestC: new, and too long
		{0.01, []uint32{4}},       // TestD: new, and short
		{0.01, nil},               // TestE: late
	} {
		p.Tests = append(p.Tests, test{fmt.Sprintf("Test%c", 'A'+i), x.seconds, true})
		p.Ran[0].Tests = append(p.Ran[0].Tests, reach{Test: i, Ways: x.ways})
	}
	p.ready()
	q := &program{Package: "q", Tests: []test{{"TestQ", 0.01, true}}, Ran: []reached{{declared{"p", "F"}, []reach{{Test: 0, Ways: []uint32{1}}}}}}
	q.ready()
	deps := []*pkg{{path: "p", hasTestFiles: true}, {path: "q", hasTestFiles: true}}
	m := &Map{options: Options{Share: 0.01}, programs: map[string]*program{"p": p, "q": q}, source: &source{packages: map[string]*pkg{"p": deps[0], "q": deps[1]}}}
	w := newWant(m)
	if !w.ran(declared{"p", "F"}, deps, "ran F") {
		t.Fatal("no test ran F")
	}
	sel := w.order(deps, nil)
	if got, want := fmt.Sprint(sel.Tests, sel.First), "[p:TestA p:TestD p:TestB p:TestE q:TestQ p:TestC] 4"; got != want {
		t.Errorf("order %s\nwant  %s", got, want)
	}
	if got := sel.Why(Test{"q", "TestQ"}); got != "ran F" {
		t.Errorf("q:TestQ is chosen since it %s", got)
	}
	if got, want := fmt.Sprint(w.order(deps, []string{"q"}).Tests[:2]), "[q:TestQ p:TestA]"; got != want {
		t.Errorf("with q's program built: %s, want %s", got, want)
	}
	if sel.Seconds < 0.039 || sel.Seconds > 0.041 {
		t.Errorf("the first take %v s", sel.Seconds)
	}
}
